/**
 * Variances of rows that end within a leaf of the CPU's tree: leaves of different numbers of elements meet, and
 * each counts by its own number.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
import { backends } from '../support/backends.js';
import { randomValues } from '../support/random.js';

const SHAPES = [
  [4, 2500],
  [75, 2500],
  [60, 4160],
  [33, 5000],
  [5000, 7],
  [300, 70],
] as const;

/** The standard deviation of every second row. */
function expected(data: ArrayLike<number>, [rows, columns]: readonly [number, number]): number {
  const values: number[] = [];
  for (let i = 0; i < rows; i += 2) for (let j = 0; j < columns; j++) values.push(data[i * columns + j]!);
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
  return Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length);
}

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'variances on %s',
  (device) => {
    it.each(['float32', 'float64'] as const)(
      'of %s are right for rows of any length, alone and beside others',
      async (dtype) => {
        for (const shape of SHAPES) {
          const { data } = randomValues(dtype, shape, 7);
          const x = lazy(data as Float32Array, { shape: [...shape] }).slice([null, null, 2]);
          const right = expected(data as Float32Array, shape);
          const beside: readonly (readonly Lazy[])[] = [[], [x.add(1)], [x.astype('float64').sum()]];
          for (const others of beside) {
            const [deviation] = await compute([x.std(), ...others], { device });
            const found = Number(deviation!.item());
            expect(Math.abs(found / right - 1)).toBeLessThan(dtype === 'float32' ? 2e-6 : 1e-14);
          }
        }
      },
    );
  },
);
