/**
 * Brings a kernel's domain into the form the CUDA schedules choose from: parallel axes in memory order (outermost
 * strides first) and neighbours merged where every access walks them as one. Values do not change.
 *
 *     parallel [4, 8, 16] with strides (1, 64, 4)   →   parallel [128, 4] with strides (4, 1)
 */
import {
  type Access,
  type Affine,
  type Bound,
  type Instruction,
  type Kernel,
  levelsOf,
} from '../fusion/kernel.js';

/** Every affine function in a kernel. */
export function affinesOf(kernel: Kernel): Affine[] {
  return [
    ...kernel.tape.flatMap((i): Affine[] => {
      if (i.kind === 'load') return [i.access, ...i.access.bounds];
      if (i.kind === 'index') return [i.affine];
      return i.kind === 'inside' ? [...i.bounds] : [];
    }),
    ...kernel.stores.map((store) => store.access),
  ];
}

/** A kernel with other axes; `change` gives the strides of an affine function in them. */
export function withAxes(
  kernel: Kernel,
  parallel: readonly number[],
  reduced: readonly number[],
  change: (affine: Affine) => { offset: number; strides: readonly number[] },
): Kernel {
  const bound = (b: Bound): Bound => ({ ...change(b), size: b.size });
  const access = (a: Access): Access => ({ ...change(a), buffer: a.buffer, bounds: a.bounds.map(bound) });
  const tape = kernel.tape.map((i): Instruction => {
    switch (i.kind) {
      case 'load':
        return { ...i, access: access(i.access) };
      case 'index':
        return { ...i, affine: change(i.affine) };
      case 'inside':
        return { ...i, bounds: i.bounds.map(bound) };
      default:
        return i;
    }
  });
  const stores = kernel.stores.map((store) => ({ ...store, access: access(store.access) }));
  return { ...kernel, parallel, reduced, tape, stores };
}

const permuted = (kernel: Kernel, order: readonly number[]): Kernel => {
  const p = kernel.parallel.length;
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const moved = order.map((k) => sizes[k]!);
  return withAxes(kernel, moved.slice(0, p), moved.slice(p), (a) => ({
    offset: a.offset,
    strides: order.map((k) => a.strides[k]!),
  }));
};

/** Drops axes of size 1, whose index is always 0. One reduced axis stays: it says that the kernel reduces. */
function dropUnitAxes(kernel: Kernel): Kernel {
  const sizes = [...kernel.parallel, ...kernel.reduced];
  if (!sizes.includes(1)) return kernel;
  const p = kernel.parallel.length;
  const single = kernel.reduced.length > 0 && kernel.reduced.every((n) => n === 1);
  const kept = sizes.map((_, k) => k).filter((k) => sizes[k] !== 1 || (single && k === p));
  const parallel = kept.filter((k) => k < p).length;
  const moved = kept.map((k) => sizes[k]!);
  return withAxes(kernel, moved.slice(0, parallel), moved.slice(parallel), (a) => ({
    offset: a.offset,
    strides: kept.map((k) => a.strides[k]!),
  }));
}

/** Whether axis `inner` may stay inside axis `outer`, by what each access says: undefined where none says anything. */
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
  const order = [...kernel.parallel, ...kernel.reduced].map((_, k) => k);
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

function mergeAxes(kernel: Kernel): Kernel {
  const affines = affinesOf(kernel);
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const p = kernel.parallel.length;
  const joins = sizes.map(
    (_, k) =>
      k + 1 < sizes.length &&
      k + 1 !== p &&
      affines.every((a) => a.strides[k] === a.strides[k + 1]! * sizes[k + 1]!),
  );
  if (!joins.includes(true)) return kernel;
  const kept = sizes.map((_, k) => k).filter((k) => !joins[k]);
  const merged = kept.map((k) => {
    let size = sizes[k]!;
    for (let j = k - 1; j >= 0 && joins[j]; j--) size *= sizes[j]!;
    return size;
  });
  const parallel = kept.filter((k) => k < p).length;
  return withAxes(kernel, merged.slice(0, parallel), merged.slice(parallel), (a) => ({
    offset: a.offset,
    strides: kept.map((k) => a.strides[k]!),
  }));
}

/** The same kernel in the domain that schedules are chosen for. */
export function normalize(kernel: Kernel): Kernel {
  const small = dropUnitAxes(kernel);
  const { element } = levelsOf(small);
  const loads = small.tape.flatMap((i, k) => (i.kind === 'load' && element[k] ? [i.access] : []));
  const stores = small.stores.map((store) => store.access);
  // A map writes in order; a reduction reads in order, for it writes less than it reads.
  const deciding = small.reduced.length === 0 ? stores : loads.length > 0 ? loads : stores;
  const p = small.parallel.length;
  const parallel = sortAxes(small, 0, p, deciding).slice(0, p);
  const n = p + small.reduced.length;
  const reduced = sortAxes(small, p, n, deciding).slice(p);
  return mergeAxes(permuted(small, [...parallel, ...reduced]));
}
