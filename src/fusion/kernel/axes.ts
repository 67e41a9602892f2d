/** The same kernel over other axes: neighbours merged, axes of size 1 dropped, or another order. */
import { affinesOf, mapAffines, sizesOf, type Tape } from './algebra.js';

/** The same kernel with only `kept` axes, each of which stands for itself and the axes merged into it. */
function withAxes<K extends Tape>(kernel: K, kept: readonly number[], sizes: readonly number[]): K {
  const first = kernel.parallel.length;
  const parallel = kept.filter((k) => k < first).length;
  return mapAffines(kernel, sizes.slice(0, parallel), sizes.slice(parallel), (a) => ({
    ...a,
    strides: kept.map((k) => a.strides[k]!),
  }));
}

/**
 * Merges neighbouring axes of one role that every affine function walks as one:
 *
 *     parallel [64, 32] all strides (32, 1)   →   parallel [2048] stride 1
 */
export function mergeAxes<K extends Tape>(kernel: K): K {
  const sizes = sizesOf(kernel);
  const first = kernel.parallel.length;
  const affines = affinesOf(kernel);
  const isMerged = sizes.map(
    (size, k) =>
      k + 1 < sizes.length &&
      k + 1 !== first &&
      size > 0 &&
      affines.every((a) => a.strides[k] === a.strides[k + 1]! * sizes[k + 1]!),
  );
  if (!isMerged.includes(true)) return kernel;
  const kept = sizes.flatMap((_, k) => (isMerged[k] ? [] : [k]));
  const merged = kept.map((k) => {
    let size = sizes[k]!;
    for (let j = k - 1; j >= 0 && isMerged[j]; j--) size *= sizes[j]!;
    return size;
  });
  return withAxes(kernel, kept, merged);
}

/** The rows of the first of `batch` equal reductions, which lie one after the other along the outermost axis. */
export function firstOfBatch<K extends Tape>(kernel: K, batch: number): K {
  const sizes = sizesOf(kernel);
  const [outermost] = kernel.parallel;
  if (batch === 1 || outermost === undefined || outermost % batch !== 0) return kernel;
  const axes = [...sizes.keys()];
  return outermost === batch
    ? withAxes(kernel, axes.slice(1), sizes.slice(1))
    : withAxes(kernel, axes, sizes.with(0, outermost / batch));
}

/**
 * Drops axes of size 1, whose coordinate is always 0. `keepsReduced`: one reduced axis stays where all have
 * size 1, so that the kernel still says that it reduces.
 */
export function dropUnitAxes<K extends Tape>(kernel: K, { keepsReduced }: { keepsReduced: boolean }): K {
  const sizes = sizesOf(kernel);
  if (!sizes.includes(1)) return kernel;
  const first = kernel.parallel.length;
  const isKept = keepsReduced && kernel.reduced.length > 0 && kernel.reduced.every((n) => n === 1);
  const kept = sizes.flatMap((size, k) => (size !== 1 || (isKept && k === first) ? [k] : []));
  return withAxes(
    kernel,
    kept,
    kept.map((k) => sizes[k]!),
  );
}

/** The same kernel with its axes in another order, in which parallel axes stay ahead of reduced ones. */
export function permuteAxes<K extends Tape>(kernel: K, order: readonly number[]): K {
  if (order.every((axis, k) => axis === k)) return kernel;
  const sizes = sizesOf(kernel);
  return withAxes(
    kernel,
    order,
    order.map((k) => sizes[k]!),
  );
}
