/** Kernels that are the same with two axes exchanged are found by their arithmetic. */
import { expect, it } from 'vitest';
import { planTape } from '../../src/codegen/cpu/tape.js';
import { scheduleOf } from '../../src/codegen/cuda/schedules/schedule.js';
import { mirrorOf } from '../../src/fusion/kernel/symmetry.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import type { Expr } from '../../src/graph/expr.js';
import { map, reduce } from '../../src/graph/infer.js';
import { reshape } from '../../src/graph/view-nodes.js';
import { array, partitionOf } from '../support/graphs.js';

const X = array([20, 5]);
const [ROWS, COLUMNS] = [reshape(X, [20, 1, 5]), reshape(X, [1, 20, 5])];
const WEIGHTS = array([20, 1, 1]);
const Y = array([20, 5]);
/** xᵢyⱼ and xⱼyᵢ, of which a compiler makes one with their sum or difference a fused multiply-add. */
const CROSSED = (): [Expr, Expr] => [
  map('multiply', [ROWS, reshape(Y, [1, 20, 5])]),
  map('multiply', [COLUMNS, reshape(Y, [20, 1, 5])]),
];

/** Whether the kernel of pairs of rows is the same with both exchanged. */
function isSymmetric(values: Expr): boolean {
  const [step, ...others] = partitionOf([reduce('sum', values, [2])]).steps;
  expect(others).toEqual([]);
  if (step?.kind !== 'kernel') throw new Error('no kernel');
  return mirrorOf(step.kernel.kernel, 0, 1) !== undefined;
}

it.each<[string, () => Expr, boolean]>([
  ['products', () => map('multiply', [ROWS, COLUMNS]), true],
  ['squared distances', () => map('square', [map('subtract', [ROWS, COLUMNS])]), true],
  ['distances', () => map('abs', [map('subtract', [COLUMNS, ROWS])]), true],
  ['functions of sums', () => map('exp', [map('add', [ROWS, COLUMNS])]), true],
  ['differences', () => map('subtract', [ROWS, COLUMNS]), false],
  ['exponentials of differences', () => map('exp', [map('subtract', [ROWS, COLUMNS])]), false],
  ['products with other rows', () => map('multiply', [ROWS, reshape(array([20, 5]), [1, 20, 5])]), false],
  [
    'products with weights of one side',
    () => map('multiply', [map('multiply', [ROWS, COLUMNS]), WEIGHTS]),
    false,
  ],
  ['sums of two products of a pair', () => map('abs', [map('add', CROSSED())]), false],
  ['differences of two products of a pair', () => map('square', [map('subtract', CROSSED())]), false],
  ['quotients', () => map('divide', [ROWS, COLUMNS]), false],
])('%s', (_, build, wanted) => {
  expect(isSymmetric(build())).toBe(wanted);
});

it.each<[string, number, number, boolean]>([
  ['computes half of many tiles', 2000, 64, true],
  ['computes half of tiles in slots', 200, 5000, true],
  ['computes all of sums that are too short', 2000, 8, false],
])('a kernel of pairs %s', (_, rows, length, isHalved) => {
  const x = array([rows, length]);
  const difference = map('subtract', [reshape(x, [rows, 1, length]), reshape(x, [1, rows, length])]);
  const [step] = partitionOf([reduce('sum', map('square', [difference]), [2])]).steps;
  if (step?.kind !== 'kernel') throw new Error('no kernel');
  expect('isHalved' in scheduleOf(step.kernel.kernel)).toBe(isHalved);
});

it('a Gaussian kernel reads its rows and writes each result once, and is computed by half on the CPU', () => {
  const x = array([3000, 8]);
  const difference = map('subtract', [reshape(x, [3000, 1, 8]), reshape(x, [1, 3000, 8])]);
  const distances = reduce('sum', map('square', [difference]), [2]);
  const [step, ...others] = partitionOf([map('exp', [map('negative', [distances])])]).steps;
  expect(others).toEqual([]);
  if (step?.kind !== 'kernel') throw new Error('no kernel');
  const { kernel } = step.kernel;
  expect(trafficOf(kernel)).toEqual({ bytesRead: 4 * 3000 * 8, bytesWritten: 4 * 3000 ** 2 });
  expect(planTape(kernel).triangle).toEqual({ axes: [0, 1], side: 256 });
});
