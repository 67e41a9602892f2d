/** Indices out of range that read a value, or whose values are left out, beside loops over the elements. */
import { describe, expect, it } from 'vitest';
import { type DType, type Lazy, lazy, type Scalar, zeros } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { toScalars } from '../support/host.js';
import { randomIntegers, randomValues } from '../support/random.js';

const SHAPE = [4, 3, 5];
const [ROWS, COLUMNS, DEPTH] = SHAPE as [number, number, number];
const DTYPES: readonly (readonly [DType, Scalar | undefined])[] = [
  ['float32', undefined],
  ['float16', -1],
  ['int16', undefined],
  ['uint64', 7n],
  ['bool', true],
  ['complex64', undefined],
];
const INDICES: readonly DType[] = ['int8', 'int32', 'int64', 'uint8', 'uint64'];

const text = (values: readonly unknown[]): string =>
  JSON.stringify(values, (_, value) =>
    typeof value === 'number' || typeof value === 'bigint' ? `${value}` : value,
  );

describe.each(backends())('indices out of range on %s', (device) => {
  const scalarsOf = async (x: Lazy): Promise<readonly unknown[]> => toScalars((await run(device, [x]))[0]!);

  it.each(DTYPES)('read a value of %s', async (dtype, fillValue) => {
    let seed = 20261128;
    const host = randomValues(dtype, SHAPE, 3, 0, 9);
    const x = toLazy(host);
    const elements = toScalars(host);
    const fill =
      fillValue ??
      (dtype === 'float32' ? NaN : dtype === 'complex64' ? { re: NaN, im: 0 } : dtype === 'bool' ? false : 0);
    const options = { mode: 'fill', ...(fillValue === undefined ? {} : { fillValue }) } as const;
    const wanted = dtype === 'int16' ? 0 : fill;
    const at = (...place: readonly number[]): unknown => {
      const counted = place.map((i, axis) => (i < 0 ? i + SHAPE[axis]! : i));
      const isInside = counted.every((i, axis) => i >= 0 && i < SHAPE[axis]!);
      return isInside ? elements[(counted[0]! * COLUMNS + counted[1]!) * DEPTH + counted[2]!] : wanted;
    };
    const range = (n: number): number[] => [...Array(n).keys()];
    for (const kind of INDICES) {
      const [low, high] = kind.startsWith('uint') ? [0, 8] : [-8, 8];
      const given = randomIntegers(kind, [2, 3], seed++, low, high);
      const index = toLazy(given);
      const numbers = toScalars(given).map(Number);
      const line = numbers.slice(0, 3);
      const beside = toLazy(randomIntegers(kind, [3], seed++, low, high));
      const others = toScalars((await run('reference', [beside]))[0]!).map(Number);
      const cases: readonly (readonly [Lazy, readonly unknown[]])[] = [
        [
          x.take(index, 1, options),
          range(ROWS).flatMap((r) => numbers.flatMap((c) => range(DEPTH).map((d) => at(r, c, d)))),
        ],
        [
          x.slice(index, { ...options }),
          numbers.flatMap((r) => range(COLUMNS).flatMap((c) => range(DEPTH).map((d) => at(r, c, d)))),
        ],
        [
          x.slice(index.slice(0), null, beside, { ...options }),
          line.flatMap((r, k) => range(COLUMNS).map((c) => at(r, c, others[k]!))),
        ],
        [
          x.slice(null, index, beside, { ...options }),
          range(ROWS).flatMap((r) => numbers.map((c, k) => at(r, c, others[k % 3]!))),
        ],
        [
          x.takeAlongAxis(index.reshape([1, 3, 2]), 2, options),
          range(ROWS).flatMap((r) => numbers.map((d, k) => at(r, Math.floor(k / 2), d))),
        ],
      ];
      for (const [found, values] of cases) expect(text(await scalarsOf(found))).toBe(text(values));
    }
  });

  it('read nothing of axes without elements, and of axes whose size depends on data what is there', async () => {
    const index = lazy(Int32Array.of(0, -1, 2, -4, 3));
    const x = lazy(Float64Array.of(5, 1, 7, 0, 9));
    const some = x.slice(x.greater(4));
    const none = x.slice(x.greater(100));
    const options = { mode: 'fill', fillValue: -1 } as const;
    const found = [
      zeros([0, 2]).take(index, 0, options),
      zeros([2, 0]).takeAlongAxis(lazy([[0], [1]]).astype('int8'), 1, options),
      some.take(index, 0, options),
      none.slice(index, options),
      x.take(some.astype('int32'), 0, options),
      zeros([3, 0]).take(index, 0, options),
    ];
    const results = await run(device, found);
    expect(results.map(({ shape }) => shape)).toEqual([[5, 2], [2, 1], [5], [5], [3], [5, 0]]);
    expect(results.map(({ data }) => Array.from(data as Float64Array))).toEqual([
      Array(10).fill(-1),
      [-1, -1],
      [5, 9, 9, -1, -1],
      Array(5).fill(-1),
      [-1, -1, -1],
      [],
    ]);
  });

  it('are left out of updates by any selectors', async () => {
    const x = lazy([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const [rows, columns] = [Int32Array.of(0, 5, 1), Int32Array.of(2, 0, -9)];
    const drop = { mode: 'drop' } as const;
    const results = await run(device, [
      x.at(rows, columns, drop).set(0),
      x.at(null, columns, drop).add(10),
      x.at(rows, drop).multiply(2),
      x.putAlongAxis(
        lazy([
          [0, 3],
          [-4, -1],
        ]).astype('int64'),
        0,
        1,
        drop,
      ),
    ]);
    expect(results.map(({ data }) => [...(data as Float64Array)])).toEqual([
      [1, 2, 0, 4, 5, 6],
      [11, 2, 13, 14, 5, 16],
      [2, 4, 6, 8, 10, 12],
      [0, 2, 3, 4, 5, 0],
    ]);
  });
});
