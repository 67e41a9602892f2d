/**
 * One generated function: its text and its launch. Every schedule printer ends here.
 */
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { CudaLaunch } from './launch.js';
import type { Parameters } from './parameters.js';
import { Writer } from './writer.js';

export interface CudaFunction {
  readonly text: string;
  readonly launch: CudaLaunch;
}

/**
 * The block's number in the grid of the whole kernel, in the index type: a launch may run a range of its
 * blocks only (`cuda-work.ts`), so printers never name `blockIdx` or `gridDim` themselves.
 */
export const blockIndex = (params: Parameters, axis: 'x' | 'y' = 'x'): string =>
  `(${params.index})(blockIdx.${axis} + ${params.firstBlock(axis)})`;

/** Whether a launch has all of so many blocks along the grid's first axis. */
export const hasAllBlocks = (params: Parameters, count: number): string =>
  `(${params.firstBlock('x')} == 0 && gridDim.x == ${count}u)`;

/** Axes of a linear grid of tiles, outermost first, and how far a tile goes along each. */
export type TileGrid = readonly { readonly axis: number; readonly length: number }[];

export const gridSizes = (kernel: Kernel, grid: TileGrid): number[] =>
  grid.map(({ axis, length }) => Math.ceil(kernel.parallel[axis]! / length));

/**
 * Wraps a printed body. `minBlocks`: blocks that should fit a multiprocessor at once, which bounds registers; `clusterBlocks`:
 * neighbouring blocks that read each other's shared memory.
 */
export function printFunction(
  name: string,
  body: Writer,
  params: Parameters,
  launch: Omit<CudaLaunch, 'function' | 'args'>,
  minBlocks = 0,
  clusterBlocks = 1,
): CudaFunction {
  const out = new Writer();
  const threads = launch.block[0] * launch.block[1] * launch.block[2];
  const bounds = minBlocks > 0 ? `${threads}, ${minBlocks}` : `${threads}`;
  const cluster = clusterBlocks > 1 ? ` __cluster_dims__(${clusterBlocks}, 1, 1)` : '';
  out.line(`extern "C" __global__ void __launch_bounds__(${bounds})${cluster}`);
  out.block(`${name}(${params.declaration})`, () => out.line(body.toString().trimEnd()));
  return { text: out.toString(), launch: { function: name, ...launch, args: params.args } };
}
