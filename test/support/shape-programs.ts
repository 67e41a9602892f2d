/** Programs for `programs.ts`: masks and histograms, stencils and views, mixed dtypes. */
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
import { integers, type Program, values } from './program.js';

const stored = (x: HostArray): Lazy => toLazy(x);

export const MASK_PROGRAMS: readonly Program[] = [
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

export const SHAPE_PROGRAMS: readonly Program[] = [
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

export const MIXED_PROGRAMS: readonly Program[] = [
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
