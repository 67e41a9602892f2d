/**
 * Actions of random programs (`random-graph.ts`) by index, order and sets. Their rows are in `random-places.ts`,
 * `random-orders.ts`, `random-bins.ts`, `random-sets.ts` and `random-loops.ts`.
 */
import { sizeOf } from './host.js';
import { Draw } from './random.js';
import { IN_BINS } from './random-bins.js';
import { madeOf, type Row } from './random-calls.js';
import { LOOPS } from './random-loops.js';
import { ORDERS } from './random-orders.js';
import { PLACES } from './random-places.js';
import { SETS } from './random-sets.js';
import { at, type Choice, type Made, type State } from './random-values.js';

export const ROWS: readonly (readonly Row[])[] = [ORDERS, PLACES, SETS, IN_BINS, LOOPS];

/** Elements of the largest arrays that are sorted, searched or looped over: the reference takes its time. */
const MOST = 800;

/** A row of one of the tables, by what the choice draws. */
export function indexed(state: State, { a, b, c }: Choice): Made {
  const i = state.index(a);
  const { lazy, exact, bound } = state.values[i]!;
  const size = sizeOf(lazy.shape);
  if (lazy.shape.length === 0 || size === 0 || size > MOST) return undefined;
  const draw = new Draw((a * 1000 + b) * 1000 + c);
  const row = draw.of(at(ROWS, c));
  const made = madeOf(row({ lazy, exact, bound, code: `v${i}` }, draw, state));
  if (made?.value.lazy.expr.extent === undefined) return made;
  state.leaves.push(made);
  return undefined;
}
