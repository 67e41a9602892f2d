/**
 * Explain: what a compute would do, without doing it: the graph, what each pass changed, the kernels with the nodes they
 * hold, a reason for every edge that was not fused, bytes moved, peak memory and the generated source.
 *
 * `toJSON()` is stable: fields are added, never renamed. Called by `Lazy.explain` and `explain()`.
 */

import type { ComputeOptions } from '../exec/compute-options.js';
import { type DealtPlan, printDealtPlan } from '../exec/dealt/deal-plan.js';
import { planDealt } from '../exec/dealt/dealt.js';
import { budgetsOf, devicesOf } from '../exec/evaluate.js';
import { cpuInfo } from '../exec/native/native.js';
import { planParts } from '../exec/parts-plan.js';
import {
  countOf,
  type KernelStep,
  type LoopStep,
  type MatmulStep,
  type PhaseStep,
  type Plan,
  printStream,
  type Step,
  type SweepStep,
} from '../exec/plan/plan.js';
import { type Planned, planGraph } from '../exec/programs/program.js';
import { cudaOf, graphSizes, limitsOf } from '../exec/programs/program-cuda.js';
import { canonicalize } from '../fusion/canonicalize.js';
import type { FusedStep, Partition } from '../fusion/partition.js';
import type { PassTrace } from '../fusion/pipeline.js';
import { printKernel } from '../fusion/print-kernel.js';
import { trafficOf } from '../fusion/traffic.js';
import { byteLengthOf, type DType, isHalf } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatBytes } from '../graph/format.js';
import { printGraph } from '../graph/print.js';
import { planAsDot, planAsMermaid } from './draw.js';
import type { ExplainedEdge, ExplainedStep, ExplanationData } from './explanation-data.js';
import { peaksOf } from './summary.js';

/** What `explain()` tells: prints as text, `toJSON()` is stable data, `toDot()` and `toMermaid()` draw the plan. */
export class Explanation implements ExplanationData {
  readonly device!: string;
  readonly deviceReason!: string;
  readonly parts!: number;
  readonly graph!: string;
  readonly optimizedGraph!: string;
  readonly passes!: readonly PassTrace[];
  readonly steps!: readonly ExplainedStep[];
  readonly edges!: readonly ExplainedEdge[];
  readonly results!: readonly string[];
  readonly bytesRead!: number;
  readonly bytesWritten!: number;
  readonly arenaBytes!: number;
  readonly peakBytes!: number;
  readonly graphs!: readonly number[];
  readonly dealing!: string;
  readonly reassociated!: boolean;

  constructor(data: ExplanationData) {
    Object.assign(this, data);
  }

  toJSON(): ExplanationData {
    return { ...this };
  }

  /** The plan as a Graphviz graph. */
  toDot(): string {
    return planAsDot(this);
  }

  /** The plan as a Mermaid flowchart. */
  toMermaid(): string {
    return planAsMermaid(this);
  }

  toString(): string {
    const { steps, passes, edges } = this;
    const changed = passes.filter((p) => p.added.length + p.removed.length + p.changed.length > 0);
    return [
      `device ${this.device} (${this.deviceReason})`,
      ...(this.parts > 0 ? [`after ${this.parts} parts of the graph, which are computed first`] : []),
      ...(this.dealing === '' ? [] : [this.dealing]),
      `${steps.length} steps, ${formatBytes(this.bytesRead)} read, ${formatBytes(this.bytesWritten)} written, peak ${formatBytes(this.peakBytes)}`,
      '',
      'graph',
      indent(this.graph),
      ...changed.map((pass) => `${pass.pass}: ${changes(pass)}`),
      ...(changed.length > 0 ? ['', 'optimized graph', indent(this.optimizedGraph)] : ['']),
      ...steps.map((step, k) => stepText(step, k)),
      ...edges.map(
        (e) =>
          `not fused: step ${e.from} to step ${e.to} through ${e.buffer}: ${e.reason} (${formatBytes(e.bytes)})`,
      ),
      ...(this.graphs.length > 0 ? [`repeated: CUDA graphs of ${this.graphs.join(', ')} launches`] : []),
      '',
    ].join('\n');
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? line : `  ${line}`))
    .join('\n');

const changes = ({ added, removed, changed }: PassTrace): string =>
  [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
  ]
    .filter(([, ids]) => ids!.length > 0)
    .map(([what, ids]) => `${what} ${(ids as readonly number[]).map((id) => `%${id}`).join(' ')}`)
    .join(', ');

const streamText = ({ stream, after = [] }: ExplainedStep): string =>
  printStream(stream === undefined ? undefined : { stream, after });

const stepText = (step: ExplainedStep, k: number): string =>
  `step ${k}: ${step.name}${step.sweep === undefined ? '' : `, in ${step.sweep.tiles} tiles of sweep ${step.sweep.number}`}${step.loop === undefined ? '' : `, in loop ${step.loop.number} (${step.loop.count})`}, nodes ${step.nodes.map((id) => `%${id}`).join(' ')}${streamText(step)}, ${formatBytes(step.bytesRead)} read, ${formatBytes(step.bytesWritten)} written\n${indent(step.text)}`;

/** Explains the compute of several results together. Throws what `compute` would reject with before it runs anything. */
export function explainExprs(exprs: readonly Expr[], options: ComputeOptions = {}): Explanation {
  const canonical = canonicalize(exprs);
  const { names, reason, isDealt } = devicesOf(canonical, options);
  const device = names[0]!;
  const passes: PassTrace[] = [];
  const exact = options.exact === true;
  const budgets = budgetsOf(options);
  const planned = planGraph(canonical, device, {
    exact,
    // What is dealt has the same kernels, and a budget for each device.
    ...(isDealt ? {} : budgets),
    trace: (trace) => passes.push(trace),
  });
  const dealt: DealtPlan | undefined = isDealt
    ? planDealt(canonical, { devices: names, exact, ...budgets, place: 'host' })
    : undefined;
  const { plan, partition } = planned;
  const parts = planParts(canonical, device, { exact, ...budgets });
  const steps = explainSteps(planned, device);
  return new Explanation({
    device: names.join(','),
    deviceReason: reason,
    parts: parts.count,
    graph: printGraph(canonical.graph),
    optimizedGraph: printGraph(planned.graph),
    passes,
    steps,
    edges: edgesOf(partition, planned),
    results: plan.buffers.filter((buffer) => buffer.role === 'output').map((buffer) => buffer.label),
    bytesRead: total(steps, 'bytesRead'),
    bytesWritten: total(steps, 'bytesWritten'),
    arenaBytes: plan.arenaByteLength,
    peakBytes: Math.max(
      ...(dealt === undefined
        ? [parts.peakBytes, plan.peakBytes + parts.waitingBytes]
        : peaksOf(dealt, parts)),
    ),
    graphs: device === 'cpu' || isDealt ? [] : graphSizes(plan, device),
    dealing: dealt === undefined ? '' : printDealtPlan(dealt),
    reassociated: passes.some((pass) => pass.rounds && pass.added.length > 0),
  });
}

/** Steps of a partition that `explainSteps` gives one after the other, those in bodies of loops among them. */
const countSteps = (step: FusedStep): number =>
  step.kind === 'loop' ? step.body.steps.reduce((sum, part) => sum + countSteps(part), 0) : 1;

/** The edges of a partition and of the bodies in it. `first`: position of its first step; `prefix` of its buffers' labels. */
function edgesOf(partition: Partition, planned: Planned, first = 0, prefix = '', at = ''): ExplainedEdge[] {
  const positions: number[] = [];
  let next = first;
  for (const step of partition.steps) {
    positions.push(next);
    next += countSteps(step);
  }
  // What a loop gives comes from the last step of its body.
  const lastOf = (k: number): number => positions[k]! + countSteps(partition.steps[k]!) - 1;
  const own = partition.edges().map(({ buffer, from, to, reason }): ExplainedEdge => {
    const label = `${prefix}${buffer}`;
    const bytes = 2 * bytesOf(label, planned);
    return { buffer: label, from: lastOf(from), to: positions[to]!, bytes, reason };
  });
  const inside = partition.steps.flatMap((step, k) =>
    step.kind === 'loop'
      ? edgesOf(step.body, planned, positions[k], `${prefix}loop ${at}${k} `, `${at}${k}.`)
      : [],
  );
  return [...own, ...inside];
}

const total = (steps: readonly ExplainedStep[], field: 'bytesRead' | 'bytesWritten'): number =>
  steps.reduce((sum, step) => sum + step[field], 0);

const bytesOf = (label: string, { plan }: Planned): number =>
  plan.buffers.find((buffer) => buffer.label === label)?.byteLength ?? 0;

type BodyStep = Exclude<Step, SweepStep>;

/** The steps in order, those inside sweeps and loops too. */
function explainSteps(planned: Planned, device: string): ExplainedStep[] {
  let sweeps = 0;
  let loops = 0;
  const explainBody = (step: Step): ExplainedStep[] => {
    if (step.kind === 'sweep') {
      const sweep = { number: sweeps++, tiles: step.tiles };
      return step.body.flatMap((part) => explainBody(part.step).map((s) => ({ ...s, sweep })));
    }
    if (step.kind !== 'loop') return explainStep(step, planned, device);
    const loop = { number: loops++, count: countOf(step) };
    const named = namesOfStates(step, planned.plan);
    const renamed = (labels: readonly string[]): string[] => labels.map((label) => named.get(label) ?? label);
    return step.body
      .flatMap(explainBody)
      .map((s) => ({ loop, ...s, reads: renamed(s.reads), writes: renamed(s.writes) }));
  };
  const { steps, streams } = planned.plan;
  // Plans in several streams have no sweeps and no loops: each step of theirs is one here.
  return streams === undefined
    ? steps.flatMap(explainBody)
    : steps.flatMap((step, k) => explainBody(step).map((s) => ({ ...s, ...streams.steps[k]! })));
}

/** States of a loop by the buffers that hold the first and the last of them. */
function namesOfStates({ states }: LoopStep, { buffers }: Plan): ReadonlyMap<string, string> {
  const label = (buffer: number): string => buffers[buffer]!.label;
  return new Map(
    states.flatMap(({ current, next, initial, last, kept }) => [
      [label(current), label(initial)] as const,
      [label(next), label(kept < 0 ? last : kept)] as const,
    ]),
  );
}

/** Of a kernel in phases, the first phase stands for all: it has the others' text and traffic. */
function explainStep(step: Exclude<BodyStep, LoopStep>, { plan }: Planned, device: string): ExplainedStep[] {
  if (step.kind === 'finish' || (step.kind === 'phase' && step.phase > 0)) return [];
  return [step.kind === 'matmul' ? explainMatmul(step, plan, device) : explainKernel(step, plan, device)];
}

const labelsOf = (plan: Plan, buffers: readonly number[]): string[] =>
  buffers.map((b) => plan.buffers[b]!.label);

function explainKernel(step: KernelStep | PhaseStep, plan: Plan, device: string): ExplainedStep {
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
  return device === 'cpu' ? data : { ...data, source: cudaOf(kernel, limitsOf(device)).source };
}

function explainMatmul(step: MatmulStep, plan: Plan, device: string): ExplainedStep {
  const { batch, m, n, k, dtype } = step;
  const element = byteLengthOf(dtype);
  return {
    kind: step.kind,
    name: 'matmul',
    nodes: step.nodes,
    bytesRead: batch * (m * k + k * n) * element,
    bytesWritten: batch * m * n * element,
    reads: labelsOf(plan, [step.a.buffer, step.b.buffer]),
    writes: labelsOf(plan, [step.c.buffer]),
    text: `matmul of ${batch} x (${m}, ${k}) @ (${k}, ${n}) ${dtype}, computed in ${computedIn(dtype)}${device === 'cpu' ? computedBy(dtype) : "; the order of sums is the library's"}\n`,
  };
}

/** Who computes a product on the CPU: a library orders its sums as it likes, Weft's kernels by the shapes alone. */
function computedBy(dtype: DType): string {
  const { blas } = cpuInfo();
  if (blas === null || isHalf(dtype)) return " by Weft's own kernels";
  return ` by ${blas.name} (${blas.path}), unless it is small or strided; the order of sums is the library's`;
}

/** The arithmetic of a product: never less than the dtype's own. */
const computedIn = (dtype: DType): string =>
  isHalf(dtype) ? 'float32 sums of exact products' : `full ${dtype}`;
