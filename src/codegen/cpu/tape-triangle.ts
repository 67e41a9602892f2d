/**
 * Kernels of pairs whose values are the same with both axes exchanged, as kernel matrices and distances between all rows
 * of one array: a run of all tiles computes squares on and above the diagonal and stores each twice, the second time
 * transposed (`native/cpu/tape-triangle.cpp`). Called by `tape.ts`.
 *
 *     exp(-‖xᵢ - xⱼ‖²) of 4096 rows    136 squares of 256² instead of 256
 */

import { windowIndexOf } from '../../fusion/kernel/algebra.js';
import { costOf, isConstant, isReduction } from '../../fusion/kernel/arithmetic.js';
import { type Access, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { type Levels, storesElements } from '../../fusion/kernel/levels.js';
import { mirrorOf } from '../../fusion/kernel/symmetry.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK } from '../../shared/layout.js';
import { type Blocking, laneKindOf } from './tape-blocking.js';
import { nanosecondsOf } from './tape-cost.js';
import { ADDITION, TAPE_RATES } from './tape-rates.js';
import { layoutInOrder, layoutsAlike } from './tape-sum-order.js';

export interface Triangle {
  /** The axes of the rows and of the columns of squares. */
  readonly axes: readonly [number, number];
  /** Elements along a side of a square, a multiple of the steps of the loops over both axes. */
  readonly side: number;
}

/** Of the time of the whole, the part that a triangle may take at most: it asks for more tasks, memory and code. */
const WORTH = 0.9;
/** Bytes of a square of all results: it stays in the second-level cache until it is stored twice. */
const SQUARE_BYTES = 2 ** 18;
const VECTOR_BYTES = 64;

/** As `explain()` has it. */
export const printTriangle = ({ side }: Triangle): string => `squares of ${side}² on and above the diagonal`;

export interface TriangleLayout {
  readonly blocking: Blocking;
  readonly triangle: Triangle;
}

/** The triangles of a kernel with the bits of the whole; none: its values are others with axes exchanged. */
export function trianglesOf(kernel: Kernel): readonly TriangleLayout[] {
  const axes = mirroredAxes(kernel);
  if (axes === undefined) return [];
  return layoutsAlike(kernel).flatMap((each) =>
    sidesOf(kernel, axes).flatMap((side) => {
      const triangle = { axes, side };
      const blocking = withinSquares(kernel, each, triangle);
      return blocking === undefined ? [] : [{ blocking, triangle }];
    }),
  );
}

/** The triangle by which a kernel takes less time than as a whole. */
export function layoutInTriangle(kernel: Kernel, levels: Levels): TriangleLayout | undefined {
  const layouts = trianglesOf(kernel);
  if (layouts.length === 0) return undefined;
  const results = resultNanoseconds(kernel, levels);
  const timeOf = ({ blocking, triangle }: TriangleLayout): number => {
    const { turned, copied } = movesOf(kernel, triangle);
    const ofAll = nanosecondsOf(squareKernel(kernel, triangle), levels, blocking) + results;
    return computedShare(kernel, triangle) * ofAll + TAPE_RATES.square * turned + TAPE_RATES.copy * copied;
  };
  let least = WORTH * (nanosecondsOf(kernel, levels, layoutInOrder(kernel)) + results);
  let found: TriangleLayout | undefined;
  for (const layout of layouts) {
    const time = timeOf(layout);
    if (time < least) [least, found] = [time, layout];
  }
  return found;
}

/** The first two axes with which exchanged all values are the same. */
function mirroredAxes(kernel: Kernel): [number, number] | undefined {
  const { parallel, stores, reduced } = kernel;
  if (kernel.carried !== undefined || kernel.counters !== undefined || kernel.partialRows !== undefined)
    return undefined;
  if (windowIndexOf(kernel) !== undefined || (reduced.length > 0 && storesElements(kernel))) return undefined;
  for (let b = parallel.length - 1; b > 0; b--) {
    for (let a = b - 1; a >= 0; a--) {
      const isPair = ({ access: { strides, bounds, index } }: { access: Access }): boolean =>
        bounds.length === 0 && index === undefined && strides[a] !== 0 && strides[b] !== 0;
      if (parallel[a]! <= CHUNK || parallel[a] !== parallel[b] || !stores.every(isPair)) continue;
      if (mirrorOf(kernel, a, b) !== undefined) return [a, b];
    }
  }
  return undefined;
}

const resultBytes = ({ stores, tape }: Kernel): number =>
  stores.reduce((sum, { value }) => sum + byteLengthOf(tape[value]!.dtype), 0);

/** Sides of squares that are tried: powers of two. */
function sidesOf(kernel: Kernel, [axis]: Triangle['axes']): number[] {
  const sides: number[] = [];
  for (let side = CHUNK; side < kernel.parallel[axis]!; side *= 2)
    if (side === CHUNK || side * side * resultBytes(kernel) <= SQUARE_BYTES) sides.push(side);
  return sides;
}

/** The same layout in blocks that squares are made of; undefined: blocks go through other axes, too. */
function withinSquares(kernel: Kernel, blocking: Blocking, { axes, side }: Triangle): Blocking | undefined {
  const { laneAxes, rowAxis, take, inner, rows } = blocking;
  const first = kernel.parallel.length;
  const isOfSquare = (axis: number): boolean => axes.includes(axis);
  const kind = laneKindOf(kernel, blocking);
  if (kind === 'both' || (rowAxis >= 0 && rowAxis < first && !isOfSquare(rowAxis))) return undefined;
  if (laneAxes.includes(rowAxis)) return undefined;
  const fewer = rowAxis >= 0 && rowAxis < first ? Math.min(side, 2 ** Math.floor(Math.log2(rows))) : rows;
  if (kind === 'reduced') return { ...blocking, rows: fewer };
  if (laneAxes.length !== 1 || !isOfSquare(laneAxes[0]!)) return undefined;
  const narrow = Math.min(side, 2 ** Math.floor(Math.log2(take)));
  return { ...blocking, rows: fewer, take: narrow, width: narrow * inner };
}

/** The kernel with its results in one square of each, row after row. */
export function squareKernel(kernel: Kernel, { axes: [a, b], side }: Triangle): Kernel {
  const offsets = squareOffsets(kernel, side);
  const counts = kernel.buffers.map(() => 0);
  for (const { access } of kernel.stores) counts[access.buffer]! += side * side;
  return {
    ...kernel,
    buffers: kernel.buffers.map((buffer, k) => {
      const { pitch: _, ...own } = buffer;
      return buffer.role === 'output' ? { ...own, elementCount: counts[k]! } : buffer;
    }),
    stores: kernel.stores.map(({ value, access }, k) => ({
      value,
      access: {
        ...access,
        offset: offsets[k]!,
        strides: access.strides.map((_, axis) => (axis === a ? side : axis === b ? 1 : 0)),
      },
    })),
  };
}

/** Where each store's squares begin, among those of its buffer. */
export function squareOffsets({ stores }: Kernel, side: number): number[] {
  return stores.map(
    ({ access }, k) =>
      side * side * stores.slice(0, k).filter((other) => other.access.buffer === access.buffer).length,
  );
}

/** The share of all pairs that is computed. */
export function computedShare(kernel: Kernel, { axes, side }: Triangle): number {
  const n = kernel.parallel[axes[0]]!;
  let pairs = 0;
  for (let first = 0; first < n; first += side)
    pairs += Math.min(n, first + side) * Math.min(side, n - first);
  return pairs / (n * n);
}

/** Nanoseconds of what is computed of each result, but for the reductions. */
function resultNanoseconds({ tape, parallel, reduced }: Kernel, levels: Levels): number {
  if (reduced.length === 0) return 0;
  const vectors = (bytes: number): number => (product(parallel) * bytes) / VECTOR_BYTES;
  return tape.reduce((sum, instruction, i) => {
    if (levels.element[i] || isConstant(instruction) || isReduction(instruction)) return sum;
    return sum + ADDITION * costOf(instruction) * vectors(byteLengthOf(instruction.dtype));
  }, 0);
}

/** Elements that are transposed, and vectors of 64 bytes that are copied from squares to their places. */
export function movesOf(
  kernel: Kernel,
  triangle: Triangle,
): { readonly turned: number; readonly copied: number } {
  const elements = product(kernel.parallel);
  return {
    turned: elements * (1 - computedShare(kernel, triangle)) * kernel.stores.length,
    copied: (elements * resultBytes(kernel)) / VECTOR_BYTES,
  };
}
