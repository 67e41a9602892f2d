/** Products of values of pairs with few columns: kernels that compute the values as they add them up, and store none. */
import { expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { partitionOf } from '../support/graphs.js';
import { describePrograms, x } from '../support/ordinary-programs.js';
import { PAIR_PROGRAMS } from '../support/pair-programs.js';

describePrograms(PAIR_PROGRAMS);

it.each([
  ['more than four columns', 3, 5],
  ['more than four coordinates', 5, 3],
])('gives a library those of %s', (_, coordinates, columns) => {
  const points = x([2000, coordinates]);
  const weights = points.expandDims(1).sub(points).square().sum(-1).neg().exp();
  const { steps } = partitionOf([weights.matmul(x([2000, columns])).expr], CPU_TARGET);
  expect(steps.filter(({ kind }) => kind === 'call')).toHaveLength(1);
});
