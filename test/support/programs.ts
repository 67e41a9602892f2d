/**
 * Small composite programs as users write them: normalisations, pairwise sums, masks and histograms, stencils, mixed
 * dtypes, several outputs. `programs.test.ts` compares each with the reference interpreter on every backend.
 *
 * `tolerance` is the largest error relative to the largest value of an output; without it the result must be exact.
 */
import type { DType } from '../../src/graph/dtype.js';
import {
  arange,
  concat,
  eye,
  full,
  type Lazy,
  linspace,
  maximum,
  minimum,
  ones,
  stack,
  where,
  zeros,
} from '../../src/index.js';
import { toLazy } from './api.js';
import type { HostArray } from './host.js';
import { KERNEL_PROGRAMS } from './kernel-programs.js';
import { LOOP_PROGRAMS } from './loop-programs.js';
import { randomIntegers, randomValues } from './random.js';

export interface Program {
  readonly name: string;
  readonly tolerance?: number;
  readonly build: () => readonly Lazy[];
}

/** Counts the arrays of a program, so that each has values of its own, the same in every run. */
let seed = 0;
/** Values in [-2, 2). */
const values = (dtype: DType, ...shape: number[]): Lazy => toLazy(randomValues(dtype, shape, ++seed));
const integers = (dtype: DType, ...shape: number[]): Lazy => toLazy(randomIntegers(dtype, shape, ++seed));
const between = (dtype: DType, low: number, high: number, ...shape: number[]): Lazy =>
  toLazy(randomValues(dtype, shape, ++seed, low, high));
const stored = (x: HostArray): Lazy => toLazy(x);

/** Softmax from its definition, along one axis. */
function softmax(x: Lazy, axis: number): Lazy {
  const e = x.subtract(x.max(axis, { keepdims: true })).exp();
  return e.divide(e.sum(axis, { keepdims: true }));
}

function layerNorm(x: Lazy, gain: Lazy, shift: Lazy): Lazy {
  const centred = x.subtract(x.mean(-1, { keepdims: true }));
  const variance = centred.square().mean(-1, { keepdims: true });
  return centred.multiply(variance.add(1e-5).rsqrt()).multiply(gain).add(shift);
}

const F32 = 2e-6;

const NORMALISATIONS: readonly Program[] = [
  ...[0, 1, 2].map((axis) => ({
    name: `softmax along axis ${axis} of 3`,
    tolerance: F32,
    build: () => [softmax(values('float32', 5, 17, 9), axis)],
  })),
  { name: 'softmax of float16 rows', tolerance: 4e-3, build: () => [softmax(values('float16', 6, 33), 1)] },
  { name: 'softmax of a long row', tolerance: F32, build: () => [softmax(values('float32', 3, 5003), 1)] },
  {
    name: 'layer norm with gain and shift',
    tolerance: 1e-5,
    build: () => [layerNorm(values('float32', 7, 64), values('float32', 64), values('float32', 64))],
  },
  {
    name: 'standardized columns and rows',
    tolerance: 1e-5,
    build: () => {
      const x = values('float32', 40, 11);
      return [0, 1].map((axis) =>
        x.subtract(x.mean(axis, { keepdims: true })).divide(x.std(axis, { keepdims: true })),
      );
    },
  },
  {
    name: 'mean, variance and deviation of one array, with corrections',
    tolerance: 1e-5,
    build: () => {
      const x = values('float32', 31, 13);
      return [
        x.mean(),
        x.mean(0),
        x.var(1),
        x.var(0, { correction: 1 }),
        x.std(),
        x.std([0, 1], { correction: 1.5 }),
      ];
    },
  },
  {
    name: 'variance around a large mean',
    tolerance: 1e-3,
    build: () => [values('float32', 4, 900).add(10_000).var(1)],
  },
  {
    name: 'log-sum-exp, as a reduction and from its definition',
    tolerance: F32,
    build: () => {
      const x = between('float32', 80, 100, 9, 50);
      const top = x.max(1, { keepdims: true });
      return [
        x.logsumexp(1),
        x.logsumexp(0),
        x.subtract(top).exp().sum(1, { keepdims: true }).log().add(top),
      ];
    },
  },
  {
    name: 'row and column sums of one exponential',
    tolerance: F32,
    build: () => {
      const e = values('float32', 23, 29).exp();
      return [e.sum(0), e.sum(1), e.sum(), e];
    },
  },
  {
    name: 'a correlation matrix through a matrix product',
    tolerance: 1e-12,
    build: () => {
      const x = values('float64', 200, 5);
      const z = x.subtract(x.mean(0)).divide(x.std(0));
      return [z.transpose().matmul(z).divide(200)];
    },
  },
];

const PAIRS: readonly Program[] = [
  {
    name: 'a Gaussian kernel sum over pairs of points',
    tolerance: F32,
    build: () => {
      const [x, y] = [values('float32', 37, 1, 3), values('float32', 1, 41, 3)];
      return [x.subtract(y).square().sum(-1).negative().exp().sum(1)];
    },
  },
  {
    name: 'squared distances, their minimum and where it is',
    build: () => {
      const [x, y] = [integers('float32', 13, 1, 2), integers('float32', 17, 2)];
      const distance = x.subtract(y).square().sum(-1);
      return [distance, distance.min(1), distance.argmin(1), distance.max()];
    },
  },
  {
    name: 'an outer product, its trace by a mask, and its transpose',
    build: () => {
      const outer = integers('float64', 9).expandDims(1).multiply(integers('float64', 9));
      return [outer.multiply(eye(9)).sum(), outer.transpose(), outer.sum(0)];
    },
  },
  {
    name: 'a column sum of a matrix product',
    tolerance: F32,
    build: () => [
      values('float32', 21, 34)
        .matmul(values('float32', 34, 8))
        .sum(0),
    ],
  },
  {
    name: 'a product of broadcast views that is summed: a contraction in disguise',
    tolerance: F32,
    build: () => [
      values('float32', 12, 1, 30)
        .multiply(values('float32', 7, 30))
        .sum(-1),
    ],
  },
  {
    name: 'batched products with a bias and an activation',
    tolerance: F32,
    build: () => [
      maximum(
        values('float32', 3, 4, 16)
          .matmul(values('float32', 16, 5))
          .add(values('float32', 5)),
        0,
      ),
    ],
  },
  {
    name: 'a chain of three products',
    tolerance: F32,
    build: () => [
      values('float32', 6, 20)
        .matmul(values('float32', 20, 20))
        .matmul(values('float32', 20, 2)),
    ],
  },
];

const MASKS: readonly Program[] = [
  {
    name: 'a histogram by masks and sums',
    build: () => {
      const x = integers('int16', 500);
      const bins = Array.from({ length: 6 }, (_, i) =>
        x
          .greaterEqual(3 * i - 9)
          .logicalAnd(x.less(3 * i - 6))
          .sum(),
      );
      return [stack(bins), x.greater(100).any(), x.greater(-100).all()];
    },
  },
  {
    name: 'a histogram over a broadcast axis of edges',
    build: () => [integers('int32', 300, 1).equal(arange(-8, 9)).sum(0)],
  },
  {
    name: 'means of the values a mask picks',
    tolerance: 1e-12,
    build: () => {
      const [x, group] = [values('float64', 120), integers('int8', 120)];
      return [-1, 0, 1].map((g) =>
        where(group.sign().equal(g), x, 0).sum().divide(group.sign().equal(g).sum()),
      );
    },
  },
  {
    name: 'clipping by minimum and maximum, with NaN',
    build: () => {
      const x = values('float32', 64);
      const holes = where(x.greater(1), Number.NaN, x);
      return [
        minimum(maximum(holes, -0.5), 0.5),
        holes.max(),
        holes.isnan().sum(),
        where(holes.isnan(), 0, holes).abs().max(),
      ];
    },
  },
  {
    name: 'triangles and diagonals',
    build: () => {
      const x = integers('int32', 3, 6, 6);
      return [x.tril(-1).add(x.triu(1)), x.tril().sum([1, 2]), eye(6).astype('int32').multiply(x).sum(0)];
    },
  },
  {
    name: 'extremes and where they are, along each axis',
    build: () => {
      const x = integers('int64', 7, 8, 9);
      return [0, 1, 2].flatMap((k) => [x.argmax(k), x.argmin(k), x.max(k).subtract(x.min(k))]);
    },
  },
];

const SHAPES: readonly Program[] = [
  {
    name: 'a periodic stencil by rolls',
    build: () => {
      const x = integers('float32', 12, 15);
      const around = [x.roll(1, 0), x.roll(-1, 0), x.roll(1, 1), x.roll(-1, 1)].reduce((a, b) => a.add(b));
      return [around.subtract(x.multiply(4))];
    },
  },
  {
    name: 'differences of slices, joined again',
    build: () => {
      const x = integers('int32', 5, 30);
      const inner = x.slice(null, [1, null]).subtract(x.slice(null, [null, -1]));
      return [concat([x.slice(null, [0, 1]), inner], 1), inner.slice(null, [null, null, -3]).sum(0)];
    },
  },
  {
    name: 'a sum of an array and its transpose',
    build: () => {
      const x = integers('float64', 33, 33);
      return [x.add(x.transpose()), x.transpose().subtract(x).abs().sum(0)];
    },
  },
  {
    name: 'a permuted array under arithmetic and sums along every axis',
    build: () => {
      const x = integers('float32', 4, 5, 6).permuteDims([2, 0, 1]).multiply(2);
      return [x, x.sum(0), x.sum(1), x.sum(2), x.sum([0, 2])];
    },
  },
  {
    name: 'blocks stacked, reshaped and reduced',
    build: () => {
      const parts = [1, 2, 3].map(() => integers('int32', 4, 6));
      const cube = stack(parts, 1);
      return [cube, cube.reshape([4, 9, 2]).sum(1), concat(parts, 0).flip(0), concat(parts, 1).max(0)];
    },
  },
  {
    name: 'tiles and repeats of a computed array',
    build: () => {
      const x = integers('int8', 3, 4).multiply(3);
      return [x.tile([2, 3]), x.repeat(2, 0).sum(1), x.tile([2, 1, 1]).sum(0)];
    },
  },
  {
    name: 'pooling by a reshape',
    build: () => [integers('float32', 8, 12).reshape([4, 2, 6, 2]).max([1, 3])],
  },
  {
    name: 'a strided, flipped and offset window of a host array',
    build: () => {
      const data = Float64Array.from({ length: 60 }, (_, i) => i * i - 7);
      const x = stored({ dtype: 'float64', shape: [5, 12], data }).slice([4, 0, -2], [1, 11, 3]);
      return [x.add(x.flip(1)), x.sum(0)];
    },
  },
  {
    name: 'broadcasting of every kind',
    build: () => {
      const [a, b, c, d] = [
        integers('int32', 3, 1, 5),
        integers('int32', 4, 1),
        integers('int32', 5),
        integers('int32'),
      ];
      return [a.add(b), a.multiply(c).subtract(d), b.add(d), b.add(c).sum(1).expandDims(1).add(a), d.add(d)];
    },
  },
  {
    name: 'ranges, grids and constants made on the device',
    build: () => {
      const x = arange(0, 24).reshape([4, 6]);
      return [
        x.add(ones([6], { dtype: 'int64' })),
        x.multiply(full([4, 1], 2)),
        zeros([2, 3]),
        linspace(0, 8, 5),
        eye(3, 5, { k: 1 }),
      ];
    },
  },
];

const MIXED: readonly Program[] = [
  {
    name: 'dtypes of every kind in one sum',
    build: () => {
      const [a, b, c, d] = [
        integers('int8', 30),
        integers('uint16', 30),
        integers('float32', 30),
        integers('bool', 30),
      ];
      return [a.add(b).add(c).add(d), a.multiply(b), b.subtract(1), c.multiply(2.5), d.add(d), a.divide(2)];
    },
  },
  {
    name: 'integers that wrap around',
    build: () => {
      const [a, b] = [integers('int8', 50).multiply(16), integers('uint32', 50)];
      return [
        a.multiply(a),
        a.add(100),
        b.subtract(9),
        b.subtract(9).bitwiseRightShift(3),
        a.floorDivide(7),
        a.remainder(-5),
      ];
    },
  },
  {
    name: 'halves rounded after every op',
    build: () => {
      const [x, y] = [values('float16', 90), values('bfloat16', 90)];
      return [
        x.multiply(x).add(x).subtract(0.1),
        y.multiply(y).add(y).subtract(0.1),
        x.add(y),
        x.divide(3).multiply(3),
      ];
    },
  },
  {
    name: 'complex arithmetic and its parts',
    tolerance: 1e-5,
    build: () => {
      const z = values('complex64', 25);
      return [
        z.multiply(z.conj()).real(),
        z.exp().abs(),
        z.add({ re: 0, im: 1 }).imag(),
        z.sum(),
        z.square().subtract(z),
      ];
    },
  },
  {
    name: 'casts in the middle of a chain',
    build: () => {
      const x = values('float64', 80).multiply(100);
      return [
        x.astype('int16').astype('float32').add(0.5),
        x.astype('uint8').add(1),
        x.astype('bool').sum(),
        x.round().astype('int64'),
      ];
    },
  },
];

const GRAPHS: readonly Program[] = [
  {
    name: 'a chain of square roots of zeros, negatives and small values',
    tolerance: F32,
    build: () => {
      const x = between('float32', -1, 4, 1003);
      const chain = (y: Lazy): Lazy => [0, 1, 2, 3, 4].reduce((z) => z.multiply(1.0001).abs().sqrt(), y);
      return [chain(x), chain(x.maximum(0)), chain(x.multiply(1e-38)), x.sqrt().sqrt().sqrt().sqrt()];
    },
  },
  {
    name: 'a shared subexpression used in many places',
    tolerance: F32,
    build: () => {
      const shared = values('float32', 40, 20).exp().add(1).log();
      return [
        shared.sum(0),
        shared.multiply(shared).sum(1),
        shared.subtract(shared.mean()),
        shared.max(0).add(shared.min(0)),
      ];
    },
  },
  {
    name: 'the same output twice, an input as an output, and a constant',
    build: () => {
      const x = integers('int32', 6);
      const y = x.add(1);
      return [y, y, x, full([], 3), y.multiply(0).add(7)];
    },
  },
  {
    name: 'minimum, maximum, sum and count of one array',
    build: () => {
      const x = integers('int32', 1000);
      return [x.min(), x.max(), x.sum(), x.countNonzero(), x.any(), x.prod()];
    },
  },
  {
    name: 'a chain of 300 maps',
    build: () => {
      let x = integers('int32', 100);
      for (let i = 0; i < 100; i++) x = x.multiply(3).add(i).bitwiseXor(x);
      return [x, x.sum()];
    },
  },
  {
    name: 'a reduction of a reduction of a reduction',
    build: () => {
      const x = integers('float32', 6, 7, 8);
      return [x.sum(2).max(1).add(1).sum(0), x.max(0).sum(0).min(0)];
    },
  },
  {
    name: 'arrays of no elements',
    build: () => {
      const x = integers('float32', 0, 5);
      return [
        x.add(1),
        x.sum(0),
        x.sum(1),
        x.prod(0),
        concat([x, integers('float32', 2, 5)], 0),
        x.matmul(integers('float32', 5, 3)),
      ];
    },
  },
  {
    name: 'arrays of no axes',
    build: () => {
      const x = integers('float64');
      return [x.add(1), x.sum(), x.reshape([1, 1]), x.broadcastTo([2, 3]), x.equal(x)];
    },
  },
  {
    name: 'reductions over axes of size 1, before and after others',
    build: () => {
      const x = integers('float64', 1, 4, 3);
      const product = integers('int8', 3, 1).matmul(integers('int8', 1, 3));
      const half = integers('float16', 2, 1, 4);
      const totals = [
        x.sum(0).sum(0),
        x.sum(1).sum(0),
        x.max(0).sum(1),
        product.sum(0),
        half.sum(0).sum(0),
        half.sum(1).sum(0),
      ];
      const row = x.sum(1);
      return [
        ...totals,
        row.var(0),
        row.logsumexp(0),
        row.argmax(0),
        x.var(0).sum(0),
        x.argmin(0).sum(),
        half.max(2).mean(1),
      ];
    },
  },
  {
    name: 'one element along each axis',
    build: () => [
      integers('int32', 1, 1, 1).sum(1).add(integers('int32', 1)),
      integers('int32', 1, 5, 1).sum([0, 2]),
    ],
  },
  {
    name: 'a broadcast array with its sum, and a sum that a sum follows',
    build: () => {
      const x = integers('float32', 3, 4);
      const wide = x.broadcastTo([2, 3, 4]);
      const empty = integers('float32', 0, 4).sum(0);
      return [x.add(wide.sum(0).add(wide)), wide.sum(), x.sign(), empty.sum(0), empty];
    },
  },
];

const ALL = [
  ...NORMALISATIONS,
  ...PAIRS,
  ...MASKS,
  ...SHAPES,
  ...MIXED,
  ...GRAPHS,
  ...KERNEL_PROGRAMS,
  ...LOOP_PROGRAMS,
];

export const PROGRAMS: readonly Program[] = ALL.map((program, i) => ({
  ...program,
  build: () => {
    seed = 1000 * i;
    return program.build();
  },
}));
