/** Least squares: the options that its solvers share, their solution, and the rules by which they end. */
import { checkOptions } from '../graph/arguments.js';
import { full } from './creation.js';
import type { Lazy } from './lazy.js';
import { ratio, tolerance } from './sparse-operators.js';

/** Options of every solver of least squares. */
export interface LeastSquaresOptions {
  /** The relative error of A: it ends by it, 1e-6 by default. */
  readonly atol?: number | undefined;
  /** The relative error of b: it ends by it, 1e-6 by default. */
  readonly btol?: number | undefined;
  /** It ends where the estimate of the condition of A is more, 1e8 by default; 0: whatever it is. */
  readonly conlim?: number | undefined;
}

/** The solution of `sparse.lsmr` and `sparse.lsqr`: arrays of a graph, to be computed together, each with an axis of dampings if damp has. */
export interface LsmrSolution {
  readonly x: Lazy;
  /** Why it ended, as SciPy's `istop`: 0 x is 0, 1 a solution, 2 least squares, 3 the condition, 4 to 6 as 1 to 3 to rounding, 7 steps. */
  readonly stop: Lazy;
  readonly iterations: Lazy;
  /** ‖b − A x‖, with damping of the damped system, and ‖Aᵀ(b − A x) − damp² x‖. */
  readonly residual: Lazy;
  readonly gradient: Lazy;
  /** Estimates of the norm and the condition of A, and ‖x‖. */
  readonly normA: Lazy;
  readonly condA: Lazy;
  readonly normX: Lazy;
}

interface Limits {
  readonly atol: number;
  readonly btol: number;
  readonly conlim: number;
}

/** The limits of the options, whose names are checked with those that each solver has: damp and maxiter. */
export function limitsOf(op: string, options: LeastSquaresOptions): Limits {
  checkOptions(op, options, ['damp', 'atol', 'btol', 'conlim', 'maxiter']);
  return {
    atol: tolerance(op, 'atol', options.atol, 1e-6),
    btol: tolerance(op, 'btol', options.btol, 1e-6),
    conlim: tolerance(op, 'conlim', options.conlim, 1e8),
  };
}

export const one = (like: Lazy): Lazy => full([], 1, { dtype: like.dtype });

/** A rotation that makes (a, b) into (r, 0). */
export function rotation(a: Lazy, b: Lazy): readonly [c: Lazy, s: Lazy, r: Lazy] {
  const r = a.hypot(b);
  return [ratio(a, r), ratio(b, r), r];
}

export type Outcome = Omit<LsmrSolution, 'x'>;

/** The reason to end, as `stop`: the last of the tests that holds, 0 where none does. */
export function reasonOf(found: Outcome, normB: Lazy, { atol, btol, conlim }: Limits): Lazy {
  const { residual, gradient, normA, condA, normX } = found;
  const solved = ratio(residual, normB);
  const least = ratio(gradient, normA.multiply(residual));
  const condition = ratio(one(condA), condA);
  const scale = ratio(normA.multiply(normX), normB);
  const rounded = (test: Lazy): Lazy => test.add(1).lessEqual(1);
  const tests: readonly (readonly [Lazy, number])[] = [
    [rounded(condition), 6],
    [rounded(least), 5],
    [rounded(ratio(solved, scale.add(1))), 4],
    [condition.lessEqual(conlim > 0 ? 1 / conlim : 0), 3],
    [least.lessEqual(atol), 2],
    [solved.lessEqual(scale.multiply(atol).add(btol)), 1],
  ];
  const none = gradient.equal(gradient).where(0, 0).astype('int64');
  return tests.reduce<Lazy>((reason, [test, code]) => test.where(code, reason), none);
}
