/**
 * Functions of scalars as plain data: a step, loops of steps that each element runs by itself, and functions in CUDA C.
 * `element-loop.ts` and `cuda-function.ts` make them.
 */
import type { DType, Scalar } from './dtype.js';
import type { OpName } from './ops.js';

/** A value of a step. Arguments are positions: the loop's own come first, then the values in order. */
export type StepValue =
  | { readonly kind: 'map'; readonly dtype: DType; readonly op: OpName; readonly args: readonly number[] }
  | { readonly kind: 'cast'; readonly dtype: DType; readonly args: readonly [number] }
  /** Of steps that are no loops, which have no arguments but their own, and of functions of the user's in loops. */
  | { readonly kind: 'const'; readonly dtype: DType; readonly value: Scalar; readonly args: readonly [] }
  /** A state after a loop in the step. */
  | {
      readonly kind: 'repeat';
      readonly dtype: DType;
      readonly loop: ElementLoop;
      readonly result: number;
      readonly args: readonly number[];
    }
  /** A result of a function in CUDA C. */
  | {
      readonly kind: 'function';
      readonly dtype: DType;
      readonly function: CudaFunction;
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

/** A parameter of a function in CUDA C, or a result. */
export interface CudaVariable {
  readonly name: string;
  /** Never a half: those are passed in float32. */
  readonly dtype: DType;
  /** Of a parameter that has all elements of an array: their dtype in memory. Only kernels of their own have such. */
  readonly raw?: DType;
}

/** A text of the user's own that a source holds. */
export interface CudaText {
  /** The file that its `#line` names; it follows from the text alone. */
  readonly file: string;
  readonly text: string;
  /** The function that it was given to, and its part there, in words: for error messages. */
  readonly owner: string;
  readonly noun: string;
  /** Where it begins in the user's file, where that has it; the column counts from 1. */
  readonly place?: { readonly path: string; readonly line: number; readonly column?: number } | undefined;
}

/**
 * An accumulator of several numbers, which the texts see as a struct: parameters from the first one on, as many for each
 * name as there are fields; `isMade`: the results are its fields, too.
 */
export interface CudaAccumulator {
  readonly fields: readonly CudaVariable[];
  readonly names: readonly string[];
  readonly isMade: boolean;
}

/** A function of scalars that the user wrote in CUDA C. */
export interface CudaFunction {
  readonly parameters: readonly CudaVariable[];
  readonly results: readonly CudaVariable[];
  /** Names of types in its text: `T`. */
  readonly types: readonly CudaVariable[];
  /** Statements that assign the results; or an expression, and the result that it is assigned to. */
  readonly operation: CudaText;
  readonly assigns: string | undefined;
  readonly accumulator: CudaAccumulator | undefined;
  /** Objects that the operation sees, whose `size()` is that of a parameter. */
  readonly indexers: readonly { readonly name: string; readonly size: string }[];
  /** Definitions in front of the function. */
  readonly preamble: CudaText | undefined;
  /** Cost of an element, in additions. */
  readonly cost: number;
  /** Whether elements may take more or fewer steps than others. */
  readonly hasLoop: boolean;
  /** The same function for the CPU; without it the CPU has none. */
  readonly cpu: ElementStep | undefined;
  /** Equal keys are equal functions. */
  readonly key: string;
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
