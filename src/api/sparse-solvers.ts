/**
 * Iterative solvers of linear systems, with SciPy's names, arguments and stopping rules. A solver is a loop that stays
 * on the device (`loops.ts`) and takes anything that multiplies: sparse and dense matrices, or functions.
 */
import { called } from '../host/site.js';
import { zeros } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import { dot, type MatrixLike, norm, ratio } from './sparse-operators.js';
import {
  firstStep,
  type Solution,
  type SolverOptions,
  solutionOf,
  solved,
  systemOf,
} from './sparse-systems.js';

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
    const { a: matrix, m } = system;
    const z = m(system.r);
    const states = {
      x: system.x,
      r: system.r,
      p: z,
      rho: dot(system.r, z),
      size: norm(system.r),
      step: firstStep(),
    };
    return solutionOf(
      solved(system, states, ({ x, r, p, rho, step }) => {
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
          size: norm(next),
          step: step.add(1),
        };
      }),
    );
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
    const { a: matrix, m } = system;
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
      size: norm(shadow),
      step: firstStep(),
    };
    const step = ({ x, r, p, v, rho, alpha, omega, step }: typeof states): typeof states => {
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
      const rest = half.subtract(t.multiply(weight));
      return {
        x: x.add(turned.multiply(length)).add(halfTurned.multiply(weight)),
        r: rest,
        p: direction,
        v: product,
        rho: next,
        alpha: length,
        omega: weight,
        size: norm(rest),
        step: step.add(1),
      };
    };
    return solutionOf(solved(system, states, step, ({ rho }) => rho.notEqual(0)));
  });
}
