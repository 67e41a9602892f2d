/**
 * Indices that the steps of a loop change are looked at in each step: a state that the user does not see has the first one
 * out of range, and 0 until there is one. It is a result of the loop, at which the run looks as at the status of a call
 * (`statuses.ts`). Meanwhile nothing is read outside of an axis, and a loop with a condition ends.
 *
 *     x → table.take(i(x))   →   x, wrong → table.take(i(x)), where(wrong = 0, what is out of range in i(x), wrong)
 *
 * Called by `loops.ts`.
 */
import { slice } from './basic-slicing.js';
import { numbersOfSums, parametersOfSums } from './bin-parameters.js';
import type { BinMode } from './bin-units.js';
import type { CheckedIndices, Expr, ExprOf, StepCheck } from './expr.js';
import { cast, constant, map, reduce, withinLength } from './infer.js';
import { knownRange } from './known-range.js';

/** Indices that a step changes. */
export interface FoundIndices extends Omit<StepCheck, 'state'> {
  /** The first one of a step that is out of range, as int64; 0, which is in range, where there is none. */
  readonly found: Expr;
}

/** Of indices some of which may be out of range. */
export function foundIndices({ indices, op, axis, from, size, site }: CheckedIndices): FoundIndices {
  const { low, high } = knownRange(indices);
  const known = indices.extent === undefined ? indices : withinLength(indices, 0);
  const axes = known.shape.map((_, k) => k);
  const end = (reduction: 'min' | 'max'): Expr =>
    axes.length === 0 ? known : reduce(reduction, known, axes);
  let found: Expr = constant(0n, 'int64');
  const unlessFound = (isOut: Expr, index: Expr): Expr => map('where', [isOut, cast(index, 'int64'), found]);
  if (high >= size) {
    const largest = end('max');
    found = unlessFound(map('greaterEqual', [largest, BigInt(size)]), largest);
  }
  if (low < from) {
    const least = end('min');
    found = unlessFound(map('less', [least, BigInt(from)]), least);
  }
  return { found, op, axis, from, size, site, isUnsigned: indices.dtype === 'uint64' };
}

/** The indices that the steps of a loop in a step of another one change. */
export const foundInLoop = (x: ExprOf<'loop'>): FoundIndices[] =>
  x.loop.stepChecks.map((check) => ({ ...check, found: wrongIndex(x, check) }));

/** The first index of all steps of a loop that is out of range; 0 where there is none. */
export function wrongIndex(x: ExprOf<'loop'>, { state }: StepCheck): Expr {
  const { steps, every } = x.loop;
  const result: Expr = { ...x, result: state, dtype: 'int64', shape: [], weak: false };
  if (every === undefined) return result;
  const kept = Math.floor(steps / every);
  return slice({ ...result, shape: [kept] }, kept - 1);
}

/** States of the first indices out of range after a step. `areLooked`: at those which the condition reads behind the step. */
export function nextWrong(
  found: readonly FoundIndices[],
  states: readonly Expr[],
  ofCondition: number,
  areLooked: Expr | undefined,
): Expr[] {
  const before = noneWrong(states);
  return found.map(({ found: own }, k) => {
    const isGated = areLooked !== undefined && k >= found.length - ofCondition;
    const isFirst = isGated ? map('logicalAnd', [before, areLooked]) : before;
    return map('where', [isFirst, own, states[k]!]);
  });
}

/** Whether no index was out of range. */
export const noneWrong = (states: readonly Expr[]): Expr =>
  states.map((state) => map('equal', [state, 0n])).reduce((a, b) => map('logicalAnd', [a, b]));

/** Sums by keys that a body looks at itself: a run would fail. */
export function withoutErrors(x: Expr): Expr {
  if (x.kind !== 'call' || x.routine !== 'binSums') return x;
  const { mode, ...sums } = parametersOfSums(x.parameters);
  const silent = { raise: 'within', raiseFromEnd: 'fromEnd' }[mode as string] as BinMode | undefined;
  return silent === undefined ? x : { ...x, parameters: numbersOfSums({ ...sums, mode: silent }) };
}
