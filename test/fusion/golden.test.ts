import { describe, expect, it } from 'vitest';
import { planPartition } from '../../src/exec/plan/plan-graph.js';
import { printDevicePlan } from '../../src/exec/plan/print-plan.js';
import { printKernel } from '../../src/fusion/kernel/print.js';
import { partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import type { Expr } from '../../src/graph/expr.js';
import { contract, map, reduce } from '../../src/graph/infer.js';
import { printGraph } from '../../src/graph/print.js';
import { reshape, view } from '../../src/graph/view-nodes.js';
import { array, kept, softmax } from '../support/graphs.js';

/** Graph, optimized graph, kernels and plan of one program, as text. Update with `npx vitest run -u`. */
function everything(outputs: readonly Expr[]): string {
  const canonical = canonicalize(outputs);
  const graph = runPasses(canonical.graph, { verify: true });
  const steps = partition(graph);
  const plan = planPartition(graph, steps, canonical.sources, {
    scratchOf: () => [],
    workspaceOf: () => ({ most: 0, least: 0 }),
    heldBytes: ({ byteLength }) => byteLength,
  });
  const kernels = plan.steps.flatMap((step) => (step.kind === 'kernel' ? [printKernel(step.kernel)] : []));
  const edges = steps.edges().map((e) => `${e.from} -> ${e.to} through ${e.buffer}: ${e.reason}`);
  return [
    `graph\n${printGraph(canonical.graph)}`,
    `optimized\n${printGraph(graph)}`,
    ...kernels,
    `plan\n${printDevicePlan(plan)}`,
    `not fused\n${edges.join('\n')}`,
  ].join('\n');
}

const x = array([512, 256]);
const column = array([512, 1]);

const PROGRAMS: Readonly<Record<string, () => readonly Expr[]>> = {
  'a map chain': () => [map('exp', [map('add', [map('multiply', [map('sin', [x]), 0.5]), column])])],
  'softmax of rows': () => [softmax(x, 1)],
  'several reductions of one input': () => [
    reduce('min', x, [0]),
    reduce('max', x, [0]),
    reduce('argmax', x, [0]),
  ],
  'standardized columns': () => {
    const tall = array([1 << 20, 8]);
    const mean = map('divide', [kept('sum', tall, 0), 2 ** 20]);
    const std = map('sqrt', [map('divide', [kept('squaredDeviations', tall, 0), 2 ** 20])]);
    return [map('divide', [map('subtract', [tall, mean]), std])];
  },
  'a stencil of slices': () => {
    const left = view(x, { type: 'slice', starts: [0, 0], steps: [1, 1] }, [512, 255]);
    const right = view(x, { type: 'slice', starts: [0, 1], steps: [1, 1] }, [512, 255]);
    return [map('subtract', [right, left])];
  },
  'a padded flip, reshaped': () => {
    const flipped = view(x, { type: 'slice', starts: [511, 0], steps: [-1, 1] }, [512, 256]);
    const padded = view(flipped, { type: 'pad', before: [0, 2] }, [512, 260]);
    return [map('square', [reshape(padded, [512, 26, 10])])];
  },
  'a column sum of a product': () => {
    const labels = [
      [0, 1],
      [1, 2],
    ];
    return [reduce('sum', contract('matmul', labels, [0, 2], [x, array([256, 300])]), [0])];
  },
  'a product with a transposed operand and an epilogue': () => {
    const labels = [
      [1, 0],
      [1, 2],
    ];
    return [
      map('maximum', [
        map('add', [contract('matmul', labels, [0, 2], [x, array([512, 300])]), array([300])]),
        0,
      ]),
    ];
  },
};

describe('what a program becomes', () => {
  for (const [name, build] of Object.entries(PROGRAMS)) {
    it(`is written down for ${name}`, async () => {
      await expect(everything(build())).toMatchFileSnapshot(
        `../golden/fusion/${name.replace(/\W+/g, '-')}.txt`,
      );
    });
  }
});
