/** Functions of scalars that users write in CUDA C, as functions of arrays: `elementwiseCuda`. */
import { checkOptions, refuseMore } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { formatShape } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast } from '../graph/infer.js';
import { broadcastShapes, checkShape } from '../graph/shape.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import { lettersOf } from '../language/cuda-declaration.js';
import { CudaDefinition } from '../language/cuda-definition.js';
import type { Captures } from '../language/names.js';
import { cudaArguments, type GivenDTypes } from './cuda-arguments.js';
import { CudaElements } from './cuda-elements.js';
import { GivenTexts } from './cuda-texts.js';
import { registerCallable } from './element-functions.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import { isRecord } from './structure.js';

/** Options of `elementwiseCuda`. */
export interface ElementwiseCudaOptions {
  /** The name in error messages; it is no part of the source. */
  readonly name?: string | undefined;
  /** Definitions in front: device functions, constants, `#include`. */
  readonly preamble?: string | undefined;
  /**
   * The same function in TypeScript, for the CPU, in the language of `elementwise`: of the inputs in order, and of `i` and
   * `n` where the operation names them. It returns a number, or a list of them for several outputs.
   */
  readonly cpu?: ((...args: never[]) => unknown) | undefined;
  /** As for `elementwise`, for the version for the CPU. */
  readonly captures?: Captures | undefined;
}

/** An array, or a list of them where there are several outputs. */
export type CudaResults<Outputs extends string> = Outputs extends `${string},${string}` ? Lazy[] : Lazy;

/** Options of a call: a shape, and dtypes, that no input says. */
export interface CudaElementOptions {
  readonly shape?: readonly number[] | number | undefined;
  /** Dtypes by the letters that outputs alone have. */
  readonly dtypes?: GivenDTypes | undefined;
}

/** A function of arrays, which broadcast: an array for each input, then maybe `{ shape, dtypes }`. */
export type CudaElementFunction<Outputs extends string> = (
  ...args: (ArrayLike | CudaElementOptions)[]
) => CudaResults<Outputs>;

const OP = 'elementwiseCuda';
const OPTIONS = ['name', 'preamble', 'cpu', 'captures'];

/**
 * A function of arrays from CUDA C for one element, as CuPy's `ElementwiseKernel` has it: `inputs` and `outputs` are types
 * and names, `operation` is statements that assign the outputs.
 *
 * A type is a dtype, or a letter that stands for the dtype of the arguments, which the text may use too. Arguments have to
 * be of the dtype; numbers and lists take it. Arrays broadcast. `i` is the place of the element in C order and `n` the number
 * of elements, both int64. An input that is `raw` is read as a whole, `y[n - i - 1]`, in C order; it has `size()` and
 * `shape()`. Halves are computed in float32, and their type is `float`; complex numbers are of a class `complex<float>`, with
 * CuPy's names. Outputs are 0 before. Where no input says the shape, the call does: `f(x, { shape: [3] })`; so it does the
 * dtypes of letters that outputs alone have: `f(x, { dtypes: { U: 'float64' } })`.
 *
 * It is fused with what is around it, tiled, and run on several GPUs as any function of elements is; with a raw input it is
 * a kernel of its own, and those are stored first.
 *
 * Throws an ArgumentError for texts that do not fit, with their place, a DTypeError or a ShapeError for arguments.
 * `compute` rejects with a CompileError, with the line and column, for an operation that does not compile; on the CPU with a
 * DeviceError, without the option `cpu`.
 *
 * @example
 * const squaredDifference = elementwiseCuda('T x, T y', 'T z', 'z = (x - y) * (x - y)', {
 *   cpu: (x: number, y: number) => (x - y) * (x - y),
 * });
 * console.log(await squaredDifference(lazy([1, 5, 2]), 3).compute());
 * //=> [4. 4. 1.]
 */
export function elementwiseCuda<const Outputs extends string>(
  inputs: string,
  outputs: Outputs,
  operation: string,
  options?: ElementwiseCudaOptions,
): CudaElementFunction<Outputs>;
export function elementwiseCuda(
  inputs: string,
  outputs: string,
  operation: string,
  options: ElementwiseCudaOptions = {},
  ...more: readonly unknown[]
): unknown {
  return called(elementwiseCuda, () => {
    refuseMore(OP, 4, [inputs, outputs, operation, options, ...more]);
    const made = new ElementwiseCuda(inputs, outputs, operation, options);
    const apply = (...args: readonly unknown[]): Lazy | Lazy[] =>
      called(apply, () => {
        const results = made.call(args);
        return results.length === 1 ? new Lazy(results[0]!) : results.map((expr) => new Lazy(expr));
      });
    const { length } = made.elements.definition.inputs;
    if (made.isScalar) registerCallable(apply, made.name, length, (args) => made.call(args)[0]!);
    return apply;
  });
}

/** A call of `elementwiseCuda`, on arrays. */
class ElementwiseCuda {
  readonly name: string;
  readonly elements: CudaElements;

  constructor(inputs: unknown, outputs: unknown, operation: unknown, options: ElementwiseCudaOptions) {
    checkOptions(OP, options, OPTIONS);
    const { name = OP, preamble, cpu, captures } = options;
    const texts = new GivenTexts(OP, name, { operation, preamble });
    const taken = texts.parameters('the inputs', inputs);
    const made = texts.outputs(outputs, taken);
    const own = { ...texts.operationOf('the operation', operation), inputs: taken, outputs: made };
    this.name = name;
    this.elements = new CudaElements(OP, name, { ...own, numbers: ['i', 'n'] }, { fn: cpu, captures });
    if (cpu !== undefined && this.elements.isRaw)
      throw new ArgumentError(expected(OP, 'no version for the CPU where an input is raw', 'cpu'));
  }

  /** The results for arrays, and for a shape where the last argument has one. */
  call(args: readonly unknown[]): readonly Expr[] {
    const { inputs, outputs } = this.elements.definition;
    const last = args[inputs.length];
    const hasOptions = args.length === inputs.length + 1 && isRecord(last) && !(last instanceof Lazy);
    if (hasOptions) checkOptions(this.name, last as object, ['shape', 'dtypes']);
    const { shape: wanted, dtypes } = hasOptions ? (last as CudaElementOptions) : {};
    const given = hasOptions ? args.slice(0, -1) : args;
    const { types, arrays } = cudaArguments(this.name, inputs, given, outputs, dtypes);
    const shape = this.#shapeOf(arrays, wanted);
    const made = this.elements.wide(types, arrays, shape, { n: sizeOfShape(shape) });
    return made.map((x, k) => cast(x, CudaDefinition.dtypeOf(outputs[k]!, types)));
  }

  /** Whether functions of scalars may call it. */
  get isScalar(): boolean {
    const { inputs, outputs, numbers } = this.elements.definition;
    if (inputs.length === 0 || outputs.length > 1 || numbers.length > 0 || this.elements.isRaw) return false;
    const known = lettersOf(inputs);
    return lettersOf(outputs).every((letter) => known.includes(letter));
  }

  /** The shape that elements of the inputs have, or the one that is asked for. */
  #shapeOf(arrays: readonly Expr[], wanted: unknown): readonly number[] {
    const { inputs } = this.elements.definition;
    const shapes = arrays.filter((_, k) => !inputs[k]!.isRaw).map(({ shape }) => shape);
    if (wanted === undefined) {
      if (shapes.length > 0) return broadcastShapes(this.name, shapes);
      const hint = `f(${[...inputs.map(({ name }) => name), '{ shape }'].join(', ')})`;
      throw new ArgumentError(expected(this.name, 'a shape, which no input says', 'none', hint));
    }
    const shape = checkShape(this.name, wanted);
    const met = broadcastShapes(this.name, [...shapes, shape]);
    if (met.join() === shape.join()) return shape;
    throw new ShapeError(
      expected(this.name, `inputs that broadcast to ${formatShape(shape)}`, formatShape(met)),
    );
  }
}
