/**
 * Functions of scalars as plain data: a step, and loops of steps that each element runs by itself. `element-loop.ts`
 * makes them.
 */
import type { DType, Scalar } from './dtype.js';
import type { OpName } from './ops.js';

/** A value of a step. Arguments are positions: the loop's own come first, then the values in order. */
export type StepValue =
  | { readonly kind: 'map'; readonly dtype: DType; readonly op: OpName; readonly args: readonly number[] }
  | { readonly kind: 'cast'; readonly dtype: DType; readonly args: readonly [number] }
  /** Of steps that are no loops, which have no arguments but their own. */
  | { readonly kind: 'const'; readonly dtype: DType; readonly value: Scalar; readonly args: readonly [] }
  /** A state after a loop in the step. */
  | {
      readonly kind: 'repeat';
      readonly dtype: DType;
      readonly loop: ElementLoop;
      readonly result: number;
      readonly args: readonly number[];
    };

/** A function of several results. Arithmetic is never that of a half. */
export interface ElementStep {
  /** Dtypes of the arguments: of a loop, the states, then what no step changes. */
  readonly arguments: readonly DType[];
  /** The results, by position: of a loop, the next states. */
  readonly next: readonly number[];
  readonly values: readonly StepValue[];
  /** Cost of a step, in additions. */
  readonly cost: number;
  /** Equal keys are equal steps. */
  readonly key: string;
}

/** While the condition holds, the states become `next`. */
export interface ElementLoop extends ElementStep {
  /** Position of a bool; it needs the first `conditionLength` values alone. */
  readonly condition: number;
  readonly conditionLength: number;
}

/** A monoid whose accumulator is some numbers. */
export interface UserMonoid {
  readonly dtypes: readonly DType[];
  /** Combined with an accumulator, it gives that one. */
  readonly identity: readonly Scalar[];
  /** Of the numbers of an accumulator, then those of the next one. */
  readonly combine: ElementStep;
  /** Equal keys are equal monoids. */
  readonly key: string;
}

/** The part that a node of a reduction gives. */
export interface MonoidPart {
  readonly of: UserMonoid;
  readonly part: number;
}
