/**
 * The table of nodes that rewriting looks equal ones up in: what is equal is one, what differs anywhere is
 * two.
 */
import { expect, test } from 'vitest';
import { type NodeContent, NodeTable } from '../../src/fusion/passes/node-table.js';
import type { View } from '../../src/graph/expr.js';
import type { GraphNodeData } from '../../src/graph/graph.js';

const node = (data: GraphNodeData, inputs: number[] = [], shape: number[] = [4]): NodeContent => ({
  ...data,
  inputs,
  shape,
  dtype: 'float32',
});
const view = (data: View): NodeContent => node({ kind: 'view', view: data }, [0]);

/** Contents that all differ, each from some other in one field alone. */
const CONTENTS: readonly NodeContent[] = [
  node({ kind: 'source', input: 0, offset: 0, strides: [1] }),
  node({ kind: 'source', input: 1, offset: 0, strides: [1] }),
  node({ kind: 'source', input: 0, offset: 1, strides: [1] }),
  node({ kind: 'source', input: 0, offset: 0, strides: [2] }),
  node({ kind: 'iota' }),
  ...[0, -0, 1, Number.NaN, Infinity, 1n, true, { re: 1, im: 0 }, { re: 1, im: -0 }].map((value) =>
    node({ kind: 'const', value }, [], []),
  ),
  node({ kind: 'map', op: 'add' }, [0, 1]),
  node({ kind: 'map', op: 'add' }, [1, 0]),
  node({ kind: 'map', op: 'multiply' }, [0, 1]),
  node({ kind: 'map', op: 'add' }, [0, 1], [1, 4]),
  { ...node({ kind: 'map', op: 'add' }, [0, 1]), dtype: 'float64' },
  node({ kind: 'cast' }, [0]),
  node({ kind: 'reduce', reduction: 'sum', axes: [0] }, [0]),
  node({ kind: 'reduce', reduction: 'max', axes: [0] }, [0]),
  node({ kind: 'reduce', reduction: 'sum', axes: [1] }, [0]),
  view({ type: 'reshape' }),
  view({ type: 'broadcast' }),
  view({ type: 'permute', order: [0, 1] }),
  view({ type: 'permute', order: [1, 0] }),
  view({ type: 'slice', starts: [0], steps: [1] }),
  view({ type: 'slice', starts: [1], steps: [1] }),
  view({ type: 'slice', starts: [0], steps: [-1] }),
  view({ type: 'pad', before: [0] }),
  view({ type: 'pad', before: [1] }),
  node(
    { kind: 'contract', labels: [[0, 1], [1]], output: [0], precision: undefined, memoryLimit: undefined },
    [0, 1],
  ),
  node(
    { kind: 'contract', labels: [[0, 1], [1]], output: [0], precision: 'tf32', memoryLimit: undefined },
    [0, 1],
  ),
  node(
    { kind: 'contract', labels: [[0, 1], [1]], output: [0], precision: undefined, memoryLimit: 8 },
    [0, 1],
  ),
  node(
    { kind: 'contract', labels: [[0], [1, 1]], output: [0], precision: undefined, memoryLimit: undefined },
    [0, 1],
  ),
  node(
    { kind: 'contract', labels: [[0, 1], [1]], output: [1], precision: undefined, memoryLimit: undefined },
    [0, 1],
  ),
];

test('tells nodes apart that differ in anything', () => {
  const table = new NodeTable();
  const ids = CONTENTS.map((content, id) => table.enter(content, id));
  expect(ids).toEqual(CONTENTS.map((_, id) => id));
});

test('gives an equal node the id of the first', () => {
  const table = new NodeTable();
  CONTENTS.forEach((content, id) => {
    table.enter(content, id);
  });
  const copies = CONTENTS.map((content) => structuredClone(content) as NodeContent);
  expect(copies.map((copy) => table.enter(copy, -1))).toEqual(CONTENTS.map((_, id) => id));
});

test('finds each of many nodes again', () => {
  const table = new NodeTable();
  const sum = (k: number): NodeContent => node({ kind: 'map', op: 'add' }, [k, k + 1]);
  for (let k = 0; k < 3000; k++) expect(table.enter(sum(k), k)).toBe(k);
  for (let k = 0; k < 3000; k++) expect(table.enter(sum(k), -1)).toBe(k);
});
