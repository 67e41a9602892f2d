/**
 * Exponentials of matrices: a routine of the CPU, which chooses the degree of the approximant
 * (`native/cpu/linear-exponential.cpp`), and products for a GPU (`fusion/passes/both-ways.ts`), by scaling and squaring (Al-Mohy
 * and Higham, "A new scaling and squaring algorithm for the matrix exponential", 2009), each matrix of a stack with its own
 * number of squarings s:
 *
 *     exp(a) = r(a / 2ˢ)^(2ˢ), r the Padé approximant of degree 13
 *
 * The squarings are a loop that ends when the matrix that needs most of them has them. Called by `api/linalg-products.ts`.
 */
import { call } from './calls.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map, type Operand, reduce } from './infer.js';
import { solved } from './linear-solves.js';
import { argumentLike, loop } from './loops.js';
import { identities, isEmpty, leadOf, realDType, squares, stacked } from './matrices.js';
import { matmul } from './products.js';
import { broadcast, reshape } from './view-nodes.js';

/** Coefficients of the approximant's numerator, from the constant on; the denominator has them with signs in turn. */
const PADE = [
  64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
  670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
] as const;
const DEGREE = 13;
/** The norm up to which the approximant's error is below the precision of float64. */
const THETA = 4.25;
/** The modulus of the first coefficient of that error, of the power 2 · 13 + 1 (Al-Mohy and Higham's c₂ₘ₊₁). */
const ERROR_COEFFICIENT = 1 / 1.132507756060211e35;
/** Bits of the exponents of a real dtype: of squarings, and of the powers of two that matrices are scaled by. */
const exponentBits = (dtype: DType): number => (dtype === 'float32' ? 6 : 9);

const add = (a: Operand, b: Operand): Expr => map('add', [a, b]);
const times = (a: Operand, b: Operand): Expr => map('multiply', [a, b]);
const maximum = (a: Operand, b: Operand): Expr => map('maximum', [a, b]);

/** The largest sums of columns of moduli. */
function normOf(x: Expr): Expr {
  const end = x.shape.length;
  return reduce('max', reduce('sum', map('abs', [x]), [end - 2]), [end - 2]);
}

const beside = (numbers: Expr, x: Expr): Expr => reshape(numbers, [...leadOf(x), 1, 1]);

/** 2^-n of whole numbers, exactly: `exp2` of a library may be off by a bit, which squarings would double each time. */
function halvings(n: Expr, dtype: DType): Expr {
  const factors = Array.from({ length: exponentBits(dtype) + 1 }, (_, bit) => {
    const isOn = map('notEqual', [map('bitwiseAnd', [n, 1n << BigInt(bit)]), 0n]);
    return map('where', [isOn, constant(2 ** -(2 ** bit), dtype), constant(1, dtype)]);
  });
  return factors.reduce((x, y) => times(x, y));
}

/** log2 rounded up (or down), from 0 to the largest exponent, as int64; 0 of what is no number. */
function exponentOf(x: Expr, rounding: 'ceil' | 'floor'): Expr {
  const most = 2 ** exponentBits(x.dtype) * 2 - 2;
  const whole = map(rounding, [map('log2', [x])]);
  const isOn = map('greater', [whole, 0]);
  return cast(map('where', [isOn, map('minimum', [whole, most]), 0]), 'int64');
}

/** The exponential of each matrix. */
export function exponentialOf(op: string, x: Expr): Expr {
  const a = squares(op, x);
  if (isEmpty(a)) return a;
  if (a.shape.at(-1) === 1) return map('exp', [a]);
  return reshape(call('expm', [], [stacked(a)])[0]!, a.shape);
}

/**
 * The same by products, of a stack of matrices. Where the norm of finite numbers overflows, the exponential of a part of the
 * matrix is squared more often.
 */
export function exponentialByProducts(a: Expr): Expr {
  const real = realDType(a.dtype);
  const given = normOf(a);
  const most = Math.ceil(Math.log2(a.shape.at(-1)!)) + 1;
  const more = map('where', [
    map('isfinite', [given]),
    constant(0n, 'int64'),
    constant(BigInt(most), 'int64'),
  ]);
  const part = times(a, beside(halvings(more, real), a));
  const norm = normOf(part);
  const scaledBy = (n: Expr): Expr => times(part, beside(halvings(n, real), a));
  // Powers of a large matrix overflow: they are taken of one whose norm is about 1.
  const shift = exponentOf(norm, 'floor');
  const count = squaringsOf(scaledBy(shift), norm, shift, scaledBy);
  return squared(approximated(scaledBy(count)), add(count, more));
}

/** The number of squarings of each matrix, int64. `b` is the matrix over 2^shift. */
function squaringsOf(b: Expr, norm: Expr, shift: Expr, scaledBy: (n: Expr) => Expr): Expr {
  const root = (x: Expr, power: number): Expr => map('pow', [normOf(x), 1 / power]);
  const b2 = matmul(b, b);
  const b4 = matmul(b2, b2);
  const b6 = matmul(b2, b4);
  const [d6, d8, d10] = [root(b6, 6), root(matmul(b4, b4), 8), root(matmul(b4, b6), 10)];
  const eta = map('minimum', [maximum(d6, d8), maximum(d8, d10)]);
  const exponent = map('ceil', [map('log2', [map('divide', [eta, THETA])])]);
  const whole = add(cast(map('where', [map('isfinite', [exponent]), exponent, -THETA]), 'int64'), shift);
  const first = map('maximum', [whole, 0n]);
  // Never more than by the norm alone.
  const most = exponentOf(map('divide', [norm, THETA]), 'ceil');
  return map('minimum', [add(first, moreFor(scaledBy(first))), most]);
}

/**
 * Squarings beside the first, where the error's first term, c |a|²⁷, is large beside a scaled matrix a: of matrices that
 * are far from normal. The norm of |a|²⁷ is that of products with a row of ones.
 */
function moreFor(a: Expr): Expr {
  const moduli = map('abs', [a]);
  const row = broadcast(constant(1, moduli.dtype), [...leadOf(a), 1, a.shape.at(-1)!]);
  const state = argumentLike(row);
  const steps = { steps: 2 * DEGREE + 1, condition: undefined, every: undefined };
  const [last] = loop([row], [state], [matmul(state, moduli)], steps, 1) as [Expr];
  const power = reduce('max', reshape(last, a.shape.slice(0, -1)), [a.shape.length - 2]);
  const unit = moduli.dtype === 'float32' ? 2 ** -24 : 2 ** -53;
  const excess = map('divide', [times(power, ERROR_COEFFICIENT / unit), normOf(a)]);
  return exponentOf(map('pow', [excess, 1 / (2 * DEGREE)]), 'ceil');
}

/** (v - u)⁻¹ (v + u), u the odd powers and v the even ones. */
function approximated(a: Expr): Expr {
  const a2 = matmul(a, a);
  const a4 = matmul(a2, a2);
  const a6 = matmul(a2, a4);
  const one = identities(a.dtype, leadOf(a), a.shape.at(-1)!);
  /** Even powers with every second coefficient from a place down. */
  const sum = (from: number, powers: readonly Expr[]): Expr =>
    powers.map((power, k) => times(power, PADE[from - 2 * k]!)).reduce((x, y) => add(x, y));
  const u = matmul(a, add(matmul(a6, sum(13, [a6, a4, a2])), sum(7, [a6, a4, a2, one])));
  const v = add(matmul(a6, sum(12, [a6, a4, a2])), sum(6, [a6, a4, a2, one]));
  return solved('linalg.expm', map('subtract', [v, u]), add(v, u), false);
}

/** Each matrix squared as often as `count` says. */
function squared(x: Expr, count: Expr): Expr {
  const axes = count.shape.map((_, k) => k);
  const most = axes.length === 0 ? count : reduce('max', count, axes);
  const step = constant(0n, 'int64');
  const [matrix, number] = [argumentLike(x), argumentLike(step)];
  const isOn = beside(map('less', [number, count]), x);
  const next = map('where', [isOn, matmul(matrix, matrix), matrix]);
  const after = add(number, 1n);
  const first = map('less', [step, most]);
  return loop(
    [x, step, first],
    [matrix, number, argumentLike(first)],
    [next, after, map('less', [after, most])],
    { steps: Number.MAX_SAFE_INTEGER, condition: 2, every: undefined },
    1,
  )[0]!;
}
