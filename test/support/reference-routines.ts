/** Routines of `graph/routines.ts` on exact values, slowly and obviously. Used by the interpreters. */
import type { Scalar } from '../../src/graph/dtype.js';
import type { RoutineName } from '../../src/graph/routines.js';
import { isComplexValue } from './scalar.js';

type Values = readonly Scalar[];
type Parts = readonly (number | bigint)[];

/** Real and imaginary part; booleans are 0 and 1. */
const partsOf = (value: Scalar): Parts => {
  if (isComplexValue(value)) return [value.re, value.im];
  return [typeof value === 'boolean' ? Number(value) : value];
};

const isNaNPart = (part: number | bigint): boolean => Number.isNaN(part as number);

/** Numbers before those with NaN parts, a NaN as real part last. */
const classOf = (parts: Parts): number =>
  parts.reduce<number>((sum, part, k) => sum + (isNaNPart(part) ? parts.length - k : 0), 0);

function compareParts(a: Parts, b: Parts, sign: number, zeros: boolean): number {
  const classes = classOf(a) - classOf(b);
  if (classes !== 0) return classes;
  for (const [k, x] of a.entries()) {
    const y = b[k]!;
    if (isNaNPart(x) || isNaNPart(y)) continue;
    if (x !== y) return x < y ? -sign : sign;
    if (zeros && x === 0 && !Object.is(x, y)) return Object.is(x, -0) ? -sign : sign;
  }
  return 0;
}

/** The values of each result of a routine over one array of this shape. */
export function routineValues(
  routine: RoutineName,
  [descending]: readonly number[],
  shape: readonly number[],
  values: Values,
): Values[] {
  const length = shape.at(-1)!;
  const sign = descending === 1 ? -1 : 1;
  const isArgument = routine === 'argsort';
  const sorted: Scalar[] = [];
  for (let row = 0; row * length < values.length; row++) {
    const own = values.slice(row * length, (row + 1) * length);
    const parts = own.map(partsOf);
    const order = own.map((_, k) => k);
    order.sort((i, j) => compareParts(parts[i]!, parts[j]!, sign, !isArgument) || i - j);
    sorted.push(...order.map((k) => (isArgument ? BigInt(k) : own[k]!)));
  }
  return [sorted];
}
