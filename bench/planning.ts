/**
 * What the JavaScript thread pays: building nodes, planning large graphs, deep chains. Prints one JSON line each.
 *
 * usage: node dist/bench/planning.js
 */
import { planPartition } from '../src/exec/planner.js';
import { CPU_NEEDS } from '../src/exec/program-cpu.js';
import { canonicalize } from '../src/fusion/canonicalize.js';
import { partition } from '../src/fusion/partition.js';
import { runPasses } from '../src/fusion/pipeline.js';
import type { Expr } from '../src/graph/expr.js';
import { type Lazy, lazy } from '../src/index.js';

const REPEATS = 15;

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

function milliseconds(call: () => void): number {
  const start = performance.now();
  call();
  return performance.now() - start;
}

function report(workload: string, field: string, values: readonly number[], more: object = {}): void {
  const rounded = (value: number): number => Number(value.toFixed(3));
  const line = {
    workload,
    peer: 'weft',
    [field]: rounded(median(values)),
    [`${field}_min`]: rounded(Math.min(...values)),
    ...more,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Plans results from scratch; the number of steps. */
function plan(exprs: readonly Expr[]): number {
  const canonical = canonicalize(exprs);
  const graph = runPasses(canonical.graph);
  const steps = partition(graph);
  return planPartition(graph, steps, canonical.sources, CPU_NEEDS).steps.length;
}

/** Elementwise work, transposes, row normalizations and column sums, `count` nodes in all. */
function mixedGraph(count: number): Lazy[] {
  const shape = [256, 256];
  const y = lazy(new Float32Array(256 * 256), { shape });
  let x = lazy(new Float32Array(256 * 256), { shape });
  const results: Lazy[] = [];
  for (let nodes = 0; nodes < count; ) {
    x = x.mul(1.01).add(y).sin().sub(y.T).abs().sqrt(); // nine nodes, constants included
    x = x.sub(x.max(1, { keepdims: true })).exp(); // four
    nodes += 13;
    if (nodes % 5 === 0) {
      results.push(x.sum(0));
      nodes++;
    }
  }
  return [x, ...results];
}

function chain(length: number): Lazy {
  const step = lazy(new Float32Array(1024).fill(1));
  let sum = lazy(new Float32Array(1024));
  for (let k = 0; k < length; k++) sum = sum.add(step);
  return sum;
}

const times = (count: number, call: () => number): number[] => Array.from({ length: count }, call);

const NODES = 10_000;
report(
  'build_node',
  'us',
  times(REPEATS, () => (milliseconds(() => chain(NODES)) * 1000) / NODES),
);
report(
  'plan_10000_nodes',
  'ms',
  times(REPEATS, () => {
    const exprs = mixedGraph(NODES).map((result) => result.expr);
    return milliseconds(() => plan(exprs));
  }),
  { nodes: canonicalize(mixedGraph(NODES).map((result) => result.expr)).graph.nodes.size },
);
report(
  'plan_chain_10000',
  'ms',
  times(REPEATS, () => {
    const { expr } = chain(NODES);
    return milliseconds(() => plan([expr]));
  }),
);
const DEEP = 100_000;
const deep: number[] = [];
for (let k = 0; k < 3; k++) {
  const start = performance.now();
  const result = await chain(DEEP).compute({ device: 'cpu' });
  deep.push(performance.now() - start);
  if (result.at(7) !== DEEP) throw new Error(`a chain of ${DEEP} additions gave ${result.at(7)}`);
}
report('chain_100000_built_planned_run', 'ms', deep, {
  first_ms: Number(deep[0]!.toFixed(1)),
  rss_mib: Math.round(process.memoryUsage().rss / 2 ** 20),
});
