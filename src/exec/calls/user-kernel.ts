/**
 * Kernels of the user's own. On a GPU each is a launch, behind one for each output that holds something before it. Its
 * units are the blocks along the axis that its cuts say; without cuts it runs as a whole.
 */
import { CUDA_OPTIONS } from '../../codegen/cuda/cuda.js';
import { scalarBytes } from '../../codegen/cuda/literals.js';
import { FILL_THREADS, initialName, printUserKernel } from '../../codegen/cuda/routines/user-kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { KernelArgument, KernelOutput, KernelPart, UserKernel } from '../../graph/user-kernel.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { BufferArray, RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';

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

function kernelsOf(step: RoutineStep): CallKernels {
  const { code, grid, block, sharedByteLength, arguments: args, outputs, cuts } = kernelOf(step);
  const initials = outputs.flatMap((output, k) =>
    output.initial === undefined || sizeOfShape(output.shape) === 0 ? [] : initialLaunch(step, output, k),
  );
  const { entry, options, place } = code;
  const launch: CallLaunch = {
    function: entry,
    blocks: grid,
    threads: block,
    sharedByteLength,
    unitAxis: cuts?.axis ?? 'x',
    args: args.map((argument) => argumentOf(step, argument)),
  };
  return {
    source: printUserKernel(code, outputs),
    compiled: { options: [...CUDA_OPTIONS, ...options], entry, place },
    launches: [...initials, ...(grid.includes(0) ? [] : [launch])],
  };
}

const bytesOf = ({ dtype, shape }: BufferArray): number => sizeOfShape(shape) * byteLengthOf(dtype);

const KERNEL: Routine = {
  units: (step) => unitsOf(kernelOf(step)),
  unitSize: (step, array) => partOf(step, array)?.size,
  margins: partOf,
  numbers: () => [],
  kernels: kernelsOf,
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => ({
    bytes: [...step.operands, ...step.results].reduce((sum, array) => sum + bytesOf(array), 0),
    launches: kernelsOf(step).launches.length,
  }),
  method: (step) => {
    const { grid, block, sharedByteLength, cuts } = kernelOf(step);
    const shared = sharedByteLength === 0 ? '' : `, ${sharedByteLength} bytes of shared memory`;
    const parts = cuts === undefined ? ', as a whole' : `, in parts along ${cuts.axis}`;
    return `${grid.join('×')} blocks of ${block.join('×')} threads${shared}${parts}`;
  },
};

export const USER_KERNEL = routineCall(KERNEL);
