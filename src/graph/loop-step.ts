/** Loops that each element runs by itself, as plain data; `element-loop.ts` makes them. */
import type { DType } from './dtype.js';
import type { OpName } from './ops.js';

/** A value of a step. Arguments are positions: the loop's own come first, then the values in order. */
export type StepValue =
  | { readonly kind: 'map'; readonly dtype: DType; readonly op: OpName; readonly args: readonly number[] }
  | { readonly kind: 'cast'; readonly dtype: DType; readonly args: readonly [number] }
  /** A state after a loop in the step. */
  | {
      readonly kind: 'repeat';
      readonly dtype: DType;
      readonly loop: ElementLoop;
      readonly result: number;
      readonly args: readonly number[];
    };

/** While the condition holds, the states become `next`. Arithmetic is never that of a half. */
export interface ElementLoop {
  /** Dtypes of the arguments: the states, then what no step changes. */
  readonly arguments: readonly DType[];
  /** The next states, by position. */
  readonly next: readonly number[];
  /** Position of a bool; it needs the first `conditionLength` values alone. */
  readonly condition: number;
  readonly conditionLength: number;
  readonly values: readonly StepValue[];
  /** Cost of a step, in additions. */
  readonly cost: number;
  /** Equal keys are equal loops. */
  readonly key: string;
}
