/**
 * Extremes of zeros of both signs: -0 is less than 0, so that an extreme has one sign in any order, beside whatever is
 * computed with it: by ops, reductions of short and long rows and columns, and of running extremes. Sums of negative zeros,
 * which begin with 0, have the sign that NumPy gives them, whatever their number; products keep it.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, type NDArray } from '../../src/index.js';
import { backends, isSimulated } from '../support/backends.js';

const SHAPES: readonly (readonly [number, number])[] = [
  [3, 7],
  [40, 16],
  [9, 1000],
  [1000, 9],
  [300, 300],
  [2, 40_000],
];

/** Zeros, of which those at some places are negative. */
function zeros(
  dtype: 'float32' | 'float64',
  [rows, columns]: readonly [number, number],
  every: number,
): Lazy {
  const data = new (dtype === 'float32' ? Float32Array : Float64Array)(rows * columns);
  for (let k = 0; k < data.length; k++) data[k] = (k * 7) % 11 < every ? -0 : 0;
  return lazy({ data, shape: [rows, columns] });
}

/** The sign that an extreme of some zeros has. */
const isNegative = (values: readonly number[], op: 'max' | 'min'): boolean =>
  op === 'max' ? values.every((x) => Object.is(x, -0)) : values.some((x) => Object.is(x, -0));

const devices = backends().filter((device) => device === 'cpu' || device.startsWith('cuda'));
describe.each(devices)('zeros on %s', (device) => {
  describe.each(['float32', 'float64'] as const)('of %s', (dtype) => {
    it.each(isSimulated(device) ? SHAPES.slice(1, 4) : SHAPES)(
      'have one extreme, of (%i, %i)',
      async (rows, columns) => {
        for (const every of [1, 5, 10, 11]) {
          const x = zeros(dtype, [rows, columns], every);
          const { data } = await x.compute({ device: 'cpu' });
          const at = (i: number, j: number): number => Number((data as Float64Array)[i * columns + j]);
          const column = (j: number): number[] => Array.from({ length: rows }, (_, i) => at(i, j));
          const row = (i: number): number[] => Array.from({ length: columns }, (_, j) => at(i, j));
          for (const op of ['max', 'min'] as const) {
            const running = op === 'max' ? x.cumulativeMax(1) : x.cumulativeMin(1);
            const other = x.flip(0);
            const pair = op === 'max' ? x.maximum(other) : x.minimum(other);
            const results = await compute([x[op](), x[op](0), x[op](1), running, running[op](1), pair], {
              device,
            });
            const signs = results.map(({ data }) =>
              Uint8Array.from(data as Float64Array, (value) => Number(Object.is(value, -0))),
            );
            const wanted = (length: number, values: (k: number) => readonly number[]): Uint8Array =>
              Uint8Array.from({ length }, (_, k) => Number(isNegative(values(k), op)));
            expect(signs[0], `${op} of all`).toEqual(wanted(1, () => [...(data as Float64Array)]));
            expect(signs[1], `${op} of columns`).toEqual(wanted(columns, column));
            const ofRows = wanted(rows, row);
            expect(signs[2], `${op} of rows`).toEqual(ofRows);
            const stored = await lazy(results[3] as NDArray)
              [op](1)
              .compute({ device });
            expect(results[4]!.data, `${op} of the running ${op}`).toEqual(stored.data);
            const alone = await x[op](1).compute({ device });
            expect(alone.data, `${op} of rows alone`).toEqual(results[2]!.data);
            const ofTwo = (k: number): number[] => {
              const [i, j] = [Math.floor(k / columns), k % columns];
              return [at(i, j), at(rows - 1 - i, j)];
            };
            expect(signs[5], `${op} of two`).toEqual(wanted(rows * columns, ofTwo));
          }
        }
      },
    );
  });

  it.each(['float32', 'float64', 'float16', 'complex64'] as const)('are added to 0, of %s', async (dtype) => {
    for (const count of [1, 2, 40, 3000]) {
      const x = lazy(new Float64Array(count).fill(-0)).astype(dtype);
      const rows = x.reshape([1, count]);
      const columns = x.reshape([count, 1]);
      const sums = [x.sum(), x.mean(), rows.sum(0), rows.sum(1), columns.sum(1), columns.mean(1)];
      const found = await compute(
        sums.map((sum) => sum.real().astype('float64')),
        { device },
      );
      for (const { data } of found) expect([...data].every((value) => Object.is(value, 0))).toBe(true);
    }
    const products = [
      lazy([-0]).astype(dtype).prod(),
      lazy([[-0], [-0]])
        .astype(dtype)
        .prod(1),
    ];
    const kept = await compute(
      products.map((product) => product.real().astype('float64')),
      { device },
    );
    for (const { data } of kept) expect([...data].every((value) => Object.is(value, -0))).toBe(true);
  });
});
