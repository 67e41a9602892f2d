/** Arguments that the functions of `random` have in common: keys, shapes, dtypes and parameters. */
import { checkOptions } from '../graph/arguments.js';
import type { Sampling } from '../graph/distributions.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { cast, checkDType, type Operand } from '../graph/infer.js';
import { GENERATORS, type Generator, type KeyBits } from '../graph/random-bits.js';
import { isScalar } from '../graph/scalar.js';
import { checkInteger, checkShape, type ShapeArgument } from '../graph/shape.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** A key: what random numbers depend on. Use a key for one sample; `split` and `foldIn` make others of it. */
export interface RandomKey {
  readonly impl: Generator;
  /** 64 bits, as an array of shape (). */
  readonly words: Lazy<'uint64'>;
}

/** A key, or the words of a Philox key alone: as an argument of a compiled function, or the state of a loop. */
export type KeyArgument = RandomKey | Lazy<'uint64'>;

/** Options of a sample: its dtype, float64, or int64 of whole numbers, unless one is given. */
export interface SampleOptions<D extends DType = DType> {
  readonly dtype?: D | undefined;
}

/** Options of `random.normal`. */
export interface NormalOptions<D extends DType = DType> extends SampleOptions<D> {
  /** 0 by default. */
  readonly mean?: ArrayLike | undefined;
  /** The standard deviation, 1 by default. */
  readonly deviation?: ArrayLike | undefined;
}
export const keyOf = ({ impl, words: node }: KeyBits): RandomKey =>
  Object.freeze({ impl, words: new Lazy<'uint64'>(node) });

export function bitsOf(op: string, from: KeyArgument): KeyBits {
  if (from instanceof Lazy) return bitsOf(op, { impl: 'philox4x32', words: from });
  const isKey =
    typeof from === 'object' && from !== null && GENERATORS.includes(from.impl) && 'words' in from;
  if (!isKey) throw new ArgumentError(expected(op, 'a key, as random.key(seed) gives it', formatValue(from)));
  const node = exprOf(op, from.words);
  if (node.dtype !== 'uint64' || node.shape.length > 0)
    throw new ArgumentError(expected(op, 'the words of one key', `${node.dtype} ${formatShape(node.shape)}`));
  return { impl: from.impl, words: node };
}

/** The common arguments of samplers, checked. */
export function sample(
  op: string,
  from: KeyArgument,
  shape: ShapeArgument,
  options: { readonly dtype?: DType | undefined } | undefined,
  known: readonly string[],
  usual: DType,
): Sampling {
  checkOptions(op, options, ['dtype', ...known]);
  const dtype = options?.dtype === undefined ? usual : checkDType(op, options.dtype);
  return { op, key: bitsOf(op, from), shape: checkShape(op, shape), dtype };
}

export const operandOf = (op: string, value: ArrayLike): Operand =>
  isScalar(value) ? value : exprOf(op, value);

export function sizeOf(op: string, value: unknown): number {
  const n = checkInteger(op, 'the number of elements', value);
  if (n < 0) throw new RangeArgumentError(expected(op, 'a number of elements', `${n}`));
  return n;
}

export function weightsOf(op: string, p: ArrayLike, n: number): Expr {
  const weights = exprOf(op, p);
  if (weights.shape.length !== 1 || weights.shape[0] !== n)
    throw new ShapeError(expected(op, `a weight for each of ${n} elements`, formatShape(weights.shape)));
  return weights.dtype === 'float64' ? weights : cast(weights, 'float64');
}

const RANGES = {
  'not negative': (x: number) => x >= 0,
  positive: (x: number) => x > 0,
  'above 1': (x: number) => x > 1,
  'from 0 to below 1': (x: number) => x >= 0 && x < 1,
  'from 0 to 1': (x: number) => x >= 0 && x <= 1,
  'above 0 and at most 1': (x: number) => x > 0 && x <= 1,
} as const;

/** A parameter of a distribution: a number is checked, the elements of an array are not looked at. */
export function parameter(op: string, name: string, range: keyof typeof RANGES, value: ArrayLike): Operand {
  const operand = operandOf(op, value);
  if (isScalar(operand) && !RANGES[range](Number(operand)))
    throw new RangeArgumentError(expected(op, `${name} to be ${range}`, formatValue(operand)));
  return operand;
}

/** A distribution: the node of a sample, its parameters with the ranges of numbers, options beside the dtype. */
export interface Distribution {
  readonly node: (own: Sampling, ...parameters: Operand[]) => Expr;
  readonly parameters: readonly (readonly [name: string, range?: keyof typeof RANGES])[];
  readonly options?: readonly string[];
}

/** The node of a sample with these parameters, checked. */
export function drawn({ node, parameters }: Distribution, own: Sampling, values: readonly ArrayLike[]): Expr {
  const operands = parameters.map(([name, range], k) =>
    range === undefined ? operandOf(own.op, values[k]!) : parameter(own.op, name, range, values[k]!),
  );
  return node(own, ...operands);
}

/** Numbers of several outcomes, along a last axis that has elements. */
export function withLastAxis(op: string, name: string, value: ArrayLike): Expr {
  const array = exprOf(op, value);
  const size = array.shape.at(-1);
  if (size === undefined || size === 0)
    throw new ShapeError(expected(op, `${name} to have elements along an axis`, formatShape(array.shape)));
  return array;
}
