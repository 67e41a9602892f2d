/**
 * The functions and constants that a traced function finds without being given them: `Math`, `Number`, and
 * the global ones. They have JavaScript's values, where Weft's ops of that name differ: `round` takes halves
 * up, `sign` keeps a negative zero.
 */
import { isFloat } from '../graph/dtype.js';
import { bitCount } from '../graph/elementwise.js';
import { cast, isExpr, map } from '../graph/infer.js';
import type { OpName } from '../graph/ops.js';
import { binary, isWhole, power } from './arithmetic.js';
import { conjunction } from './choice.js';
import { isWeak, numeric, truth, weakened } from './operands.js';
import { type Callable, isOperand, type Operand, type Value } from './value.js';

/** Values that a function does not take: an error that the caller gives a place. */
export class NoArgument extends Error {}

function operandsOf(name: string, args: readonly Value[]): Operand[] {
  return args.map((arg) => {
    if (!isOperand(arg)) throw new NoArgument(`${name} of numbers`);
    return arg;
  });
}

/** A function that JavaScript computes of constants, and `build` of nodes. */
function callable(
  name: string,
  arity: readonly [least: number, most: number],
  folded: ((...args: number[]) => number | boolean) | undefined,
  build: (args: readonly Operand[]) => Operand,
): Callable {
  const apply = (args: readonly Value[]): Value => {
    const operands = operandsOf(name, args);
    const known = operands.every((x) => typeof x === 'number' || typeof x === 'boolean');
    if (known && folded !== undefined) return folded(...(operands as number[]));
    const result = build(operands.map(numeric));
    if (!isExpr(result)) return result;
    return operands.every(isWeak) && result.dtype !== 'bool' ? weakened(result) : result;
  };
  return { name, least: arity[0], most: arity[1], apply };
}

/** An op of the table that computes as JavaScript's function of this name does. */
function same(name: keyof Math & OpName): Callable {
  const folded = Math[name] as (...args: number[]) => number;
  const arity = name === 'atan2' ? 2 : 1;
  return callable(`Math.${name}`, [arity, arity], folded, (args) => map(name, args));
}

const SAME = [
  'abs', 'sqrt', 'cbrt', 'exp', 'expm1', 'log', 'log1p', 'log2', 'log10', 'sin', 'cos', 'tan', 'asin', 'acos',
  'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'atan2', 'floor', 'ceil', 'trunc',
] as const; // biome-ignore format: a list

/** A function of any number of arguments, two by two. */
function folding(name: 'max' | 'min' | 'hypot', op: OpName, none: number): Callable {
  return callable(`Math.${name}`, [0, Number.POSITIVE_INFINITY], Math[name], ([first = none, ...more]) => {
    if (more.length === 0) return name === 'hypot' ? map('abs', [first]) : first;
    return more.reduce((met, each) => map(op, [met, each]), first);
  });
}

/** The nearest integer, halves up; -0 where JavaScript gives it. */
function rounded([x]: readonly Operand[]): Operand {
  if (isExpr(x!) && isWhole(x)) return x;
  const below = map('floor', [x!]);
  const isUp = map('greaterEqual', [map('subtract', [x!, below]), 0.5]);
  return map('copysign', [map('where', [isUp, map('add', [below, 1]), below]), x!]);
}

function sign([x]: readonly Operand[]): Operand {
  const result = map('sign', [x!]);
  return isFloat(result.dtype) ? map('where', [map('equal', [x!, 0]), x!, result]) : result;
}

const asInt32 = (x: Operand): Operand => binary('|', x, 0);

/** Zeros before the first one among 32 bits: 32 less the ones, once all bits behind the first one are set. */
function leadingZeros([x]: readonly Operand[]): Operand {
  let bits = cast(map('positive', [asInt32(x!)]), 'uint32');
  for (const by of [1, 2, 4, 8, 16]) bits = map('bitwiseOr', [bits, map('bitwiseRightShift', [bits, by])]);
  return map('subtract', [32, cast(bitCount(bits), 'int64')]);
}

/** The last 32 bits of a product, which int64 holds. */
const product32 = ([x, y]: readonly Operand[]): Operand =>
  asInt32(map('multiply', [asInt32(x!), asInt32(y!)]));
const toHalf = ([x]: readonly Operand[]): Operand => cast(map('positive', [x!]), 'float16');

const MATH: Readonly<Record<string, Callable>> = Object.fromEntries([
  ...SAME.map((name) => [name, same(name)] as const),
  ['max', folding('max', 'maximum', Number.NEGATIVE_INFINITY)],
  ['min', folding('min', 'minimum', Number.POSITIVE_INFINITY)],
  ['hypot', folding('hypot', 'hypot', 0)],
  ['pow', callable('Math.pow', [2, 2], Math.pow, ([x, y]) => power(x!, y!))],
  ['round', callable('Math.round', [1, 1], Math.round, rounded)],
  ['sign', callable('Math.sign', [1, 1], Math.sign, sign)],
  ['fround', callable('Math.fround', [1, 1], Math.fround, ([x]) => cast(map('positive', [x!]), 'float32'))],
  ['f16round', callable('Math.f16round', [1, 1], undefined, toHalf)],
  ['clz32', callable('Math.clz32', [1, 1], Math.clz32, leadingZeros)],
  ['imul', callable('Math.imul', [2, 2], Math.imul, product32)],
]);

const isFinite_ = ([x]: readonly Operand[]): Operand => map('isfinite', [x!]);
const isNaN_ = ([x]: readonly Operand[]): Operand => map('isnan', [x!]);
const isInteger = ([x]: readonly Operand[]): Operand =>
  conjunction(map('isfinite', [x!]), map('equal', [map('floor', [x!]), x!]));

const NUMBER: Readonly<Record<string, Callable>> = {
  isFinite: callable('Number.isFinite', [1, 1], Number.isFinite, isFinite_),
  isNaN: callable('Number.isNaN', [1, 1], Number.isNaN, isNaN_),
  isInteger: callable('Number.isInteger', [1, 1], Number.isInteger, isInteger),
};

/** Functions by their global names. */
const GLOBAL: Readonly<Record<string, Callable>> = {
  isFinite: callable('isFinite', [1, 1], Number.isFinite, isFinite_),
  isNaN: callable('isNaN', [1, 1], Number.isNaN, isNaN_),
  Number: callable('Number', [1, 1], Number, ([x]) => x!),
  Boolean: {
    name: 'Boolean',
    least: 1,
    most: 1,
    apply: ([x]) => truth(operandsOf('Boolean', [x!])[0]!),
  },
};

const CONSTANTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  Math: {
    E: Math.E,
    LN10: Math.LN10,
    LN2: Math.LN2,
    LOG10E: Math.LOG10E,
    LOG2E: Math.LOG2E,
    PI: Math.PI,
    SQRT1_2: Math.SQRT1_2,
    SQRT2: Math.SQRT2,
  },
  Number: {
    EPSILON: Number.EPSILON,
    MAX_SAFE_INTEGER: Number.MAX_SAFE_INTEGER,
    MAX_VALUE: Number.MAX_VALUE,
    MIN_SAFE_INTEGER: Number.MIN_SAFE_INTEGER,
    MIN_VALUE: Number.MIN_VALUE,
    NEGATIVE_INFINITY: Number.NEGATIVE_INFINITY,
    NaN: Number.NaN,
    POSITIVE_INFINITY: Number.POSITIVE_INFINITY,
  },
};

const GLOBAL_CONSTANTS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
};

const own = <T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

/** A global constant or function. */
export const globalOf = (name: string): number | Callable | undefined =>
  own(GLOBAL_CONSTANTS, name) ?? own(GLOBAL, name);

/** Whether an object is one whose members are known: `Math`, `Number`. */
export const isLibrary = (object: string): boolean => Object.hasOwn(CONSTANTS, object);

/** A constant or function of `Math` or `Number`. */
export const memberOf = (object: string, name: string): number | Callable | undefined =>
  own(CONSTANTS[object], name) ?? own(object === 'Math' ? MATH : NUMBER, name);
