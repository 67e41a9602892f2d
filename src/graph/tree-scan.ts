/**
 * Scans by a function of nodes along the last axis, in a tree that the number of elements alone decides: the totals of
 * eight neighbours each are scanned first, then each element is combined with the total before its neighbours, and with
 * those of them up to it (Blelloch, "Prefix sums and their applications", 1990). Elements keep their order.
 *
 *     x0 … x7 | x8 … x15     →     totals t0 t1     →     x8's place: t0 ∘ x8,   x9's place: t0 ∘ (x8 ∘ x9)
 */
import { slice } from './basic-slicing.js';
import type { Scalar } from './dtype.js';
import type { Expr } from './expr.js';
import { broadcastLike, constant } from './infer.js';
import { concat, stack } from './joins.js';
import type { Accumulator, Combine } from './user-monoid.js';
import { broadcast, reshape } from './view-nodes.js';

/** The monoid of a scan. */
export interface Scanning {
  readonly identity: readonly Scalar[];
  readonly combine: Combine;
  /** Accumulators of the last axis, which is left out. */
  readonly totals: (values: Accumulator) => Accumulator;
}

/** Elements that each place combines by itself. */
const WIDTH = 8;

/** The accumulators up to each place, with its own element. */
export function inclusiveScan(values: Accumulator, scanning: Scanning): Accumulator {
  const { shape } = values[0]!;
  const count = shape.at(-1)!;
  if (count <= WIDTH) return prefixes(values, scanning.combine);
  const padded = WIDTH * Math.ceil(count / WIDTH);
  const groups = behind(values, padded - count, scanning).map((x) =>
    reshape(x, [...shape.slice(0, -1), padded / WIDTH, WIDTH]),
  );
  const before = shifted(inclusiveScan(scanning.totals(groups), scanning), scanning);
  const columns = before.map((x) => reshape(x, [...x.shape, 1]));
  const scanned = scanning.combine(columns, prefixes(groups, scanning.combine));
  return scanned.map((x) => slice(reshape(x, [...shape.slice(0, -1), padded]), '...', [0, count]));
}

/** The accumulators before each place: the identity, then all but the last of the inclusive ones. */
export const shifted = (values: Accumulator, { identity }: Scanning): Accumulator =>
  values.map((x, k) => concat([filled(x, identity[k]!, 1), slice(x, '...', [0, x.shape.at(-1)! - 1])], -1));

/** Some identities behind the elements. */
const behind = (values: Accumulator, count: number, { identity }: Scanning): Accumulator =>
  count === 0 ? values : values.map((x, k) => concat([x, filled(x, identity[k]!, count)], -1));

const filled = (x: Expr, value: Scalar, count: number): Expr =>
  broadcast(constant(value, x.dtype), [...x.shape.slice(0, -1), count]);

/** The accumulators of a few elements up to each, one after the other. */
function prefixes(values: Accumulator, combine: Combine): Accumulator {
  const count = values[0]!.shape.at(-1)!;
  const list: Accumulator[] = [];
  for (let k = 0; k < count; k++) {
    const element = values.map((x) => reshape(slice(x, '...', [k, k + 1]), x.shape.slice(0, -1)));
    list.push(k === 0 ? element : combine(list[k - 1]!, element));
  }
  return values.map((x, part) =>
    broadcastLike(
      'scan',
      stack(
        list.map((each) => each[part]!),
        -1,
      ),
      [x],
    ),
  );
}
