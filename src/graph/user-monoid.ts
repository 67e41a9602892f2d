/**
 * Reductions by monoids of the user's own, as nodes: `reduce` of the row `monoid`, one for each number of the accumulator.
 * They have one order, in which elements keep theirs, so that `combine` need not commute.
 *
 *     x, y by (a, b) → [a0 + b0, max(a1, b1)]   →   reduce monoid x y, part 0;   reduce monoid x y, part 1
 */

import { currentSite } from '../host/site.js';
import { depthOf } from './depth.js';
import type { DType, Scalar } from './dtype.js';
import { elementStep } from './element-loop.js';
import type { Expr } from './expr.js';
import { formatScalar } from './format.js';
import { cast, constant, reduce } from './infer.js';
import type { UserMonoid } from './loop-step.js';
import { argumentLike } from './loops.js';
import type { OpName } from './ops.js';
import type { ReductionName } from './reductions.js';
import { cumulativeMax, cumulativeMin, cumulativeProd, cumulativeSum } from './scans.js';

/** The parts of an accumulator. */
export type Accumulator = readonly Expr[];
/** Combines accumulators, element by element. */
export type Combine = (a: Accumulator, b: Accumulator) => Accumulator;

/** A monoid from a function of nodes that keeps the dtypes of accumulators. */
export function userMonoid(
  dtypes: readonly DType[],
  identity: readonly Scalar[],
  combine: Combine,
): UserMonoid {
  const parameters = [...dtypes, ...dtypes].map((dtype, k) => argumentLike(constant(0, dtype), k, false));
  const [a, b] = [parameters.slice(0, dtypes.length), parameters.slice(dtypes.length)];
  const step = elementStep(parameters, combine(a, b));
  return { dtypes, identity, combine: step, key: `${identity.map(formatScalar).join()} ${step.key}` };
}

/** Ops that combine as a reduction of the table does, and the numbers that change nothing. */
const BUILT_IN: Partial<Record<OpName, readonly [reduction: ReductionName, neutral: number]>> = {
  add: ['sum', 0],
  multiply: ['prod', 1],
  minimum: ['min', Number.POSITIVE_INFINITY],
  maximum: ['max', Number.NEGATIVE_INFINITY],
};

/**
 * The reductions of the table that a monoid is, one for each part; undefined: it is another one. These have more
 * schedules, and fuse with more.
 *
 *     [a0 + b0, max(a1, b1)]     →     sum, max
 */
function builtInOf({ dtypes, identity, combine }: UserMonoid): readonly ReductionName[] | undefined {
  const found = combine.next.flatMap((at, part): ReductionName[] => {
    const value = combine.values[at - combine.arguments.length];
    const [reduction, neutral] = (value?.kind === 'map' && BUILT_IN[value.op]) || [];
    const isOfPart = value?.args.join() === `${part},${part + dtypes.length}`;
    return reduction !== undefined && isOfPart && identity[part] === neutral ? [reduction] : [];
  });
  return found.length === dtypes.length ? found : undefined;
}

/** How a scan goes along its axis. */
export interface ScanWay {
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

/**
 * The scans of the table that a monoid is, one for each part, along an axis: these read elements once. Undefined: it is
 * another one.
 */
export function scanByMonoid(
  monoid: UserMonoid,
  values: Accumulator,
  axis: number,
  { exclusive, reverse }: ScanWay,
): Expr[] | undefined {
  const builtIn = builtInOf(monoid);
  const isSum = (name: ReductionName): boolean => name === 'sum' || name === 'prod';
  if (builtIn === undefined || (exclusive && !builtIn.every(isSum))) return undefined;
  return builtIn.map((name, part) => {
    const x = values[part]!;
    const scanned =
      name === 'sum'
        ? cumulativeSum(x, axis, { exclusive, reverse })
        : name === 'prod'
          ? cumulativeProd(x, axis, { exclusive, reverse })
          : (name === 'min' ? cumulativeMin : cumulativeMax)(x, axis, { reverse });
    return cast(scanned, monoid.dtypes[part]!);
  });
}

/** The parts of the accumulator of some axes (ascending) of arrays of one shape. */
export function reduceByMonoid(monoid: UserMonoid, values: Accumulator, axes: readonly number[]): Expr[] {
  const builtIn = builtInOf(monoid);
  if (builtIn !== undefined)
    return builtIn.map((name, part) => cast(reduce(name, values[part]!, axes), monoid.dtypes[part]!));
  const shape = values[0]!.shape.filter((_, axis) => !axes.includes(axis));
  return monoid.dtypes.map((dtype, part) => ({
    kind: 'reduce',
    reduction: 'monoid',
    monoid: { of: monoid, part },
    axes,
    dtype,
    shape,
    inputs: values,
    site: currentSite(),
    depth: depthOf(values),
    weak: false,
  }));
}
