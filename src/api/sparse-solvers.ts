/**
 * Iterative solvers of linear systems, with SciPy's names, arguments and stopping rules. A solver is a loop that stays
 * on the device (`loops.ts`) and takes anything that multiplies: sparse and dense matrices, or functions.
 */
import { checkOptions } from '../graph/arguments.js';
import { called } from '../host/site.js';
import { zeros } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import type { Lazy } from './lazy.js';
import { whileLoop } from './loops.js';
import {
  dot,
  type MatrixLike,
  norm,
  type Product,
  type Products,
  ratio,
  squareOf,
  stepsOf,
  tolerance,
  vectorOf,
} from './sparse-operators.js';

/** Options of solvers of square systems. */
export interface SolverOptions {
  /** Where it begins, zeros by default. */
  readonly x0?: ArrayLike | undefined;
  /** It ends where the norm of the residual is at most `max(rtol · ‖b‖, atol)`; 1e-5 and 0 by default. */
  readonly rtol?: number | undefined;
  readonly atol?: number | undefined;
  /** The most steps, 10 times the unknowns by default. */
  readonly maxiter?: number | undefined;
  /** Approximates the inverse of the matrix. */
  readonly M?: MatrixLike | undefined;
}

/** What a solver gives: arrays of a graph, to be computed together. */
export interface Solution {
  readonly x: Lazy;
  /** Steps taken: int64, of shape (). */
  readonly iterations: Lazy;
  /** The norm of the residual, as the solver has it. */
  readonly residual: Lazy;
  /** Whether the residual is small enough. */
  readonly converged: Lazy<'bool'>;
}

const OPTIONS = ['x0', 'rtol', 'atol', 'maxiter', 'M'];

interface System {
  readonly a: Products;
  readonly m: Product;
  readonly b: Lazy;
  readonly x: Lazy;
  /** b - A x. */
  readonly r: Lazy;
  readonly limit: Lazy;
  readonly max: number;
}

function systemOf(op: string, matrix: MatrixLike, right: ArrayLike, options: SolverOptions = {}): System {
  checkOptions(op, options, OPTIONS);
  const a = squareOf(op, matrix);
  const [size] = a.shape;
  const given = vectorOf(op, 'b', right, size);
  const begin = options.x0 === undefined ? undefined : vectorOf(op, 'x0', options.x0, size);
  // The dtype in which all meet is that of the first residual.
  const r = given.subtract(a.times(begin ?? zeros([size], { dtype: given.dtype })));
  const b = given.astype(r.dtype);
  const x = (begin ?? zeros([size])).astype(r.dtype);
  const relative = tolerance(op, 'rtol', options.rtol, 1e-5);
  const absolute = tolerance(op, 'atol', options.atol, 0);
  return {
    a,
    m: options.M === undefined ? (y) => y : squareOf(op, options.M).times,
    b,
    x,
    r: begin === undefined ? b : r,
    limit: norm(b).multiply(relative).maximum(absolute),
    max: stepsOf(op, options.maxiter, 10 * size),
  };
}

/** The states of a loop, as its results. */
const solution = (
  { limit }: System,
  { x, r, step }: { readonly x: Lazy; readonly r: Lazy; readonly step: Lazy },
): Solution => {
  const residual = norm(r);
  return { x, iterations: step, residual, converged: residual.lessEqual(limit) as Lazy<'bool'> };
};

const FIRST_STEP = (): Lazy => zeros([], { dtype: 'int64' });

/**
 * Solves A x = b by conjugate gradients (Hestenes and Stiefel, 1952), as SciPy's `cg`: A is symmetric (Hermitian) and
 * positive definite, and so is M. `const { x } = await compute(sparse.cg(A, b))`. Throws a ShapeError for a matrix that
 * is not square and vectors of other sizes.
 *
 * @example
 * const a = sparse.diags([-1, 4, -1], [-1, 0, 1], [3, 3])
 * const { x } = sparse.cg(a, [2, 4, 10])
 * await x.mul(100).round().compute()
 * //=> [100. 200. 300.]
 */
export function cg(a: MatrixLike, b: ArrayLike, options?: SolverOptions): Solution {
  return called(cg, () => {
    const system = systemOf('sparse.cg', a, b, options);
    const { a: matrix, m, limit, max } = system;
    const z = m(system.r);
    const states = { x: system.x, r: system.r, p: z, rho: dot(system.r, z), step: FIRST_STEP() };
    const last = whileLoop(
      ({ r }) => norm(r).greater(limit),
      ({ x, r, p, rho, step }) => {
        const q = matrix.times(p);
        const alpha = ratio(rho, dot(p, q));
        const next = r.subtract(q.multiply(alpha));
        const turned = m(next);
        const after = dot(next, turned);
        return {
          x: x.add(p.multiply(alpha)),
          r: next,
          p: turned.add(p.multiply(ratio(after, rho))),
          rho: after,
          step: step.add(1),
        };
      },
      states,
      { max },
    );
    return solution(system, last as never);
  });
}

/**
 * Solves A x = b by stabilised biconjugate gradients (van der Vorst, 1992), as SciPy's `bicgstab`: A need not be
 * symmetric. It ends early where it breaks down, with `converged` false. Errors are those of `sparse.cg`.
 *
 * @example
 * const a = sparse.diags([-1, 4, -2], [-1, 0, 1], [3, 3])
 * const { x } = sparse.bicgstab(a, [0, 1, 10])
 * await x.mul(100).round().compute()
 * //=> [100. 200. 300.]
 */
export function bicgstab(a: MatrixLike, b: ArrayLike, options?: SolverOptions): Solution {
  return called(bicgstab, () => {
    const system = systemOf('sparse.bicgstab', a, b, options);
    const { a: matrix, m, limit, max } = system;
    const shadow = system.r;
    const begin = zeros([matrix.shape[0]], { dtype: shadow.dtype });
    const one = zeros([], { dtype: shadow.dtype }).add(1);
    const states = {
      x: system.x,
      r: system.r,
      p: begin,
      v: begin,
      rho: one,
      alpha: one,
      omega: one,
      step: FIRST_STEP(),
    };
    const last = whileLoop(
      ({ r, rho }) => norm(r).greater(limit).logicalAnd(rho.notEqual(0)),
      ({ x, r, p, v, rho, alpha, omega, step }) => {
        const next = dot(shadow, r);
        const beta = ratio(next, rho).multiply(ratio(alpha, omega));
        const direction = r.add(p.subtract(v.multiply(omega)).multiply(beta));
        const turned = m(direction);
        const product = matrix.times(turned);
        const length = ratio(next, dot(shadow, product));
        const half = r.subtract(product.multiply(length));
        const halfTurned = m(half);
        const t = matrix.times(halfTurned);
        const weight = ratio(dot(t, half), dot(t, t));
        return {
          x: x.add(turned.multiply(length)).add(halfTurned.multiply(weight)),
          r: half.subtract(t.multiply(weight)),
          p: direction,
          v: product,
          rho: next,
          alpha: length,
          omega: weight,
          step: step.add(1),
        };
      },
      states,
      { max },
    );
    return solution(system, last as never);
  });
}
