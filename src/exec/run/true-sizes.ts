/**
 * Results with an axis whose size depends on data: they are computed up to the bound of the axis, which comes first,
 * together with their lengths, and then cut. Called by `evaluate.ts`, and by `inspect/` and `precompile.ts` for plans.
 */
import type { Expr, Shape } from '../../graph/expr.js';
import { upToBound } from '../../graph/extent.js';
import { moveaxis } from '../../graph/views.js';

/** Expressions to compute in the place of those that the user asked for. */
export interface BoundedJob {
  /** The results up to their bounds, then the lengths. */
  readonly computed: readonly Expr[];
  /** Of each result its axis, and which of the lengths is that of the axis; undefined: all of it is the result. */
  readonly cuts: readonly (Cut | undefined)[];
}
interface Cut {
  readonly axis: number;
  /** Its position among what is computed. */
  readonly length: number;
}

/** The job of expressions of which some have such an axis; undefined: none has. */
export function boundedJob(exprs: readonly Expr[]): BoundedJob | undefined {
  if (exprs.every(({ extent }) => extent === undefined)) return undefined;
  const lengths = [...new Set(exprs.flatMap(({ extent }) => (extent === undefined ? [] : [extent.length])))];
  const results = exprs.map((x) => (x.extent === undefined ? x : moveaxis(upToBound(x), x.extent.axis, 0)));
  const cuts = exprs.map(({ extent }) =>
    extent === undefined
      ? undefined
      : { axis: extent.axis, length: exprs.length + lengths.indexOf(extent.length) },
  );
  return { computed: [...results, ...lengths], cuts };
}

/** The nodes that a compute of expressions has: with the lengths of their axes whose size depends on data. */
export const computedNodes = (exprs: readonly Expr[]): readonly Expr[] =>
  boundedJob(exprs)?.computed ?? exprs;

/**
 * Bytes of results up to their bounds from which they are cut on a GPU, before they come to the host: fewer come sooner than
 * another program has begun.
 */
export const LEAST_CUT_BYTES = 2 ** 23;

/** The shape of a result of so many elements along its first axis. */
export const cutShape = (shape: Shape, length: number): Shape => shape.with(0, length);
