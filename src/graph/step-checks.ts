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
export interface FoundIndices extends Omit<StepCheck, 'state' | 'lengthState'> {
  /** The first one of a step that is out of range, as int64; 0, which is in range, where there is none. */
  readonly found: Expr;
  /** The size of the axis where it depends on data, int64; where that is 0, `found` is 1 for indices of whatever number. */
  readonly length: Expr | undefined;
}

/** Of indices some of which may be out of range. */
export function foundIndices(checked: CheckedIndices): FoundIndices {
  const { indices, op, axis, from, size, length, site } = checked;
  const found = length === undefined ? foundIn(checked) : foundWithin(indices, length);
  return { found, length, op, axis, from, size, site, isUnsigned: indices.dtype === 'uint64' };
}

const NONE = 0n;

/** The least or the largest of some indices. */
function endOf(reduction: 'min' | 'max', indices: Expr): Expr {
  const axes = indices.shape.map((_, k) => k);
  return axes.length === 0 ? indices : reduce(reduction, indices, axes);
}

const ifOut = (isOut: Expr, index: Expr, otherwise: Expr): Expr =>
  map('where', [isOut, cast(index, 'int64'), otherwise]);

function foundIn({ indices, from, size }: CheckedIndices): Expr {
  const { low, high } = knownRange(indices);
  const known = indices.extent === undefined ? indices : withinLength(indices, 0);
  let found: Expr = constant(NONE, 'int64');
  if (high >= size) {
    const largest = endOf('max', known);
    found = ifOut(map('greaterEqual', [largest, BigInt(size)]), largest, found);
  }
  if (low < from) {
    const least = endOf('min', known);
    found = ifOut(map('less', [least, BigInt(from)]), least, found);
  }
  return found;
}

/** The same of an axis whose size depends on data. */
function foundWithin(indices: Expr, length: Expr): Expr {
  const [least, largest] = [endOf('min', indices), endOf('max', indices)];
  const above = ifOut(map('greaterEqual', [largest, length]), largest, constant(NONE, 'int64'));
  const found = ifOut(map('less', [least, map('negative', [length])]), least, above);
  // Of indices whose number depends on data there may be none: then the least is above the largest.
  const isEmpty = map('logicalAnd', [map('equal', [length, 0n]), map('lessEqual', [least, largest])]);
  return map('where', [isEmpty, 1n, found]);
}

/** The indices that the steps of a loop in a step of another one change. */
export const foundInLoop = (x: ExprOf<'loop'>): FoundIndices[] =>
  x.loop.stepChecks.map(({ state, lengthState, ...check }) => ({
    ...check,
    found: stateInEnd(x, state),
    length: lengthState === undefined ? undefined : stateInEnd(x, lengthState),
  }));

/** A state that the user does not see, behind the last step. */
export function stateInEnd(x: ExprOf<'loop'>, state: number): Expr {
  const { steps, every } = x.loop;
  const result: Expr = { ...x, result: state, dtype: 'int64', shape: [], weak: false };
  if (every === undefined) return result;
  const kept = Math.floor(steps / every);
  return slice({ ...result, shape: [kept] }, kept - 1);
}

/** The states of checks: of each the first index out of range, then sizes of axes that depend on data. */
export interface CheckStates {
  readonly wrong: readonly Expr[];
  readonly lengths: readonly Expr[];
}

/** These states after a step. `areLooked`: at those which the condition reads behind the step. */
export function nextWrong(
  found: readonly FoundIndices[],
  { wrong, lengths }: CheckStates,
  ofCondition: number,
  areLooked: Expr | undefined,
): CheckStates {
  const before = noneWrong(wrong);
  const sizes = found.flatMap(({ length }) => length ?? []);
  return {
    wrong: found.map(({ found: own }, k) => {
      const isGated = areLooked !== undefined && k >= found.length - ofCondition;
      const isFirst = isGated ? map('logicalAnd', [before, areLooked]) : before;
      return map('where', [isFirst, own, wrong[k]!]);
    }),
    lengths: lengths.map((state, k) => map('where', [before, sizes[k]!, state])),
  };
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
