/**
 * Prints plans: golden files, `WEFT_DEBUG=plan` and `plan()` use it.
 */
import { formatCount } from '../../graph/print.js';
import { callRow } from '../calls/table.js';
import { distinctRunsOf, namesOf, onlyRunOf } from './phases.js';
import {
  type DevicePlan,
  type LoopStep,
  type Phase,
  type Plan,
  type PlanBuffer,
  type Step,
  type StepStream,
  sweepsOf,
  type TakenWindows,
  type WholeReason,
} from './plan.js';
import { buffersOf } from './step-buffers.js';

/** Prints a plan as text: of one device its buffers and steps, of several a line for each phase. */
export function printPlan(plan: Plan): string {
  const only = onlyRunOf(plan);
  return only === undefined ? printPhases(plan) : printDevicePlan(only);
}

/** A line for each phase: which device does how much of it. */
function printPhases(plan: Plan): string {
  const phases = plan.phases.map((phase, k) => `phase ${k}: ${printPhase(phase, plan)}`);
  const peaks = plan.devices.map((device, d) => `${device} ${plan.peakBytes[d]} bytes`);
  return [...phases, `peak: ${peaks.join(', ')}`].join('\n');
}

/** Those of sweeps, in loops too; other steps are one each. */
const tilesOf = ({ steps }: DevicePlan): number =>
  steps.reduce((sum, step) => {
    const tiles = sweepsOf(step).map((sweep) => sweep.tiles);
    return sum + (tiles.length === 0 ? 1 : tiles.reduce((a, b) => a + b, 0));
  }, 0);

const WHY: Readonly<Record<WholeReason, string>> = {
  short: ', sooner done than shared',
  uncut: ', which cannot be cut',
  combine: '',
  memory: ', for want of room for shares',
};

function printPhase(phase: Phase, plan: Plan): string {
  const { rounds = 1 } = phase.loop ?? {};
  return `${printShares(phase, plan)}${rounds === 1 ? '' : `, ${roundsText(rounds)}`}`;
}

/** More rounds than these are those of a loop with a condition and no number of steps. */
const MOST_ROUNDS = 2 ** 50;

/** How often phases of a loop are done. */
export const roundsText = (rounds: number): string =>
  rounds > MOST_ROUNDS ? 'until the loop ends' : rounds === 1 ? 'once' : `${rounds} times`;

function printShares(phase: Phase, { devices }: Plan): string {
  const { kind, runs, parts, reason } = phase;
  const names = namesOf(phase).join(', ');
  if (parts !== undefined) {
    const [run] = distinctRunsOf(phase);
    const all = runs.map(({ device }) => devices[device]!).join(', ');
    return `${names}, ${tilesOf(run!.plan)} tiles sharded to ${all} as they become free`;
  }
  const who = runs.map(({ device, plan }) => {
    const tiles = tilesOf(plan);
    const isSwept = kind === 'sharded' ? tiles > 1 : tiles > plan.steps.length;
    return `${devices[device]}${isSwept ? ` in ${tiles} tiles` : ''}`;
  });
  if (kind === 'sharded') return `${names}, sharded to ${who.join(', ')}`;
  return `${names}, as a whole on ${who.join(', ')}${reason === undefined ? '' : WHY[reason]}`;
}

/** Prints a device plan as text: buffers with their places, steps in order. */
export function printDevicePlan(plan: DevicePlan): string {
  const place = (buffer: PlanBuffer): string => {
    if (buffer.windowed === true) return ' in windows';
    if (buffer.readInBlocks === true) return ' in blocks';
    return buffer.role === 'temporary' ? ` at ${buffer.offset}` : '';
  };
  const buffers = plan.buffers.map(
    (buffer, k) => `b${k} ${buffer.role} ${buffer.byteLength} bytes${place(buffer)}: ${buffer.label}`,
  );
  const steps = plan.steps.map((step, k) => `${k} ${printStep(step)}${printStream(plan.streams?.steps[k])}`);
  return [`arena ${plan.arenaByteLength} bytes, peak ${plan.peakBytes} bytes`, ...buffers, ...steps].join(
    '\n',
  );
}

/** `, stream 1 after step 3`; nothing where there is one stream. */
export function printStream(place: StepStream | undefined): string {
  if (place === undefined) return '';
  const { stream, after } = place;
  const steps = after.length === 1 ? `step ${after[0]}` : `steps ${after.join(', ')}`;
  return `, stream ${stream}${after.length === 0 ? '' : ` after ${steps}`}`;
}

const indented = (text: string): string => text.replace(/^/gm, '  ');

/** How often a loop runs, as text. */
export function countOf({ steps, condition, every, stepsAtOnce, record }: LoopStep): string {
  const condition_ = condition < 0 ? undefined : condition;
  const count = formatCount({ steps, condition: condition_, every: every === 0 ? undefined : every });
  if (record !== undefined) return `${count}, decided on the device`;
  return stepsAtOnce === 1 ? count : `${count}, ${stepsAtOnce} at once`;
}

/** `8 windows of indices`, `for each of 3 parts of the result`. */
export const takenText = ({ windows, parts }: TakenWindows): string =>
  `${windows} windows of indices${parts === 1 ? '' : ` for each of ${parts} parts of the result`}`;

const list = (ids: readonly number[]): string => ids.map((b) => `b${b}`).join(' ');

function printStep(step: Step): string {
  switch (step.kind) {
    case 'kernel':
      return `${step.kernel.name}${step.loopSteps === undefined ? '' : `, ${step.loopSteps} steps`} ${list(step.buffers)}${step.scratch.length > 0 ? ` scratch ${list(step.scratch)}` : ''}`;
    case 'phase':
    case 'finish':
      return `${step.kernel.name} ${step.kind} ${step.phase} ${list(step.buffers)} scratch ${list(step.scratch)}`;
    case 'call': {
      const { print } = callRow(step);
      const { reads, writes } = buffersOf(step);
      return `${print(step)} ${list([...reads, ...writes])}`;
    }
    case 'loop': {
      const states = step.states.map(
        (s, k) =>
          `  state ${k}: b${s.current} to b${s.next}, from b${s.initial}, in b${s.last}${s.other < 0 || s.other === s.last ? '' : ` and b${s.other}`}${s.kept < 0 ? '' : `, kept in b${s.kept}`}`,
      );
      const body = step.body.map((part) => indented(printStep(part)));
      const skew = step.skew === undefined ? '' : `, skewed by ${step.skew.tiles}`;
      return [`loop ${countOf(step)}${skew}`, ...states, ...body].join('\n');
    }
    case 'sweep': {
      const windows = step.windows.map(
        (w) => `  b${w.buffer} ${w.direction}, ${w.slots} slots of ${w.slotByteLength} bytes at ${w.offset}`,
      );
      const body = step.body.map((part) => `  ${printStep(part.step)}`);
      const kind = step.panels === undefined ? 'tiles' : 'panels';
      const taken = step.taken === undefined ? '' : `: ${takenText(step.taken)}`;
      return [`sweep of ${step.tiles} ${kind}${taken}`, ...windows, ...body].join('\n');
    }
  }
}
