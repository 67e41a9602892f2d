/** Programs of several stencils, stage by stage: those of `test/fusion` and `test/conformance/neighbour-panels.test.ts`. */
import type { Lazy } from '../../src/api/lazy.js';
import { arange, type DType, ndimage } from '../../src/index.js';

export interface NeighbourProgram {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Each makes its values of those of the stage before. */
  readonly stages: readonly ((...values: Lazy[]) => Lazy[])[];
  /** Whether nothing passes in panels: rows depend on where they are, or it is one kernel. */
  readonly isWhole?: true;
}

/** A part of `size - 2 reach` elements of some axes, shifted. */
const shifted = (x: Lazy, by: readonly number[], reach = 1): Lazy =>
  x.slice(...by.map((n, axis): [number, number] => [reach + n, x.shape[axis]! - reach + n]));
/** On a torus. */
const laplacian = (x: Lazy): Lazy =>
  sumOf(x.shape.flatMap((_, axis) => [x.roll(1, axis), x.roll(-1, axis)])).sub(x.mul(2 * x.shape.length));
const sumOf = (all: readonly Lazy[]): Lazy => all.reduce((sum, each) => sum.add(each));
const OFFSETS = [-1, 0, 1];
const box = (x: Lazy): Lazy => sumOf(OFFSETS.flatMap((i) => OFFSETS.map((j) => shifted(x, [i, j]))));
const slopes = (x: Lazy): Lazy[] => [
  shifted(x, [0, 1]).sub(shifted(x, [0, -1])),
  shifted(x, [1, 0]).sub(shifted(x, [-1, 0])),
];
const corners = (a: Lazy, b: Lazy, c: Lazy): Lazy =>
  a.mul(b).sub(c.square()).sub(a.add(b).square().mul(0.04));
const taps =
  (axis: number, weights: readonly number[]) =>
  (x: Lazy): Lazy[] => {
    const size = x.shape[axis]! - weights.length + 1;
    const part = (k: number): Lazy =>
      x.slice(...x.shape.map((_, a): [number, number] | null => (a === axis ? [k, k + size] : null)));
    return [sumOf(weights.map((weight, k) => part(k).mul(weight)))];
  };
const FIVE = [0.0625, 0.25, 0.375, 0.25, 0.0625];
/** A window along one axis. */
export const along = (x: Lazy, axis: number, size: number): number[] =>
  x.shape.map((_, k) => (k === axis ? size : 1));
const blurred =
  (axis: number, mode: 'reflect' | 'constant' | 'nearest' | 'wrap' | 'mirror' = 'reflect') =>
  (x: Lazy): Lazy[] => [ndimage.uniformFilter(x, { size: along(x, axis, 5), mode })];

export const NEIGHBOUR_PROGRAMS: Readonly<Record<string, NeighbourProgram>> = {
  'a blur down columns, then along rows': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [taps(0, FIVE), taps(1, FIVE)],
  },
  'a blur along rows, then down columns': {
    shape: [600, 340],
    dtype: 'float64',
    stages: [taps(1, FIVE), taps(0, FIVE)],
    isWhole: true,
  },
  'corners by sums of products of slopes': {
    shape: [601, 343],
    dtype: 'float32',
    stages: [
      (x) => {
        const [a, b] = slopes(x) as [Lazy, Lazy];
        return [a.square(), b.square(), a.mul(b)];
      },
      (a, b, c) => [corners(box(a!), box(b!), box(c!))],
    ],
  },
  'edges of a blurred image': {
    shape: [557, 300],
    dtype: 'float32',
    stages: [
      blurred(0),
      blurred(1),
      (x) => [ndimage.sobel(x!, { axis: 0 }), ndimage.sobel(x!, { axis: 1 })],
      (a, b) => [a!.hypot(b!), b!.atan2(a!)],
    ],
  },
  'a blur beside what it was blurred of': {
    shape: [611, 257],
    dtype: 'float32',
    stages: [(x) => [x!, ...blurred(0)(x!)], (x, y) => [x!.add(x!.sub(blurred(1)(y!)[0]!))]],
  },
  'an opening of bytes': {
    shape: [1500, 533],
    dtype: 'uint8',
    stages: [
      (x) => [ndimage.minimumFilter(x!, { size: along(x!, 0, 3) })],
      (x) => [ndimage.minimumFilter(x!, { size: along(x!, 1, 3) })],
      (x) => [ndimage.maximumFilter(x!, { size: along(x!, 0, 7) })],
      (x) => [ndimage.maximumFilter(x!, { size: along(x!, 1, 3) })],
    ],
  },
  'borders of zeros, and of the nearest element': {
    shape: [590, 240],
    dtype: 'float64',
    stages: [blurred(0, 'constant'), blurred(1, 'nearest'), blurred(0, 'mirror')],
  },
  'differences of a series': {
    shape: [160_000],
    dtype: 'float64',
    stages: [taps(0, FIVE), taps(0, [-1, 0, 1]), taps(0, FIVE)],
  },
  'a volume along three axes': {
    shape: [80, 41, 52],
    dtype: 'float32',
    stages: [taps(2, FIVE), taps(0, FIVE), taps(1, FIVE)],
  },
  'a volume, its last axis first and its first one last': {
    shape: [90, 33, 42],
    dtype: 'float32',
    stages: [blurred(1), blurred(2), blurred(0)],
  },
  'twenty steps of a chain': {
    shape: [200_000],
    dtype: 'float32',
    stages: Array.from({ length: 20 }, () => taps(0, [0.25, 0.5, 0.25])),
  },
  'the mean of a blur': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [taps(0, FIVE), (x) => [taps(1, FIVE)(x!)[0]!.mean()]],
  },
  'row sums and column maxima of a blur': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [taps(0, FIVE), taps(1, FIVE), (x) => [x!.sum(1), x!.max(0)]],
  },
  'a blur on a torus': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [blurred(0, 'wrap'), blurred(0, 'wrap')],
  },
  'Runge-Kutta steps on a torus': {
    shape: [600, 340],
    dtype: 'float64',
    stages: [
      (x) => [x!, laplacian(x!)],
      (x, k) => [x!, k!, laplacian(x!.add(k!.mul(0.05)))],
      (x, k, l) => [x!, k!.add(l!.mul(2)), laplacian(x!.add(l!.mul(0.1)))],
      (x, sum, m) => [x!.add(sum!.add(m!).mul(0.025))],
    ],
  },
  'a step of Cahn and Hilliard': {
    shape: [611, 257],
    dtype: 'float32',
    stages: [
      (x) => [x!, x!.mul(x!).mul(x!).sub(x!).sub(laplacian(x!).mul(0.5))],
      (x, y) => [x!.add(laplacian(y!).mul(0.01))],
    ],
  },
  'steps on a ring': {
    shape: [200_003],
    dtype: 'float32',
    stages: Array.from({ length: 6 }, () => (x: Lazy) => [x.sub(x.mul(x.sub(x.roll(1, 0))).mul(0.1))]),
  },
  'a volume without ends, its first axis far around': {
    shape: [90, 33, 42],
    dtype: 'float32',
    stages: [(x) => [x!.roll(4, 0).add(x!.roll([-1, 2], [1, 2]))], (x) => [x!.roll([-3, 1], [0, 2]).sub(x!)]],
  },
  'a torus whose columns have weights by their place': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [
      (x) => [laplacian(x!.mul(arange(x!.shape[1]!)))],
      (x) => [laplacian(x!).add(x!.roll(1, 1).mul(arange(x!.shape[1]!).sin()))],
    ],
  },
  'a torus whose rows have weights by their place': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [(x) => [x!, laplacian(x!.mul(arange(600).expandDims(1)))], (_, y) => [laplacian(y!)]],
    isWhole: true,
  },
  'half of the rows around, beside all of them': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [
      (x) => [laplacian(x!)],
      (x) => [
        x!
          .roll(-2, 0)
          .slice([0, 300])
          .add(x!.slice([0, 300]).roll(1, 1))
          .sub(x!.slice([0, 300]).roll(1, 0)),
      ],
    ],
    isWhole: true,
  },
  'the energy of a step on a torus': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [(x) => [laplacian(x!)], (x) => [laplacian(x!).square().sum()]],
  },
  'maxima of columns and sums of rows of a step on a torus': {
    shape: [600, 340],
    dtype: 'float32',
    stages: [(x) => [laplacian(x!)], (x) => [laplacian(x!).max(0), laplacian(x!).abs().sum(1)]],
  },
};

/** The results of all stages. */
export const builtOf = ({ stages }: NeighbourProgram, x: Lazy): Lazy[] => {
  let values = [x];
  for (const stage of stages) values = stage(...values);
  return values;
};
