/**
 * Whether the sums of a kernel are read alike where they take values from the kernel that stores these, instead of loading
 * them. A stored value may be computed of others that happen to be stored, too, and lie otherwise than it does:
 *
 *     t = x.T / 2, stored;  e = exp(t.T);  sum of e along its rows
 *     e by (50, 1)   not as   t by (1, 48)    the sum would go down columns, and along rows where t is not stored
 *
 * A sum loads what is stored in the order of its expression (`own-reading.ts`), and keeps it so. Called by `sum-order.ts`.
 */
import { affinesIn, liveValues, loadOf } from '../kernel/algebra.js';
import { isOrdered, isReduction } from '../kernel/arithmetic.js';
import { type Affine, argumentsOf, type Store, sameNumbers } from '../kernel/kernel.js';
import { moveAffine } from './fused-kernel.js';
import type { LeafMap } from './leaf-maps.js';
import type { MutableKernel } from './mutable-kernel.js';
import { isReadAlikeOn, type ReadAxes } from './read-order.js';
import type { Union } from './union.js';

/** Whether the sums of the second kernel read alike with what the first one holds. */
export function readsHeldAlike(union: Union): boolean {
  const { first, second, axisOfFirst, axisOfSecond, parallel, reduced } = union;
  const held = heldElements(union);
  if (held.size === 0) return true;
  const axes = axesOf(parallel, reduced);
  const count = parallel.length + reduced.length;
  const isHeld = (at: number): boolean => held.has(loadOf(second.tape[at]!)?.buffer ?? -1);
  for (let sum = 0; sum < second.tape.length; sum++) {
    if (!isOrdered(second, sum)) continue;
    const own = elementsOf(second, argumentsOf(second.tape[sum]!));
    const values = own.flatMap((at) =>
      isHeld(at) ? [held.get(loadOf(second.tape[at]!)!.buffer)!.value] : [],
    );
    if (values.length === 0) continue;
    const before = leavesAt(second, own, axisOfSecond, count);
    const kept = leavesAt(
      second,
      own.filter((at) => !isHeld(at)),
      axisOfSecond,
      count,
    );
    const taken = leavesAt(first, elementsOf(first, values), axisOfFirst, count);
    if (!isReadAlikeOn(axes, before, distinct([...kept, ...taken]))) return false;
  }
  return true;
}

/** By the second kernel's buffers, the stores of the first one that hold elements of these: values of a row move along no reduced axis. */
function heldElements({ first, second, axisOfSecond, parallel, reduced }: Union): ReadonlyMap<number, Store> {
  const held = new Map<number, Store>();
  const count = parallel.length + reduced.length;
  for (const [at, { buffer, loads }] of second.uses.entries()) {
    const store = loads.length === 0 ? undefined : first.storeOf(buffer.key);
    if (store === undefined) continue;
    const isElement = (load: Affine): boolean =>
      moveAffine(load, axisOfSecond, count).strides.some(
        (stride, axis) => axis >= parallel.length && stride !== 0,
      );
    if (loads.some(isElement)) held.set(at, store);
  }
  return held;
}

/** Positions that some values depend on, but for reductions and what those are computed of, which are given where they are read. */
const elementsOf = ({ tape }: MutableKernel, values: readonly number[]): readonly number[] =>
  liveValues(tape, values, (at) => isReduction(tape[at]!));

function axesOf(parallel: readonly number[], reduced: readonly number[]): ReadAxes {
  const all = [...parallel, ...reduced];
  const order = [...all.keys()].filter((axis) => all[axis] !== 1);
  const first = order.filter((axis) => axis < parallel.length).length;
  return { first, order, sizes: order.map((axis) => all[axis]!) };
}

/** The index maps of some instructions, on the axes of the merged kernel. */
function leavesAt(
  { tape, uses }: MutableKernel,
  positions: readonly number[],
  axisOf: readonly number[],
  count: number,
): readonly LeafMap[] {
  const leaves: LeafMap[] = [];
  for (const at of positions) {
    const load = loadOf(tape[at]!);
    for (const [k, affine] of affinesIn(tape[at]!).entries()) {
      const { strides } = moveAffine(affine, axisOf, count);
      if (load === undefined || k > 0) {
        leaves.push({ leaf: -1, dtype: 'int64', strides, isGathered: false });
      } else {
        const { key, dtype } = uses[load.buffer]!.buffer;
        leaves.push({ leaf: key, dtype, strides, isGathered: load.index !== undefined });
      }
    }
  }
  return distinct(leaves);
}

const distinct = (leaves: readonly LeafMap[]): readonly LeafMap[] =>
  leaves.filter(
    (leaf, k) =>
      !leaves
        .slice(0, k)
        .some(
          (other) =>
            other.leaf === leaf.leaf &&
            other.isGathered === leaf.isGathered &&
            sameNumbers(other.strides, leaf.strides),
        ),
  );
