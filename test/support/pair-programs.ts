/** Programs that weigh rows of few columns by values of all pairs of them, or by what they are of. */
import { arange, type Lazy } from '../../src/index.js';
import type { Program } from './ordinary-programs.js';
import { x } from './ordinary-programs.js';

const N = 2000;

/** Gaussian weights of all pairs of points. */
const weightsOf = (points: Lazy, centres = points): Lazy =>
  points.expandDims(1).sub(centres).square().sum(-1).mul(-2).exp();

export const PAIR_PROGRAMS: Readonly<Record<string, Program>> = {
  'a step of mean shift in the plane': {
    inputs: [x([N, 2])],
    build: (points) => {
      const weights = weightsOf(points!);
      return weights.matmul(points!).div(weights.sum(1, { keepdims: true }));
    },
  },
  'the mean velocity of the neighbours of boids': {
    inputs: [x([N, 2]), x([N, 2])],
    build: (points, velocities) => {
      const near = points!.expandDims(1).sub(points!).square().sum(-1).less(0.1).astype('float32');
      return near.matmul(velocities!).div(near.sum(1, { keepdims: true }));
    },
  },
  'four components smoothed at other points in space': {
    inputs: [x([N, 3]), x([N / 2, 3]), x([N / 2, 4])],
    build: (points, centres, values) => weightsOf(points!, centres).matmul(values!),
  },
  'the same, values first': {
    inputs: [x([N, 3]), x([N / 2, 3]), x([4, N / 2])],
    build: (points, centres, values) => values!.matmul(weightsOf(points!, centres).transpose()),
  },
  'sums of the points of each of many labels, by a mask of all': {
    inputs: [x([N, 3]), x([N], 'int64')],
    build: (points, labels) => {
      const masks = labels!.expandDims(1).equal(arange(40, 'int64')).astype('float32');
      return masks.transpose().matmul(points!);
    },
  },
};
