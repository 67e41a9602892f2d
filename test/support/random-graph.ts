/**
 * Random graphs for property tests: a list of choices becomes a program of the public API, its code, and a graph. Any
 * list of choices is a valid program, so that fast-check can shrink by dropping and lowering them.
 *
 * What is known about each value decides which ops it may meet. `exact`: its bits follow from the rules, whatever order
 * a backend works in. `bound`: it holds only integers of at most this size, so that even its float sums are exact.
 */
import {
  byteLengthOf,
  type DType,
  isComplex,
  isFloat,
  isInteger,
  kindOf,
  promote,
} from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { concat, type Lazy, stack, where } from '../../src/index.js';
import { toLazy } from './api.js';
import { sizeOf } from './host.js';
import { randomIntegers } from './random.js';

export interface Choice {
  readonly action: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export interface Value {
  readonly lazy: Lazy;
  readonly exact: boolean;
  /** Undefined: not known to be integers of a moderate size. */
  readonly bound: number | undefined;
  /** Zeros may have either sign (extremes and sums do not say which), so nothing may be divided by it. */
  readonly anyZero: boolean;
}

export interface RandomProgram {
  readonly values: readonly Value[];
  /** TypeScript that builds the same values, one a line. */
  readonly code: readonly string[];
}

const DTYPES = [
  'float32',
  'int32',
  'bool',
  'float64',
  'float16',
  'int8',
  'int64',
  'uint8',
  'bfloat16',
  'complex64',
  'uint32',
  'int16',
] as const;
const SHAPES: readonly Shape[] = [
  [3, 4],
  [4],
  [],
  [2, 3, 4],
  [3, 1],
  [1, 4],
  [5],
  [0, 4],
  [1],
  [2, 1, 4],
  [37],
  [3, 130],
];

const at = <T>(list: readonly T[], choice: number): T => list[choice % list.length]!;

/** Integers of up to this size are exact in the dtype, and so are the sums a backend forms on the way. */
const integerLimit = (dtype: DType): number => {
  switch (dtype) {
    case 'float16':
      return 2 ** 11;
    case 'bfloat16':
      return 2 ** 8;
    case 'float64':
    case 'complex128':
      return 2 ** 53;
    case 'float32':
    case 'complex64':
      return 2 ** 24;
    default:
      return Number.POSITIVE_INFINITY;
  }
};

/** How many products are added up in one component of a product. */
const componentsOf = (dtype: DType): number => (isComplex(dtype) ? 2 : 1);

const broadcastable = (a: Shape, b: Shape): boolean => {
  const rank = Math.min(a.length, b.length);
  return Array.from({ length: rank }, (_, k) => [a.at(-1 - k)!, b.at(-1 - k)!] as const).every(
    ([m, n]) => m === n || m === 1 || n === 1,
  );
};

/** A new value and its code, or undefined where the choice does not fit: then the choice adds nothing. */
type Made =
  | { readonly value: Omit<Value, 'anyZero'>; readonly code: string; readonly zeros?: 'any' }
  | undefined;

/** The values so far, with what choosing among them needs. */
class State {
  readonly values: Value[] = [];
  readonly code: string[] = [];

  index(choice: number): number {
    return choice % this.values.length;
  }

  /** The value that `choice` names, or the nearest before it that broadcasts with `shape`. */
  partner(choice: number, shape: Shape): number {
    const start = this.index(choice);
    for (let k = 0; k < this.values.length; k++) {
      const i = (start - k + this.values.length) % this.values.length;
      if (broadcastable(this.values[i]!.lazy.shape, shape)) return i;
    }
    return start;
  }
}

function source(choice: Choice): NonNullable<Made> {
  const dtype = at(DTYPES, choice.a);
  const shape = at(SHAPES, choice.b);
  const array = randomIntegers(dtype, shape, choice.c, -5, 5);
  return {
    value: { lazy: toLazy(array), exact: true, bound: dtype === 'bool' ? 1 : 5 },
    code: `toLazy(randomIntegers('${dtype}', [${shape}], ${choice.c}, -5, 5))`,
  };
}

type BinaryName =
  | 'add'
  | 'subtract'
  | 'multiply'
  | 'maximum'
  | 'minimum'
  | 'divide'
  | 'floorDivide'
  | 'remainder';
type CompareName = 'less' | 'equal' | 'greaterEqual' | 'notEqual';
type BitName = 'bitwiseAnd' | 'bitwiseXor' | 'bitwiseLeftShift' | 'bitwiseRightShift';
const BINARY: readonly BinaryName[] = [
  'add',
  'subtract',
  'multiply',
  'maximum',
  'minimum',
  'divide',
  'floorDivide',
  'remainder',
];
const COMPARE: readonly CompareName[] = ['less', 'equal', 'greaterEqual', 'notEqual'];
const BITS: readonly BitName[] = ['bitwiseAnd', 'bitwiseXor', 'bitwiseLeftShift', 'bitwiseRightShift'];

function binary(state: State, { a, b, c }: Choice): Made {
  const op = at(BINARY, c);
  const i = state.index(a);
  const x = state.values[i]!;
  const j = state.partner(b, x.lazy.shape);
  const y = state.values[j]!;
  const dtype = promote(x.lazy.dtype, y.lazy.dtype);
  const discontinuous = op === 'floorDivide' || op === 'remainder' || op === 'divide';
  if (op !== 'add' && op !== 'multiply' && dtype === 'bool') return undefined;
  if (isComplex(dtype) && (discontinuous || op === 'maximum' || op === 'minimum')) return undefined;
  const exact = x.exact && y.exact;
  if (discontinuous && (!exact || y.anyZero)) return undefined;
  const bound = binaryBound(op, dtype, x.bound, y.bound);
  // Products of general complex values may be formed in several ways.
  const stays = !(isComplex(dtype) && bound === undefined);
  const made = {
    value: { lazy: x.lazy[op](y.lazy), exact: exact && stays, bound },
    code: `v${i}.${op}(v${j})`,
  };
  return op === 'maximum' || op === 'minimum' ? { ...made, zeros: 'any' } : made;
}

function binaryBound(
  op: BinaryName,
  dtype: DType,
  p: number | undefined,
  q: number | undefined,
): number | undefined {
  if (p === undefined || q === undefined) return undefined;
  switch (op) {
    case 'add':
    case 'subtract':
      return p + q;
    case 'multiply':
      return p * q * componentsOf(dtype);
    case 'maximum':
    case 'minimum':
      return Math.max(p, q);
    case 'divide':
    case 'floorDivide':
    case 'remainder':
      return undefined;
  }
}

function compare(state: State, { a, b, c }: Choice): Made {
  const op = at(COMPARE, c);
  const i = state.index(a);
  const x = state.values[i]!;
  const j = state.partner(b, x.lazy.shape);
  const y = state.values[j]!;
  if (!x.exact || !y.exact) return undefined;
  if (isComplex(promote(x.lazy.dtype, y.lazy.dtype)) && op !== 'equal' && op !== 'notEqual') return undefined;
  return { value: { lazy: x.lazy[op](y.lazy), exact: true, bound: 1 }, code: `v${i}.${op}(v${j})` };
}

function bits(state: State, { a, b, c }: Choice): Made {
  const op = at(BITS, c);
  const i = state.index(a);
  const x = state.values[i]!;
  const j = state.partner(b, x.lazy.shape);
  const y = state.values[j]!;
  if (!isInteger(x.lazy.dtype) || !isInteger(y.lazy.dtype) || !isInteger(promote(x.lazy.dtype, y.lazy.dtype)))
    return undefined;
  return { value: { lazy: x.lazy[op](y.lazy), exact: true, bound: undefined }, code: `v${i}.${op}(v${j})` };
}

function unary(state: State, { a, c }: Choice): Made {
  const i = state.index(a);
  const { lazy: x, exact, bound } = state.values[i]!;
  const real = !isComplex(x.dtype);
  const made = (lazy: Lazy, code: string, stays: boolean, limit: number | undefined): Made => ({
    value: { lazy, exact: exact && stays, bound: limit },
    code: `v${i}.${code}`,
  });
  switch (c % 8) {
    case 0:
      return x.dtype === 'bool'
        ? made(x.logicalNot(), 'logicalNot()', true, 1)
        : made(x.negative(), 'negative()', true, bound);
    case 1:
      return real ? made(x.abs(), 'abs()', true, bound) : made(x.conj(), 'conj()', true, bound);
    case 2:
      return bound !== undefined && bound < 1000
        ? made(x.square(), 'square()', true, bound * bound * componentsOf(x.dtype))
        : undefined;
    case 3:
      return isFloat(x.dtype) && bound !== undefined && bound < 50
        ? made(x.multiply(0.125).exp(), 'multiply(0.125).exp()', false, undefined)
        : undefined;
    case 4:
      return isFloat(x.dtype) && exact ? made(x.abs().sqrt(), 'abs().sqrt()', true, undefined) : undefined;
    case 5:
      return isFloat(x.dtype) ? made(x.tanh(), 'tanh()', false, undefined) : undefined;
    case 6:
      return made(x.add(1), 'add(1)', true, bound === undefined ? undefined : bound + 1);
    default:
      return real && exact && x.dtype !== 'bool' ? made(x.sign(), 'sign()', true, 1) : undefined;
  }
}

function cast(state: State, { a, c }: Choice): Made {
  const i = state.index(a);
  const x = state.values[i]!;
  const dtype = at(DTYPES, c);
  if (isComplex(x.lazy.dtype) && !isComplex(dtype)) return undefined;
  if (!x.exact && !isFloat(dtype) && !isComplex(dtype)) return undefined;
  const bound = dtype === 'bool' ? 1 : x.bound;
  return { value: { lazy: x.lazy.astype(dtype), exact: x.exact, bound }, code: `v${i}.astype('${dtype}')` };
}

const REDUCTIONS = ['sum', 'max', 'min', 'any', 'all', 'argmax', 'argmin', 'prod', 'mean', 'var'] as const;

function reduce(state: State, { a, b, c }: Choice): Made {
  const method = at(REDUCTIONS, c);
  const i = state.index(a);
  const { lazy: x, exact, bound } = state.values[i]!;
  const rank = x.shape.length;
  const axis = rank === 0 || b % 4 === 3 ? null : b % rank;
  const count = axis === null ? sizeOf(x.shape) : x.shape[axis]!;
  const keepdims = b % 2 === 1;
  const ordered = method === 'max' || method === 'min' || method === 'argmax' || method === 'argmin';
  if (ordered && (count === 0 || isComplex(x.dtype))) return undefined;
  const floating = isFloat(x.dtype) || isComplex(x.dtype);
  let limit: number | undefined;
  let stays = true;
  switch (method) {
    case 'sum':
      limit = bound === undefined ? undefined : bound * Math.max(count, 1);
      stays = !floating || (limit !== undefined && limit <= integerLimit(x.dtype));
      break;
    case 'max':
    case 'min':
      limit = bound;
      break;
    case 'any':
    case 'all':
    case 'argmax':
    case 'argmin':
      if (!exact) return undefined;
      limit = method === 'any' || method === 'all' ? 1 : Math.max(count, 1);
      break;
    case 'prod':
      if (floating && (bound === undefined || bound > 8 || count > 5)) return undefined;
      limit =
        bound === undefined || count > 5 ? undefined : (Math.max(bound, 1) * componentsOf(x.dtype)) ** count;
      stays = !floating || (limit !== undefined && limit <= integerLimit(x.dtype));
      break;
    case 'mean':
    case 'var':
      if (count === 0 || x.dtype === 'bool' || isComplex(x.dtype)) return undefined;
      stays = false;
      break;
  }
  return {
    value: { lazy: x[method](axis, { keepdims }), exact: exact && stays, bound: limit },
    code: `v${i}.${method}(${axis}, { keepdims: ${keepdims} })`,
    zeros: 'any',
  };
}

function view(state: State, { a, b, c }: Choice): Made {
  const i = state.index(a);
  const { lazy: x, ...known } = state.values[i]!;
  const rank = x.shape.length;
  const made = (lazy: Lazy, code: string): Made => ({ value: { ...known, lazy }, code: `v${i}.${code}` });
  const axis = rank === 0 ? 0 : b % rank;
  switch (c % 9) {
    case 0:
      return made(x.transpose(), 'transpose()');
    case 1:
      return made(x.reshape([-1]), 'reshape([-1])');
    case 2:
      return made(x.expandDims(b % (rank + 1)), `expandDims(${b % (rank + 1)})`);
    case 3:
      return rank > 0 ? made(x.flip(axis), `flip(${axis})`) : undefined;
    case 4:
      return rank > 0
        ? made(x.slice([b % 3, null, 1 + (b % 2)]), `slice([${b % 3}, null, ${1 + (b % 2)}])`)
        : undefined;
    case 5:
      return rank > 0 ? made(x.roll(b, axis), `roll(${b}, ${axis})`) : undefined;
    case 6:
      return sizeOf(x.shape) <= 300
        ? made(x.broadcastTo([2, ...x.shape]), `broadcastTo([2, ${x.shape}])`)
        : undefined;
    case 7:
      return rank > 1 ? made(x.tril((b % 5) - 2), `tril(${(b % 5) - 2})`) : undefined;
    default:
      return rank > 1 ? made(x.slice(null, [null, null, -1]), 'slice(null, [null, null, -1])') : undefined;
  }
}

function join(state: State, { a, b, c }: Choice): Made {
  const i = state.index(a);
  const x = state.values[i]!;
  if (sizeOf(x.lazy.shape) > 600) return undefined;
  const same = state.values
    .map((_, k) => k)
    .filter((k) => state.values[k]!.lazy.shape.join() === x.lazy.shape.join());
  const j = at(same, b);
  const y = state.values[j]!;
  const rank = x.lazy.shape.length;
  const bound = x.bound === undefined || y.bound === undefined ? undefined : Math.max(x.bound, y.bound);
  const known = { exact: x.exact && y.exact, bound };
  if (c % 3 === 0 && rank > 0)
    return {
      value: { lazy: concat([x.lazy, y.lazy], c % rank), ...known },
      code: `concat([v${i}, v${j}], ${c % rank})`,
    };
  if (c % 3 === 1)
    return {
      value: { lazy: stack([x.lazy, y.lazy], c % (rank + 1)), ...known },
      code: `stack([v${i}, v${j}], ${c % (rank + 1)})`,
    };
  const masks = state.values
    .map((_, k) => k)
    .filter(
      (k) =>
        state.values[k]!.lazy.dtype === 'bool' && broadcastable(state.values[k]!.lazy.shape, x.lazy.shape),
    );
  if (masks.length === 0) return undefined;
  const m = at(masks, c);
  return {
    value: { lazy: where(state.values[m]!.lazy, x.lazy, y.lazy), ...known },
    code: `where(v${m}, v${i}, v${j})`,
  };
}

function product(state: State, { a, b }: Choice): Made {
  const i = state.index(a);
  const x = state.values[i]!;
  const k = x.lazy.shape.at(-1);
  const fits = state.values
    .map((_, j) => j)
    .filter(
      (j) =>
        state.values[j]!.lazy.shape.length === 2 &&
        state.values[j]!.lazy.shape[0] === k &&
        state.values[j]!.lazy.dtype === x.lazy.dtype,
    );
  const transposed = fits.length === 0 && x.lazy.shape.length === 2;
  if (k === undefined || (fits.length === 0 && !transposed)) return undefined;
  const j = transposed ? i : at(fits, b);
  const y = state.values[j]!;
  const dtype = x.lazy.dtype;
  if (dtype === 'bool') return undefined;
  const limit =
    x.bound === undefined || y.bound === undefined
      ? undefined
      : x.bound * y.bound * Math.max(k, 1) * componentsOf(dtype);
  const floating = isFloat(dtype) || isComplex(dtype);
  // A product of products may be taken in another order: then only exact integers stay exact.
  const stays = !floating || (limit !== undefined && 4096 * limit <= integerLimit(dtype));
  if (floating && !stays) return undefined;
  return {
    value: {
      lazy: x.lazy.matmul(transposed ? y.lazy.transpose() : y.lazy),
      exact: x.exact && y.exact,
      bound: limit,
    },
    code: `v${i}.matmul(v${j}${transposed ? '.transpose()' : ''})`,
    zeros: 'any',
  };
}

const ACTIONS: readonly ((state: State, choice: Choice) => Made)[] = [
  (_, choice) => source(choice),
  binary,
  unary,
  reduce,
  view,
  binary,
  compare,
  cast,
  join,
  binary,
  unary,
  bits,
  reduce,
  view,
  product,
];

/** What an integer dtype can hold, and a float dtype holds exactly: beyond it nothing more is known. */
function boundIn(dtype: DType, bound: number | undefined): number | undefined {
  if (dtype === 'bool') return 1;
  if (isInteger(dtype)) {
    const bits = 8 * byteLengthOf(dtype);
    const most =
      kindOf(dtype) === 'uint' ? 2 ** bits - 1 : Math.min(bound ?? Number.POSITIVE_INFINITY, 2 ** (bits - 1));
    return most < 2 ** 53 ? most : undefined;
  }
  return bound !== undefined && bound <= integerLimit(dtype) ? bound : undefined;
}

/** Builds the program that the choices spell; it starts with one source, whatever they are. */
export function buildRandomProgram(choices: readonly Choice[]): RandomProgram {
  const state = new State();
  const push = (made: Made) => {
    if (made === undefined) return;
    const { lazy } = made.value;
    const floating = isFloat(lazy.dtype) || isComplex(lazy.dtype);
    const anyZero = floating && (made.zeros === 'any' || usesAnyZero(state, made.code));
    state.values.push({ ...made.value, bound: boundIn(lazy.dtype, made.value.bound), anyZero });
    state.code.push(`const v${state.code.length} = ${made.code};`);
  };
  push(source({ action: 0, a: choices[0]?.a ?? 0, b: choices[0]?.b ?? 0, c: 1 }));
  for (const choice of choices) {
    if (state.values.some((value) => sizeOf(value.lazy.shape) > 20_000)) break;
    push(at(ACTIONS, choice.action)(state, choice));
  }
  return { values: state.values, code: state.code };
}

/** Whether an operand named in the code has zeros of unknown sign. */
const usesAnyZero = (state: State, code: string): boolean =>
  [...code.matchAll(/\bv(\d+)/g)].some(([, i]) => state.values[Number(i)]!.anyZero);
