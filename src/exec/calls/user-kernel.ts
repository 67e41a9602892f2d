/**
 * Kernels of the user's own. On a GPU each is a launch, behind one for each output that holds something before it. Its
 * units are the blocks along the axis that its cuts say; without cuts it runs as a whole.
 */

import { encodeProgram, valueWords } from '../../codegen/cpu/kernel-program.js';
import { CUDA_OPTIONS } from '../../codegen/cuda/cuda.js';
import { textsOfCuda } from '../../codegen/cuda/cuda-functions.js';
import { ELEMENTS_NAME } from '../../codegen/cuda/routines/cuda-elements.js';
import { PROGRAM_NAME, sizesIn } from '../../codegen/cuda/routines/kernel-program.js';
import { FILL_THREADS, initialName, printUserKernel } from '../../codegen/cuda/routines/user-kernel.js';
import { dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { KernelMemory, KernelProgram } from '../../graph/kernel-program.js';
import type { CudaFunction } from '../../graph/loop-step.js';
import type { ArrayType } from '../../graph/routine-row.js';
import { scalarBytes } from '../../graph/scalar-bytes.js';
import type { KernelArgument, KernelOutput, KernelPart, UserKernel } from '../../graph/user-kernel.js';
import { config } from '../../host/config.js';
import { InternalError } from '../../host/errors.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { BufferArray, RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

const kernelOf = ({ userKernel }: RoutineStep): UserKernel => userKernel!;

const unitsOf = ({ cuts, grid }: UserKernel): number =>
  cuts === undefined ? 1 : grid[cuts.axis === 'x' ? 0 : 1];

/** The part of an array that a block touches; undefined: all of it. */
function partOf(step: RoutineStep, array: BufferArray): KernelPart | undefined {
  const { cuts } = kernelOf(step);
  const input = step.operands.indexOf(array);
  return input < 0 ? cuts?.outputs[step.results.indexOf(array)] : cuts?.inputs[input];
}

function argumentOf(step: RoutineStep, argument: KernelArgument): LaunchArgument {
  if ('firstBlock' in argument) return { block: kernelOf(step).cuts?.axis ?? 'x' };
  if ('input' in argument) return { buffer: step.operands[argument.input]!.buffer };
  if ('output' in argument) return { buffer: step.results[argument.output]!.buffer };
  return { bytes: scalarBytes(argument.dtype, argument.value) };
}

/** The launch that fills an output before the kernel runs. */
function initialLaunch(step: RoutineStep, { initial }: KernelOutput, at: number): CallLaunch {
  const result = step.results[at]!;
  const { buffer, dtype, shape } = result;
  const size = sizeOfShape(shape);
  const unit = partOf(step, result)?.size ?? size;
  const unitBlocks = Math.ceil(unit / FILL_THREADS);
  const from: LaunchArgument =
    'input' in initial!
      ? { buffer: step.operands[initial.input]!.buffer }
      : { bytes: scalarBytes(dtype, initial!.value) };
  return {
    function: initialName(at),
    blocks: unitsOf(kernelOf(step)) * unitBlocks,
    threads: FILL_THREADS,
    args: [{ block: 'x' }, from, { buffer }, ...[size, unit, unitBlocks].map(int64)],
  };
}

const uint32 = (value: number): LaunchArgument => ({ bytes: scalarBytes('uint32', value) });

/** The arguments of a program: the first block of a part, arrays, scalars, sizes of arrays, the whole grid. */
function programArguments(step: RoutineStep, program: KernelProgram): LaunchArgument[] {
  const { arguments: scalars, cuts, grid } = kernelOf(step);
  const arrayOf = (memory: KernelMemory): BufferArray | undefined =>
    memory.kind === 'shared'
      ? undefined
      : (memory.kind === 'input' ? step.operands : step.results)[memory.at];
  return [
    { block: cuts?.axis ?? 'x' },
    ...program.arrays.flatMap((memory) => {
      const array = arrayOf(memory);
      return array === undefined ? [] : { buffer: array.buffer };
    }),
    ...scalars.map((argument) => argumentOf(step, argument)),
    ...sizesIn(program).map(({ array, axis }) => {
      const { shape } = arrayOf(program.arrays[array]!)!;
      return int64(axis < 0 ? sizeOfShape(shape) : shape[axis]!);
    }),
    ...grid.map(uint32),
  ];
}

/** The arguments of a function of elements: see `printElements`. */
function elementsArguments(step: RoutineStep, own: CudaFunction): LaunchArgument[] {
  const { operands, results } = step;
  const raws = operands.filter((_, k) => own.parameters[k]!.raw !== undefined);
  return [
    { block: 'x' },
    ...[...operands, ...results].map(({ buffer }) => ({ buffer })),
    int64(sizeOfShape(results[0]!.shape)),
    ...raws.flatMap(({ shape }) => [sizeOfShape(shape), ...shape].map(int64)),
  ];
}

/** The function that a kernel's code is launched by, its arguments, and how it is compiled. */
function launchedAs(
  step: RoutineStep,
): Pick<CallLaunch, 'function' | 'args'> & Required<Pick<CallKernels, 'compiled'>> {
  const { code, arguments: args } = kernelOf(step);
  switch (code.kind) {
    case 'text': {
      const { entry, userTexts } = code;
      return {
        function: entry,
        args: args.map((argument) => argumentOf(step, argument)),
        compiled: { options: [...CUDA_OPTIONS, ...code.options], entry, userTexts },
      };
    }
    case 'program':
      return {
        function: PROGRAM_NAME,
        args: programArguments(step, code.program),
        compiled: { options: CUDA_OPTIONS, entry: PROGRAM_NAME },
      };
    case 'elements':
      return {
        function: ELEMENTS_NAME,
        args: elementsArguments(step, code.function),
        compiled: { options: CUDA_OPTIONS, entry: ELEMENTS_NAME, userTexts: textsOfCuda([code.function]) },
      };
  }
}

function kernelsOf(step: RoutineStep): CallKernels {
  const kernel = kernelOf(step);
  const { grid, block, sharedByteLength, outputs, cuts } = kernel;
  const initials = outputs.flatMap((output, k) =>
    output.initial === undefined || sizeOfShape(output.shape) === 0 ? [] : initialLaunch(step, output, k),
  );
  const { compiled, ...own } = launchedAs(step);
  const launch: CallLaunch = {
    ...own,
    blocks: grid,
    threads: block,
    sharedByteLength,
    unitAxis: cuts?.axis ?? 'x',
  };
  return {
    source: printUserKernel(
      kernel,
      step.operands.map(({ shape }) => shape.length),
    ),
    compiled,
    launches: [...initials, ...(grid.includes(0) ? [] : [launch])],
  };
}

const INITIALS = ['none', 'input', 'value'] as const;

/** The kernel for the CPU: `native/cpu/user-kernel-parse.cpp` reads it. */
function numbersOf(step: RoutineStep): number[] {
  const { code, grid, block, cuts, arguments: scalars, outputs } = kernelOf(step);
  if (code.kind !== 'program') throw new InternalError('a kernel in CUDA C on the CPU');
  const arrayWords = ({ dtype, shape }: ArrayType): number[] => [dtypeCode(dtype), shape.length, ...shape];
  return [
    ...grid,
    ...block,
    cuts === undefined ? 0 : cuts.axis === 'x' ? 1 : 2,
    config().checksKernels ? 1 : 0,
    step.operands.length,
    ...step.operands.flatMap(arrayWords),
    outputs.length,
    ...outputs.flatMap((output, k) => {
      const { dtype, initial } = output;
      const input = initial !== undefined && 'input' in initial ? initial.input : undefined;
      const value = initial !== undefined && 'value' in initial ? initial.value : undefined;
      const kind = input !== undefined ? 'input' : value !== undefined ? 'value' : 'none';
      return [
        ...arrayWords(output),
        cuts?.outputs[k]?.size ?? 0,
        INITIALS.indexOf(kind),
        input ?? 0,
        ...(value === undefined ? [0, 0, 0, 0] : valueWords(dtype, value)),
      ];
    }),
    scalars.length,
    ...scalars.flatMap((argument) =>
      'value' in argument ? valueWords(argument.dtype, argument.value) : [0, 0, 0, 0],
    ),
    ...encodeProgram(code.program),
  ];
}

const KERNEL: Routine = {
  units: (step) => unitsOf(kernelOf(step)),
  unitSize: (step, array) => partOf(step, array)?.size,
  margins: partOf,
  numbers: numbersOf,
  kernels: kernelsOf,
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => ({
    bytes: bytesOfAll([...step.operands, ...step.results]),
    launches: 1 + kernelOf(step).outputs.filter(({ initial }) => initial !== undefined).length,
  }),
  method: (step) => {
    const { grid, block, sharedByteLength, cuts } = kernelOf(step);
    const shared = sharedByteLength === 0 ? '' : `, ${sharedByteLength} bytes of shared memory`;
    const parts = cuts === undefined ? ', as a whole' : `, in parts along ${cuts.axis}`;
    return `${grid.join('×')} blocks of ${block.join('×')} threads${shared}${parts}`;
  },
};

export const USER_KERNEL = routineCall(KERNEL);
