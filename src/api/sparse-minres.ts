/** Symmetric systems that need not be definite: MINRES. */
import { called } from '../host/site.js';
import { full, zeros } from './creation.js';
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
 * Solves A x = b by minimal residuals (Paige and Saunders, "Solution of sparse indefinite systems of linear equations",
 * 1975), as SciPy's `minres`: A is symmetric (Hermitian), M positive definite. It ends by the residual, as `sparse.cg`,
 * where SciPy's ends by estimates of the norm of A. Errors are those of `sparse.cg`.
 *
 * @example
 * const a = sparse.diags([-1, 1, -1], [-1, 0, 1], [3, 3])
 * const { x } = sparse.minres(a, [-1, -2, 1])
 * await x.mul(100).round().compute()
 * //=> [100. 200. 300.]
 */
export function minres(a: MatrixLike, b: ArrayLike, options?: SolverOptions): Solution {
  return called(minres, () => {
    const system = systemOf('sparse.minres', a, b, options);
    const { a: matrix, m, r } = system;
    const size = norm(r);
    const number = (value: number) => full([], value, { dtype: size.dtype });
    const none = zeros([matrix.shape[0]], { dtype: r.dtype });
    const y = m(r);
    const begin = dot(r, y).real().sqrt();
    const states = {
      x: system.x,
      size,
      step: firstStep(),
      rest: r,
      r1: r,
      r2: r,
      y,
      beta: begin,
      oldBeta: number(0),
      dbar: number(0),
      epsilon: number(0),
      phibar: begin,
      cs: number(-1),
      sn: number(0),
      w: none,
      w2: none,
    };
    const next = (now: typeof states): typeof states => {
      const v = now.y.multiply(ratio(number(1), now.beta));
      const product = matrix.times(v).subtract(now.r1.multiply(ratio(now.beta, now.oldBeta)));
      const alpha = dot(v, product).real();
      const r2 = product.subtract(now.r2.multiply(ratio(alpha, now.beta)));
      const turned = m(r2);
      const beta = dot(r2, turned).real().sqrt();
      const delta = now.cs.multiply(now.dbar).add(now.sn.multiply(alpha));
      const gbar = now.sn.multiply(now.dbar).subtract(now.cs.multiply(alpha));
      const gamma = gbar.hypot(beta);
      const [cs, sn] = [ratio(gbar, gamma), ratio(beta, gamma)];
      const phibar = sn.multiply(now.phibar);
      const w = v
        .subtract(now.w2.multiply(now.epsilon))
        .subtract(now.w.multiply(delta))
        .multiply(ratio(number(1), gamma));
      // The residual itself, since phibar is its norm only without M.
      const rest = now.rest.multiply(sn.square()).subtract(r2.multiply(ratio(phibar.multiply(cs), beta)));
      return {
        x: now.x.add(w.multiply(cs.multiply(now.phibar))),
        size: norm(rest),
        step: now.step.add(1),
        rest,
        r1: now.r2,
        r2,
        y: turned,
        beta,
        oldBeta: now.beta,
        dbar: now.cs.multiply(beta).negative(),
        epsilon: now.sn.multiply(beta),
        phibar,
        cs,
        sn,
        w,
        w2: now.w,
      };
    };
    // Without a new direction the space is exhausted.
    return solutionOf(solved(system, states, next, ({ beta }) => beta.greater(0)));
  });
}
