/**
 * Arithmetic of sizes of which some depend on data. The same operands give the same node, so that arrays which are
 * joined alike have one size, and meet (`extent.ts`).
 */
import type { Expr } from './expr.js';
import { map } from './infer.js';

/** The size of an axis: a number, or an int64 scalar that is known when the graph has run. */
export type Length = number | Expr;

/** The results that a length has with other operands. */
interface Results {
  readonly sums: WeakMap<Expr, Expr>;
  readonly sumsWithNumbers: Map<number, Expr>;
  readonly multiples: Map<number, Expr>;
}
const results = new WeakMap<Expr, Results>();

function resultsOf(length: Expr): Results {
  let found = results.get(length);
  if (found === undefined) {
    found = { sums: new WeakMap(), sumsWithNumbers: new Map(), multiples: new Map() };
    results.set(length, found);
  }
  return found;
}

/** The value of a key, made where it is not there yet. */
function once<K, V>(
  values: { get(key: K): V | undefined; set(key: K, value: V): void },
  key: K,
  make: () => V,
): V {
  const found = values.get(key) ?? make();
  values.set(key, found);
  return found;
}

/** The sum of two lengths. */
export function addLengths(a: Length, b: Length): Length {
  if (typeof a === 'number') return typeof b === 'number' ? a + b : a === 0 ? b : addLengths(b, a);
  const { sums, sumsWithNumbers } = resultsOf(a);
  if (typeof b !== 'number') return once(sums, b, () => map('add', [a, b]));
  return b === 0 ? a : once(sumsWithNumbers, b, () => map('add', [a, b]));
}

/** A length so many times. */
export function scaleLength(length: Expr, count: number): Expr {
  return count === 1
    ? length
    : once(resultsOf(length).multiples, count, () => map('multiply', [length, count]));
}
