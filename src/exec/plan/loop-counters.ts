/**
 * Loops that count their steps: where a state is the number of the step, the kernel that reads it gets as an argument how
 * many steps there were, so that no other one has to write it and a launch can do several steps.
 *
 *     x, i → x + i;  i → i + 1        becomes        x → x + (start of i + steps before)
 *
 * Called by `device-planner.ts` for loops that fit as a whole. In sweeps, kernels get no such argument.
 */
import { isUniform, loadOf, loadsFrom } from '../../fusion/kernel/algebra.js';
import { isConstantThat, opOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Kernel } from '../../fusion/kernel/kernel.js';
import type { ScalarTest } from '../../graph/runtime-scalar.js';
import { type LoopNeeds, loopRuns } from './loop-runs.js';
import type { KernelStep, LoopState, LoopStep, Step } from './plan.js';
import { lifetimesOf, usesOf } from './stages.js';
import type { StepList } from './step-list.js';

/** The step list in which kernels that do several steps of a loop at once are given the number of the step. */
export function withLoopCounters(stepList: StepList, model: LoopNeeds): StepList {
  if (model.stepsAtOnce === undefined && model.skewOf === undefined) return stepList;
  if (!stepList.steps.some(({ kind }) => kind === 'loop')) return stepList;
  const users = lifetimesOf(stepList.steps.map((step) => ({ uses: usesOf(step) })));
  const isResult = (buffer: number): boolean =>
    stepList.buffers[buffer]!.role !== 'temporary' || (users.get(buffer) ?? []).length > 1;
  const steps = stepList.steps.map((step) => withCounters(step, model, isResult));
  return steps.every((step, k) => step === stepList.steps[k]) ? stepList : { ...stepList, steps };
}

function withCounters(step: Step, model: LoopNeeds, isResult: (buffer: number) => boolean): Step {
  if (step.kind !== 'loop') return step;
  const parts = twoKernels(step);
  const number = step.states.find(
    (state) =>
      state.kept < 0 && !isResult(state.last) && parts?.some((part) => isCount(part, state)) === true,
  );
  if (parts === undefined || number === undefined) return step;
  const others = step.states.filter((state) => state !== number);
  const reader = readerOf(parts.find((part) => !isCount(part, number))!, number);
  if (reader === undefined || others.length === 0) return step;
  const count = { steps: step.steps, ...(step.every === 0 ? {} : { every: step.every }) };
  const runs = loopRuns(count, others, [reader], model);
  return runs.stepsAtOnce > 1 || runs.skew !== undefined ? { ...step, ...runs } : step;
}

/** The body of a loop with a known number of steps, where it is two kernels that leave nothing else. */
function twoKernels({ condition, body }: LoopStep): readonly KernelStep[] | undefined {
  const kernels = body.flatMap((step) => (step.kind === 'kernel' && step.scratch.length === 0 ? [step] : []));
  return condition < 0 && body.length === 2 && kernels.length === 2 ? kernels : undefined;
}

const isOne: ScalarTest = (value) => value === 1n;

/** Whether a kernel adds 1 to a state, and does nothing else. */
function isCount({ kernel, buffers }: KernelStep, { current, next }: LoopState): boolean {
  const { tape, stores, parallel, reduced } = kernel;
  if (parallel.length + reduced.length > 0 || stores.length !== 1 || tape.length !== 3) return false;
  if (kernel.buffers[0]?.dtype !== 'int64') return false;
  const sum = tape[stores[0]!.value]!;
  if (opOf(sum) !== 'add' || buffers[stores[0]!.access.buffer] !== next) return false;
  const terms = argumentsOf(sum).map((arg) => tape[arg]!);
  const isState = terms.some((i) => buffers[loadOf(i)?.buffer ?? -1] === current);
  return isState && terms.some((i) => isConstantThat(i, isOne));
}

/** The kernel that reads the number of the step, as one that is given it; undefined where it cannot be. */
function readerOf(step: KernelStep, { initial, current, next }: LoopState): KernelStep | undefined {
  const { kernel, buffers } = step;
  const counter = buffers.indexOf(current);
  if (counter < 0 || buffers.includes(next) || buffers.includes(initial)) return undefined;
  if (!loadsFrom(kernel, counter).every(({ access }) => isUniform(access))) return undefined;
  const own: Kernel = { ...kernel, counters: [counter] };
  return { ...step, kernel: own, buffers: buffers.map((b) => (b === current ? initial : b)) };
}
