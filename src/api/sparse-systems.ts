/** Square systems: the arguments that their solvers share, and their solution. */
import { checkOptions } from '../graph/arguments.js';
import { formatValue } from '../graph/format.js';
import { expected, RangeArgumentError } from '../host/errors.js';
import { full, zeros } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import type { Lazy } from './lazy.js';
import { whileLoop } from './loops.js';
import { arange } from './ranges.js';
import {
  type MatrixLike,
  norm,
  type Product,
  type Products,
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
  /** Keeps the norm of the residual at the beginning and after each of the first so many steps. */
  readonly history?: number | undefined;
}

/** The solution of a square system: arrays of a graph, to be computed together. */
export interface Solution {
  readonly x: Lazy;
  /** Steps taken: int64, of shape (). */
  readonly iterations: Lazy;
  /** The norm of the residual, as the solver has it. */
  readonly residual: Lazy;
  /** Whether the residual is small enough. */
  readonly converged: Lazy<'bool'>;
  /** The norms of the residuals, one more than asked for, NaN behind the last step; empty if none were asked for. */
  readonly history: Lazy;
}

const OPTIONS = ['x0', 'rtol', 'atol', 'maxiter', 'M', 'history'];

export interface System {
  readonly a: Products;
  readonly m: Product;
  readonly b: Lazy;
  readonly x: Lazy;
  /** b - A x. */
  readonly r: Lazy;
  readonly limit: Lazy;
  readonly max: number;
  /** Norms of residuals that are kept. */
  readonly kept: number;
}

/** The system of a solver's arguments; `more`: names of options of its own. */
export function systemOf(
  op: string,
  matrix: MatrixLike,
  right: ArrayLike,
  options: SolverOptions = {},
  more: readonly string[] = [],
): System {
  checkOptions(op, options, [...OPTIONS, ...more]);
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
  const { history } = options;
  if (history !== undefined && !(Number.isSafeInteger(history) && history >= 0))
    throw new RangeArgumentError(
      expected(op, 'history to be a whole number from 0 on', formatValue(history)),
    );
  return {
    a,
    m: options.M === undefined ? (y) => y : squareOf(op, options.M).times,
    b,
    x,
    r: begin === undefined ? b : r,
    limit: norm(b).multiply(relative).maximum(absolute),
    max: stepsOf(op, options.maxiter, 10 * size),
    kept: history === undefined ? 0 : history + 1,
  };
}

export const firstStep = (): Lazy => zeros([], { dtype: 'int64' });

/** States of a solver: its solution, the norm of its residual, the number of the step, and others of its own. */
export type SolverStates = Readonly<Record<'x' | 'size' | 'step', Lazy>>;

/** Runs steps while the residual is above the limit, and `goesOn`. */
export function solved<States extends SolverStates>(
  { limit, max, kept }: System,
  states: States,
  next: (states: States) => { readonly [K in keyof States]: Lazy },
  goesOn?: (states: States) => Lazy,
): Solution & { readonly last: States } {
  const index = arange(Math.max(kept, 1));
  const noted = (history: Lazy, size: Lazy, step: Lazy): Lazy => index.equal(step).where(size, history);
  const first = full([Math.max(kept, 1)], Number.NaN, { dtype: states.size.dtype });
  const all = kept === 0 ? states : { ...states, history: noted(first, states.size, firstStep()) };
  const last = whileLoop(
    (now) => {
      const { size } = now as unknown as States;
      const isFar = size.greater(limit);
      return goesOn === undefined ? isFar : isFar.logicalAnd(goesOn(now as unknown as States));
    },
    (now) => {
      const after = next(now as unknown as States);
      if (kept === 0) return after as never;
      const { history } = now as unknown as { readonly history: Lazy };
      return { ...after, history: noted(history, after.size, after.step) } as never;
    },
    all as never,
    { max },
  ) as unknown as States & { readonly history?: Lazy };
  return {
    last,
    x: last.x,
    iterations: last.step,
    residual: last.size,
    converged: last.size.lessEqual(limit) as Lazy<'bool'>,
    history: last.history ?? zeros([0], { dtype: states.size.dtype }),
  };
}

/** A solution without the states. */
export const solutionOf = ({ x, iterations, residual, converged, history }: Solution): Solution => ({
  x,
  iterations,
  residual,
  converged,
  history,
});
