/**
 * Rows in bins, as nodes: the calls of the routines `bins` and `histogram`, and the reductions that combine the
 * partial results of their units. The public functions are made of these (`counting.ts`, `segment-reductions.ts`,
 * `updates.ts`).
 */
import {
  numbersOfBins,
  numbersOfSums,
  parametersOfSums,
  type SumParameters,
  type Zero,
} from './bin-parameters.js';
import type { BinMode, BinOp } from './bin-units.js';
import { call } from './calls.js';
import { fromParts } from './complex-parts.js';
import { type DType, isComplex, isFloat, isHalf, isInteger } from './dtype.js';
import { exactSums, isExact, windowBits, windowsOf } from './exact-sums.js';
import type { Expr } from './expr.js';
import { FIXED_PARTS, fixedBits, floatSums } from './fixed-sums.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, map, reduce } from './infer.js';
import { integerRange } from './scalar.js';
import { broadcast, reshape } from './view-nodes.js';

/** Which rows go to which of `count` bins; `asked` is the function that the user called, for errors. */
export interface Binning {
  readonly asked: string;
  readonly count: number;
  /** One for each row: integers, or with edges real numbers. */
  readonly keys: Expr;
  readonly by: BinMode | { readonly edges: Expr; readonly areEqual: boolean };
}

/** The int64 numbers of rows in each bin. */
export function countsIn(bins: Binning): Expr {
  if (isEmpty(bins)) return filled(0, 'int64', bins.count);
  return combined('sum', cast(partial(bins, 'count', 1, []), 'int64'));
}

/** The int64 place of the last row in each bin; -1 where there is none. */
export function lastIn(bins: Binning): Expr {
  if (isEmpty(bins)) return filled(-1, 'int64', bins.count);
  return cast(combined('max', partial(bins, 'last', 1, [])), 'int64');
}

/**
 * The sums of rows in each bin, [bins · width] of a number's dtype: integers wrap, floats are rounded once, to
 * -0 where nothing was added but -0, unless zeros are `positive`. `values` is [rows · width]. Exact sums give `none` where
 * no row is, and where numbers cancel out.
 */
export function sumsIn(bins: Binning, values: Expr, width: number, none: Zero = 0): Expr {
  const { dtype } = values;
  if (isEmpty(bins) || width === 0)
    return filled(isFloat(dtype) && none !== 'positive' ? -0 : 0, dtype, bins.count * width);
  if (isHalf(dtype)) return signed(cast(sumsIn(bins, cast(values, 'float32'), width, none), dtype), none);
  if (isComplex(dtype)) {
    const part = (name: 'real' | 'imag'): Expr => sumsIn(bins, map(name, [values]), width, none);
    return fromParts(part('real'), part('imag'), dtype);
  }
  if (!isFloat(dtype)) return cast(combined('sum', partial(bins, 'sum', width, [values])), dtype);
  const rows = bins.keys.shape[0]!;
  const summed = dtype as SumForm['dtype'];
  const isInWindows = dtype === 'float32' && typeof bins.by === 'string' && isExact(rows, bins.count, width);
  const form = isInWindows
    ? { dtype: summed, parts: 0, bits: windowBits(rows)!, none }
    : { dtype: summed, parts: FIXED_PARTS, bits: fixedBits(rows), none };
  return atOnce(bins, isWidened(values) ? values.inputs[0]! : values, width, form);
}

/** Whether values are float32 in float64, which the routines read as they are. */
const isWidened = (values: Expr): boolean =>
  values.kind === 'cast' && values.dtype === 'float64' && values.inputs[0]!.dtype === 'float32';

/** How floats are summed. */
type SumForm = Pick<SumParameters, 'dtype' | 'parts' | 'bits' | 'none'>;

/** Rows from which on a routine of one pass is worth a choice. */
const LEAST_AT_ONCE = 2 ** 12;

/** Sums by a routine of one pass, or where the target has none of it by units (`fusion/passes/both-ways.ts`). */
function atOnce(bins: Binning, values: Expr, width: number, form: SumForm): Expr {
  const { asked, count, keys, by } = bins;
  if (typeof by !== 'string' || keys.shape[0]! < LEAST_AT_ONCE) return byUnits(bins, values, width, form);
  const parameters = numbersOfSums({ bins: count, width, mode: by, ...form });
  return call('binSums', parameters, [keys, values], asked)[0]!;
}

/** The sums of the routine `binSums` by those of units of rows. */
export function sumsByUnits(inputs: readonly Expr[], parameters: readonly number[]): Expr {
  const [keys, values] = inputs as readonly [Expr, Expr];
  const { bins, width, mode, ...form } = parametersOfSums(parameters);
  return byUnits({ asked: 'bins', count: bins, keys, by: mode }, values, width, form);
}

function byUnits(bins: Binning, values: Expr, width: number, { dtype, parts, bits, none }: SumForm): Expr {
  const isPositive = none === 'positive';
  if (parts === 0) {
    const windows = windowsOf(bits);
    const numbers = combined('sum', partial(bins, 'exact', width, [values], windows, bits), windows);
    return signed(exactSums(numbers, bits, isPositive ? 0 : none), none);
  }
  const sums = floatSums(values, dtype, bits, (op, inputs, numbers) =>
    combined(op === 'scale' ? 'max' : 'sum', partial(bins, op, width, inputs, numbers, bits), numbers),
  );
  return signed(sums, none);
}

/** Small negative sums are rounded to -0. */
const signed = (sums: Expr, none: Zero): Expr => (none === 'positive' ? map('add', [sums, 0]) : sums);

/** The dtypes that extremes are found in; others are held by one of these. */
const HELD: Readonly<Partial<Record<DType, DType>>> = {
  bool: 'uint32',
  int8: 'int32',
  int16: 'int32',
  uint8: 'uint32',
  uint16: 'uint32',
  float16: 'float32',
  bfloat16: 'float32',
};

/**
 * The least or largest of rows in each bin, [bins · width], NaN where one is; the dtype's other extreme where
 * there is none. `values` is [rows · width], not complex.
 */
export function extremesIn(bins: Binning, op: 'min' | 'max', values: Expr, width: number): Expr {
  const { dtype } = values;
  const none = extremeOf(dtype, op === 'min' ? 'max' : 'min');
  if (isEmpty(bins) || width === 0) return broadcast(none, [bins.count * width]);
  const held = cast(values, HELD[dtype] ?? dtype);
  const result = combined(op, partial(bins, op, width, [held]));
  if (held.dtype === dtype || isHalf(dtype)) return cast(result, dtype);
  // The extreme of the wider dtype is that of the narrow one.
  const bounded = map(op === 'min' ? 'minimum' : 'maximum', [result, cast(none, held.dtype)]);
  return cast(bounded, dtype);
}

/** The least or largest number of a dtype: an infinity of floats. */
export function extremeOf(dtype: DType, side: 'min' | 'max'): Expr {
  if (dtype === 'bool') return constant(side === 'max', dtype);
  if (isInteger(dtype)) return constant(integerRange(dtype)[side], dtype);
  return constant(side === 'max' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY, dtype);
}

const isEmpty = ({ keys, count }: Binning): boolean => count === 0 || sizeOfShape(keys.shape) === 0;

const filled = (value: number, dtype: DType, size: number): Expr => broadcast(constant(value, dtype), [size]);

/** The partial results of each unit. */
function partial(
  { asked, count, keys, by }: Binning,
  op: BinOp,
  width: number,
  inputs: readonly Expr[],
  parts = 1,
  bits = 0,
): Expr {
  const hasEdges = typeof by === 'object';
  const mode = hasEdges ? (by.areEqual ? 'equalEdges' : 'edges') : by;
  const parameters = numbersOfBins({ op, bins: count, width, mode, parts, bits });
  const given = hasEdges ? [keys, by.edges, ...inputs] : [keys, ...inputs];
  return call(hasEdges ? 'histogram' : 'bins', parameters, given, asked)[0]!;
}

/** The partial results of all units together: [bins · width], or of several parts [parts, bins · width]. */
function combined(op: 'sum' | 'min' | 'max', partials: Expr, parts = 1): Expr {
  const [units, , size] = partials.shape as readonly [number, number, number];
  const shape = parts === 1 ? [size] : [parts, size];
  return units === 1 ? reshape(partials, shape) : reduce(op, reshape(partials, [units, ...shape]), [0]);
}
