/**
 * Values of random graphs by arithmetic: sources, constants, elementwise ops, comparisons, casts and choices
 * by a mask. Used by `random-graph.ts`.
 */
import { type DType, isComplex, isFloat, isInteger, promote } from '../../src/graph/dtype.js';
import { arange, eye, full, type Lazy, linspace, zeros } from '../../src/index.js';
import { toLazy } from './api.js';
import { randomIntegers } from './random.js';
import {
  at,
  type Choice,
  componentsOf,
  DTYPES,
  type Made,
  SHAPES,
  type State,
  type Value,
} from './random-values.js';

export function source(choice: Choice): NonNullable<Made> {
  const dtype = at(DTYPES, choice.a);
  const shape = at(SHAPES, choice.b);
  const array = randomIntegers(dtype, shape, choice.c, -5, 5);
  return {
    value: { lazy: toLazy(array), exact: true, bound: dtype === 'bool' ? 1 : 5 },
    code: `toLazy(randomIntegers('${dtype}', [${shape}], ${choice.c}, -5, 5))`,
  };
}

/** Arrays that are no data: ranges, constants, masks made of indices. */
export function creation({ a, b, c }: Choice): NonNullable<Made> {
  const count = b % 7;
  const made = (lazy: Lazy, code: string, bound: number): NonNullable<Made> => ({
    value: { lazy, exact: true, bound },
    code,
  });
  switch (c % 5) {
    case 0: {
      const [start, step] = [(a % 9) - 4, (a % 3) + 1];
      const stop = start + step * count;
      return made(
        arange(start, stop, step),
        `arange(${start}, ${stop}, ${step})`,
        Math.abs(start) + step * count,
      );
    }
    case 1:
      return made(linspace(0, 2 * count, count + 1), `linspace(0, ${2 * count}, ${count + 1})`, 2 * count);
    case 2: {
      const [shape, dtype, value] = [at(SHAPES, a), at(DTYPES, b), c % 3];
      return made(full(shape, value, dtype), `full([${shape}], ${value}, '${dtype}')`, 2);
    }
    case 3: {
      const k = (a % 5) - 2;
      return made(eye(count + 1, 4, { k }), `eye(${count + 1}, 4, { k: ${k} })`, 1);
    }
    default: {
      const [shape, dtype] = [at(SHAPES, a), at(DTYPES, b)];
      return made(zeros(shape, dtype), `zeros([${shape}], '${dtype}')`, 0);
    }
  }
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

export function binary(state: State, { a, b, c }: Choice): Made {
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

export function compare(state: State, { a, b, c }: Choice): Made {
  const op = at(COMPARE, c);
  const i = state.index(a);
  const x = state.values[i]!;
  const j = state.partner(b, x.lazy.shape);
  const y = state.values[j]!;
  if (!x.exact || !y.exact) return undefined;
  if (isComplex(promote(x.lazy.dtype, y.lazy.dtype)) && op !== 'equal' && op !== 'notEqual') return undefined;
  return { value: { lazy: x.lazy[op](y.lazy), exact: true, bound: 1 }, code: `v${i}.${op}(v${j})` };
}

export function bits(state: State, { a, b, c }: Choice): Made {
  const op = at(BITS, c);
  const i = state.index(a);
  const x = state.values[i]!;
  const j = state.partner(b, x.lazy.shape);
  const y = state.values[j]!;
  if (!isInteger(x.lazy.dtype) || !isInteger(y.lazy.dtype) || !isInteger(promote(x.lazy.dtype, y.lazy.dtype)))
    return undefined;
  return { value: { lazy: x.lazy[op](y.lazy), exact: true, bound: undefined }, code: `v${i}.${op}(v${j})` };
}

type LogicalName = 'logicalAnd' | 'logicalOr' | 'logicalXor';
const LOGICAL: readonly LogicalName[] = ['logicalAnd', 'logicalOr', 'logicalXor'];

export function logical(state: State, { a, b, c }: Choice): Made {
  const op = at(LOGICAL, c);
  const i = state.index(a);
  const x = state.values[i]!;
  const j = state.partner(b, x.lazy.shape);
  const y = state.values[j]!;
  if (!x.exact || !y.exact) return undefined;
  return { value: { lazy: x.lazy[op](y.lazy), exact: true, bound: 1 }, code: `v${i}.${op}(v${j})` };
}

type UnaryMade = {
  readonly lazy: Lazy;
  readonly code: string;
  readonly stays: boolean;
  readonly bound?: number;
};

export function unary(state: State, { a, c }: Choice): Made {
  const i = state.index(a);
  const value = state.values[i]!;
  const made = c % 2 === 0 ? plainUnary(value, c >> 1) : floatUnary(value, c >> 1);
  if (made === undefined) return undefined;
  const { lazy, code, stays, bound } = made;
  return { value: { lazy, exact: value.exact && stays, bound }, code: `v${i}.${code}` };
}

/** Of numbers of any dtype, and exact. */
function plainUnary({ lazy: x, exact, bound, anyZero }: Value, choice: number): UnaryMade | undefined {
  const real = !isComplex(x.dtype);
  const made = (lazy: Lazy, code: string, limit: number | undefined): UnaryMade => ({
    lazy,
    code,
    stays: true,
    ...(limit === undefined ? {} : { bound: limit }),
  });
  switch (choice % 8) {
    case 0:
      return x.dtype === 'bool'
        ? made(x.logicalNot(), 'logicalNot()', 1)
        : made(x.negative(), 'negative()', bound);
    case 1:
      return real ? made(x.abs(), 'abs()', bound) : made(x.conj(), 'conj()', bound);
    case 2:
      return bound !== undefined && bound < 1000
        ? made(x.square(), 'square()', bound * bound * componentsOf(x.dtype))
        : undefined;
    case 3:
      return made(x.add(1), 'add(1)', bound === undefined ? undefined : bound + 1);
    case 4:
      return real && exact && x.dtype !== 'bool' ? made(x.sign(), 'sign()', 1) : undefined;
    case 5:
      return real && exact && x.dtype !== 'bool' ? made(x.clip(0, 3), 'clip(0, 3)', 3) : undefined;
    case 6:
      return isInteger(x.dtype) ? made(x.bitwiseInvert(), 'bitwiseInvert()', undefined) : undefined;
    default:
      return isFloat(x.dtype) && exact && bound !== undefined && !anyZero
        ? made(x.signbit(), 'signbit()', 1)
        : undefined;
  }
}

/** Of floats: what rounds, and what a backend may compute in several ways. */
function floatUnary({ lazy: x, exact, bound }: Value, choice: number): UnaryMade | undefined {
  if (!isFloat(x.dtype)) return undefined;
  const made = (lazy: Lazy, code: string, stays: boolean): UnaryMade => ({ lazy, code, stays });
  const small = bound !== undefined && bound < 50;
  switch (choice % 10) {
    case 0:
      return small ? made(x.multiply(0.125).exp(), 'multiply(0.125).exp()', false) : undefined;
    case 1:
      return exact ? made(x.abs().sqrt(), 'abs().sqrt()', true) : undefined;
    case 2:
      return made(x.tanh(), 'tanh()', false);
    case 3:
      return exact ? made(x.multiply(0.5).floor(), 'multiply(0.5).floor()', true) : undefined;
    case 4:
      return exact ? made(x.multiply(0.25).round(), 'multiply(0.25).round()', true) : undefined;
    case 5:
      return small ? made(x.abs().add(1).log(), 'abs().add(1).log()', false) : undefined;
    case 6:
      return small ? made(x.sin(), 'sin()', false) : undefined;
    case 7:
      return exact ? made(x.isfinite(), 'isfinite()', true) : undefined;
    case 8:
      return small ? made(x.erf(), 'erf()', false) : undefined;
    default:
      return exact ? made(x.isnan(), 'isnan()', true) : undefined;
  }
}

export function cast(state: State, { a, c }: Choice): Made {
  const i = state.index(a);
  const x = state.values[i]!;
  const dtype = at(DTYPES, c);
  if (isComplex(x.lazy.dtype) && !isComplex(dtype)) return undefined;
  if (!x.exact && !isFloat(dtype) && !isComplex(dtype)) return undefined;
  const bound = dtype === 'bool' ? 1 : x.bound;
  return { value: { lazy: x.lazy.astype(dtype), exact: x.exact, bound }, code: `v${i}.astype('${dtype}')` };
}
