/**
 * Least squares by LSQR (Paige and Saunders, "LSQR: an algorithm for sparse linear equations and sparse least squares",
 * 1982), with SciPy's arguments, estimates and stopping rules.
 */
import { DTypeError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { full, zeros } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import type { Lazy } from './lazy.js';
import { whileLoop } from './loops.js';
import {
  type LeastSquaresOptions,
  type LsmrSolution,
  limitsOf,
  one,
  reasonOf,
  rotation,
} from './sparse-least-squares.js';
import {
  type MatrixLike,
  norm,
  productsOf,
  ratio,
  stepsOf,
  tolerance,
  vectorOf,
} from './sparse-operators.js';

/** Options of `sparse.lsqr`. */
export interface LsqrOptions extends LeastSquaresOptions {
  /** Minimises ‖A x − b‖² + damp² ‖x‖², 0 by default. */
  readonly damp?: number | undefined;
  /** The most steps, twice the columns of A by default. */
  readonly maxiter?: number | undefined;
}

/**
 * Minimises ‖A x − b‖² + damp² ‖x‖² by LSQR, as SciPy's `lsqr`: A of any shape, real. The solution is that of
 * `sparse.lsmr`, which mostly needs fewer steps; errors are those of `sparse.lsmr`.
 *
 * @example
 * const a = sparse.fromDense([[1, 0], [1, 1], [0, 2]])
 * const { x } = sparse.lsqr(a, [1, 2, 2])
 * await x.mul(100).round().compute()
 * //=> [100. 100.]
 */
export function lsqr(a: MatrixLike, b: ArrayLike, options: LsqrOptions = {}): LsmrSolution {
  return called(lsqr, () => {
    const op = 'sparse.lsqr';
    const limits = limitsOf(op, options);
    const matrix = productsOf(op, a);
    const [rows, columns] = matrix.shape;
    const right = vectorOf(op, 'b', b, rows);
    const damp = tolerance(op, 'damp', options.damp, 0);
    const unit = (x: Lazy, length: Lazy): Lazy => x.multiply(ratio(one(length), length));
    const long = norm(right);
    const u = unit(right, long);
    const w = matrix.adjoint(u);
    const first = norm(w);
    const { dtype } = w;
    if (dtype.startsWith('complex')) throw new DTypeError(expected(op, 'real numbers', dtype));
    const number = (value: number): Lazy => full([], value, { dtype });
    const beta = long.astype(dtype) as Lazy;
    const v = unit(w, first);
    const begin: States = {
      u: u.astype(dtype),
      v,
      w: v,
      x: zeros([columns], { dtype }),
      alpha: first,
      rhobar: first,
      phibar: beta,
      ddnorm: number(0),
      res2: number(0),
      xxnorm: number(0),
      z: number(0),
      cs2: number(-1),
      sn2: number(0),
      residual: beta,
      gradient: first.multiply(beta),
      normA: number(0),
      condA: number(0),
      normX: number(0),
      stop: zeros([], { dtype: 'int64' }),
      iterations: zeros([], { dtype: 'int64' }),
    };
    const last = whileLoop(
      // Where b, or Aᵀb, is 0, so is x.
      ({ stop, alpha, residual }) => stop.equal(0).logicalAnd(alpha.multiply(residual).notEqual(0)),
      (now) => {
        const turn = turned(now, damp, {
          u: matrix.times(now.v).subtract(now.u.multiply(now.alpha)).astype(dtype),
          adjoint: (y) => matrix.adjoint(y).astype(dtype),
        });
        return { ...turn, stop: reasonOf(turn, beta, limits), iterations: now.iterations.add(1) };
      },
      begin,
      { max: stepsOf(op, options.maxiter, 2 * columns) },
    );
    const isOpen = last.stop.equal(0).logicalAnd(last.gradient.notEqual(0));
    const { x, iterations, residual, gradient, normA, condA, normX } = last;
    return { x, stop: isOpen.where(7, last.stop), iterations, residual, gradient, normA, condA, normX };
  });
}

type States = Readonly<
  Record<
    | 'u'
    | 'v'
    | 'w'
    | 'x'
    | 'alpha'
    | 'rhobar'
    | 'phibar'
    | 'ddnorm'
    | 'res2'
    | 'xxnorm'
    | 'z'
    | 'cs2'
    | 'sn2'
    | 'residual'
    | 'gradient'
    | 'normA'
    | 'condA'
    | 'normX'
    | 'stop'
    | 'iterations',
    Lazy
  >
>;

/** A step of the bidiagonalisation and of the rotations, with the names of the paper. */
function turned(
  now: States,
  damp: number,
  { u: y, adjoint }: { readonly u: Lazy; readonly adjoint: (y: Lazy) => Lazy },
): States {
  const unit = one(y);
  const beta = norm(y);
  const u = y.multiply(ratio(unit, beta));
  const z = adjoint(u).subtract(now.v.multiply(beta));
  const alpha = norm(z);
  const v = z.multiply(ratio(unit, alpha));
  const squares = now.normA.square().add(now.alpha.square()).add(beta.square());
  const normA = squares.add(damp * damp).sqrt();
  const [cs1, sn1, rhobar1] = rotation(now.rhobar, full([], damp, { dtype: y.dtype }));
  // Without damping rhobar keeps its sign.
  const [c1, s1, r1] = damp === 0 ? [unit, unit.multiply(0), now.rhobar] : [cs1, sn1, rhobar1];
  const psi = s1.multiply(now.phibar);
  const bar = c1.multiply(now.phibar);
  const [cs, sn, rho] = rotation(r1, beta);
  const theta = sn.multiply(alpha);
  const phi = cs.multiply(bar);
  const phibar = sn.multiply(bar);
  const ddnorm = now.ddnorm.add(now.w.multiply(ratio(unit, rho)).square().sum());
  const gambar = now.cs2.multiply(rho).negative();
  const rest = phi.subtract(now.sn2.multiply(rho).multiply(now.z));
  const normX = now.xxnorm.add(ratio(rest, gambar).square()).sqrt();
  const gamma = gambar.hypot(theta);
  const turn = ratio(rest, gamma);
  const res2 = now.res2.add(psi.square());
  return {
    u,
    v,
    w: v.subtract(now.w.multiply(ratio(theta, rho))),
    x: now.x.add(now.w.multiply(ratio(phi, rho))),
    alpha,
    rhobar: cs.multiply(alpha).negative(),
    phibar,
    ddnorm,
    res2,
    xxnorm: now.xxnorm.add(turn.square()),
    z: turn,
    cs2: ratio(gambar, gamma),
    sn2: ratio(theta, gamma),
    residual: phibar.square().add(res2).sqrt(),
    gradient: alpha.multiply(sn.multiply(phi).abs()),
    normA,
    condA: normA.multiply(ddnorm.sqrt()),
    normX,
    stop: now.stop,
    iterations: now.iterations,
  };
}
