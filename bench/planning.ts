/**
 * The time that the JavaScript thread pays before anything runs: building nodes, planning graphs of several
 * shapes and sizes and writing their code, for a process that has done it before (warm) and for the first graph of a
 * process (cold); and the longest slice of it between turns of the event loop. Prints a table, or JSON lines: medians
 * and the least of warm times. A slice is the least of the same slice of all graphs, so that other processes of the
 * machine do not count. For a GPU, of an architecture that need not be there, the plan and its CUDA C, not compiled.
 *
 * Shapes of `PARTS_OF_MEMORY` are planned within a budget; finding it is not measured.
 *
 * usage: node dist/bench/planning.js [--only chain,mixed] [--sizes 1000,10000] [--device sm_90] [--json]
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createProgramInSlices } from '../src/exec/native/native.js';
import { planPartition, planPartitionInSlices } from '../src/exec/plan/plan-graph.js';
import { CPU, gpuOf } from '../src/exec/targets/device.js';
import { cpuProgramInSlices } from '../src/exec/targets/program-cpu.js';
import { sourcesInSlices } from '../src/exec/targets/program-cuda.js';
import { targetOf } from '../src/exec/targets/table.js';
import { partitionInSlices } from '../src/fusion/partition/partition.js';
import { canonicalOrSlices, isSlices } from '../src/fusion/passes/canonicalize.js';
import { passesInSlices } from '../src/fusion/passes/pipeline.js';
import { withLevels } from '../src/graph/depth.js';
import type { Slices } from '../src/host/slices.js';
import { chain, PARTS_OF_MEMORY, SHAPES } from './planning-shapes.js';
import { median, now, toDigits } from './statistics.js';

interface Measured {
  readonly nodes: number;
  readonly steps: number;
  readonly buildMs: number;
  readonly planMs: number;
  readonly emitMs: number;
  /** Milliseconds of the processor, of all threads of the process. */
  readonly cpuMs: number;
  /** Milliseconds of each slice, from the canonical graph to the native program, in order. */
  readonly slices: readonly number[];
}

/** Does work in slices at once, and notes the time of each. */
function sliced<T>(work: Slices<T>, slices: number[]): T {
  for (;;) {
    const start = now();
    const step = work.next();
    slices.push(now() - start);
    if (step.done === true) return step.value;
  }
}

/** Builds one graph and plans it; as a whole, however deep it is. */
function measure(shape: string, count: number): Measured {
  const start = now();
  const exprs = withLevels(Number.POSITIVE_INFINITY, () => SHAPES[shape]!(count)).map(({ expr }) => expr);
  const built = now();
  const slices: number[] = [];
  const before = process.cpuUsage();
  const { passes, products, keepsOrder, modelOf } = targetOf(device);
  const begun = canonicalOrSlices(exprs);
  slices.push(now() - built);
  const canonical = isSlices(begun) ? sliced(begun, slices) : begun;
  const graph = sliced(passesInSlices(canonical.graph, { passes }), slices);
  const { isReadable, channels } = products;
  const parting = partitionInSlices(graph, isReadable, undefined, channels, keepsOrder);
  const parts = sliced(parting, slices);
  const model = modelOf(device, 'host');
  const [began, spent] = [now(), process.cpuUsage()];
  const part = PARTS_OF_MEMORY[shape];
  const whole = part === undefined ? undefined : planPartition(graph, parts, canonical.sources, model);
  const budget = whole && Math.ceil(whole.peakBytes / part!);
  const aside = { ms: now() - began, ...process.cpuUsage(spent) };
  const plan = sliced(planPartitionInSlices(graph, parts, canonical.sources, model, { budget }), slices);
  const planned = now() - aside.ms;
  if (device.isHost) sliced(createProgramInSlices(sliced(cpuProgramInSlices(plan), slices)), slices);
  else sliced(sourcesInSlices(plan, device), slices);
  const emitMs = now() - aside.ms - planned;
  const { user, system } = process.cpuUsage(before);
  return {
    nodes: canonical.graph.nodes.length,
    steps: plan.steps.length,
    buildMs: built - start,
    planMs: planned - built,
    emitMs,
    cpuMs: (user + system - aside.user - aside.system) / 1e3,
    slices,
  };
}

/** The longest of slices that are done again and again, each at its fastest. */
function longest(runs: readonly (readonly number[])[]): number {
  const least = runs[0]!.map((_, k) => Math.min(...runs.map((run) => run[k] ?? Number.POSITIVE_INFINITY)));
  return least.reduce((most, each) => Math.max(most, each), 0);
}

/** The same in a process of its own. */
function measureCold(shape: string, count: number): Measured {
  const argv = [fileURLToPath(import.meta.url), '--one', shape, '--sizes', String(count), '--device', named];
  return JSON.parse(execFileSync(process.execPath, argv, { encoding: 'utf8' })) as Measured;
}

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(SHAPES).join(',') },
    sizes: { type: 'string', default: '1000,10000,100000' },
    repeats: { type: 'string', default: '9' },
    device: { type: 'string', default: 'cpu' },
    one: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const sizes = options.sizes.split(',').map(Number);
const named = options.device;
const device = named === 'cpu' ? CPU : gpuOf(named);

function report(shape: string, count: number): void {
  const cold = measureCold(shape, count);
  const repeats = count > 20_000 ? 3 : Number(options.repeats);
  const warm = Array.from({ length: repeats }, () => measure(shape, count)).slice(repeats > 3 ? 2 : 0);
  const planned = warm.map((each) => each.planMs);
  const built = warm.map((each) => each.buildMs);
  const line = {
    workload: `plan_${shape}`,
    count,
    nodes: cold.nodes,
    steps: cold.steps,
    ms_cold: toDigits(cold.planMs, 2),
    ms_median: toDigits(median(planned), 2),
    ms_min: toDigits(Math.min(...planned), 2),
    emit_ms_min: toDigits(Math.min(...warm.map((each) => each.emitMs)), 2),
    us_per_node_min: toDigits(
      (Math.min(...warm.map((each) => each.planMs + each.emitMs)) * 1e3) / cold.nodes,
      2,
    ),
    cpu_ms_min: toDigits(Math.min(...warm.map((each) => each.cpuMs)), 2),
    slice_ms: toDigits(longest(warm.map((each) => each.slices)), 2),
    build_us_per_node: toDigits((median(built) * 1e3) / cold.nodes, 2),
    build_us_per_node_min: toDigits((Math.min(...built) * 1e3) / cold.nodes, 2),
  };
  const cells = [
    shape,
    line.nodes,
    line.steps,
    line.ms_cold,
    line.ms_median,
    line.ms_min,
    line.emit_ms_min,
    line.us_per_node_min,
    line.cpu_ms_min,
    line.slice_ms,
    line.build_us_per_node,
    line.build_us_per_node_min,
  ];
  console.log(options.json ? JSON.stringify(line) : `| ${cells.join(' | ')} |`);
}

/** Builds, plans and runs a chain of additions: time of the first, and of the fastest later one. */
async function reportChain(count: number): Promise<void> {
  const times: number[] = [];
  for (let k = 0; k < 3; k++) {
    const start = now();
    const result = await chain(count)[0]!.compute({ device: 'cpu' });
    times.push(toDigits(now() - start, 1));
    if (result.at(7) !== count) throw new Error(`a chain of ${count} additions gave ${result.at(7)}`);
  }
  const [first] = times;
  const least = Math.min(...times);
  const rssMib = Math.round(process.memoryUsage().rss / 2 ** 20);
  const line = { workload: 'chain_run', count, ms_first: first, ms_min: least, rss_mib: rssMib };
  const text = `chain of ${count} built, planned and run: first ${first} ms, then ${least} ms; ${rssMib} MiB resident`;
  console.log(options.json ? JSON.stringify(line) : `\n${text}`);
}

if (options.one !== undefined) {
  console.log(JSON.stringify({ ...measure(options.one, sizes[0]!), slices: [] }));
} else {
  if (!options.json) {
    console.log(
      '| shape | nodes | steps | cold ms | median ms | least ms | code ms | µs / node | processor ms | slice ms | build µs / node | least |',
    );
    console.log('|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|');
  }
  for (const count of sizes) for (const shape of options.only.split(',')) report(shape, count);
  if (device.isHost && options.only.split(',').includes('chain')) await reportChain(sizes.at(-1)!);
}
