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

  /** `name`: of the function in CUDA C. */
  constructor(op: string, name: string, fn: CallableFunction, captures: unknown) {
    this.#op = name;
    this.#traced = tracedFunction(op, name, fn, capturesOf(op, captures));
  }

  /** Throws an ArgumentError where the function has other parameters, or is not in the language. */
  check({ inputs, numbers }: CudaDefinition): void {
    const names = [...inputs.map(({ name }) => name), ...numbers];
    const { most } = this.#traced.callable;
    if (most < inputs.length || most > names.length)
      throw new ArgumentError(
        expected(
          this.#op,
          `a version for the CPU with the parameters ${names.join(', ')}`,
          `${most} of them`,
        ),
      );
    this.#traced.check();
  }

  readonly stepFor = (parameters: readonly DType[], results: readonly DType[]): ElementStep => {
    const nodes = parameters.map((dtype, k) => argumentLike(constant(0, dtype), k, false));
    const made = this.#traced.apply(nodes.slice(0, this.#traced.callable.most));
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
