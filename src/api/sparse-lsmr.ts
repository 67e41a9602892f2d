/**
 * Least squares by LSMR (Fong and Saunders, "LSMR: an iterative algorithm for sparse least-squares problems", 2011), with
 * SciPy's arguments and stopping rules, for one damping or for several together.
 *
 * The vectors of the bidiagonalisation do not depend on the damping: so several dampings share the two products of a
 * step, and have each their own recurrence of a few numbers and three vectors.
 */
import { formatShape } from '../graph/format.js';
import { DTypeError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import { full, zeros } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { whileLoop } from './loops.js';
import {
  type LeastSquaresOptions,
  type LsmrSolution,
  limitsOf,
  type Outcome,
  one,
  reasonOf,
  rotation,
} from './sparse-least-squares.js';
import { type MatrixLike, norm, productsOf, ratio, stepsOf, vectorOf } from './sparse-operators.js';

/** Options of `sparse.lsmr`. */
export interface LsmrOptions extends LeastSquaresOptions {
  /** Minimises ‖A x − b‖² + damp² ‖x‖²: a number, 0 by default, or a line of them, whose solutions are rows of x. */
  readonly damp?: ArrayLike | undefined;
  /** The most steps, the smaller size of A by default. */
  readonly maxiter?: number | undefined;
}

/**
 * Minimises ‖A x − b‖² + damp² ‖x‖² by LSMR, as SciPy's `lsmr`: A of any shape, real. `const { x } = await
 * compute(sparse.lsmr(A, b, { damp: [0.1, 1, 10] }))` solves for three dampings at once, x of shape (3, columns). Throws
 * a ShapeError for vectors of other sizes, a DTypeError for complex numbers, an ArgumentError for an operator without
 * `rmatvec`.
 *
 * @example
 * const a = sparse.fromDense([[1, 0], [1, 1], [0, 2]])
 * const { x } = sparse.lsmr(a, [1, 2, 2], { damp: [0, 1] })
 * await x.mul(100).round().compute()
 * //=> [[100. 100.]
 * //=>  [ 71.  88.]]
 */
export function lsmr(a: MatrixLike, b: ArrayLike, options: LsmrOptions = {}): LsmrSolution {
  return called(lsmr, () => {
    const op = 'sparse.lsmr';
    const limits = limitsOf(op, options);
    const matrix = productsOf(op, a);
    const [rows, columns] = matrix.shape;
    const right = vectorOf(op, 'b', b, rows);
    const given = new Lazy(exprOf(op, options.damp ?? 0));
    if (given.ndim > 1)
      throw new ShapeError(expected(op, 'damp to be a number or a line', formatShape(given.shape)));
    const max = stepsOf(op, options.maxiter, Math.min(rows, columns));

    const beta = norm(right);
    const u = right.multiply(ratio(one(beta), beta));
    const w = matrix.adjoint(u);
    const alpha = norm(w);
    const v = w.multiply(ratio(one(alpha), alpha));
    const { dtype } = v;
    if (dtype.startsWith('complex')) throw new DTypeError(expected(op, 'real numbers', dtype));
    const count = given.ndim === 0 ? 1 : given.shape[0]!;
    const damp = (given.ndim === 0 ? given.reshape([1]) : given).astype(dtype);
    const lines = (value: Lazy | number): Lazy => full([count], value as never, { dtype });
    const spread = (x: Lazy): Lazy => x.reshape([1, columns]).broadcastTo([count, columns]);
    const [first, long] = [alpha.astype(dtype), beta.astype(dtype) as Lazy];
    const whole = zeros([count, columns], { dtype });
    const begin: Recurrence = {
      zetabar: lines(0).add(first.multiply(long)),
      alphabar: lines(0).add(first),
      rho: lines(1),
      rhobar: lines(1),
      cbar: lines(1),
      sbar: lines(0),
      zeta: lines(0),
      betadd: lines(0).add(long),
      betad: lines(0),
      rhodold: lines(1),
      tautildeold: lines(0),
      thetatilde: lines(0),
      d: lines(0),
      maxrbar: lines(0),
      minrbar: lines(Number.POSITIVE_INFINITY),
    };
    const outcome: Outcome = {
      residual: lines(0).add(long),
      gradient: lines(0).add(first.multiply(long)),
      normA: lines(0).add(first),
      condA: lines(1),
      normX: lines(0),
      stop: zeros([count], { dtype: 'int64' }).add(0),
      iterations: zeros([count], { dtype: 'int64' }).add(0),
    };
    const states: States = {
      u,
      v,
      alpha: first,
      x: whole,
      h: spread(v),
      hbar: whole,
      normA2: first.square(),
      step: zeros([], { dtype: 'int64' }),
      // Where b, or Aᵀb, is 0, so is x.
      active: lines(0).add(first.multiply(long)).notEqual(0),
      ...begin,
      ...outcome,
    };
    const last = whileLoop(
      ({ active }) => active.any(),
      (now) => {
        const y = matrix.times(now.v).subtract(now.u.multiply(now.alpha));
        const beta = norm(y);
        const u = y.multiply(ratio(one(beta), beta));
        const z = matrix.adjoint(u).subtract(now.v.multiply(beta));
        const alpha = norm(z);
        const v = z.multiply(ratio(one(alpha), alpha));
        const step = now.step.add(1);
        const turn = turned(now, { damp, alpha, beta, step });
        const column = (x: Lazy): Lazy => x.reshape([count, 1]);
        const hbar = now.h.subtract(now.hbar.multiply(column(turn.back)));
        const move = now.active.where(turn.move, 0);
        const x = now.x.add(hbar.multiply(column(move)));
        const h = spread(v).subtract(now.h.multiply(column(turn.down)));
        const normA2 = now.normA2.add(beta.square());
        const found: Outcome = {
          residual: turn.residual,
          gradient: turn.next.zetabar.abs(),
          normA: lines(0).add(normA2.sqrt()),
          condA: turn.condA,
          normX: x.square().sum(1).sqrt(),
          stop: now.stop,
          iterations: lines(0).astype('int64').add(step),
        };
        const stop = reasonOf(found, long, limits);
        const kept = (name: keyof Outcome, value: Lazy): Lazy => now.active.where(value, now[name]);
        return {
          u,
          v,
          alpha,
          x,
          h,
          hbar,
          normA2: normA2.add(alpha.square()),
          step,
          active: now.active.logicalAnd(stop.equal(0)),
          ...turn.next,
          residual: kept('residual', found.residual),
          gradient: kept('gradient', found.gradient),
          normA: kept('normA', found.normA),
          condA: kept('condA', found.condA),
          normX: kept('normX', found.normX),
          stop: kept('stop', stop),
          iterations: kept('iterations', found.iterations),
        };
      },
      states,
      { max },
    );
    const alone = (x: Lazy): Lazy => (given.ndim === 0 ? x.reshape(x.shape.slice(1)) : x);
    return {
      x: alone(last.x),
      stop: alone(last.active.where(7, last.stop)),
      iterations: alone(last.iterations),
      residual: alone(last.residual),
      gradient: alone(last.gradient),
      normA: alone(last.normA),
      condA: alone(last.condA),
      normX: alone(last.normX),
    };
  });
}

type States = Recurrence &
  Outcome &
  Readonly<Record<'u' | 'v' | 'alpha' | 'x' | 'h' | 'hbar' | 'normA2' | 'step' | 'active', Lazy>>;

/** The numbers of the recurrence, one for each damping, as the paper names them. */
type Recurrence = Readonly<
  Record<
    | 'zetabar'
    | 'alphabar'
    | 'rho'
    | 'rhobar'
    | 'cbar'
    | 'sbar'
    | 'zeta'
    | 'betadd'
    | 'betad'
    | 'rhodold'
    | 'tautildeold'
    | 'thetatilde'
    | 'd'
    | 'maxrbar'
    | 'minrbar',
    Lazy
  >
>;

/** The next numbers, and how x, h and hbar move. */
function turned(
  now: Recurrence,
  { damp, alpha, beta, step }: Readonly<Record<'damp' | 'alpha' | 'beta' | 'step', Lazy>>,
) {
  const times = (a: Lazy, b: Lazy): Lazy => a.multiply(b);
  const minus = (a: Lazy): Lazy => a.negative();
  const [chat, shat, alphahat] = rotation(now.alphabar, damp);
  const [c, s, rho] = rotation(alphahat, beta);
  const thetanew = times(s, alpha);
  const thetabar = times(now.sbar, rho);
  const rhotemp = times(now.cbar, rho);
  const [cbar, sbar, rhobar] = rotation(rhotemp, thetanew);
  const zeta = times(cbar, now.zetabar);
  const betaacute = times(chat, now.betadd);
  const betacheck = minus(times(shat, now.betadd));
  const betahat = times(c, betaacute);
  const [ctilde, stilde, rhotilde] = rotation(now.rhodold, thetabar);
  const thetatilde = times(stilde, rhobar);
  const rhodold = times(ctilde, rhobar);
  const betad = times(ctilde, betahat).subtract(times(stilde, now.betad));
  const betadd = minus(times(s, betaacute));
  const tautildeold = ratio(now.zeta.subtract(times(now.thetatilde, now.tautildeold)), rhotilde);
  const taud = ratio(zeta.subtract(times(thetatilde, tautildeold)), rhodold);
  const d = now.d.add(betacheck.square());
  const maxrbar = now.maxrbar.maximum(now.rhobar);
  const minrbar = step.greater(1).where(now.minrbar.minimum(now.rhobar), now.minrbar);
  const next: Recurrence = {
    zetabar: minus(times(sbar, now.zetabar)),
    alphabar: times(c, alpha),
    rho,
    rhobar,
    cbar,
    sbar,
    zeta,
    betadd,
    betad,
    rhodold,
    tautildeold,
    thetatilde,
    d,
    maxrbar,
    minrbar,
  };
  return {
    next,
    back: ratio(times(thetabar, rho), times(now.rho, now.rhobar)),
    move: ratio(zeta, times(rho, rhobar)),
    down: ratio(thetanew, rho),
    residual: d.add(betad.subtract(taud).square()).add(betadd.square()).sqrt(),
    condA: ratio(maxrbar.maximum(rhotemp), minrbar.minimum(rhotemp)),
  };
}
