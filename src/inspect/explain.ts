/**
 * Explain: what a compute would do, without doing it: the graph, what each pass changed, the kernels with the
 * nodes they hold, a reason for every edge that was not fused, bytes moved, peak memory and the generated
 * source.
 *
 * `toJSON()` is stable: fields are added, never renamed. Called by `Lazy.explain` and `explain()`.
 */

import type { Place } from '../exec/plan/plan-graph.js';
import { printStream } from '../exec/plan/print-plan.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { peaksOf, planJob } from '../exec/run/plan-job.js';
import { type Observers, type Planned, planGraph } from '../exec/run/program.js';
import { printShardedPlan } from '../exec/shards/sharded-plan.js';
import { targetOf } from '../exec/targets/table.js';
import type { FusedStep, Partition } from '../fusion/partition/partition.js';
import { canonicalize } from '../fusion/passes/canonicalize.js';
import { Origins } from '../fusion/passes/origins.js';
import type { PassTrace } from '../fusion/passes/pipeline.js';
import { printPath } from '../fusion/paths/path-report.js';
import type { Expr } from '../graph/expr.js';
import { formatBytes } from '../graph/format.js';
import { printGraph } from '../graph/print.js';
import { ADVICE } from './advice.js';
import { planAsDot, planAsMermaid } from './draw.js';
import { explainSteps } from './explain-steps.js';
import type { ExplainedEdge, ExplainedStep, ExplanationData } from './explanation-data.js';
import { Lines } from './lines.js';

/**
 * The result of `explain()`: prints as text, `toJSON()` is stable data, `toDot()` and `toMermaid()` draw the
 * plan.
 */
export class Explanation implements ExplanationData {
  readonly device!: string;
  readonly deviceReason!: string;
  readonly segments!: number;
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
  readonly sharding!: string;
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
      ...(this.segments > 0
        ? [`after ${this.segments} segments of the graph, which are computed first`]
        : []),
      ...(this.sharding === '' ? [] : [this.sharding]),
      `${steps.length} steps, ${formatBytes(this.bytesRead)} read, ${formatBytes(this.bytesWritten)} written, peak ${formatBytes(this.peakBytes)}`,
      '',
      'graph',
      indent(this.graph),
      ...changed.flatMap((pass) => [
        `${pass.pass}: ${changes(pass)}`,
        ...pass.paths.map((path) => indent(`path ${printPath(path)}`)),
      ]),
      ...(changed.length > 0 ? ['', 'optimized graph', indent(this.optimizedGraph)] : ['']),
      ...steps.map((step, k) => stepText(step, k)),
      ...edges.map(
        (e) =>
          `not fused: step ${e.from} to step ${e.to} through ${e.buffer}: ${e.reason} (${formatBytes(e.bytes)})\n${indent(e.advice)}`,
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
  `step ${k}: ${step.name}${step.sweep === undefined ? '' : `, in ${step.sweep.tiles} tiles of sweep ${step.sweep.number}`}${step.loop === undefined ? '' : `, in loop ${step.loop.number} (${step.loop.count})`}, nodes ${step.nodes.map((id) => `%${id}`).join(' ')}${streamText(step)}, ${formatBytes(step.bytesRead)} read, ${formatBytes(step.bytesWritten)} written\n${indent(`${madeAt(step.lines)}${step.text}`)}`;

/** The lines of a step, the name of each file once. */
function madeAt(lines: readonly string[]): string {
  if (lines.length === 0) return '';
  const byFile = new Map<string, string[]>();
  for (const line of lines) {
    const at = line.lastIndexOf(':');
    const file = line.slice(0, at);
    byFile.set(file, [...(byFile.get(file) ?? []), line.slice(at + 1)]);
  }
  return `at ${[...byFile].map(([file, numbers]) => `${file}:${numbers.join(',')}`).join(' ')}\n`;
}

/**
 * Explains the compute of several results together. Throws what `compute` would reject with before it runs
 * anything.
 */
export function explainExprs(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
  place: Place = 'host',
): Explanation {
  const canonical = canonicalize(exprs);
  const passes: PassTrace[] = [];
  const origins = new Origins();
  const observers: Observers = { trace: (trace) => passes.push(trace), origins };
  const job = planJob(canonical, options, place, observers);
  const { target, segments, isSharded } = job;
  const device = target.devices[0]!;
  // A sharded job has the same kernels as one on a single device, and a budget for each device.
  const planned = job.isSharded
    ? planGraph(canonical, device, { exact: target.exact, place, ...observers })
    : job.own;
  const { plan, partition } = planned;
  const steps = explainSteps(planned, device, new Lines(canonical, origins));
  return new Explanation({
    device: target.devices.map(({ name }) => name).join(','),
    deviceReason: job.chosen.reason,
    segments: segments.count,
    graph: printGraph(canonical.graph),
    optimizedGraph: printGraph(planned.graph),
    passes,
    steps,
    edges: edgesOf(partition, planned),
    results: plan.buffers.filter((buffer) => buffer.role === 'output').map((buffer) => buffer.label),
    bytesRead: total(steps, 'bytesRead'),
    bytesWritten: total(steps, 'bytesWritten'),
    arenaBytes: plan.arenaByteLength,
    peakBytes: Math.max(...peaksOf(job).values()),
    graphs: isSharded ? [] : targetOf(device).graphSizes(plan, device),
    sharding: job.isSharded ? printShardedPlan(job.own) : '',
    reassociated: passes.some((pass) => pass.rounds && pass.added.length > 0),
  });
}

/**
 * Steps of a partition that `explainSteps` gives one after the other, those in bodies of loops among them.
 */
const countSteps = (step: FusedStep): number =>
  step.kind === 'loop' ? step.body.steps.reduce((sum, part) => sum + countSteps(part), 0) : 1;

/**
 * The edges of a partition and of the bodies in it. `first`: position of its first step; `prefix` of its
 * buffers' labels.
 */
function edgesOf(partition: Partition, planned: Planned, first = 0, prefix = '', at = ''): ExplainedEdge[] {
  const positions: number[] = [];
  let next = first;
  for (const step of partition.steps) {
    positions.push(next);
    next += countSteps(step);
  }
  // The results of a loop come from the last step of its body.
  const lastOf = (k: number): number => positions[k]! + countSteps(partition.steps[k]!) - 1;
  const own = partition.edges().map(({ buffer, from, to, reason }): ExplainedEdge => {
    const label = `${prefix}${buffer}`;
    const bytes = 2 * bytesOf(label, planned);
    const advice = ADVICE[reason];
    return { buffer: label, from: lastOf(from), to: positions[to]!, bytes, reason, advice };
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
