/**
 * Programs for `programs.ts` that are large or shaped enough for what small ones do not reach: products by a
 * library, tiles of transposed loads and of pairs, rows that are split, temporaries that take one another's
 * places.
 */
import { arange, concat, einsum, type Lazy, maximum } from '../../src/index.js';
import { toLazy } from './api.js';
import type { Program } from './program.js';
import { randomIntegers, randomValues } from './random.js';

type Integers = (dtype: Parameters<typeof randomIntegers>[0], ...shape: number[]) => Lazy;

/** Arrays that differ within a program and are the same in every run. */
function arrays(): { readonly integers: Integers; readonly values: Integers } {
  let seed = 500_000;
  return {
    integers: (dtype, ...shape) => toLazy(randomIntegers(dtype, shape, ++seed, -3, 3)),
    values: (dtype, ...shape) => toLazy(randomValues(dtype, shape, ++seed)),
  };
}

export const KERNEL_PROGRAMS: readonly Program[] = [
  {
    name: 'arithmetic on arrays and their transposes, in tiles that end early',
    build: () => {
      const { integers } = arrays();
      const [x, batch, half] = [
        integers('float32', 66, 66),
        integers('float64', 2, 17, 33),
        integers('float16', 35, 20),
      ];
      return [
        x.add(x.transpose()),
        batch.permuteDims([0, 2, 1]).multiply(integers('float64', 33, 17)),
        half.transpose().subtract(1),
      ];
    },
  },
  {
    name: 'positions of the first of equal elements, and of the first NaN, whose kernels take others first',
    build: () => {
      const { integers } = arrays();
      const [x, cube] = [integers('float32', 3, 130), integers('int32', 3, 10, 13)];
      const turned = cube.permuteDims([2, 0, 1]);
      return [
        x.transpose().argmax(),
        x.sort(0).argmax(),
        x.divide(x).transpose().argmin(),
        turned.argmax(),
        turned.argmin(),
      ];
    },
  },
  {
    name: 'a perceptron of four layers',
    tolerance: 1e-5,
    build: () => {
      const { values } = arrays();
      let x = values('float32', 20, 24);
      for (let layer = 0; layer < 4; layer++)
        x = maximum(x.matmul(values('float32', 24, 24)).add(values('float32', 24)), 0);
      const e = x.subtract(x.max(1, { keepdims: true })).exp();
      return [e.divide(e.sum(1, { keepdims: true }))];
    },
  },
  {
    name: 'products of transposed, sliced and batched operands',
    build: () => {
      const { integers } = arrays();
      const [a, b] = [integers('float32', 18, 12), integers('float32', 18, 11)];
      const z = integers('complex64', 10, 10);
      return [
        a.transpose().matmul(b),
        b.transpose().matmul(a),
        a.matmul(b.slice([null, 12])).slice([2, null]),
        integers('float64', 3, 9, 7).matmul(integers('float64', 3, 7, 10)),
        integers('float16', 2, 9, 8).matmul(integers('float16', 8, 9)),
        z.matmul(z.transpose()),
      ];
    },
  },
  {
    name: 'long products with small results, of operands in another order or computed',
    build: () => {
      const { integers } = arrays();
      const [a, b] = [integers('float32', 16, 8, 10, 32), integers('float32', 32, 8, 9, 16)];
      const points = integers('float32', 9000, 9);
      const isIn = integers('int64', 9000)
        .expandDims(1)
        .equal(arange(-3, 5, undefined, { dtype: 'int64' }))
        .astype('float32');
      const moved = points.sub(1);
      return [
        einsum('abcd,dbea->ec', a, b),
        isIn.transpose().matmul(points).mul(2),
        moved.transpose().matmul(moved),
      ];
    },
  },
  {
    name: 'pairs of many rows and few columns, and of few rows and many columns',
    build: () => {
      const { integers } = arrays();
      const [rows, few] = [integers('float32', 33, 140, 1, 3), integers('float32', 33, 1, 11, 3)];
      const [x, y] = [integers('int32', 64, 20, 3), integers('int32', 64, 3, 70)];
      return [rows.subtract(few).abs().sum(-1), x.matmul(y).add(1)];
    },
  },
  {
    name: 'distances of many small groups of points',
    build: () => {
      const { integers } = arrays();
      const [x, y] = [integers('float32', 64, 3, 1, 5), integers('float32', 64, 1, 18, 5)];
      return [x.subtract(y).abs().sum(-1)];
    },
  },
  {
    name: 'standardized rows that are too few to fill a device',
    tolerance: 1e-5,
    build: () => {
      const x = arrays().values('float32', 2, 20_000);
      return [x.subtract(x.mean(1, { keepdims: true })).divide(x.std(1, { keepdims: true }))];
    },
  },
  {
    name: 'products that are read where they were not made',
    build: () => {
      const { integers } = arrays();
      let x = integers('float64', 16, 16);
      for (let k = 0; k < 4; k++)
        x = x
          .matmul(integers('float64', 16, 16))
          .roll(1, 0)
          .add(x.flip(1))
          .remainder(5)
          .transpose();
      return [x, concat([x, x.flip(0)], 1).sum(0)];
    },
  },
  {
    name: 'sums that are read where they are made and elsewhere too',
    build: () => {
      const { integers } = arrays();
      const [rows, all] = [integers('int32', 40, 12).sum(1), integers('float32', 6, 7, 8).sum(2)];
      return [
        rows.add(rows.flip(0)),
        rows.roll(1, 0).subtract(rows),
        all.add(all.max(0)),
        all.add(all.flip(1)),
      ];
    },
  },
  {
    name: 'an output that is broadcast into others',
    tolerance: 2e-6,
    build: () => {
      const { values } = arrays();
      const [e, row] = [values('float32', 9).exp(), values('float32', 12, 9).tanh().sum(0)];
      return [e, e.add(values('float32', 40, 9)), row, row.multiply(values('float32', 30, 9)).sum(1)];
    },
  },
  {
    name: 'more functions than are compiled in their places',
    tolerance: 1e-5,
    build: () => {
      const { values } = arrays();
      let [y, z] = [values('float32', 1000), values('float64', 3, 67)];
      for (let k = 0; k < 12; k++) {
        y = y.add(0.25).sin().mul(2).tanh();
        z = z.sin().hypot(z.abs().pow(0.25));
      }
      return [y, z, y.reshape([10, 100]).exp().sum(1)];
    },
  },
];
