/**
 * The material of random graphs: choices, the values they have become so far, and what is known about each
 * value, which decides the ops it may meet. `random-arithmetic.ts` and `random-structure.ts` make new values
 * from them, `random-graph.ts` a program.
 */
import { type DType, isComplex } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import type { Lazy } from '../../src/index.js';

/** An element of any program: an action, and what it needs to choose. */
export interface Choice {
  readonly action: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export interface Value {
  readonly lazy: Lazy;
  /** Its bits follow from the rules, whatever order a backend works in. */
  readonly exact: boolean;
  /**
   * It holds only integers of at most this size, so that even its float sums are exact; undefined: that is
   * not known.
   */
  readonly bound: number | undefined;
  /** Zeros may have either sign (extremes and sums do not say which), so nothing may be divided by it. */
  readonly anyZero: boolean;
}

export const DTYPES = [
  'float32',
  'int32',
  'bool',
  'float64',
  'float16',
  'int8',
  'int64',
  'uint8',
  'bfloat16',
  'complex64',
  'uint32',
  'int16',
  'uint16',
  'complex128',
  'uint64',
] as const;
export const SHAPES: readonly Shape[] = [
  [3, 4],
  [4],
  [],
  [2, 3, 4],
  [3, 1],
  [1, 4],
  [5],
  [0, 4],
  [1],
  [2, 1, 4],
  [37],
  [3, 130],
  [1, 1],
  [2, 0, 3],
  [3, 4],
  [4, 4],
];

export const at = <T>(list: readonly T[], choice: number): T => list[choice % list.length]!;

/** Integers of up to this size are exact in the dtype, and so are the sums a backend forms on the way. */
export const integerLimit = (dtype: DType): number => {
  switch (dtype) {
    case 'float16':
      return 2 ** 11;
    case 'bfloat16':
      return 2 ** 8;
    case 'float64':
    case 'complex128':
      return 2 ** 53;
    case 'float32':
    case 'complex64':
      return 2 ** 24;
    default:
      return Number.POSITIVE_INFINITY;
  }
};

/** How many products are added up in one component of a product. */
export const componentsOf = (dtype: DType): number => (isComplex(dtype) ? 2 : 1);

export const broadcastable = (a: Shape, b: Shape): boolean => {
  const rank = Math.min(a.length, b.length);
  return Array.from({ length: rank }, (_, k) => [a.at(-1 - k)!, b.at(-1 - k)!] as const).every(
    ([m, n]) => m === n || m === 1 || n === 1,
  );
};

/** A new value and its code, or undefined where the choice does not fit: then the choice adds nothing. */
export type Made =
  | { readonly value: Omit<Value, 'anyZero'>; readonly code: string; readonly zeros?: 'any' }
  | undefined;

/** The values so far, with what choosing among them needs. */
export class State {
  readonly values: Value[] = [];
  readonly code: string[] = [];
  /** Values of a size that depends on data: results alone, as few actions take them. */
  readonly leaves: NonNullable<Made>[] = [];

  index(choice: number): number {
    return choice % this.values.length;
  }

  /** The value that `choice` names, or the nearest before it that broadcasts with `shape`. */
  partner(choice: number, shape: Shape): number {
    const start = this.index(choice);
    for (let k = 0; k < this.values.length; k++) {
      const i = (start - k + this.values.length) % this.values.length;
      if (broadcastable(this.values[i]!.lazy.shape, shape)) return i;
    }
    return start;
  }
}
