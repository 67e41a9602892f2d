/**
 * Loops whose steps set rows of their states, for tests of states that are written in place: each with the same arithmetic
 * in a form that is not known to be a row, so that every step writes all of its states anew.
 */
import {
  arange,
  type ComputeOptions,
  compute,
  type DType,
  iterate,
  type Lazy,
  lazy,
  whileLoop,
  zeros,
} from '../../src/index.js';
import { generator } from './random.js';

/** A mask of rows; `asRow`: in the form that rows are written in place by. */
const maskOf = (rows: Lazy, at: Lazy, asRow: boolean): Lazy<'bool'> =>
  asRow ? rows.equal(at) : rows.lessEqual(at).logicalAnd(rows.greaterEqual(at));

export interface RowStateJob {
  readonly name: string;
  /** States that are written in place. */
  readonly states: number;
  readonly make: (asRow: boolean) => readonly Lazy[];
}

/** Jobs with states of so many rows and columns. */
export function rowStateJobs(rows: number, columns: number): readonly RowStateJob[] {
  const data = (seed: number, shape: readonly number[], dtype: DType = 'float32'): Lazy => {
    const count = shape.reduce((a, b) => a * b, 1);
    return lazy(
      Float32Array.from({ length: count }, (_, k) => ((k * 7919 + seed * 31) % 1009) / 64 - 7),
      { shape },
    ).astype(dtype);
  };
  const along = (count: number): Lazy => arange(count).reshape([count, 1]);
  const set = (x: Lazy, at: Lazy, row: Lazy, asRow: boolean): Lazy =>
    maskOf(along(x.shape[0]!), at, asRow).where(row, x);
  const steps = rows - 2;
  return [
    {
      name: 'a basis from zeros, which the next row needs',
      states: 1,
      make: (asRow) => [
        ...iterate(steps, [zeros([rows, columns], { dtype: 'float32' }), data(1, [columns])], ([x, v], i) => [
          set(x, i, v.reshape([1, columns]), asRow),
          v.sub(x.matmul(v).matmul(x).mul(0.001)).mul(0.5),
        ]),
      ],
    },
    {
      name: 'an input, that is read again, and rows anywhere, or nowhere',
      states: 1,
      make: (asRow) => {
        const x = data(2, [rows, columns], 'float64');
        const last = iterate(steps, x, (y, i) =>
          set(y, i.mul(5).sub(4).astype('int32'), y.take(i, 0, { mode: 'wrap' }).mul(2).add(i), asRow),
        );
        return [last, x.add(1), last.sum(0)];
      },
    },
    {
      name: 'columns, and states that are kept',
      states: 1,
      make: (asRow) => {
        const numbers = arange(columns, { dtype: 'int64' });
        return [
          iterate(
            6,
            data(3, [rows, columns], 'int32'),
            (x, i) =>
              maskOf(numbers, i.mul(3).add(1), asRow).where(x.sum(1, { keepdims: true }).astype('int32'), x),
            { every: 2 },
          ),
        ];
      },
    },
    {
      name: 'rows in the middle of three axes, of complex numbers',
      states: 1,
      make: (asRow) => {
        const numbers = arange(rows).reshape([1, rows, 1]);
        const x = data(4, [2, rows, Math.ceil(columns / 2)], 'complex64');
        return [
          iterate(5, x, (y, i) =>
            maskOf(numbers, i.add(1), asRow).where(y.slice([], [0, 1]).mul(0.5).add(i), y),
          ),
        ];
      },
    },
    {
      name: 'until a sum is large enough',
      states: 1,
      make: (asRow) => [
        ...whileLoop(
          ([, sum]) => sum.less(5),
          ([x, sum, row], i) => [
            set(x, i, row.reshape([1, columns]), asRow),
            sum.add(1).add(x.matmul(row).sum().mul(0)),
            row.mul(0.5).add(x.slice(0)),
          ],
          [data(5, [rows, columns]), lazy(0, { dtype: 'float32' }), data(6, [columns])],
          { max: rows + 3 },
        ),
      ],
    },
    {
      name: 'a loop that does not begin',
      states: 1,
      make: (asRow) => [
        ...whileLoop(
          ([, sum]) => sum.less(-5),
          ([x, sum], i) => [set(x, i, x.sum(0, { keepdims: true }), asRow), sum.add(1)],
          [data(5, [rows, columns]).exp(), lazy(0, { dtype: 'float32' })],
        ),
      ],
    },
    {
      name: 'two states, of which one takes rows of the other',
      states: 2,
      make: (asRow) => [
        ...iterate(steps, [data(7, [rows, columns]), data(8, [rows, columns])], ([x, y], i) => [
          set(x, i, y.take(i.add(1), 0, { mode: 'clip' }).reshape([1, columns]), asRow),
          set(y, i.add(1), y.sum(0, { keepdims: true }).mul(0.125), asRow),
        ]),
      ],
    },
    {
      name: 'two states that take rows of each other',
      states: 2,
      make: (asRow) => [
        ...iterate(steps, [data(7, [rows, columns]), data(8, [rows, columns])], ([x, y], i) => [
          set(x, i, y.take(i, 0, { mode: 'clip' }).mul(0.5).reshape([1, columns]), asRow),
          set(y, i.add(1), x.take(i.add(1), 0, { mode: 'clip' }).add(1).reshape([1, columns]), asRow),
        ]),
      ],
    },
    {
      name: 'a next state that others read beside the one before',
      states: 0,
      make: (asRow) => [
        ...iterate(steps, [data(9, [rows, columns]), data(1, [columns])], ([x, v], i) => {
          const next = set(x, i, v.reshape([1, columns]), asRow);
          return [next, next.sub(x).abs().max(0).add(1)];
        }),
      ],
    },
    {
      name: 'a next state that others read alone',
      states: 1,
      make: (asRow) => [
        ...iterate(steps, [data(9, [rows, columns]), data(1, [columns])], ([x, v], i) => {
          const next = set(x, i, v.add(x.max(0)).reshape([1, columns]), asRow);
          return [next, next.sum(0).mul(0.01)];
        }),
      ],
    },
    {
      name: 'a loop in a loop, whose states begin anew',
      states: 1,
      make: (asRow) => [
        ...iterate(3, [data(10, [columns]), data(11, [rows, columns])], ([v, sum], k) => {
          const [x, w] = iterate(4, [v.add(along(rows).astype('float32')), v], ([y, u], i) => [
            set(y, i.add(k), u.reshape([1, columns]), asRow),
            u.mul(0.5).add(y.mean(0)),
          ]);
          return [w, sum.mul(0.5).add(x)];
        }),
      ],
    },
    {
      name: 'a loop in a loop, and rows of both',
      states: 2,
      make: (asRow) => [
        ...iterate(3, [data(10, [columns]), data(11, [rows, columns])], ([v, all], k) => {
          const [x] = iterate(3, [all.mul(0.5), v], ([y, u], i) => [
            set(y, i, u.add(all.take(i, 0, { mode: 'clip' })).reshape([1, columns]), asRow),
            u.mul(0.5),
          ]);
          return [x.mean(0), set(all, k, x.max(0, { keepdims: true }), asRow)];
        }),
      ],
    },
  ];
}

/** A random loop of one to three states of rows, whose rows are sums of rows and columns of each. */
export function randomRowStates(
  seed: number,
  rows: number,
  columns: number,
  asRow: boolean,
): readonly Lazy[] {
  const next = generator(seed);
  const below = (count: number): number => Math.floor(next() * count);
  const count = 1 + below(3);
  const states = Array.from({ length: count }, (_, k) =>
    lazy(
      Float64Array.from({ length: rows * columns }, (_, i) => ((i * 7919 + 97 * (seed + k)) % 509) / 256 - 1),
      { shape: [rows, columns] },
    ).mul(1 + k),
  );
  const terms = states.map(() => ({
    from: below(count),
    by: 1 + below(5),
    off: below(7) - 2,
    way: below(4),
  }));
  const numbers = arange(rows).reshape([rows, 1]);
  return [
    ...iterate(1 + below(2 * rows), states, (all, i) =>
      all.map((x, k) => {
        const { from, by, off, way } = terms[k]!;
        const other = all[from]!;
        const row = [
          () => other.take(i.mul(by), 0, { mode: 'wrap' }).mul(0.5).reshape([1, columns]),
          () => other.mean(0, { keepdims: true }),
          () =>
            other
              .slice([1, 2])
              .add(x.slice([0, 1]))
              .mul(0.25),
          () => x.max(0, { keepdims: true }).sub(i.mul(0.125)),
        ][way]!();
        return maskOf(numbers, i.mul(by).add(off), asRow).where(row, x);
      }),
    ),
  ];
}

/** The bits of results. */
export async function bitsOfAll(
  results: readonly Lazy[],
  options: ComputeOptions,
): Promise<readonly Buffer[]> {
  const found = await compute([...results], options);
  return found.map(({ data }) => {
    const { buffer, byteOffset, byteLength } = data as Uint8Array;
    return Buffer.from(buffer, byteOffset, byteLength);
  });
}
