/** Reductions that users write in CUDA C: `reductionCuda`. */
import { checkOptions, type ReduceOptions, refuseMore } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast, map } from '../graph/infer.js';
import { type Axes, broadcastShapes } from '../graph/shape.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { type CudaParameter, lettersOf, parametersIn, refuseAt } from '../language/cuda-declaration.js';
import { CudaDefinition, type CudaTexts, type CudaTypes } from '../language/cuda-definition.js';
import { cudaTokens } from '../language/cuda-tokens.js';
import type { Captures } from '../language/names.js';
import { cudaArguments, type GivenDTypes } from './cuda-arguments.js';
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
  /**
   * The dtype, or letter, of what is combined; without it, that of the first output. With names, `'T value, int64 at'`,
   * accumulators are of a struct `accumulator` of these numbers.
   */
  readonly reduceType?: string | undefined;
  /** The three expressions in TypeScript, for the CPU, in the language of `elementwise`; accumulators of names are lists. */
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

/** The axes of a call, and dtypes by the letters that outputs alone have. */
export type CudaReduceOptions = ReduceOptions & {
  readonly axis?: Axes | null;
  readonly dtypes?: GivenDTypes;
};

/** A reduction of arrays, which broadcast: over all axes, or those that the last argument says. */
export type CudaReduction<Outputs extends string> = (
  ...args: [...arrays: ArrayLike[], axis: ArrayLike | Axes | null | CudaReduceOptions]
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
 * Accumulators of several numbers have names in `reduceType`, and `identity` is a list: `map` and `combine` give an
 * `accumulator`, or its numbers in braces, and `a` and `b` have them as `a.value`.
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
 * const last = reductionCuda('T x', 'T most, int64 at', '{x, i}', 'b.value >= a.value ? b : a', 'most = a.value; at = a.at', [-1e9, -1], {
 *   reduceType: 'T value, int64 at',
 * });
 * console.log(last([3, 7, 7, 1], null).map(String)); // the largest element and its last place
 * //=> [ 'Lazy float64 ()', 'Lazy int64 ()' ]
 */
export function reductionCuda<const Outputs extends string>(
  inputs: string,
  outputs: Outputs,
  map: string,
  combine: string,
  finish: string,
  identity: number | bigint | boolean | string | readonly (number | bigint | boolean)[],
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

/** The name of what an expression gives, and the first letter of those of its numbers. */
const MADE = '_made';

/** A call of `reductionCuda`, on arrays. */
class ReductionCuda {
  readonly #name: string;
  readonly #identity: readonly (number | bigint | boolean)[];
  /** Whether accumulators have names. */
  readonly #isList: boolean;
  readonly #outputs: readonly CudaParameter[];
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
    const reduced = reducedIn(texts, reduceType, [...taken, ...made]) ?? { type: made[0]!.type };
    this.#name = name;
    this.#isList = 'fields' in reduced;
    this.#identity = identityOf(texts, identity, 'fields' in reduced ? reduced.fields : undefined);
    const elements = (
      noun: keyof typeof all,
      {
        lengths,
        ...parts
      }: Omit<ConstructorParameters<typeof CudaDefinition>[0], 'operation' | 'preamble'> & Lengths,
    ): CudaElements => {
      const fn = (cpu as Record<string, CallableFunction> | undefined)?.[noun];
      const whole = { ...texts.operationOf(noun, all[noun]), ...parts };
      return new CudaElements(OP, name, whole, { fn, captures, lengths });
    };
    const mapped = accumulators(reduced, [], true);
    this.#map = elements('map', { ...mapped, inputs: taken, numbers: ['i', 'n'], lengths: [] });
    this.#combine = elements('combine', { ...accumulators(reduced, ['a', 'b'], true), numbers: [] });
    const finished = accumulators(reduced, ['a'], false);
    this.#finish = elements('finish', { ...finished, outputs: made, numbers: ['_in_n', '_out_n'] });
    this.#outputs = made;
    this.#op = this.#isList ? undefined : opOf(combineText as string);
    if (taken.every((each) => each.isRaw))
      throw new ArgumentError(
        expected(OP, 'an input that is not raw', inputs === '' ? 'none' : String(inputs)),
      );
  }

  call(args: readonly unknown[]): Expr | readonly Expr[] {
    const { inputs } = this.#map.definition;
    const { arrays, dtypes } = this.#withoutDTypes(args);
    let types: CudaTypes = new Map();
    let size = 0;
    const one = (list: readonly Expr[]): Expr | readonly Expr[] => (this.#isList ? list : list[0]!);
    const monoid = new MonoidFunctions({
      name: this.#name,
      count: inputs.length,
      identity: this.#identity,
      isList: this.#isList,
      map: (given) => {
        const taken = cudaArguments(this.#name, inputs, given, this.#outputs, dtypes);
        const shapes = taken.arrays.filter((_, k) => !inputs[k]!.isRaw).map((x) => x.shape);
        const shape = broadcastShapes(this.#name, shapes);
        types = taken.types;
        size = sizeOfShape(shape);
        return one(this.#map.wide(types, taken.arrays, shape, { n: size }));
      },
      combine: (pair) => {
        const both = pair.flat() as Expr[];
        if (this.#op !== undefined) return map(this.#op, both);
        const shape = broadcastShapes(
          this.#name,
          both.map((x) => x.shape),
        );
        return one(this.#combine.wide(types, both, shape, {}));
      },
      finish: (list) => {
        const a = list.flat() as Expr[];
        const { shape } = a[0]!;
        const sizes = { _in_n: size, _out_n: sizeOfShape(shape) };
        const made = this.#finish.wide(types, a, shape, sizes);
        const results = made.map((x, k) => cast(x, CudaDefinition.dtypeOf(this.#outputs[k]!, types)));
        return results.length === 1 ? results[0]! : results;
      },
    });
    return monoid.reduce(arrays);
  }

  /** The arguments of the reduction, and the dtypes that the last one may say. */
  #withoutDTypes(args: readonly unknown[]): {
    readonly arrays: readonly unknown[];
    readonly dtypes?: unknown;
  } {
    const last = args.at(-1);
    if (!isRecord(last) || last instanceof Lazy || !('dtypes' in last)) return { arrays: args };
    const { dtypes, ...rest } = last;
    return { arrays: [...args.slice(0, -1), rest], dtypes };
  }
}

/** Accumulators: numbers of a type, or several with names. */
type Reduced = Pick<CudaParameter, 'type'> | { readonly fields: readonly CudaParameter[] };

/** Of the parameters that a version for the CPU takes as lists. */
interface Lengths {
  readonly lengths?: readonly number[] | undefined;
}

/** Accumulators of some names as inputs; `isMade`: and one as the outputs. */
function accumulators(
  reduced: Reduced,
  names: readonly string[],
  isMade: boolean,
): Pick<CudaTexts, 'inputs' | 'outputs' | 'assigns' | 'accumulator'> & Lengths {
  const assigns = isMade ? MADE : undefined;
  if ('type' in reduced) {
    const one = (name: string): CudaParameter => ({ name, type: reduced.type, isRaw: false });
    return { inputs: names.map(one), outputs: isMade ? [one(MADE)] : [], assigns };
  }
  const { fields } = reduced;
  const numbersOf = (name: string): CudaParameter[] =>
    fields.map((field, k) => ({ ...field, name: `_${name}${k}` }));
  return {
    inputs: names.flatMap(numbersOf),
    outputs: isMade ? numbersOf('made') : [],
    assigns,
    accumulator: { fields, names, isMade },
    lengths: names.map(() => fields.length),
  };
}

const ONE_TYPE = /^\s*\w+\s*$/;

/** The accumulators that the options say; undefined: they say none. */
function reducedIn(
  texts: GivenTexts,
  text: unknown,
  parameters: readonly CudaParameter[],
): Reduced | undefined {
  if (text === undefined) return undefined;
  const hasNames = typeof text !== 'string' || !ONE_TYPE.test(text);
  const given = texts.given('the reduceType', hasNames ? text : `${text} a`);
  const fields = parametersIn(given);
  const wanted = 'a dtype, or the letter of an input or output';
  const letters = lettersOf(parameters);
  const unknown = lettersOf(fields).find((letter) => !letters.includes(letter));
  if (unknown !== undefined)
    refuseAt(given, given.text.search(new RegExp(`\\b${unknown}\\s+\\w`)), wanted, unknown);
  if (fields.length === 0 || fields.some(({ isRaw }) => isRaw))
    throw new ArgumentError(expected(OP, `${wanted}, as reduceType`, formatValue(text)));
  return hasNames ? { fields } : { type: fields[0]!.type };
}

const NUMBER = /^\s*([-+]?)\s*(?:(INFINITY)|((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))[fFuUlL]*\s*$/;

/** Numbers, one for each field where accumulators have names. */
function identityOf(
  texts: GivenTexts,
  identity: unknown,
  fields: readonly CudaParameter[] | undefined,
): readonly (number | bigint | boolean)[] {
  if (fields === undefined) return [numberIn(texts, identity)];
  if (!Array.isArray(identity) || identity.length !== fields.length)
    throw new ArgumentError(
      expected(OP, `an identity of ${fields.length} numbers, as reduceType has`, formatValue(identity)),
    );
  return identity.map((each) => numberIn(texts, each));
}

function numberIn(texts: GivenTexts, identity: unknown): number | bigint | boolean {
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
