/**
 * RuntimeScalar: a constant of a graph whose value is given with each run, so that another number in the same
 * expression needs no other plan.
 *
 * A decision that depends on the value goes through `satisfies`, which records a guard: a program fits graphs of its
 * structure whose numbers give the same answers (`exec/run/variants.ts`). `specialize` makes the value itself part of
 * the program. Made by `fusion/passes/graph-sources.ts`.
 */
import type { DType, Scalar } from './dtype.js';
import { sameScalar } from './scalar.js';

/** A question about a constant of a dtype. The same function is the same question. */
export type ScalarTest = (value: Scalar, dtype: DType) => boolean;

/** The answer that a plan relies on. */
export interface Guard {
  /** Among the runtime scalars of the graph. */
  readonly position: number;
  readonly test: ScalarTest;
  readonly holds: boolean;
}

export class RuntimeScalar {
  /** Among those of its graph, bodies of loops included. */
  readonly position: number;
  readonly dtype: DType;
  /** For runs and for printing; decisions take `satisfies` or `specialize`. */
  readonly value: Scalar;
  /** Made when the first question is asked. */
  #answers: Map<ScalarTest, boolean> | undefined;
  #isSpecialized = false;

  constructor(position: number, dtype: DType, value: Scalar) {
    this.position = position;
    this.dtype = dtype;
    this.value = value;
  }

  /** Whether the value passes a test, which becomes a guard of plans of the graph. */
  satisfies(test: ScalarTest): boolean {
    const known = this.#answers?.get(test);
    if (known !== undefined) return known;
    const answer = test(this.value, this.dtype);
    this.#answer(test, answer);
    return answer;
  }

  /** The value, on which plans of the graph depend from now on. */
  specialize(): Scalar {
    if (!this.#isSpecialized) {
      const { value } = this;
      this.#isSpecialized = true;
      this.#answer((other) => sameScalar(other, value), true);
    }
    return this.value;
  }

  #answer(test: ScalarTest, answer: boolean): void {
    this.#answers ??= new Map();
    this.#answers.set(test, answer);
  }

  /** The answers that plans made so far rely on. */
  guards(): Guard[] {
    const { position } = this;
    return [...(this.#answers ?? [])].map(([test, holds]) => ({ position, test, holds }));
  }
}

/** The value of a constant of a graph: part of its plans, or given with each run. */
export type ConstantValue = Scalar | RuntimeScalar;

/** The value for printing and for runs. */
export const givenValue = (constant: ConstantValue): Scalar =>
  constant instanceof RuntimeScalar ? constant.value : constant;

/** The value, on which plans depend from now on. */
export const specialized = (constant: ConstantValue): Scalar =>
  constant instanceof RuntimeScalar ? constant.specialize() : constant;

/** Whether a constant passes a test. */
export const satisfies = (constant: ConstantValue, dtype: DType, test: ScalarTest): boolean =>
  constant instanceof RuntimeScalar ? constant.satisfies(test) : test(constant, dtype);

/** Runtime scalars are themselves alone: others may have another value in the next run. */
export const sameConstant = (a: ConstantValue, b: ConstantValue): boolean =>
  a instanceof RuntimeScalar || b instanceof RuntimeScalar ? a === b : sameScalar(a, b);

/** Whether a constant of int64 is 0. */
export const isZeroInteger: ScalarTest = (value) => value === 0n;

/** Whether a run with some values may use plans that rely on guards. */
export function hold(
  guards: readonly Guard[],
  scalars: readonly Pick<RuntimeScalar, 'value' | 'dtype'>[],
): boolean {
  for (let k = 0; k < guards.length; k++) {
    const { position, test, holds } = guards[k]!;
    const { value, dtype } = scalars[position]!;
    if (test(value, dtype) !== holds) return false;
  }
  return true;
}
