/**
 * Scans in one pass: *totals of the tiles → the values before each → the scan of each* becomes one step that goes
 * over memory once, where a device has all of it. The order of the sums is the same, and so are the bits. Called
 * by `device-planner.ts`, for plans without tiles.
 */
import { ROUTINES } from '../../graph/routines.js';
import type { RoutineStep } from '../calls/call.js';
import type { Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** The step list with its scans in one pass; undefined: it has none. */
export function withOnePassScans(stepList: StepList): StepList | undefined {
  if (!hasScan(stepList.steps)) return undefined;
  const readers = new Map<number, number>();
  const count = (steps: readonly Step[]): void => {
    for (const step of steps) {
      if (step.kind === 'loop') count(step.body);
      for (const buffer of buffersOf(step).reads) readers.set(buffer, (readers.get(buffer) ?? 0) + 1);
    }
  };
  count(stepList.steps);
  const isBetween = (buffer: number): boolean =>
    stepList.buffers[buffer]!.role === 'temporary' && readers.get(buffer) === 1;
  let joins = false;
  const joined = <S extends Step>(steps: readonly S[]): S[] => {
    const routines = (steps as readonly Step[]).filter(isRoutine);
    const writers = new Map(routines.map((step) => [step.results[0]!.buffer, step]));
    const gone = new Set<Step>();
    const changed = steps.map((whole): S => {
      const step: Step = whole;
      if (step.kind === 'loop') return { ...step, body: joined(step.body) } as Step as S;
      if (!isRoutine(step) || step.call !== 'scan' || step.operands.length < 2) return whole;
      const before = writers.get(step.operands[1]!.buffer);
      const totals = before?.call === 'scanBefore' ? writers.get(before.operands[0]!.buffer) : undefined;
      if (before === undefined || totals?.call !== 'scanTotals') return whole;
      const isSame = totals.operands[0]!.buffer === step.operands[0]!.buffer;
      if (!isSame || ![before, totals].every(({ results }) => isBetween(results[0]!.buffer))) return whole;
      gone.add(before).add(totals);
      joins = true;
      return { ...step, operands: step.operands.slice(0, 1) } as Step as S;
    });
    return changed.filter((_, k) => !gone.has(steps[k]!));
  };
  const steps = joined(stepList.steps);
  return joins ? { ...stepList, steps } : undefined;
}

const hasScan = (steps: readonly Step[]): boolean =>
  steps.some((step) =>
    step.kind === 'loop' ? hasScan(step.body) : step.kind === 'call' && step.call === 'scan',
  );

const isRoutine = (step: Step): step is RoutineStep =>
  step.kind === 'call' && Object.hasOwn(ROUTINES, step.call);
