/**
 * Kernels that read neighbours of what the scan of a line gives, as parts of the scan: moving sums and means, differences of
 * running sums. A tile of the scan computes the results whose neighbours it has, and leaves its ends; a small kernel behind the
 * scan computes those in between, by the ends of two tiles:
 *
 *     z[j] = f(s[j + a], s[j + b]), a < b   →   tile [from, to): z[j] of from <= j + a, j + b < to;  its first and last b - a elements
 *
 * A result is computed by the same ops in both. Called by `exec/plan/scan-maps.ts`.
 */
import { loadsFrom, loadsOf } from '../../fusion/kernel/algebra.js';
import { mapAccess, mapInstruction } from '../../fusion/kernel/instruction.js';
import { type Affine, argumentsOf, type Kernel } from '../../fusion/kernel/kernel.js';
import { normalize } from './domain.js';
import { usedBuffers } from './split-phases.js';

/** Where results read a scan's elements, as distances from their own place. */
export interface Neighbours {
  /** Of all loads, ascending. */
  readonly offsets: readonly number[];
}

export interface NeighbourReader {
  /** The kernel as it is, whose domain is that of its results. */
  readonly element: Kernel;
  readonly neighbours: Neighbours;
  /** Elements of the ends of tiles: for each place between two, the last ones of a tile, then the first ones of the next. */
  readonly endCount: number;
  /** Computes what is left: buffers are those of `used` of the kernel, from its end on the ends of tiles. */
  readonly finish: { readonly kernel: Kernel; readonly used: readonly number[] };
}

/** Ends of a tile are this part of it at most, so that they are few bytes beside what is not stored. */
const MOST_ENDS = 1 / 8;

/** A kernel that reads neighbours of elements of one line in tiles, its buffer `given`; undefined: it is no such kernel. */
export function neighbourReaderOf(
  kernel: Kernel,
  given: number,
  { length, tile }: { readonly length: number; readonly tile: number },
): NeighbourReader | undefined {
  const { carried, counters, reduced, stores } = kernel;
  if (carried !== undefined || counters !== undefined || reduced.length > 0 || stores.length !== 1)
    return undefined;
  const element = normalize(kernel);
  const [count] = element.parallel;
  const { access: stored } = element.stores[0]!;
  const loads = loadsFrom(element, given).map(({ access }) => access);
  const isLine = element.parallel.length === 1 && stored.offset === 0 && stored.strides[0] === 1;
  const areNear = loads.every(
    ({ index, bounds, offset, strides }) =>
      index === undefined && bounds.length === 0 && offset >= 0 && strides[0] === 1,
  );
  const areInside = loadsOf(element).every(({ access }) => access.bounds.length === 0);
  if (!isLine || !areNear || !areInside || element.buffers[stored.buffer]!.elementCount !== count)
    return undefined;
  const offsets = [...new Set(loads.map(({ offset }) => offset))].sort((a, b) => a - b);
  const [low, high] = [offsets[0]!, offsets.at(-1)!];
  const width = high - low;
  const places = Math.ceil(length / tile) - 1;
  // The last tile has all neighbours of what begins in the one before.
  const isWhole = places * tile + width <= length && places * tile - low <= count!;
  if (width === 0 || width > tile * MOST_ENDS || high > tile || !isWhole) return undefined;
  const endCount = places * 2 * width;
  const finish = finishOf(element, given, { places, width, low, high, tile });
  return { element, neighbours: { offsets }, endCount, finish };
}

/** The kernel of the results between tiles: `width` of each of so many places. */
function finishOf(
  kernel: Kernel,
  given: number,
  ends: {
    readonly places: number;
    readonly width: number;
    readonly low: number;
    readonly high: number;
    readonly tile: number;
  },
): NeighbourReader['finish'] {
  const { places, width, low, high, tile } = ends;
  const added = kernel.buffers.length;
  const between = <T extends Affine>(affine: T): T => {
    const [stride] = affine.strides as readonly [number];
    return {
      ...affine,
      offset: affine.offset + stride * (tile - high),
      strides: [stride * tile, stride],
    };
  };
  const distances = new Map(
    loadsFrom(kernel, given).map(({ position, access }) => [position, access.offset]),
  );
  const tape = kernel.tape.map((i, position) => {
    const distance = distances.get(position);
    if (distance === undefined) return mapInstruction(i, argumentsOf(i), between);
    return mapInstruction(
      i,
      argumentsOf(i),
      <T extends Affine>(affine: T): T => ({ ...affine, offset: distance - low, strides: [2 * width, 1] }),
      () => added,
    );
  });
  return usedBuffers({
    ...kernel,
    parallel: [places, width],
    buffers: [
      ...kernel.buffers,
      { dtype: kernel.buffers[given]!.dtype, role: 'input', elementCount: places * 2 * width },
    ],
    tape,
    stores: kernel.stores.map(({ value, access }) => ({ value, access: mapAccess(access, between) })),
  });
}
