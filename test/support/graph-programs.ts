/** Programs for `programs.ts` whose graphs branch, share values and have several outputs. */
import { concat, full, type Lazy } from '../../src/index.js';
import { between, F32, integers, type Program, values } from './program.js';

export const GRAPH_PROGRAMS: readonly Program[] = [
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
