/**
 * The types of the methods of Lazy and of the free functions, from the tables and modules that `fluent.ts`
 * makes them of. With the dtypes of its arguments known, a function tells that of its result
 * (`graph/dtype-types.ts`).
 */
import type { AxisOr, ReduceOptions, SumOptions } from '../graph/arguments.js';
import type * as choosing from '../graph/choosing.js';
import type * as composites from '../graph/composites.js';
import type * as correlations from '../graph/correlations.js';
import type * as counting from '../graph/counting.js';
import type * as diagonals from '../graph/diagonals.js';
import type * as differences from '../graph/differences.js';
import type { DType, Scalar } from '../graph/dtype.js';
import type {
  DTypeOfData,
  Promotions,
  ResultOfBoth,
  Results,
  Rule,
  WeakScalars,
} from '../graph/dtype-types.js';
import type * as elementwise from '../graph/elementwise.js';
import type { Expr, Shape, TypedArray } from '../graph/expr.js';
import type * as indexing from '../graph/indexing.js';
import type { Operand } from '../graph/infer.js';
import type * as masks from '../graph/masks.js';
import type * as moments from '../graph/moments.js';
import type * as nanQuantiles from '../graph/nan-quantiles.js';
import type * as nanReductions from '../graph/nan-reductions.js';
import type { OPS } from '../graph/ops.js';
import type * as orderStatistics from '../graph/order-statistics.js';
import type * as partitions from '../graph/partitions.js';
import type * as products from '../graph/products.js';
import type * as rearranging from '../graph/rearranging.js';
import type { REDUCTIONS } from '../graph/reductions.js';
import type * as scans from '../graph/scans.js';
import type * as searching from '../graph/searching.js';
import type * as segmentReductions from '../graph/segment-reductions.js';
import type * as sets from '../graph/sets.js';
import type { Axes } from '../graph/shape.js';
import type * as signals from '../graph/signals.js';
import type * as slicing from '../graph/slicing.js';
import type * as sorting from '../graph/sorting.js';
import type * as special from '../graph/special.js';
import type * as statistics from '../graph/statistics.js';
import type * as updates from '../graph/updates.js';
import type * as views from '../graph/views.js';
import type { ArrayData, ShapedData } from '../host/host-array.js';
import type { Lazy } from './lazy.js';

/** An array argument of a function: a Lazy, a scalar, or anything `lazy()` takes. */
export type ArrayLike = Lazy | ArrayData;

// ---------------------------------------------------------------- dtypes of arguments

/** The dtype of the array that `lazy()` makes of a T, as far as its type tells. */
export type DTypeOf<T> = 0 extends 1 & T // any
  ? DType
  : T extends Lazy<infer D>
    ? D
    : T extends { readonly data: unknown; readonly shape: Shape }
      ? T extends { readonly dtype: infer D extends DType }
        ? D
        : DType
      : DTypeOfData<T>;

/** The dtype of a T in an op, where a number without a fraction is an integer. */
type Alone<T> = T extends Scalar ? DType : DTypeOf<T>;
/** An operand that keeps the dtype of an array whose dtype is in D: such an array, or a scalar. */
type Beside<D extends DType> = Lazy<D> | WeakScalars[D];

// ---------------------------------------------------------------- ops

type RuleOf<Row> = Row extends { readonly dtype: { readonly gives?: infer R extends Rule } } ? R : 'unknown';
/** Of one argument there is nothing to meet: the dtype tells all. */
type UnaryRule<Row> = RuleOf<Row> extends 'floatEach' ? 'float' : RuleOf<Row>;

/**
 * A function of an array of dtype D and another: the dtype of the result is known beside the same dtype and
 * beside scalars that give way. Declared as a method, whose parameters vary both ways, so that a `Lazy<D>` is
 * a `Lazy`.
 */
interface Binary<R extends Rule, D extends DType> {
  method(other: Beside<D>): Lazy<ResultOfBoth<R, D>>;
  method(other: ArrayLike): Lazy<Results[R][DType]>;
}
export interface BinaryFunction<R extends Rule> {
  <D extends DType>(x: Lazy<D>, y: Beside<D>): Lazy<ResultOfBoth<R, D>>;
  <D extends DType>(x: WeakScalars[D], y: Lazy<D>): Lazy<ResultOfBoth<R, D>>;
  (x: ArrayLike, y: ArrayLike): Lazy<Results[R][DType]>;
}
/** A function of three numbers; the dtype is known where all have that of the first, or give way to it. */
interface Ternary<R extends Rule, D extends DType> {
  method(second: Beside<D>, third: Beside<D>): Lazy<ResultOfBoth<R, D>>;
  method(second: ArrayLike, third: ArrayLike): Lazy<Results[R][DType]>;
}
export interface TernaryFunction<R extends Rule> {
  <D extends DType>(x: Lazy<D>, y: Beside<D>, z: Beside<D>): Lazy<ResultOfBoth<R, D>>;
  (x: ArrayLike, y: ArrayLike, z: ArrayLike): Lazy<Results[R][DType]>;
}
export interface Where {
  <D extends DType>(x: Lazy<D>, y: Beside<D>): Lazy<Promotions[D][D]>;
  <D extends DType>(x: WeakScalars[D], y: Lazy<D>): Lazy<Promotions[D][D]>;
  (x: ArrayLike, y: ArrayLike): Lazy;
}
export interface WhereFunction {
  <D extends DType>(condition: ArrayLike, x: Lazy<D>, y: Beside<D>): Lazy<Promotions[D][D]>;
  <D extends DType>(condition: ArrayLike, x: WeakScalars[D], y: Lazy<D>): Lazy<Promotions[D][D]>;
  (condition: ArrayLike, x: ArrayLike, y: ArrayLike): Lazy;
}

type OpMethod<Row extends { readonly arity: number }, D extends DType> = Row['arity'] extends 1
  ? () => Lazy<Results[UnaryRule<Row>][D]>
  : Row['arity'] extends 2
    ? Binary<RuleOf<Row>, D>['method']
    : RuleOf<Row> extends 'same'
      ? Where
      : Row['arity'] extends 3
        ? Ternary<RuleOf<Row>, D>['method']
        : (second: ArrayLike, third: ArrayLike, fourth: ArrayLike) => Lazy<Results[RuleOf<Row>][DType]>;
type OpFunction<Row extends { readonly arity: number }> = Row['arity'] extends 1
  ? <T extends ArrayLike>(x: T) => Lazy<Results[UnaryRule<Row>][Alone<T>]>
  : Row['arity'] extends 2
    ? BinaryFunction<RuleOf<Row>>
    : RuleOf<Row> extends 'same'
      ? WhereFunction
      : Row['arity'] extends 3
        ? TernaryFunction<RuleOf<Row>>
        : (
            x: ArrayLike,
            second: ArrayLike,
            third: ArrayLike,
            fourth: ArrayLike,
          ) => Lazy<Results[RuleOf<Row>][DType]>;

type AllOps = typeof OPS;
/** The ops that are methods: all but the internal ones. */
type OpTable = {
  readonly [K in keyof AllOps as AllOps[K] extends { readonly isInternal: true } ? never : K]: AllOps[K];
};
type AliasesOf<Row> = Row extends { readonly aliases: readonly (infer Name extends string)[] } ? Name : never;
type OpMethods<D extends DType> = { readonly [K in keyof OpTable]: OpMethod<OpTable[K], D> };
type AliasMethods<D extends DType> = {
  readonly [K in keyof OpTable as AliasesOf<OpTable[K]>]: OpMethod<OpTable[K], D>;
};
type OpFunctions = { readonly [K in keyof OpTable]: OpFunction<OpTable[K]> };
type AliasFunctions = { readonly [K in keyof OpTable as AliasesOf<OpTable[K]>]: OpFunction<OpTable[K]> };

// ---------------------------------------------------------------- reductions

type ReductionTable = typeof REDUCTIONS;
/** The reductions that are methods: all but the internal ones. */
type PublicReduction = keyof {
  [K in keyof ReductionTable as ReductionTable[K] extends { readonly isInternal: true } ? never : K]: K;
};

type Undefined = { readonly dtype?: undefined };
type In<T extends DType> = SumOptions & { readonly dtype: T };

/** A reduction that takes the dtype of its result. */
export interface SumMethod<Result extends DType> {
  <T extends DType>(options: In<T>): Lazy<T>;
  <T extends DType>(axis: Axes | null | undefined, options: In<T>): Lazy<T>;
  (axis?: AxisOr<ReduceOptions & Undefined>, options?: ReduceOptions & Undefined): Lazy<Result>;
  (axis?: AxisOr<SumOptions>, options?: SumOptions): Lazy;
}
export interface SumFunction<R extends Rule> {
  <T extends DType>(x: ArrayLike, options: In<T>): Lazy<T>;
  <T extends DType>(x: ArrayLike, axis: Axes | null | undefined, options: In<T>): Lazy<T>;
  <X extends ArrayLike>(
    x: X,
    axis?: AxisOr<ReduceOptions & Undefined>,
    options?: ReduceOptions & Undefined,
  ): Lazy<Results[R][DTypeOf<X>]>;
  (x: ArrayLike, axis?: AxisOr<SumOptions>, options?: SumOptions): Lazy;
}

type ReductionMethod<Name extends PublicReduction, D extends DType> = Name extends 'sum' | 'prod'
  ? SumMethod<Results['sum'][D]>
  : (axis?: AxisOr<ReduceOptions>, options?: ReduceOptions) => Lazy<Results[RuleOf<ReductionTable[Name]>][D]>;
type ReductionFunction<Name extends PublicReduction> = Name extends 'sum' | 'prod'
  ? SumFunction<'sum'>
  : <X extends ArrayLike>(
      x: X,
      axis?: AxisOr<ReduceOptions>,
      options?: ReduceOptions,
    ) => Lazy<Results[RuleOf<ReductionTable[Name]>][DTypeOf<X>]>;
type ReductionMethods<D extends DType> = { readonly [K in PublicReduction]: ReductionMethod<K, D> };
type ReductionFunctions = { readonly [K in PublicReduction]: ReductionFunction<K> };

// ---------------------------------------------------------------- functions of the modules

/** The results of composites; those of views and the like have the dtype of the array. */
interface Composites {
  readonly relu: 'ofNumbers';
  readonly sigmoid: 'float';
  readonly silu: 'float';
  readonly softplus: 'float';
  readonly gelu: 'float';
  readonly argwhere: 'int64';
  readonly compress: 'same';
  readonly extract: 'same';
  readonly uniqueValues: 'same';
  readonly setdiff: 'same';
  readonly nanToNum: 'same';
  readonly sinc: 'float';
  readonly expit: 'float';
  readonly ndtr: 'float';
  readonly zscore: 'deviation';
  readonly moment: 'deviation';
  readonly skew: 'deviation';
  readonly kurtosis: 'deviation';
  readonly degrees: 'float';
  readonly radians: 'float';
  readonly isclose: 'bool';
  readonly allclose: 'bool';
  readonly arrayEqual: 'bool';
  readonly isin: 'bool';
  readonly searchsorted: 'int64';
  readonly digitize: 'int64';
  readonly segmentSum: 'sum';
  readonly segmentProd: 'sum';
  readonly segmentMean: 'quotient';
  readonly segmentMin: 'same';
  readonly segmentMax: 'same';
  readonly diff: 'same';
  readonly diagonal: 'same';
  readonly diag: 'same';
  readonly variance: 'deviation';
  readonly var: 'deviation';
  readonly std: 'deviation';
  readonly norm: 'deviation';
  readonly nanMin: 'same';
  readonly nanMax: 'same';
  readonly nanArgmin: 'int64';
  readonly nanArgmax: 'int64';
  readonly nanVar: 'deviation';
  readonly nanStd: 'deviation';
  readonly countNonzero: 'int64';
  readonly ptp: 'same';
  readonly median: 'quotient';
  readonly nanMedian: 'quotient';
  readonly softmax: 'float';
  readonly logSoftmax: 'float';
  readonly standardize: 'quotient';
}
type CompositeRule<Name> = Name extends keyof Composites ? Composites[Name] : 'unknown';

/**
 * A parameter as the user gives it: where the function takes a node, a Lazy or data that cannot be another
 * argument.
 */
export type Given<T> = [Expr] extends [T]
  ? Exclude<T, Expr> | Lazy | TypedArray | ShapedData
  : GivenWithin<T>;
/** Options among whose fields are arrays. */
type GivenWithin<T> = T extends unknown
  ? Extract<keyof T, 'fweights' | 'weights'> extends never
    ? T
    : { readonly [K in keyof T]: [Expr] extends [T[K]] ? Exclude<T[K], Expr> | ArrayLike : T[K] }
  : never;
type GivenAll<Parameters> = { [K in keyof Parameters]: Given<Parameters[K]> };

/** The arrays that reductions of groups give; see `groups.ts`. */
export interface GroupsOf<D extends DType> {
  readonly sum: Lazy<Results['sum'][D]>;
  readonly mean: Lazy<Results['quotient'][D]>;
  readonly same: Lazy<D>;
  readonly count: Lazy<'int64'>;
}

/** A bound of `clip`. */
type Bound = Given<Operand | null | undefined>;
type WeakBound<D extends DType> = WeakScalars[D] | null | undefined;

interface Clip<D extends DType> {
  method(min?: WeakBound<D>, max?: WeakBound<D>): Lazy<D>;
  method(min?: Bound, max?: Bound): Lazy;
}
export interface ClipFunction {
  <D extends DType>(x: Lazy<D>, min?: WeakBound<D>, max?: WeakBound<D>): Lazy<D>;
  (x: ArrayLike, min?: Bound, max?: Bound): Lazy;
}

/** Methods whose arguments tell the dtype of the result. */
interface SpecialMethods<D extends DType> {
  readonly astype: <T extends DType>(dtype: T) => Lazy<T>;
  readonly clip: Clip<D>['method'];
  readonly mean: SumMethod<Results['quotient'][D]>;
  readonly nanMean: SumMethod<Results['quotient'][D]>;
  readonly nanSum: SumMethod<Results['sum'][D]>;
  readonly nanProd: SumMethod<Results['sum'][D]>;
}
export interface SpecialFunctions {
  readonly astype: <T extends DType>(x: ArrayLike, dtype: T) => Lazy<T>;
  readonly clip: ClipFunction;
  readonly mean: SumFunction<'quotient'>;
  readonly nanMean: SumFunction<'quotient'>;
  readonly nanSum: SumFunction<'sum'>;
  readonly nanProd: SumFunction<'sum'>;
}

type Method<F, Result extends DType> = F extends (x: Expr, ...rest: infer Rest) => Expr
  ? (...rest: GivenAll<Rest>) => Lazy<Result>
  : never;
type Free<F, R extends Rule> = F extends (x: Expr, ...rest: infer Rest) => Expr
  ? <X extends ArrayLike>(x: X, ...rest: GivenAll<Rest>) => Lazy<Results[R][DTypeOf<X>]>
  : never;
interface Product<Rest extends readonly unknown[], D extends DType> {
  method(other: Lazy<D>, ...rest: Rest): Lazy<Promotions[D][D]>;
  method(other: ArrayLike, ...rest: Rest): Lazy;
}
export interface ProductFunctionOf<Rest extends readonly unknown[]> {
  <D extends DType>(x: Lazy<D>, other: Lazy<D>, ...rest: Rest): Lazy<Promotions[D][D]>;
  (x: ArrayLike, other: ArrayLike, ...rest: Rest): Lazy;
}
type ProductMethod<F, D extends DType> = F extends (x: Expr, other: Operand, ...rest: infer Rest) => Expr
  ? Product<Rest, D>['method']
  : never;
type ProductFunction<F> = F extends (x: Expr, other: Operand, ...rest: infer Rest) => Expr
  ? ProductFunctionOf<Rest>
  : never;
type ProductMethods<Group, D extends DType> = { readonly [K in keyof Group]: ProductMethod<Group[K], D> };
type ProductFunctions<Group> = { readonly [K in keyof Group]: ProductFunction<Group[K]> };
/** A scan that takes the dtype of its result. */
export interface CumulativeMethod<Result extends DType> {
  <T extends DType>(
    axis: number | null | undefined,
    options: scans.CumulativeOptions & { dtype: T },
  ): Lazy<T>;
  (axis?: number | null, options?: scans.CumulativeOptions & Undefined): Lazy<Result>;
  (axis?: number | null, options?: scans.CumulativeOptions): Lazy;
}
export interface CumulativeFunction {
  <T extends DType>(
    x: ArrayLike,
    axis: number | null | undefined,
    options: scans.CumulativeOptions & { dtype: T },
  ): Lazy<T>;
  <X extends ArrayLike>(
    x: X,
    axis?: number | null,
    options?: scans.CumulativeOptions & Undefined,
  ): Lazy<Results['sum'][DTypeOf<X>]>;
  (x: ArrayLike, axis?: number | null, options?: scans.CumulativeOptions): Lazy;
}
interface ScanMethods<D extends DType> {
  readonly cumulativeSum: CumulativeMethod<Results['sum'][D]>;
  readonly cumulativeProd: CumulativeMethod<Results['sum'][D]>;
  readonly cumulativeMin: Method<typeof scans.cumulativeMin, D>;
  readonly cumulativeMax: Method<typeof scans.cumulativeMax, D>;
  readonly cumulativeLogsumexp: Method<typeof scans.cumulativeLogsumexp, Results['float'][D]>;
}
interface ScanFunctions {
  readonly cumulativeSum: CumulativeFunction;
  readonly cumulativeProd: CumulativeFunction;
  readonly cumulativeMin: Free<typeof scans.cumulativeMin, 'same'>;
  readonly cumulativeMax: Free<typeof scans.cumulativeMax, 'same'>;
  readonly cumulativeLogsumexp: Free<typeof scans.cumulativeLogsumexp, 'float'>;
}
interface SortMethods<D extends DType> {
  readonly sort: Method<typeof sorting.sort, D>;
  readonly argsort: Method<typeof sorting.argsort, 'int64'>;
  readonly partition: Method<typeof partitions.partition, D>;
  readonly argpartition: Method<typeof partitions.argpartition, 'int64'>;
}
interface SortFunctions {
  readonly sort: Free<typeof sorting.sort, 'same'>;
  readonly argsort: Free<typeof sorting.argsort, 'int64'>;
  readonly partition: Free<typeof partitions.partition, 'same'>;
  readonly argpartition: Free<typeof partitions.argpartition, 'int64'>;
}
type ViewMethods<Group, D extends DType> = { readonly [K in keyof Group]: Method<Group[K], D> };
type ViewFunctions<Group> = { readonly [K in keyof Group]: Free<Group[K], 'same'> };
type CompositeMethods<Group, D extends DType> = {
  readonly [K in Exclude<keyof Group, keyof SpecialFunctions>]: Method<
    Group[K],
    Results[CompositeRule<K>][D]
  >;
};
type CompositeFunctions<Group> = {
  readonly [K in Exclude<keyof Group, keyof SpecialFunctions>]: Free<Group[K], CompositeRule<K>>;
};

/** Every method of a Lazy of dtype D that comes from a table. */
export interface Fluent<D extends DType>
  extends OpMethods<D>,
    AliasMethods<D>,
    ReductionMethods<D>,
    SpecialMethods<D>,
    CompositeMethods<typeof choosing, D>,
    CompositeMethods<typeof composites, D>,
    CompositeMethods<typeof sets, D>,
    CompositeMethods<typeof elementwise, D>,
    CompositeMethods<typeof moments, D>,
    CompositeMethods<typeof nanQuantiles, D>,
    CompositeMethods<typeof nanReductions, D>,
    CompositeMethods<typeof orderStatistics, D>,
    CompositeMethods<typeof special, D>,
    CompositeMethods<typeof statistics, D>,
    CompositeMethods<typeof correlations, D>,
    CompositeMethods<typeof counting, D>,
    CompositeMethods<typeof diagonals, D>,
    CompositeMethods<typeof differences, D>,
    CompositeMethods<typeof searching, D>,
    CompositeMethods<typeof segmentReductions, D>,
    ViewMethods<typeof indexing, D>,
    ViewMethods<typeof masks, D>,
    ViewMethods<typeof rearranging, D>,
    ViewMethods<typeof slicing, D>,
    ScanMethods<D>,
    SortMethods<D>,
    ViewMethods<typeof updates, D>,
    ViewMethods<typeof views, D>,
    ProductMethods<typeof products, D>,
    ProductMethods<typeof signals, D> {}

/** Every free function that comes from a table. */
export interface FreeFunctions
  extends OpFunctions,
    AliasFunctions,
    ReductionFunctions,
    SpecialFunctions,
    CompositeFunctions<typeof choosing>,
    CompositeFunctions<typeof composites>,
    CompositeFunctions<typeof sets>,
    CompositeFunctions<typeof elementwise>,
    CompositeFunctions<typeof moments>,
    CompositeFunctions<typeof nanQuantiles>,
    CompositeFunctions<typeof nanReductions>,
    CompositeFunctions<typeof orderStatistics>,
    CompositeFunctions<typeof special>,
    CompositeFunctions<typeof statistics>,
    CompositeFunctions<typeof correlations>,
    CompositeFunctions<typeof counting>,
    CompositeFunctions<typeof diagonals>,
    CompositeFunctions<typeof differences>,
    CompositeFunctions<typeof searching>,
    CompositeFunctions<typeof segmentReductions>,
    ViewFunctions<typeof indexing>,
    ViewFunctions<typeof masks>,
    ViewFunctions<typeof rearranging>,
    ViewFunctions<typeof slicing>,
    ScanFunctions,
    SortFunctions,
    ViewFunctions<typeof updates>,
    ViewFunctions<typeof views>,
    ProductFunctions<typeof products>,
    ProductFunctions<typeof signals> {}
