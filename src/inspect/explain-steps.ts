/**
 * The steps of a plan as `explain()` tells them, those inside sweeps and loops too. Called by `explain.ts`.
 */
import type { CallStep } from '../exec/calls/call.js';
import { callRow } from '../exec/calls/table.js';
import type { DevicePlan, KernelStep, LoopStep, PhaseStep, Step, SweepStep } from '../exec/plan/plan.js';
import { countOf } from '../exec/plan/print-plan.js';
import { buffersOf } from '../exec/plan/step-buffers.js';
import type { Planned } from '../exec/run/program.js';
import type { Device } from '../exec/targets/device.js';
import { targetOf } from '../exec/targets/table.js';
import { printKernel } from '../fusion/kernel/print.js';
import { trafficOf } from '../fusion/kernel/traffic.js';
import { type Graph, nodeOf } from '../graph/graph.js';
import type { ExplainedStep } from './explanation-data.js';
import type { Lines } from './lines.js';

/** A step without the user's lines. */
type StepData = Omit<ExplainedStep, 'lines'>;
type BodyStep = Exclude<Step, SweepStep>;

/** The steps in order, those inside sweeps and loops too. */
export function explainSteps(planned: Planned, device: Device, lines: Lines): ExplainedStep[] {
  let sweeps = 0;
  let loops = 0;
  const explainIn = (graph: Graph, step: Step): ExplainedStep[] => {
    if (step.kind === 'sweep') {
      const sweep = { number: sweeps++, tiles: step.tiles };
      return step.body.flatMap((part) => explainIn(graph, part.step).map((s) => ({ ...s, sweep })));
    }
    if (step.kind !== 'loop')
      return explainStep(step, planned, device).map((s) => ({ ...s, lines: lines.of(graph, s.nodes) }));
    const body = bodyOf(graph, step);
    const loop = { number: loops++, count: countOf(step) };
    const named = namesOfStates(step, planned.plan);
    const renamed = (labels: readonly string[]): string[] => labels.map((label) => named.get(label) ?? label);
    return step.body
      .flatMap((inner) => explainIn(body, inner))
      .map((s) => ({ loop, ...s, reads: renamed(s.reads), writes: renamed(s.writes) }));
  };
  const { steps, streams } = planned.plan;
  const explained = steps.map((step) => explainIn(planned.graph, step));
  // Plans in several streams have no sweeps and no loops: each step of theirs is one here.
  return streams === undefined
    ? explained.flat()
    : explained.flatMap((some, k) => some.map((s) => ({ ...s, ...streams.steps[k]! })));
}

/** The graph of a loop's body, in which the nodes of its steps are. */
function bodyOf(graph: Graph, { nodes }: LoopStep): Graph {
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
function explainStep(step: Exclude<BodyStep, LoopStep>, { plan }: Planned, device: Device): StepData[] {
  if (step.kind === 'finish' || (step.kind === 'phase' && step.phase > 0)) return [];
  return [step.kind === 'call' ? explainCall(step, plan, device) : explainKernel(step, plan, device)];
}

const labelsOf = (plan: DevicePlan, buffers: readonly number[]): string[] =>
  buffers.map((b) => plan.buffers[b]!.label);

function explainKernel(step: KernelStep | PhaseStep, plan: DevicePlan, device: Device): StepData {
  const { kernel } = step;
  const ofRole = (role: 'input' | 'output'): string[] =>
    labelsOf(
      plan,
      step.buffers.filter((_, k) => kernel.buffers[k]!.role === role),
    );
  const data = {
    kind: 'kernel' as const,
    name: kernel.name,
    nodes: step.nodes,
    ...trafficOf(kernel),
    reads: ofRole('input'),
    writes: ofRole('output'),
    text: printKernel(kernel),
  };
  const { sourceOf } = targetOf(device);
  return sourceOf === undefined ? data : { ...data, source: sourceOf(kernel, device) };
}

function explainCall(step: CallStep, plan: DevicePlan, device: Device): StepData {
  const { reads, writes } = buffersOf(step);
  return {
    kind: step.kind,
    name: step.call,
    nodes: step.nodes,
    reads: labelsOf(plan, reads),
    writes: labelsOf(plan, writes),
    ...callRow(step).explain(step, device.kind),
  };
}
