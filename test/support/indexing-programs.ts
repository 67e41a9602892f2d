/** Programs for `programs.ts`: reading by arrays of indices. */
import { arange, type Lazy, lazy, type TakeOptions } from '../../src/index.js';
import { F32, integers, type Program, values } from './program.js';

/** Indices from 0 to n - 1, of any shape. */
const indices = (n: number, ...shape: number[]): Lazy => integers('int32', ...shape).remainder(n);

const every = (table: Lazy, options: TakeOptions): Lazy[] =>
  [lazy(new Int32Array([-9, -3, 0, 2, 3, 40])), lazy(new BigInt64Array([-1n, 5n, -(2n ** 62n)]))].map((far) =>
    table.take(far, 0, options),
  );

export const INDEXING_PROGRAMS: readonly Program[] = [
  {
    name: 'rows, columns and elements of a table',
    build: () => {
      const table = values('float32', 40, 33);
      return [
        table.take(indices(40, 90), 0),
        table.take(indices(33, 7, 5), 1),
        table.take(indices(40 * 33, 200)),
        table.take([3, -1, 0], 0),
        table.take(-2, -1),
      ];
    },
  },
  {
    name: 'indices that wrap, and that stop at the ends',
    build: () => {
      const table = values('float64', 3, 4);
      return [...every(table, { mode: 'wrap' }), ...every(table, { mode: 'clip' })];
    },
  },
  {
    name: 'a look-up between maps and reductions',
    tolerance: F32,
    build: () => {
      const [table, y] = [values('float32', 50), values('float32', 700)];
      const picked = table.take(indices(50, 700)).neg().exp().mul(y);
      return [picked, picked.sum(), picked.reshape([70, 10]).softmax(1), picked.max()];
    },
  },
  {
    name: 'what is computed, taken from by what is computed',
    tolerance: F32,
    build: () => {
      const table = values('float32', 30, 20);
      const order = table.sum(1).abs().mul(7).floor().astype('int64').remainder(30);
      return [table.sin().take(order, 0).sum(0), table.take(table.argmax(1), 1).sum()];
    },
  },
  {
    name: 'through views of the table, and views of what was taken',
    build: () => {
      const table = values('float32', 24, 18);
      const rows = indices(9, 31);
      return [
        table.transpose().take(indices(18, 31), 0),
        table.slice(null, [1, null, 2]).take(rows, 1),
        table.reshape([6, 4, 18]).take(indices(4, 10), 1),
        table.pad(1).take(indices(20, 12), 1),
        table.take(rows, 0).transpose().slice([2, 9], null),
        table.take(rows, 1).pad(2),
        table.broadcastTo([3, 24, 18]).take([2, 0], 0),
      ];
    },
  },
  {
    name: 'look-ups of look-ups, of one table and of several',
    build: () => {
      const [a, b] = [values('float64', 60), integers('int16', 60)];
      const first = b.remainder(60);
      return [
        a.take(first).take(first),
        a.take(first.take(first)),
        a.take(first).add(a.take(first.flip(0))),
        a.add(a.take(arange(60).astype('int64').flip(0))),
      ];
    },
  },
  {
    name: 'elements of every size',
    build: () =>
      (['bool', 'int8', 'float16', 'bfloat16', 'int64', 'complex64', 'complex128'] as const).map((dtype) =>
        integers(dtype, 17, 5).take(indices(17, 40), 0),
      ),
  },
  {
    name: 'nothing, taken and taken from',
    build: () => {
      const table = values('float32', 4, 0);
      return [table.take([1, 2], 0), values('float32', 4).take(new Int32Array(0)), lazy(3).take([0, 0])];
    },
  },
];
