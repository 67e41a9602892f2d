/**
 * Explain: what a compute would do, without doing it: the graph, what each pass changed, the kernels with the
 * nodes they hold, a reason for every edge that was not fused, bytes moved, peak memory and the generated
 * source.
 *
 * `toJSON()` is stable: fields are added, never renamed. Called by `Lazy.explain` and `explain()`.
 */

import { devicePlansOf, onlyRunOf } from '../exec/plan/phases.js';
import { type Plan, sweepsOf } from '../exec/plan/plan.js';
import type { Destination } from '../exec/plan/plan-graph.js';
import { printPlan, printStream } from '../exec/plan/print-plan.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { peaksOf, planJob } from '../exec/run/plan-job.js';
import type { Observers } from '../exec/run/planned.js';
import { numbersFor, type RunNumbers } from '../exec/run/run-numbers.js';
import { computedNodes } from '../exec/run/true-sizes.js';
import type { Device } from '../exec/targets/device.js';
import { targetOf } from '../exec/targets/table.js';
import type { FusedStep, Partition } from '../fusion/partition/partition.js';
import { canonicalize } from '../fusion/passes/canonicalize.js';
import { printChoice } from '../fusion/passes/contraction-report.js';
import { Origins } from '../fusion/passes/origins.js';
import type { PassChanges } from '../fusion/passes/pipeline.js';
import { printPath } from '../fusion/paths/path-report.js';
import type { Expr } from '../graph/expr.js';
import { formatBytes, formatMicroseconds } from '../graph/format.js';
import { printGraph } from '../graph/print.js';
import {
  DISPLAY,
  folded,
  INSPECT,
  type InspectOptions,
  isTooDeep,
  type MimeBundle,
  named,
} from '../host/display.js';
import { ADVICE } from './advice.js';
import { planAsDot, planAsMermaid } from './draw.js';
import { explainSteps, type LocatedStep, locationOf } from './explain-steps.js';
import type { ExplainedEdge, ExplainedReading, ExplainedStep, ExplanationData } from './explanation-data.js';
import { explanationAsHtml } from './explanation-html.js';
import { planAsSvg } from './graph-svg.js';
import { Lines } from './lines.js';
import { withReasonsOfPlan } from './plan-reasons.js';
import { stepTimes } from './step-times.js';

/**
 * The result of `explain()`: prints as text, `toJSON()` is stable data, `toSVG()`, `toDot()` and
 * `toMermaid()` draw the plan.
 */
export class Explanation implements ExplanationData {
  readonly device!: string;
  readonly deviceReason!: string;
  readonly segments!: number;
  readonly graph!: string;
  readonly optimizedGraph!: string;
  readonly passes!: readonly PassChanges[];
  readonly steps!: readonly ExplainedStep[];
  readonly edges!: readonly ExplainedEdge[];
  readonly readings!: readonly ExplainedReading[];
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

  /** The plan as a picture: steps, the arrays that they read, and the results. */
  toSVG(): string {
    return planAsSvg(this);
  }

  toString(): string {
    const { steps, passes, edges, readings } = this;
    const changed = passes.filter((p) => p.added.length + p.removed.length + p.changed.length > 0);
    return [
      ...summaryOf(this),
      '',
      'graph',
      indent(this.graph),
      ...changed.flatMap((pass) => [
        `${pass.pass}: ${changes(pass)}`,
        ...pass.paths.map((path) => indent(`path ${printPath(path)}`)),
        ...pass.choices.map((choice) => indent(printChoice(choice))),
      ]),
      ...(changed.length > 0 ? ['', 'optimized graph', indent(this.optimizedGraph)] : ['']),
      ...steps.map(
        (step, k) =>
          `${headOf(step, k)}\n${indent(`${madeAt(step.lines)}${step.text}${scheduleText(step)}${resourcesText(step)}${timesText(step)}`)}`,
      ),
      ...edges.map(
        (e) =>
          `not fused: step ${e.from} to step ${e.to} through ${e.buffer}: ${e.reason} (${formatBytes(e.bytes)})\n${indent(e.advice)}`,
      ),
      ...readings.map(
        (r) =>
          `read twice: ${r.buffer} by step ${r.first} and step ${r.second}: ${r.reason} (${formatBytes(r.bytes)})\n${indent(r.advice)}`,
      ),
      ...(this.graphs.length > 0 ? [`repeated: CUDA graphs of ${this.graphs.join(', ')} launches`] : []),
      '',
    ].join('\n');
  }

  /** At depth 0 a line for each step, without graphs and kernels. */
  [INSPECT](depth?: number | null, options: InspectOptions = {}): string {
    if (isTooDeep(depth))
      return named(`Explanation of ${this.steps.length} steps on ${this.device}`, options);
    if (depth !== 0) return folded(this.toString(), options);
    return folded([...summaryOf(this), ...this.steps.map(headOf)].join('\n'), options);
  }

  /** In notebooks: steps and what is not fused in tables, and the plan as a picture where it is small. */
  [DISPLAY](): MimeBundle {
    return { 'text/plain': this.toString(), 'text/html': explanationAsHtml(this) };
  }
}

/** The device, and all steps together. */
const summaryOf = (data: ExplanationData): string[] => [
  `device ${data.device} (${data.deviceReason})`,
  ...(data.segments > 0 ? [`after ${data.segments} segments of the graph, which are computed first`] : []),
  ...(data.sharding === '' ? [] : [data.sharding]),
  `${data.steps.length} steps, ${formatBytes(data.bytesRead)} read, ${formatBytes(data.bytesWritten)} written, peak ${formatBytes(data.peakBytes)}`,
];

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? line : `  ${line}`))
    .join('\n');

const changes = ({ added, removed, changed }: PassChanges): string =>
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

const headOf = (step: ExplainedStep, k: number): string =>
  `step ${k}: ${step.name}${step.phase === undefined ? '' : `, in phase ${step.phase.number}`}${step.sweep === undefined ? '' : `, in ${step.sweep.tiles} ${step.sweep.panels === undefined ? 'tiles' : 'panels'} of sweep ${step.sweep.number}`}${step.loop === undefined ? '' : `, in loop ${step.loop.number} (${step.loop.count})`}, nodes ${step.nodes.map((id) => `%${id}`).join(' ')}${streamText(step)}, ${formatBytes(step.bytesRead)} read, ${formatBytes(step.bytesWritten)} written`;

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

const scheduleText = ({ schedule }: ExplainedStep): string =>
  schedule === undefined ? '' : `schedule ${schedule}\n`;

/** `map_exp_map: 256 threads, 32 registers, 0 B of local memory, 0 B shared, 8 blocks at a time, occupancy 100 %`. */
const resourcesText = ({ kernels = [] }: ExplainedStep): string =>
  kernels
    .map(
      ({ name, threads, registers, localBytes, sharedBytes, blocks, occupancy }) =>
        `${name}: ${threads} threads, ${registers} registers, ${formatBytes(localBytes)} of local memory, ${formatBytes(sharedBytes)} shared, ${blocks} blocks at a time, occupancy ${Math.round(100 * occupancy)} %\n`,
    )
    .join('');

/** `work 20 rows, 2,000 elements, predicted 34.5 µs, measured 33.1 µs on rows of equal length`, or `not timed: in parts`. */
function timesText({ work, predictedMs, measuredMs, measuredOn, whyNotTimed }: ExplainedStep): string {
  const on = measuredOn === undefined ? '' : ` on ${measuredOn}`;
  const times = [
    ...(work === undefined ? [] : [`work ${work}`]),
    ...(predictedMs === undefined ? [] : [`predicted ${formatMicroseconds(predictedMs / 1e3)}`]),
    ...(measuredMs === undefined ? [] : [`measured ${formatMicroseconds(measuredMs / 1e3)}${on}`]),
    ...(whyNotTimed === undefined ? [] : [`not timed: ${whyNotTimed}`]),
  ];
  return times.length === 0 ? '' : `${times.join(', ')}\n`;
}

/**
 * Explains the compute of several results together. Throws what `compute` would reject with before it runs
 * anything.
 */
export function explainExprs(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
  destination: Destination = 'host',
): Explanation {
  return new Explanation(explained(exprs, options, destination).data);
}

/**
 * The same with what its kernels take of the device, for which they are compiled, and how long they take as predicted and,
 * where the device can time them by themselves, as measured.
 */
export async function explainMeasured(
  exprs: readonly Expr[],
  options: ComputeOptions,
  destination: Destination,
): Promise<Explanation> {
  const { data, located, device, numbers } = explained(exprs, options, destination);
  const { resourcesOf } = targetOf(device);
  const kernels = await Promise.all(located.map(({ own, run }) => resourcesOf?.(own, device, run) ?? []));
  const times = await stepTimes(located, device, destination, numbers);
  return new Explanation({
    ...data,
    steps: data.steps.map((step, k) => ({
      ...step,
      ...(kernels[k]!.length === 0 ? {} : { kernels: kernels[k]! }),
      ...times[k]!,
    })),
  });
}

interface Explained {
  readonly data: ExplanationData;
  readonly located: readonly LocatedStep[];
  /** The first; all are of one kind. */
  readonly device: Device;
  readonly numbers: RunNumbers;
}

function explained(exprs: readonly Expr[], options: ComputeOptions, destination: Destination): Explained {
  const canonical = canonicalize(computedNodes(exprs));
  const passes: PassChanges[] = [];
  const origins = new Origins();
  const observers: Observers = { onPass: (changes) => passes.push(changes), origins };
  const job = planJob(canonical, options, destination, observers);
  const { target, segments, own } = job;
  const { plan, partition, graph } = own;
  const device = target.devices[0]!;
  const located = explainSteps(own, target, new Lines(canonical, origins));
  const steps = located.map(({ step }) => step);
  const only = onlyRunOf(plan);
  const positions = new Positions(located);
  const isStored = isInMemory(plan);
  const results = plan.values.filter(({ role }) => role === 'output').map(({ label }) => label);
  const edges = ofReaders(
    steps,
    edgesOf(partition, positions, bytesByLabel(plan)).filter(isStored).filter(isReadBehind(steps)),
  );
  const data: ExplanationData = {
    device: target.devices.map(({ name }) => name).join(','),
    deviceReason: job.chosen.reason,
    segments: segments.count,
    graph: printGraph(canonical.graph),
    optimizedGraph: printGraph(graph),
    passes,
    steps,
    edges: withReasonsOfPlan(edges, located, new Set(results), targetOf(device).modelOf(device, destination)),
    readings: readingsOf(partition, positions, bytesByLabel(plan))
      .filter(isStored)
      .filter(isReadAgain(steps)),
    results,
    bytesRead: total(steps, 'bytesRead'),
    bytesWritten: total(steps, 'bytesWritten'),
    arenaBytes: Math.max(
      0,
      ...plan.phases.flatMap(({ runs }) => runs.map((run) => run.plan.arenaByteLength)),
    ),
    peakBytes: Math.max(...peaksOf(job).values()),
    graphs: only === undefined ? [] : targetOf(device).graphSizes(only, device),
    sharding: plan.devices.length > 1 ? printPlan(plan) : '',
    reassociated: passes.some((pass) => pass.rounds && pass.added.length > 0),
  };
  return { data, located, device, numbers: numbersFor(canonical) };
}

/**
 * Where the explained steps of a step of the partition are. A kernel may run as several, or in several sweeps, or
 * within the step of a routine (`exec/plan/scan-maps.ts`).
 */
class Positions {
  readonly #at = new Map<string, number[]>();
  readonly #calls: readonly (readonly [position: number, nodes: ReadonlySet<number>])[];

  constructor(located: readonly LocatedStep[]) {
    for (const [k, { at }] of located.entries()) this.#at.set(at, [...(this.#at.get(at) ?? []), k]);
    this.#calls = [...located.entries()]
      .filter(([, { step }]) => step.kind === 'call')
      .map(([k, { step }]) => [k, new Set(step.nodes)]);
  }

  /** The positions of a step that is no loop; none: [-1]. */
  #of(step: FusedStep, loops: string): readonly number[] {
    const nodes = nodesOf(step);
    const own = this.#at.get(locationOf(loops, nodes));
    if (own !== undefined) return own;
    return [this.#calls.find(([, joined]) => nodes.every((id) => joined.has(id)))?.[0] ?? -1];
  }

  /** Of what it computes first; of what it computes last. */
  first(step: FusedStep, loops: string): number {
    if (step.kind !== 'loop') return this.#of(step, loops)[0]!;
    return this.first(step.body.steps[0]!, locationOf(loops, nodesOf(step)));
  }

  last(step: FusedStep, loops: string): number {
    if (step.kind !== 'loop') return this.#of(step, loops).at(-1)!;
    return this.last(step.body.steps.at(-1)!, locationOf(loops, nodesOf(step)));
  }
}

const nodesOf = (step: FusedStep): readonly number[] =>
  step.kind === 'loop'
    ? step.results.map(({ id }) => id)
    : step.kind === 'call'
      ? step.nodes.map(({ id }) => id)
      : step.nodes;

/**
 * The edges of a partition and of the bodies in it. `prefix`: of its buffers' labels; `loops`: of the locations
 * of its steps; `at`: of its loops' numbers.
 */
function edgesOf(
  partition: Partition,
  positions: Positions,
  bytesOf: ReadonlyMap<string, number>,
  { prefix = '', loops = '', at = '' } = {},
): ExplainedEdge[] {
  const own = partition.edges().map(({ buffer, from, to, reason }): ExplainedEdge => {
    const label = `${prefix}${buffer}`;
    return {
      buffer: label,
      from: positions.last(partition.steps[from]!, loops),
      to: positions.first(partition.steps[to]!, loops),
      bytes: 2 * (bytesOf.get(label) ?? 0),
      reason,
      advice: ADVICE[reason],
    };
  });
  const inside = partition.steps.flatMap((step, k) =>
    step.kind === 'loop'
      ? edgesOf(step.body, positions, bytesOf, {
          prefix: `${prefix}loop ${at}${k} `,
          loops: locationOf(loops, nodesOf(step)),
          at: `${at}${k}.`,
        })
      : [],
  );
  // Between the parts of a step nothing is in memory.
  return [...own.filter(({ from, to }) => from < 0 || from !== to), ...inside];
}

/** Bytes of arrays of which it is said that several steps read them. */
const LEAST_READ_BYTES = 4096;

/** The arrays that several steps of a partition read, not those of bodies of loops. */
function readingsOf(
  { sharedReads, steps }: Partition,
  positions: Positions,
  bytesOf: ReadonlyMap<string, number>,
): ExplainedReading[] {
  const positionOf = (at: number): number => positions.first(steps[at]!, '');
  const isThere = (at: number): boolean => positionOf(at) >= 0;
  return sharedReads(isThere).flatMap(({ buffer, reason, ...at }): ExplainedReading[] => {
    const bytes = bytesOf.get(buffer) ?? 0;
    const [first, second] = [positionOf(at.first), positionOf(at.second)];
    if (bytes < LEAST_READ_BYTES || first === second) return [];
    return [{ buffer, first, second, bytes, reason, advice: ADVICE[reason] }];
  });
}

/** Not of values that pass in panels from one step to the next. */
function isInMemory(plan: Plan): (of: ExplainedEdge | ExplainedReading) => boolean {
  const passed = new Set(
    devicePlansOf(plan).flatMap(({ steps, buffers }) =>
      steps
        .flatMap(sweepsOf)
        .filter(({ panels }) => panels !== undefined)
        .flatMap(({ windows }) => windows.map(({ buffer }) => buffers[buffer]!.label)),
    ),
  );
  return ({ buffer }) => !passed.has(buffer);
}

/** Not of arrays that the second step finds in the cache, panel by panel. */
const isReadAgain =
  (steps: readonly ExplainedStep[]) =>
  ({ buffer, first, second }: ExplainedReading): boolean => {
    const [one, other] = [steps[first]?.sweep, steps[second]?.sweep];
    return one?.number !== other?.number || one?.panels?.inputs?.includes(buffer) !== true;
  };

/** Not of values that are read within the step that gives them alone, as a scan's maps are. */
const isReadBehind =
  (steps: readonly ExplainedStep[]) =>
  ({ buffer, from }: ExplainedEdge): boolean =>
    steps.some(({ reads }, k) => k > from && reads.includes(buffer));

/**
 * The edges to the steps that read the values: a kernel that a routine is given for its maps, or that runs as several steps,
 * is at another one of them, or at two.
 */
function ofReaders(steps: readonly ExplainedStep[], edges: readonly ExplainedEdge[]): ExplainedEdge[] {
  const known = new Map<string, ExplainedEdge>();
  for (const edge of edges) {
    const { buffer, from, to } = edge;
    const isReader = (k: number): boolean => steps[k]?.reads.includes(buffer) === true;
    const readers = isReader(to) ? [to] : [...steps.keys()].filter((k) => k > from && isReader(k));
    for (const reader of readers.length === 0 ? [to] : readers) {
      const key = `${buffer} ${from} ${reader}`;
      if (!known.has(key)) known.set(key, { ...edge, to: reader });
    }
  }
  return [...known.values()];
}

const bytesByLabel = ({ values }: Plan): Map<string, number> =>
  new Map(values.map(({ label, byteLength }) => [label, byteLength]));

const total = (steps: readonly ExplainedStep[], field: 'bytesRead' | 'bytesWritten'): number =>
  steps.reduce((sum, step) => sum + step[field], 0);
