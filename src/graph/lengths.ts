/**
 * Arithmetic of sizes of which some depend on data. The same operands give the same node, so that arrays which are
 * joined or cut alike have one size, and meet (`extent.ts`).
 */
import type { Expr } from './expr.js';
import { map } from './infer.js';

/** The size of an axis: a number, or an int64 scalar that is known when the graph has run. */
export type Length = number | Expr;

/** The size of an axis of an array. */
export const lengthOf = ({ shape, extent }: Expr, axis: number): Length =>
  extent?.axis === axis ? extent.length : shape[axis]!;

/** The results that a length has: with other lengths, and by rules of numbers. */
interface Results {
  readonly sums: WeakMap<Expr, Expr>;
  readonly byRule: Map<string, Expr>;
}
const results = new WeakMap<Expr, Results>();

function resultsOf(length: Expr): Results {
  let found = results.get(length);
  if (found === undefined) {
    found = { sums: new WeakMap(), byRule: new Map() };
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

/** The length that a rule makes of another. */
export const lengthByRule = (length: Expr, rule: string, make: () => Expr): Expr =>
  once(resultsOf(length).byRule, rule, make);

/** A length that is another one and so many more. */
interface Lengthened {
  readonly of: Expr;
  readonly plus: number;
}
const lengthened = new WeakMap<Expr, Lengthened>();

/** The sum of two lengths. */
export function addLengths(a: Length, b: Length): Length {
  if (typeof a === 'number') return typeof b === 'number' ? a + b : addNumber(b, a);
  return typeof b === 'number' ? addNumber(a, b) : once(resultsOf(a).sums, b, () => map('add', [a, b]));
}

function addNumber(length: Expr, plus: number): Expr {
  if (plus === 0) return length;
  const inner = lengthened.get(length);
  if (inner !== undefined) return addNumber(inner.of, inner.plus + plus);
  return lengthByRule(length, `plus ${plus}`, () => {
    const made = map('add', [length, plus]);
    lengthened.set(made, { of: length, plus });
    return made;
  });
}

/** A length so many times. */
export const scaleLength = (length: Expr, count: number): Expr =>
  count === 1 ? length : lengthByRule(length, `times ${count}`, () => map('multiply', [length, count]));

/** Of a length the elements at every so many, from the first on. */
export const lengthInSteps = (length: Expr, step: number): Expr =>
  step === 1
    ? length
    : lengthByRule(length, `by ${step}`, () => map('floorDivide', [map('add', [length, step - 1]), step]));

/** A length that is another one without some elements, of which at most so many are left. */
interface Shortened {
  readonly of: Expr;
  readonly cut: number;
  readonly most: number;
}
const shortened = new WeakMap<Expr, Shortened>();

/** A length without `cut` elements, at most `most` of them: of one that is such a length, or one with more, the same as of its own. */
export function lengthWithout(length: Expr, cut: number, most: number): Expr {
  const longer = lengthened.get(length);
  if (longer !== undefined && cut >= longer.plus) return lengthWithout(longer.of, cut - longer.plus, most);
  if (longer !== undefined && most === Number.POSITIVE_INFINITY)
    return addNumber(longer.of, longer.plus - cut);
  const inner = shortened.get(length);
  if (inner !== undefined)
    return lengthWithout(inner.of, inner.cut + cut, Math.min(Math.max(inner.most - cut, 0), most));
  if (cut === 0 && most === Number.POSITIVE_INFINITY) return length;
  return lengthByRule(length, `without ${cut}, at most ${most}`, () => {
    const rest = cut === 0 ? length : map('maximum', [map('subtract', [length, cut]), 0]);
    const made = most === Number.POSITIVE_INFINITY ? rest : map('minimum', [rest, most]);
    shortened.set(made, { of: length, cut, most });
    return made;
  });
}
