/** The version for the CPU of a function in CUDA C: a function of scalars in TypeScript, as a step. */
import type { DType } from '../graph/dtype.js';
import { elementStep } from '../graph/element-loop.js';
import { cast, constant, toExpr } from '../graph/infer.js';
import type { ElementStep } from '../graph/loop-step.js';
import { argumentLike } from '../graph/loops.js';
import { ArgumentError, expected } from '../host/errors.js';
import type { CudaDefinition } from '../language/cuda-definition.js';
import type { ScalarFunction } from '../language/scalar-function.js';
import { capturesOf, tracedFunction } from './element-functions.js';

export class CpuVersion {
  readonly #op: string;
  readonly #traced: ScalarFunction;

  /** Of the first parameters, which are lists of numbers. */
  readonly #lengths: readonly number[];

  /** `name`: of the function in CUDA C; `lengths`: of the first parameters, which are lists. */
  constructor(
    op: string,
    name: string,
    fn: CallableFunction,
    {
      captures,
      lengths = [],
    }: { readonly captures: unknown; readonly lengths?: readonly number[] | undefined },
  ) {
    this.#lengths = lengths;
    this.#op = name;
    this.#traced = tracedFunction(op, name, fn, capturesOf(op, captures));
  }

  /** Throws an ArgumentError where the function has other parameters, or is not in the language. */
  check({ inputs, numbers }: CudaDefinition): void {
    const lists = this.#lengths.map((length) => `a list of ${length}`);
    const others = inputs.slice(this.#numbersIn(lists.length));
    const needed = [...lists, ...others.map(({ name }) => name)];
    const names = [...needed, ...numbers];
    const { most } = this.#traced.callable;
    if (most < needed.length || most > names.length)
      throw new ArgumentError(
        expected(
          this.#op,
          `a version for the CPU with the parameters ${names.join(', ')}`,
          `${most} of them`,
        ),
      );
    this.#traced.check(this.#lengths);
  }

  /** The numbers of the first lists. */
  #numbersIn(count: number): number {
    return this.#lengths.slice(0, count).reduce((sum, length) => sum + length, 0);
  }

  readonly stepFor = (parameters: readonly DType[], results: readonly DType[]): ElementStep => {
    const nodes = parameters.map((dtype, k) => argumentLike(constant(0, dtype), k, false));
    const lists = this.#lengths.map((length, k) =>
      nodes.slice(this.#numbersIn(k), this.#numbersIn(k) + length),
    );
    const given = [...lists, ...nodes.slice(this.#numbersIn(lists.length))];
    const made = this.#traced.apply(given.slice(0, this.#traced.callable.most));
    const list = Array.isArray(made) ? made : [made];
    if (list.length !== results.length)
      throw new ArgumentError(
        expected(this.#op, `${results.length} numbers from the version for the CPU`, `${list.length}`),
      );
    return elementStep(
      nodes,
      list.map((x, k) => cast(toExpr(this.#op, x), results[k]!)),
    );
  };
}
