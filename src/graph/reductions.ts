/**
 * The table of reductions. Each is a monoid `{ identity, lift, combine, finish }`; its accumulator may be a
 * tuple.
 *
 * The two backends hold the arithmetic (CUDA: `codegen/cuda/monoids.ts`; CPU: `native/cpu/reduce.*`) under
 * the row's name. Composites (mean, std, norms, countNonzero …) are built from these in `statistics.ts`.
 */
import { DTYPE_INFO, type DType, isComplex, isFloat, isHalf, kindOf } from './dtype.js';
import { floatOf } from './dtype-rules.js';
import type { Rule } from './dtype-types.js';
import type { OpName } from './ops.js';

/**
 * Maps the dtype of the elements to those they are combined in and that of the result; `undefined`: not
 * taken.
 */
interface ReductionRule<Gives extends Rule = Rule> {
  (dtype: DType): { readonly arg: DType; readonly result: DType } | undefined;
  /** Only in types: the table in which these find the dtype of the result (`dtype-types.ts`). */
  readonly gives?: Gives;
}

export interface ReduceRow {
  /** The dtype the elements are cast to before they are combined, and that of the result. */
  readonly dtype: ReductionRule;
  /** The result over no elements; `undefined`: an error, as in NumPy. */
  readonly identity: number | boolean | undefined;
  /** Values in the accumulator. */
  readonly width: 1 | 2 | 3;
  /** Whether each element comes with its index (an int64) along the reduced axes. */
  readonly indexed: boolean;
  /** Whether the result is one of the elements, or where it is: then nothing is rounded on the way. */
  readonly selects?: true;
  /** Weight of taking up an element against an addition, for models of the times of kernels. */
  readonly cost: number;
  /** A part of other functions, which is no method and no function by itself. */
  readonly isInternal?: true;
}

/**
 * Integers are summed in 64 bits, as in NumPy; halves are summed in float32 by the backends and rounded once.
 */
const widened = (dtype: DType): DType => {
  const kind = kindOf(dtype);
  return kind === 'bool' || kind === 'int' ? 'int64' : kind === 'uint' ? 'uint64' : dtype;
};
const accumulated: ReductionRule<'sum'> = (dtype: DType) => ({ arg: widened(dtype), result: widened(dtype) });
const kept: ReductionRule<'same'> = (dtype: DType) =>
  isComplex(dtype) ? undefined : { arg: dtype, result: dtype };
const truth: ReductionRule<'bool'> = () => ({ arg: 'bool', result: 'bool' });
const position: ReductionRule<'int64'> = (dtype: DType) =>
  isComplex(dtype) ? undefined : { arg: dtype, result: 'int64' };
const inFloat: ReductionRule<'float'> = (dtype: DType) =>
  isComplex(dtype) ? undefined : { arg: floatOf(dtype), result: floatOf(dtype) };

export const REDUCTIONS = {
  /** Sum of the elements. */
  sum: { dtype: accumulated, identity: 0, width: 1, indexed: false, cost: 1 },
  /** Product of the elements. */
  prod: { dtype: accumulated, identity: 1, width: 1, indexed: false, cost: 1 },
  /** Smallest element; NaN if any is NaN. */
  min: { dtype: kept, identity: undefined, width: 1, indexed: false, cost: 1, selects: true },
  /** Largest element; NaN if any is NaN. */
  max: { dtype: kept, identity: undefined, width: 1, indexed: false, cost: 1, selects: true },
  /** Whether any element is true (not 0). */
  any: { dtype: truth, identity: false, width: 1, indexed: false, cost: 1, selects: true },
  /** Whether all elements are true (not 0). */
  all: { dtype: truth, identity: true, width: 1, indexed: false, cost: 1, selects: true },
  /** Index of the first smallest element; of the first NaN if there is one. */
  argmin: { dtype: position, identity: undefined, width: 2, indexed: true, cost: 8, selects: true },
  /** Index of the first largest element; of the first NaN if there is one. */
  argmax: { dtype: position, identity: undefined, width: 2, indexed: true, cost: 8, selects: true },
  /**
   * Sum of squared deviations from the mean, Σ|x - mean|²: variance without its divisor. The accumulator is
   * (count, mean, M2), combined as in Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm
   * for computing sample variances" (1979).
   */
  squaredDeviations: {
    dtype: (dtype) => ({ arg: floatOf(dtype), result: DTYPE_INFO[floatOf(dtype)].component }),
    identity: 0,
    width: 3,
    indexed: false,
    cost: 13,
    isInternal: true,
  },
  /** Elements combined by a monoid of the user's own (`user-monoid.ts`), which says its identity. */
  monoid: { dtype: kept, identity: undefined, width: 1, indexed: false, cost: 4, isInternal: true },
  /** log(Σ exp(x)) without overflow; the accumulator is (maximum, Σ exp(x - maximum)). */
  logsumexp: { dtype: inFloat, identity: -Infinity, width: 2, indexed: false, cost: 14 },
  /** Σ exp(x - max x), NaN where the maximum is infinite: softmax's divisor; the accumulator is that of logsumexp. */
  sumexp: { dtype: inFloat, identity: 0, width: 2, indexed: false, cost: 14, isInternal: true },
} as const satisfies Record<string, ReduceRow>;

export type ReductionName = keyof typeof REDUCTIONS;
export const reductionRow = (name: ReductionName): ReduceRow => REDUCTIONS[name];

/** The op that combines two values of a reduction, of those that can be written out as ops. */
export const COMBINING_OPS: Partial<Record<ReductionName, OpName>> = {
  sum: 'add',
  prod: 'multiply',
  min: 'minimum',
  max: 'maximum',
  any: 'logicalOr',
  all: 'logicalAnd',
};

/**
 * Elements of a short reduction, at most: they are combined one after the other, in C order, wherever they are: in a kernel of
 * their own, or written out as ops inside another one.
 */
export const SHORT_REDUCTION = 16;

/** The dtype values are combined in: float32 for halves, else the argument's own. */
export const accumulatorOf = (arg: DType): DType => (isHalf(arg) ? 'float32' : arg);
export const isExactReduction = (name: ReductionName, arg: DType): boolean =>
  name !== 'monoid' &&
  (!(isFloat(arg) || isComplex(arg)) || ['min', 'max', 'any', 'all', 'argmin', 'argmax'].includes(name));
