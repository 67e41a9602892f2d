/**
 * Brings a kernel's domain into the form the CUDA schedules choose from: parallel axes in memory order
 * (outermost strides first) and neighbours merged where every access walks them as one. Values do not change.
 *
 *     parallel [4, 8, 16] with strides (1, 64, 4)   →   parallel [128, 4] with strides (4, 1)
 */
import { sizesOf } from '../../fusion/kernel/algebra.js';
import { hasMonoid } from '../../fusion/kernel/arithmetic.js';
import { dropUnitAxes, mergeAxes, permuteAxes } from '../../fusion/kernel/axes.js';
import { type Affine, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { elementLoadsOf } from '../../fusion/kernel/levels.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';

/**
 * Whether axis `inner` may stay inside axis `outer`, by what each access says: undefined where none says
 * anything.
 */
function ordered(accesses: readonly Affine[], outer: number, inner: number): boolean | undefined {
  let verdict: boolean | undefined;
  for (const { strides } of accesses) {
    const o = Math.abs(strides[outer]!);
    const i = Math.abs(strides[inner]!);
    if (o === 0 || i === 0) continue;
    if (i <= o) return true;
    verdict = false;
  }
  return verdict;
}

/** Insertion sort of axes [from, to) into the memory order of `accesses`, stable where they do not say. */
function sortAxes(kernel: Kernel, from: number, to: number, accesses: readonly Affine[]): number[] {
  const order = [...sizesOf(kernel).keys()];
  for (let k = from + 1; k < to; k++) {
    let place = k;
    for (let j = k - 1; j >= from; j--) {
      const verdict = ordered(accesses, order[j]!, order[k]!);
      if (verdict === true) break;
      if (verdict === false) place = j;
    }
    order.splice(place, 0, ...order.splice(k, 1));
  }
  return order;
}

/** The same kernel in the domain that schedules are chosen for. */
export function normalize(kernel: Kernel): Kernel {
  const small = dropUnitAxes(kernel, { keepsReduced: true });
  const loads = elementLoadsOf(small).map(({ access }) => access);
  const stores = small.stores.map((store) => store.access);
  // A map writes in order; a reduction reads in order, for it writes less than it reads.
  const deciding = small.reduced.length === 0 ? stores : loads.length > 0 ? loads : stores;
  const p = small.parallel.length;
  const parallel = sortAxes(small, 0, p, deciding).slice(0, p);
  const n = p + small.reduced.length;
  // Elements of a user's monoid, and those of a short reduction, keep their order.
  const isInOrder = hasMonoid(small) || product(small.reduced) <= SHORT_REDUCTION;
  const reduced = (isInOrder ? [...sizesOf(small).keys()] : sortAxes(small, p, n, deciding)).slice(p);
  return mergeAxes(permuteAxes(small, [...parallel, ...reduced]));
}
