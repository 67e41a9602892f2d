/** Reductions that users write in CUDA C: `reductionCuda`. */
import { checkOptions, type ReduceOptions, refuseMore } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast, map } from '../graph/infer.js';
import { type Axes, broadcastShapes } from '../graph/shape.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { type CudaParameter, parametersIn, refuseAt } from '../language/cuda-declaration.js';
import { CudaDefinition, type CudaTypes } from '../language/cuda-definition.js';
import { cudaTokens } from '../language/cuda-tokens.js';
import type { Captures } from '../language/names.js';
import { cudaArguments } from './cuda-arguments.js';
import { CudaElements } from './cuda-elements.js';
import type { CudaResults } from './cuda-functions.js';
import { GivenTexts } from './cuda-texts.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import { MonoidFunctions } from './monoid-functions.js';
import { isRecord } from './structure.js';

/** Options of `reductionCuda`. */
export interface ReductionCudaOptions {
  /** The name in error messages; it is no part of the source. */
  readonly name?: string | undefined;
  /** Definitions in front: device functions, constants, `#include`. */
  readonly preamble?: string | undefined;
  /** The dtype, or letter, of what is combined; without it, that of the first output. */
  readonly reduceType?: string | undefined;
  /** The three expressions in TypeScript, for the CPU, in the language of `elementwise`. */
  readonly cpu?:
    | {
        readonly map: (...elements: never[]) => unknown;
        readonly combine: (a: never, b: never) => unknown;
        readonly finish: (a: never, ...sizes: never[]) => unknown;
      }
    | undefined;
  /** As for `elementwise`, for the versions for the CPU. */
  readonly captures?: Captures | undefined;
}

/** A reduction of arrays, which broadcast: over all axes, or those that the last argument says. */
export type CudaReduction<Outputs extends string> = (
  ...args: [...arrays: ArrayLike[], axis: ArrayLike | Axes | null | (ReduceOptions & { axis?: Axes | null })]
) => CudaResults<Outputs>;

const OP = 'reductionCuda';
const OPTIONS = ['name', 'preamble', 'reduceType', 'cpu', 'captures'];

/**
 * A reduction from CUDA C, as CuPy's `ReductionKernel` has it: `map` is an expression of an element of each input, `combine`
 * one of two of these, `a` and `b`, and `finish` statements that assign the outputs from the last `a`.
 *
 * Inputs and outputs are declared as for `elementwiseCuda`. `identity` is a number, or its text. It takes as many arrays as
 * there are inputs, then the axes, or `{ axis, keepdims }`. In `finish`, `_in_ind.size()` is the number of elements of the
 * inputs, and `_out_ind.size()` that of the results.
 *
 * It is one kernel with maps around it. The order is a tree that follows from the shape alone, so the bits are the same
 * whatever the tiles; elements keep their order, so that `combine` need not commute. Halves are combined in float32.
 *
 * Throws an ArgumentError for texts that do not fit, with their place, a DTypeError for arguments of other dtypes. `compute`
 * rejects with a CompileError, with the line and column, for an expression that does not compile; on the CPU with a
 * DeviceError, without the option `cpu`.
 *
 * @example
 * const norm = reductionCuda('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', 0, {
 *   cpu: {
 *     map: (x: number) => x * x,
 *     combine: (a: number, b: number) => a + b,
 *     finish: (a: number) => Math.sqrt(a),
 *   },
 * });
 * console.log(await norm(lazy([[3, 4], [6, 8]]), 1).compute());
 * //=> [ 5. 10.]
 */
export function reductionCuda<const Outputs extends string>(
  inputs: string,
  outputs: Outputs,
  map: string,
  combine: string,
  finish: string,
  identity: number | bigint | boolean | string,
  options?: ReductionCudaOptions,
): CudaReduction<Outputs>;
export function reductionCuda(...args: readonly unknown[]): unknown {
  return called(reductionCuda, () => {
    refuseMore(OP, 7, args);
    const made = new ReductionCuda(args);
    const apply = (...arrays: readonly unknown[]): Lazy | Lazy[] =>
      called(apply, () => {
        const results = made.call(arrays);
        return Array.isArray(results) ? results.map((expr) => new Lazy(expr)) : new Lazy(results as Expr);
      });
    return apply;
  });
}

/** The names of what an expression gives. */
const MAPPED = '_mapped';
const COMBINED = '_combined';

/** A call of `reductionCuda`, on arrays. */
class ReductionCuda {
  readonly #name: string;
  readonly #identity: number | bigint | boolean;
  readonly #map: CudaElements;
  readonly #combine: CudaElements;
  readonly #finish: CudaElements;
  /** The op of a sum or product, which every device has. */
  readonly #op: 'add' | 'multiply' | undefined;

  constructor([
    inputs,
    outputs,
    mapText,
    combineText,
    finishText,
    identity,
    options = {},
  ]: readonly unknown[]) {
    checkOptions(OP, options as object, OPTIONS);
    const { name = OP, preamble, reduceType, cpu, captures } = options as ReductionCudaOptions;
    if (cpu !== undefined && !isRecord(cpu))
      throw new ArgumentError(expected(OP, 'cpu: { map, combine, finish }', formatValue(cpu)));
    const all = { map: mapText, combine: combineText, finish: finishText, preamble };
    const texts = new GivenTexts(OP, name, all);
    const taken = texts.parameters('the inputs', inputs);
    const made = texts.outputs(outputs, taken);
    const type = reduceTypeOf(texts, reduceType, taken) ?? made[0]!.type;
    const one = (own: string): CudaParameter => ({ name: own, type, isRaw: false });
    this.#name = name;
    this.#identity = identityOf(texts, identity);
    const elements = (
      noun: keyof typeof all,
      parts: Omit<ConstructorParameters<typeof CudaDefinition>[0], 'operation' | 'preamble'>,
    ): CudaElements => {
      const version = { fn: (cpu as Record<string, CallableFunction> | undefined)?.[noun], captures };
      return new CudaElements(OP, name, { ...texts.operationOf(noun, all[noun]), ...parts }, version);
    };
    const [a, b] = [one('a'), one('b')];
    this.#map = elements('map', {
      inputs: taken,
      outputs: [one(MAPPED)],
      assigns: MAPPED,
      numbers: ['i', 'n'],
    });
    this.#combine = elements('combine', {
      inputs: [a, b],
      outputs: [one(COMBINED)],
      assigns: COMBINED,
      numbers: [],
    });
    this.#finish = elements('finish', { inputs: [a], outputs: made, numbers: ['_in_n', '_out_n'] });
    this.#op = opOf(combineText as string);
    if (taken.every((each) => each.isRaw))
      throw new ArgumentError(
        expected(OP, 'an input that is not raw', inputs === '' ? 'none' : String(inputs)),
      );
  }

  call(args: readonly unknown[]): Expr | readonly Expr[] {
    const { inputs } = this.#map.definition;
    let types: CudaTypes = new Map();
    let size = 0;
    const monoid = new MonoidFunctions({
      name: this.#name,
      count: inputs.length,
      identity: [this.#identity],
      isList: false,
      map: (given) => {
        const taken = cudaArguments(this.#name, inputs, given);
        const shapes = taken.arrays.filter((_, k) => !inputs[k]!.isRaw).map((x) => x.shape);
        const shape = broadcastShapes(this.#name, shapes);
        types = taken.types;
        size = sizeOfShape(shape);
        return this.#map.wide(types, taken.arrays, shape, { n: size })[0]!;
      },
      combine: (pair) => {
        const [a, b] = pair as readonly Expr[] as readonly [Expr, Expr];
        if (this.#op !== undefined) return map(this.#op, [a, b]);
        return this.#combine.wide(types, [a, b], broadcastShapes(this.#name, [a.shape, b.shape]), {})[0]!;
      },
      finish: (list) => {
        const [a] = list as readonly Expr[] as readonly [Expr];
        const sizes = { _in_n: size, _out_n: sizeOfShape(a.shape) };
        const { outputs } = this.#finish.definition;
        const made = this.#finish.wide(types, [a], a.shape, sizes);
        const results = made.map((x, k) => cast(x, CudaDefinition.dtypeOf(outputs[k]!, types)));
        return results.length === 1 ? results[0]! : results;
      },
    });
    return monoid.reduce(args);
  }
}

/** The type that is combined, where the options say it. */
function reduceTypeOf(
  texts: GivenTexts,
  text: unknown,
  inputs: readonly CudaParameter[],
): CudaParameter['type'] | undefined {
  if (text === undefined) return undefined;
  const [made, ...more] = parametersIn(texts.given('the reduceType', `${String(text)} a`));
  const isLetter = typeof made!.type !== 'string';
  const isKnown = !isLetter || inputs.some(({ type }) => JSON.stringify(type) === JSON.stringify(made!.type));
  if (more.length === 0 && isKnown) return made!.type;
  throw new ArgumentError(expected(OP, 'a dtype, or the letter of an input, as reduceType', String(text)));
}

const NUMBER = /^\s*([-+]?)\s*(?:(INFINITY)|((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))[fFuUlL]*\s*$/;

function identityOf(texts: GivenTexts, identity: unknown): number | bigint | boolean {
  if (typeof identity === 'number' || typeof identity === 'bigint' || typeof identity === 'boolean')
    return identity;
  if (typeof identity !== 'string')
    throw new ArgumentError(expected(OP, 'an identity that is a number', formatValue(identity)));
  const found = NUMBER.exec(identity);
  if (found === null)
    return refuseAt(
      texts.given('the identity', identity),
      0,
      'an identity that is a number',
      identity || 'nothing',
    );
  const size = found[2] === undefined ? Number(found[3]) : Number.POSITIVE_INFINITY;
  return found[1] === '-' ? -size : size;
}

const OPS: Readonly<Record<string, 'add' | 'multiply'>> = { '+': 'add', '*': 'multiply' };

/** The op that an expression of `a` and `b` is. */
function opOf(text: string): 'add' | 'multiply' | undefined {
  const [a, sign, b, ...more] = cudaTokens(text).map((token) => token.text);
  const isPair = more.length === 0 && [a, b].sort().join() === 'a,b';
  return isPair ? OPS[sign ?? ''] : undefined;
}
