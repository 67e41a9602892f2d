/** The form of a row of the table of elementwise ops (`ops.ts`). */
import type { DType } from './dtype.js';
import type { Rule } from './dtype-types.js';

/** The dtypes an op runs in: what each argument is cast to, and what comes out. */
export interface Signature {
  readonly args: readonly DType[];
  readonly result: DType;
}

/** Maps argument dtypes to a signature; `undefined` for dtypes the op does not take. */
export interface DTypeRule<Gives extends Rule = Rule> {
  (args: readonly DType[]): Signature | undefined;
  /** Only in types: the table in which these find the dtype of the result (`dtype-types.ts`). */
  readonly gives?: Gives;
}

/**
 * Writes an op as a CUDA C expression. `args` are variable names; `dtype` is that of the arguments, never a
 * half.
 */
export type CudaExpression = (args: readonly string[], dtype: DType) => string;

/** How the generic op test draws arguments and how far a backend may be from NumPy evaluated in float64. */
export interface Sample {
  /** Ordinary values are drawn from this interval; special values are always added. */
  readonly domain: readonly [number, number];
  /** Largest error in units in the last place of the result, for float32 and float64. */
  readonly ulp: number;
}

export interface MapRow {
  readonly arity: 1 | 2 | 3 | 4;
  readonly dtype: DTypeRule;
  /** The dtype of the first argument where it is another than that of the rest: of a condition, or a seed. */
  readonly first?: DType;
  readonly cuda: CudaExpression;
  readonly sample: Sample;
  /** NumPy's name, where it differs from the row's in more than case; `null`: NumPy has none. */
  readonly numpy?: string | null;
  /** Further names of the fluent method and the free function. */
  readonly aliases?: readonly string[];
  /** Weight of one evaluation against an addition, for the fusion cost model. */
  readonly cost: number;
  /**
   * Whether the CPU computes it for one element after the other, in as many steps as that needs: of some it takes many times
   * what `cost` says.
   */
  readonly isIterated?: true;
  /** Whether neighbours share most of the work, as words of one block: printers show the compiler their places. */
  readonly isShared?: boolean;
  /** Of what passes alone write: no method and no function by itself. */
  readonly isInternal?: true;
}
