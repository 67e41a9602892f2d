/**
 * CUDA C from a Kernel: source, launches and scratch buffers. The schedule is chosen in `schedule.ts`; one
 * file per schedule prints it. Compiling, caching and running are left to `exec/`.
 *
 * The source holds no constants and few sizes, so that other values and mostly other shapes need no other
 * compilation.
 */
import { cudaFunctionsIn, loopsIn, monoidsIn } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { normalize } from '../cuts/domain.js';
import { inWindows } from '../cuts/pitch.js';
import { splitPhases } from '../cuts/split-phases.js';
import { Body } from './body.js';
import { cudaFunctions } from './cuda-functions.js';
import { loopFunctions } from './element-loops.js';
import type { CudaFunction } from './function.js';
import type { CudaArgument, CudaLaunch, Scratch } from './launch.js';
import { apartFunctions } from './outlined.js';
import { preludeFor } from './prelude/prelude.js';
import { printMap } from './printers/map-kernel.js';
import { printOuterProduct } from './printers/outer-product-kernel.js';
import { printReduce } from './printers/reduce-kernel.js';
import { printRepeat } from './printers/repeat-kernel.js';
import { printRows } from './printers/row-kernel.js';
import { printStencil } from './printers/stencil-kernel.js';
import { printTable } from './printers/table-kernel.js';
import { printTranspose } from './printers/transpose-kernel.js';
import { type Schedule, scheduleOf, scheduleOfNormal } from './schedules/schedule.js';
import { monoidFunctions } from './user-monoids.js';

export { cudaWorks } from '../cuts/cuda-work.js';
export type { CudaArgument, CudaLaunch, Scratch } from './launch.js';
export { printSchedule, type Schedule, scheduleOf } from './schedules/schedule.js';
export { DEFAULT_LIMITS, type DeviceLimits } from './schedules/schedule-rows.js';

/**
 * NVRTC's options for the text of routines, besides the architecture. Divisions and square roots are correctly rounded
 * and denormals kept (no fast math). Products and sums are contracted to fused multiply-adds.
 */
export const CUDA_OPTIONS: readonly string[] = ['--std=c++17', '--fmad=true', '--disable-warnings'];

/**
 * The same for kernels, and for routines that maps may be a part of, which are not contracted: else `x * y - z` would have
 * another last bit where another result has `x * y` stored. Their multiply-adds are ops (`fusion/passes/multiply-add.ts`).
 */
export const KERNEL_OPTIONS: readonly string[] = ['--std=c++17', '--fmad=false', '--disable-warnings'];

export interface CudaKernel {
  /** CUDA C++ for NVRTC with `KERNEL_OPTIONS`; holds every function of `launches`. */
  readonly source: string;
  /** In order; empty where there is nothing to compute. */
  readonly launches: readonly CudaLaunch[];
  readonly scratch: readonly Scratch[];
  readonly schedule: Schedule;
}

interface Printed {
  readonly functions: readonly CudaFunction[];
  readonly scratch: readonly Scratch[];
}

/**
 * The CUDA C of a kernel. `schedule`: another than the kernel's own, to print a part with the whole's
 * schedule.
 */
export function cudaKernel(kernel: Kernel, schedule: Schedule = scheduleOf(kernel)): CudaKernel {
  const { functions, scratch } = print(inWindows(normalize(kernel)), schedule);
  const kernels = functions.map((f) => f.text).join('\n');
  const text = `${cudaFunctions(cudaFunctionsIn(kernel))}${apartFunctions(kernels)}${loopFunctions(loopsIn(kernel))}${monoidFunctions(monoidsIn(kernel))}${kernels}`;
  const source = `${preludeFor(text)}${text}`;
  return { source, launches: functions.map((f) => f.launch), scratch, schedule };
}

/**
 * Names of generated functions: the kernel's, with a suffix that keeps it apart from CUDA's own functions.
 */
function print(kernel: Kernel, schedule: Schedule): Printed {
  const body = new Body(kernel);
  switch (schedule.kind) {
    case 'empty':
      return { functions: [], scratch: [] };
    case 'map':
      return { functions: [printMap(body, schedule, `${kernel.name}_map`)], scratch: [] };
    case 'table':
      return { functions: [printTable(kernel, schedule, `${kernel.name}_table`)], scratch: [] };
    case 'transpose':
      return { functions: [printTranspose(body, schedule, `${kernel.name}_tiles`)], scratch: [] };
    case 'reduce':
      return printReduce(body, schedule, `${kernel.name}_reduce`);
    case 'outer-product':
      return printOuterProduct(kernel, schedule, `${kernel.name}_outer_product`);
    case 'rows':
      return { functions: [printRows(body, schedule, `${kernel.name}_rows`)], scratch: [] };
    case 'repeat':
      return { functions: [printRepeat(body, schedule, `${kernel.name}_steps`)], scratch: [] };
    case 'stencil':
      return { functions: [printStencil(body, schedule, `${kernel.name}_steps`)], scratch: [] };
    case 'split':
      return printSplit(kernel);
  }
}

/** One kernel per phase; the buffers between them are scratch. */
function printSplit(kernel: Kernel): Printed {
  const { kernels, added } = splitPhases(kernel);
  const scratch: Scratch[] = added.map(({ byteLength }) => ({ byteLength, zeroed: false }));
  const functions: CudaFunction[] = [];
  for (const part of kernels) {
    const normal = normalize(part);
    const printed = print(normal, scheduleOfNormal(normal));
    const first = scratch.length;
    const move = (arg: CudaArgument): CudaArgument => {
      if ('scratch' in arg) return { scratch: first + arg.scratch };
      const handed = 'buffer' in arg ? added.findIndex(({ position }) => position === arg.buffer) : -1;
      return handed < 0 ? arg : { scratch: handed };
    };
    for (const f of printed.functions) {
      const launch: CudaLaunch = { ...f.launch, args: f.launch.args.map(move) };
      functions.push({ ...f, launch });
    }
    scratch.push(...printed.scratch);
  }
  return { functions, scratch };
}
