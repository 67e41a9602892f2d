/**
 * Maps of single elements: kernels that a routine can do where it reads an element of its operand or writes one of its
 * result, and the stretches of their inputs that a range of elements needs. Printed for a GPU by
 * `codegen/cuda/routines/element-function.ts`, run on the CPU by `native/cpu/element-map.cpp`.
 */
import { isSamePlace, loadsFrom, loadsOf } from '../../fusion/kernel/algebra.js';
import { costOf } from '../../fusion/kernel/arithmetic.js';
import { boxesOfRange } from '../../fusion/kernel/boxes.js';
import { type Access, type Kernel, product, type Store, sameNumbers } from '../../fusion/kernel/kernel.js';
import { denseStrides } from '../../graph/graph.js';
import { normalize } from './domain.js';
import { isAscending, mergeRegions, type Region, regionsOf } from './work.js';

/**
 * Whether a kernel can be such a map: it has one result, or `most` in buffers of their own, in C order. `given`: the buffer
 * whose elements the routine has, each of which only the element at its place may read.
 */
export function canBeElement(kernel: Kernel, count: number, given?: number, most = 1): boolean {
  const { reduced, stores, carried, counters } = kernel;
  if (reduced.length > 0 || carried !== undefined || counters !== undefined) return false;
  if (stores.length > most || new Set(stores.map(({ access }) => access.buffer)).size < stores.length)
    return false;
  const { parallel, stores: normal, ...rest } = normalize(kernel);
  const isInOrder = ({ access }: Store): boolean =>
    access.offset === 0 &&
    sameNumbers(access.strides, denseStrides(parallel)) &&
    kernel.buffers[access.buffer]!.elementCount === count;
  if (product(parallel) !== count || !normal.every(isInOrder)) return false;
  const { access } = normal[0]!;
  return given === undefined || loadsFrom(rest, given).every((load) => isSamePlace(load.access, access));
}

/** The regions of its buffers that elements [first, last) of such a map read; of `given` none. */
export function elementReads(kernel: Kernel, first: number, last: number, given?: number): Region[] {
  const normal = normalize(kernel);
  const reads = loadsOf(normal).flatMap(({ access }) => (access.buffer === given ? [] : [access]));
  return mergeRegions(
    boxesOfRange(first, last, normal.parallel).flatMap((box) => regionsOf(normal, reads, box)),
  );
}

/** An input of this part of the elements is small beside them. */
const SMALL_PART = 1 / 8;

/** Whether ranges of elements need little more than ranges of its inputs: those are read in order, or are small. */
export function readsInOrder(kernel: Kernel, given?: number): boolean {
  const normal = normalize(kernel);
  const most = product(normal.parallel) * SMALL_PART;
  const isInOrder = (access: Access): boolean =>
    access.index === undefined && isAscending(access, normal.parallel);
  return loadsOf(normal).every(
    ({ access }) =>
      access.buffer === given || isInOrder(access) || normal.buffers[access.buffer]!.elementCount <= most,
  );
}

/** Cost (`OpRow.cost`) of a map that is computed twice sooner than its results are stored and read twice. */
const CHEAP = 8;

/** Whether a map had better be computed twice than stored: it reads no more than it would have to write. */
export const isCheap = (kernel: Kernel): boolean => isCheaper(kernel, CHEAP, 2);

/** Whether a map costs up to so much an element, and reads up to so many inputs that are not small. */
export function isCheaper(kernel: Kernel, most: number, inputs: number): boolean {
  const { tape, buffers, stores } = normalize(kernel);
  const loads = loadsOf({ tape });
  if (loads.some(({ access }) => access.index !== undefined)) return false;
  const result = buffers[stores[0]!.access.buffer]!;
  const large = new Set(
    loads.flatMap(({ access }) =>
      buffers[access.buffer]!.elementCount > result.elementCount * SMALL_PART ? [access.buffer] : [],
    ),
  );
  return large.size <= inputs && tape.reduce((sum, i) => sum + costOf(i), 0) <= most;
}
