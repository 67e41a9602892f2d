/** Routines of `graph/routines.ts` on exact values, slowly and obviously. Used by the interpreters. */
import type { DType, Scalar } from '../../src/graph/dtype.js';
import { type RoutineName, SCAN_OPS, SCAN_TILE, type ScanOp } from '../../src/graph/routines.js';
import { reduceValues } from './reference-reduce.js';
import { castScalar, isComplexValue } from './scalar.js';

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

/** An input of a routine. */
export interface RoutineInput {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: Values;
}

/** The values of each result of a routine. */
export function routineValues(
  routine: RoutineName,
  parameters: readonly number[],
  inputs: readonly RoutineInput[],
): Values[] {
  const [input, before] = inputs as readonly [RoutineInput, RoutineInput?];
  if (routine === 'scan') return [scanned(SCAN_OPS[parameters[0]!]!, input, before)];
  return [sorted(routine === 'argsort', parameters[0] === 1, input)];
}

/** Rows, or their tiles of `SCAN_TILE`, each from what is before it. */
function scanned(op: ScanOp, { dtype, shape, values }: RoutineInput, before?: RoutineInput): Values {
  const length = shape.at(-1)!;
  const wide =
    before?.dtype ?? (dtype === 'float32' ? 'float64' : dtype === 'complex64' ? 'complex128' : dtype);
  const result: Scalar[] = [];
  let tiles = 0;
  for (let row = 0; row * length < values.length; row++) {
    const own = values.slice(row * length, (row + 1) * length);
    let sum: Scalar | undefined;
    for (const [at, value] of own.entries()) {
      if (before !== undefined && at % SCAN_TILE === 0) sum = before.values[tiles++]!;
      sum = sum === undefined ? value : combined(op, sum, value, wide);
      result.push(castScalar(sum, dtype));
    }
  }
  return result;
}

/** As of two elements, but that -0 and -0 are -0. */
const combined = (op: ScanOp, a: Scalar, b: Scalar, dtype: DType): Scalar =>
  op === 'sum' && typeof a === 'number' ? a + Number(b) : reduceValues(op, [a, b], dtype);

function sorted(isArgument: boolean, descending: boolean, { shape, values }: RoutineInput): Values {
  const length = shape.at(-1)!;
  const sign = descending ? -1 : 1;
  const ordered: Scalar[] = [];
  for (let row = 0; row * length < values.length; row++) {
    const own = values.slice(row * length, (row + 1) * length);
    const parts = own.map(partsOf);
    const order = own.map((_, k) => k);
    order.sort((i, j) => compareParts(parts[i]!, parts[j]!, sign, !isArgument) || i - j);
    ordered.push(...order.map((k) => (isArgument ? BigInt(k) : own[k]!)));
  }
  return ordered;
}
