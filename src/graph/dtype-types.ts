/**
 * dtypes as types: the dtype that promotion, an op or a reduction gives, where tsc knows those of the
 * arguments.
 *
 * They are tables, `Results[Rule][D]`: of a union of dtypes the result is a union, nothing recurses, and a
 * type made of D this way stays covariant in it. The promotions are read from the text of PROMOTION; the type
 * of a row's dtype rule names the table of an op or a reduction. test/dtype-types.test.ts compares them with
 * the dtypes of arrays.
 */
import type { Complex, DType, PromotionRows, Scalar } from './dtype.js';

// ---------------------------------------------------------------- promotion

/** The letters of PROMOTION. */
interface Coded {
  readonly b: 'bool';
  readonly a: 'int8';
  readonly h: 'int16';
  readonly i: 'int32';
  readonly q: 'int64';
  readonly B: 'uint8';
  readonly H: 'uint16';
  readonly I: 'uint32';
  readonly L: 'uint64';
  readonly e: 'float16';
  readonly E: 'bfloat16';
  readonly f: 'float32';
  readonly d: 'float64';
  readonly F: 'complex64';
  readonly D: 'complex128';
}
type C = keyof Coded;

/** A row of PROMOTION by the dtype of the column. */
// biome-ignore format: one letter after the other
type Columns<Row> =
  Row extends `${infer b}${infer a}${infer h}${infer i}${infer q}${infer B}${infer H}${infer I}${
    infer L}${infer e}${infer E}${infer f}${infer d}${infer F}${infer D}`
    ? {
        readonly bool: Coded[b & C]; readonly int8: Coded[a & C]; readonly int16: Coded[h & C]; readonly int32: Coded[i & C];
        readonly int64: Coded[q & C]; readonly uint8: Coded[B & C]; readonly uint16: Coded[H & C]; readonly uint32: Coded[I & C];
        readonly uint64: Coded[L & C]; readonly float16: Coded[e & C]; readonly bfloat16: Coded[E & C]; readonly float32: Coded[f & C];
        readonly float64: Coded[d & C]; readonly complex64: Coded[F & C]; readonly complex128: Coded[D & C];
      }
    : never;

/** The dtype in which arrays of two dtypes meet: `Promotions['int8']['float32']`. */
export interface Promotions {
  readonly bool: Columns<PromotionRows[0]>;
  readonly int8: Columns<PromotionRows[1]>;
  readonly int16: Columns<PromotionRows[2]>;
  readonly int32: Columns<PromotionRows[3]>;
  readonly int64: Columns<PromotionRows[4]>;
  readonly uint8: Columns<PromotionRows[5]>;
  readonly uint16: Columns<PromotionRows[6]>;
  readonly uint32: Columns<PromotionRows[7]>;
  readonly uint64: Columns<PromotionRows[8]>;
  readonly float16: Columns<PromotionRows[9]>;
  readonly bfloat16: Columns<PromotionRows[10]>;
  readonly float32: Columns<PromotionRows[11]>;
  readonly float64: Columns<PromotionRows[12]>;
  readonly complex64: Columns<PromotionRows[13]>;
  readonly complex128: Columns<PromotionRows[14]>;
}

/** The dtype in which any number of arrays meet whose dtypes are in D. */
export type Joined<D extends DType> = [Promotions[D][D]] extends [D] ? D : DType;

type Integer = 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64';

/** Each dtype itself, but for those named. */
type Table<Changed extends { readonly [K in DType]?: DType }> = {
  readonly [K in DType]: Changed[K] extends DType ? Changed[K] : K;
};
type All<D extends DType, Result extends DType> = { readonly [K in D]: Result };

/**
 * The JavaScript scalars beside which an array keeps its dtype; whether a number is an integer its type does
 * not tell.
 */
export interface WeakScalars {
  readonly bool: boolean;
  readonly int8: boolean | bigint;
  readonly int16: boolean | bigint;
  readonly int32: boolean | bigint;
  readonly int64: boolean | bigint;
  readonly uint8: boolean | bigint;
  readonly uint16: boolean | bigint;
  readonly uint32: boolean | bigint;
  readonly uint64: boolean | bigint;
  readonly float16: boolean | bigint | number;
  readonly bfloat16: boolean | bigint | number;
  readonly float32: boolean | bigint | number;
  readonly float64: boolean | bigint | number;
  readonly complex64: Scalar;
  readonly complex128: Scalar;
}

// ---------------------------------------------------------------- ops and reductions

interface FloatOf extends AnyOfBool {
  readonly int8: 'float16';
  readonly int16: 'float32';
  readonly int32: 'float64';
  readonly int64: 'float64';
  readonly uint8: 'float16';
  readonly uint16: 'float32';
  readonly uint32: 'float64';
  readonly uint64: 'float64';
}
interface Components extends AnyOfBool {
  readonly complex64: 'float32';
  readonly complex128: 'float64';
}
/**
 * Of booleans in arithmetic the tables do not tell the dtype. So a Lazy of any dtype gives one of any dtype,
 * too: in `let y = x.sqrt(); y = y.add(x)` y has the type of x.
 */
interface AnyOfBool {
  readonly bool: DType;
}

/** The dtype of a result by that in which the arguments meet, one table for each rule. */
export interface Results {
  /** The dtype itself. */
  readonly same: Table<object>;
  /** The dtype of numbers. */
  readonly ofNumbers: Table<AnyOfBool>;
  readonly bool: All<DType, 'bool'>;
  readonly int64: All<DType, 'int64'>;
  /** Integers in the smallest float that holds them. */
  readonly float: Table<FloatOf>;
  /** The same of two arrays, each by itself: int16 may be what int8 and uint8 met in. */
  readonly floatEach: Table<
    Omit<FloatOf, 'int16' | 'int32'> & {
      readonly int16: 'float16' | 'float32';
      readonly int32: 'float32' | 'float64';
    }
  >;
  /** Integers in float64. */
  readonly quotient: Table<All<Integer, 'float64'> & AnyOfBool>;
  /** The float of complex numbers. */
  readonly component: Table<Components>;
  /** Integers in float64, of complex numbers the float. */
  readonly deviation: Table<All<Integer, 'float64'> & Components>;
  /** Integers in 64 bits. */
  readonly sum: Table<
    All<'int8' | 'int16' | 'int32', 'int64'> & All<'uint8' | 'uint16' | 'uint32', 'uint64'> & AnyOfBool
  >;
  readonly unknown: All<DType, DType>;
}

/** The dtype of a result of arrays whose dtypes are in D. */
export type ResultOfBoth<R extends Rule, D extends DType> = Results[R][Promotions[D][D]];

/** The name of a table of results. */
export type Rule = keyof Results;

// ---------------------------------------------------------------- data

/** An element of each dtype, as it is in lists: 64-bit integers are bigints. */
export interface Elements {
  readonly bool: boolean;
  readonly int8: number;
  readonly int16: number;
  readonly int32: number;
  readonly int64: bigint;
  readonly uint8: number;
  readonly uint16: number;
  readonly uint32: number;
  readonly uint64: bigint;
  readonly float16: number;
  readonly bfloat16: number;
  readonly float32: number;
  readonly float64: number;
  readonly complex64: Complex;
  readonly complex128: Complex;
}

/** A single element: 64-bit integers are numbers as far as those hold them. */
export type Element<D extends DType> = Singles[D];
type Singles = { readonly [K in DType]: Elements[K] | (bigint extends Elements[K] ? number : never) };

/** Lists in lists, as deep as wanted. */
export type Lists<T> = readonly (T | Lists<T>)[];

/** The typed arrays and lists that become an array of a dtype by themselves. */
interface Data {
  readonly bool: Lists<boolean>;
  readonly int8: Int8Array;
  readonly int16: Int16Array;
  readonly int32: Int32Array;
  readonly int64: BigInt64Array | Lists<bigint>;
  readonly uint8: Uint8Array | Uint8ClampedArray;
  readonly uint16: Uint16Array;
  readonly uint32: Uint32Array;
  readonly uint64: BigUint64Array;
  readonly float16: never;
  readonly bfloat16: never;
  readonly float32: Float32Array;
  readonly float64: Float64Array | Lists<number>;
  readonly complex64: never;
  readonly complex128: Lists<Complex>;
}

/** The data that becomes an array of dtype D. */
export type DataOf<D extends DType> = Data[D];

/**
 * The dtype of a scalar, a typed array or lists of scalars of one kind; bigints are taken to fit into int64.
 */
export type DTypeOfData<T> = T extends Scalar
  ? DTypeOfScalar<T>
  : T extends { readonly [Symbol.toStringTag]: infer Tag extends keyof Tags }
    ? Tags[Tag]
    : T extends Lists<number>
      ? 'float64'
      : T extends Lists<boolean>
        ? 'bool'
        : T extends Lists<bigint>
          ? 'int64'
          : T extends Lists<Complex>
            ? 'complex128'
            : DType;

type DTypeOfScalar<T> = T extends number
  ? 'float64'
  : T extends boolean
    ? 'bool'
    : T extends bigint
      ? 'int64'
      : 'complex128';

/** Typed arrays differ in their tag, subclasses (Buffer) not. */
interface Tags {
  readonly Int8Array: 'int8';
  readonly Int16Array: 'int16';
  readonly Int32Array: 'int32';
  readonly BigInt64Array: 'int64';
  readonly Uint8Array: 'uint8';
  readonly Uint8ClampedArray: 'uint8';
  readonly Uint16Array: 'uint16';
  readonly Uint32Array: 'uint32';
  readonly BigUint64Array: 'uint64';
  readonly Float32Array: 'float32';
  readonly Float64Array: 'float64';
}
