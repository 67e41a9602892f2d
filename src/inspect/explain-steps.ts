/**
 * The steps of a plan as `explain()` tells them, those inside sweeps and loops too. Called by `explain.ts`.
 */
import type { CallStep } from '../exec/calls/call.js';
import { callRow } from '../exec/calls/table.js';
import {
  callName,
  type DevicePlan,
  type KernelStep,
  type LoopStep,
  measuredKernels,
  type Panels,
  type Phase,
  type PhaseStep,
  type Plan,
  type Step,
  type SweepStep,
} from '../exec/plan/plan.js';
import { countOf, roundsText, takenText } from '../exec/plan/print-plan.js';
import { buffersOf } from '../exec/plan/step-buffers.js';
import type { ComputeTarget } from '../exec/run/compute-target.js';
import type { Planned } from '../exec/run/planned.js';
import type { Device } from '../exec/targets/device.js';
import { targetOf } from '../exec/targets/table.js';
import type { StepRun } from '../exec/targets/target.js';
import type { Kernel } from '../fusion/kernel/kernel.js';
import { printKernel } from '../fusion/kernel/print.js';
import { bytesByBuffer, trafficOf } from '../fusion/kernel/traffic.js';
import { formatBytes } from '../graph/format.js';
import { type Graph, nodeOf } from '../graph/graph.js';
import type { ExplainedStep } from './explanation-data.js';
import type { Lines } from './lines.js';

/** A step without the user's lines. */
type StepData = Omit<ExplainedStep, 'lines'>;

/** An explained step, and which nodes it computes: of a loop's body, after those of the loop. */
export interface LocatedStep {
  readonly step: ExplainedStep;
  readonly at: string;
  /** The step of the plan. */
  readonly own: LaunchingStep;
  /** The plan that it is a step of. */
  readonly plan: DevicePlan;
  readonly run: StepRun;
}

/** A step of kernels, or of a library. */
export type LaunchingStep = KernelStep | PhaseStep | CallStep;

/** Names the nodes of a step, in loops of some nodes. */
export const locationOf = (loops: string, nodes: readonly number[]): string => `${loops}${nodes.join()};`;

/**
 * The steps of all phases in order, those inside sweeps and loops too. Devices that share a phase run the same
 * steps, some of them in several stretches: each is listed once.
 */
export function explainSteps(
  { graph, plan }: Planned,
  { devices, tune }: ComputeTarget,
  lines: Lines,
): LocatedStep[] {
  return stepsOfPhases(new Explainer(devices[0]!, tune ? 'tuned' : 'whole', lines), graph, plan);
}

/** The steps of a plan whose graph is not kept: without the user's lines, and on request without sources. */
export const explainPlan = (plan: Plan, device: Device, withSources: boolean): ExplainedStep[] =>
  stepsOfPhases(new Explainer(device, 'whole', undefined, withSources), undefined, plan).map(
    ({ step }) => step,
  );

function stepsOfPhases(explainer: Explainer, graph: Graph | undefined, plan: Plan): LocatedStep[] {
  if (plan.devices.length === 1)
    return plan.phases.flatMap(({ runs }) => runs.flatMap((run) => explainer.ofRun(graph, run.plan)));
  return plan.phases.flatMap(({ runs, loop }, number) => {
    const devices = runs.map((run) => plan.devices[run.device]!);
    const phase = { number, devices };
    const known = new Set<string>();
    return runs.slice(0, 1).flatMap((run) =>
      explainer.ofRun(graph, run.plan, loop?.nodes).flatMap(({ step, ...place }) => {
        const key = [place.at, step.name, ...step.reads, ...step.writes].join(' ');
        if (known.has(key)) return [];
        known.add(key);
        return [{ ...place, step: { ...explainer.roundsOf(loop), ...step, phase } }];
      }),
    );
  });
}

class Explainer {
  readonly #device: Device;
  /** How steps outside of sweeps run. */
  readonly #run: StepRun;
  readonly #lines: Lines | undefined;
  readonly #withSources: boolean;
  #sweeps = 0;
  #loops = 0;
  /** Numbers of loops whose rounds are phases, by their nodes. */
  readonly #opened = new Map<string, number>();
  /** Kernels whose schedules are measured. */
  readonly #measured = new WeakMap<DevicePlan, ReadonlyMap<Kernel, KernelStep>>();

  constructor(device: Device, run: StepRun, lines: Lines | undefined, withSources = true) {
    this.#device = device;
    this.#run = run;
    this.#lines = lines;
    this.#withSources = withSources;
  }

  #measuredIn(plan: DevicePlan): ReadonlyMap<Kernel, KernelStep> {
    const measured = this.#measured.get(plan) ?? measuredKernels(plan);
    this.#measured.set(plan, measured);
    return measured;
  }

  /** The loop that a phase is in, and how often it is done. */
  roundsOf(loop: Phase['loop']): Pick<ExplainedStep, 'loop'> {
    if (loop === undefined) return {};
    const key = loop.nodes.join();
    const number = this.#opened.get(key) ?? this.#loops++;
    this.#opened.set(key, number);
    return { loop: { number, count: roundsText(loop.rounds) } };
  }

  /** `loop`: the nodes of a loop whose body the steps are of. */
  ofRun(graph: Graph | undefined, plan: DevicePlan, loop?: readonly number[]): LocatedStep[] {
    const explained = plan.steps.map((step) =>
      loop === undefined
        ? this.#in(graph, step, plan, '')
        : this.#in(bodyOf(graph, loop), step, plan, locationOf('', loop)),
    );
    // Plans in several streams have no sweeps and no loops: each step of theirs is one here.
    const { streams } = plan;
    return streams === undefined
      ? explained.flat()
      : explained.flatMap((some, k) =>
          some.map(({ step, ...place }) => ({ ...place, step: { ...step, ...streams.steps[k]! } })),
        );
  }

  #in(graph: Graph | undefined, step: Step, plan: DevicePlan, loops = '', run = this.#run): LocatedStep[] {
    if (step.kind === 'sweep') {
      const { panels, taken } = step;
      const sweep = {
        number: this.#sweeps++,
        tiles: step.tiles,
        ...(panels === undefined ? {} : { panels }),
      };
      const brought = new Set<string>();
      const [first, ...others] = step.body.flatMap((part) =>
        this.#in(graph, part.step, plan, loops, 'parts').map((one) => ({
          ...one,
          step: { ...withoutPanels(one, step, brought), sweep },
        })),
      );
      const how = panels !== undefined ? panelsText(panels) : taken && `taken in ${takenText(taken)}`;
      if (first === undefined || how === undefined) return first === undefined ? [] : [first, ...others];
      const text = `${first.step.text.trimEnd()}; ${how}\n`;
      return [{ ...first, step: { ...first.step, text } }, ...others];
    }
    if (step.kind !== 'loop') {
      if (step.kind === 'finish' || (step.kind === 'phase' && step.phase > 0)) return [];
      const isUntuned = run === 'tuned' && step.kind === 'kernel' && !this.#measuredIn(plan).has(step.kernel);
      const own = step.kind === 'phase' ? 'parts' : isUntuned ? 'whole' : run;
      const one = explainStep(step, plan, this.#device, own, this.#withSources);
      const lines = graph === undefined ? [] : (this.#lines?.of(graph, one.nodes) ?? []);
      return [{ at: locationOf(loops, one.nodes), step: { ...one, lines }, own: step, plan, run: own }];
    }
    const body = bodyOf(graph, step.nodes);
    const loop = { number: this.#loops++, count: countOf(step) };
    const named = namesOfStates(step, plan);
    const renamed = (labels: readonly string[]): string[] => labels.map((label) => named.get(label) ?? label);
    return step.body
      .flatMap((inner) => this.#in(body, inner, plan, locationOf(loops, step.nodes), run))
      .map(({ step: s, ...place }) => ({
        ...place,
        step: { loop, ...s, reads: renamed(s.reads), writes: renamed(s.writes) },
      }));
  }
}

/**
 * A step without the bytes that never leave the cache: of values in panels, and of inputs that steps before it brought there,
 * to which those are added that it brings.
 */
function withoutPanels(
  located: LocatedStep,
  { panels, windows }: SweepStep,
  brought: Set<string>,
): ExplainedStep {
  const { step, plan } = located;
  if (panels === undefined) return step;
  const passed = new Set(windows.map(({ buffer }) => plan.buffers[buffer]!.label));
  const touched = bytesByLabel(located).filter(({ label }) => passed.has(label) || brought.has(label));
  const bytesOf = (isRead: boolean): number =>
    touched.reduce((sum, each) => sum + (each.isRead === isRead ? each.bytes : 0), 0);
  for (const label of step.reads) if (panels.inputs?.includes(label) === true) brought.add(label);
  return {
    ...step,
    bytesRead: step.bytesRead - bytesOf(true),
    bytesWritten: step.bytesWritten - bytesOf(false),
  };
}

/** The bytes of each array that a step reads or writes. */
function bytesByLabel({ step, own, plan: { buffers } }: LocatedStep): {
  readonly label: string;
  readonly bytes: number;
  readonly isRead: boolean;
}[] {
  if (own.kind === 'call') {
    const byteLengthOf = (label: string): number =>
      buffers.find((buffer) => buffer.label === label)!.byteLength;
    const ofLabels = (labels: readonly string[], isRead: boolean) =>
      labels.map((label) => ({ label, bytes: byteLengthOf(label), isRead }));
    return [...ofLabels(step.reads, true), ...ofLabels(step.writes, false)];
  }
  const { kernel } = own;
  const bytes = bytesByBuffer(kernel);
  return own.buffers.map((buffer, k) => {
    const isRead = kernel.buffers[k]!.role === 'input';
    return { label: buffers[buffer]!.label, bytes: bytes[k]!, isRead };
  });
}

/** `in panels of 16 MiB, not stored (1 GiB): about 900 µs, as a whole 1300 µs`. */
const panelsText = ({ byteLength, panelByteLength, reason }: Panels): string =>
  `in panels of ${formatBytes(panelByteLength)}, not stored (${formatBytes(byteLength)}): ${reason}`;

/** The graph of a loop's body, in which the nodes of its steps are. */
function bodyOf(graph: Graph | undefined, nodes: readonly number[]): Graph | undefined {
  if (graph === undefined) return undefined;
  const node = nodeOf(graph, nodes[0]!);
  return node.kind === 'loop' ? node.loop.body : graph;
}

/** States of a loop by the buffers that hold the first and the last of them. */
function namesOfStates({ states }: LoopStep, { buffers }: DevicePlan): ReadonlyMap<string, string> {
  const label = (buffer: number): string => buffers[buffer]!.label;
  return new Map(
    states.flatMap(({ current, next, initial, last, kept }) => [
      [label(current), label(initial)] as const,
      [label(next), label(kept < 0 ? last : kept)] as const,
    ]),
  );
}

/** Of a kernel in phases, the first phase stands for all: it has the others' text and traffic. */
const explainStep = (
  step: LaunchingStep,
  plan: DevicePlan,
  device: Device,
  run: StepRun,
  withSource: boolean,
): StepData =>
  step.kind === 'call'
    ? explainCall(step, plan, device, run)
    : explainKernel(step, plan, device, { run, withSource });

const labelsOf = (plan: DevicePlan, buffers: readonly number[]): string[] =>
  buffers.map((b) => plan.buffers[b]!.label);

function explainKernel(
  step: KernelStep | PhaseStep,
  plan: DevicePlan,
  device: Device,
  { run, withSource }: { readonly run: StepRun; readonly withSource: boolean },
): StepData {
  const { kernel } = step;
  const ofRole = (role: 'input' | 'output'): string[] =>
    labelsOf(
      plan,
      step.buffers.filter((_, k) => kernel.buffers[k]!.role === role),
    );
  const { sourceOf, explainSchedule } = targetOf(device);
  const schedule = explainSchedule?.(step, device, run);
  const data = {
    kind: 'kernel' as const,
    name: kernel.name,
    nodes: step.nodes,
    ...trafficOf(kernel),
    reads: ofRole('input'),
    writes: ofRole('output'),
    text: printKernel(kernel),
    ...(schedule === undefined ? {} : { schedule }),
  };
  return sourceOf === undefined || !withSource ? data : { ...data, source: sourceOf(kernel, device, run) };
}

function explainCall(step: CallStep, plan: DevicePlan, device: Device, run: StepRun): StepData {
  const { reads, writes } = buffersOf(step);
  const { bytesRead, bytesWritten, text } = callRow(step).explain(step, device.kind);
  const { explainTuning, explainSchedule } = targetOf(device);
  const choices = [
    explainSchedule?.(step, device, run),
    run === 'tuned' ? explainTuning?.(step, plan, device) : undefined,
  ];
  const chosen = choices.filter((choice) => choice !== undefined);
  return {
    kind: step.kind,
    name: callName(step),
    nodes: step.nodes,
    reads: labelsOf(plan, reads),
    writes: labelsOf(plan, writes),
    bytesRead,
    bytesWritten,
    text: chosen.length === 0 ? text : `${[text.trimEnd(), ...chosen].join('; ')}\n`,
  };
}
