/** Sums of up to 16 elements add these up one after the other, in C order, wherever they are computed. */
import { describe, expect, it } from 'vitest';
import { compute, lazy } from '../../src/index.js';
import { backends } from '../support/backends.js';

const ROWS = 300;

/** The sums of rows in turn, in float32. */
function inTurn(x: Float32Array, length: number): Float32Array {
  return Float32Array.from({ length: ROWS }, (_, row) =>
    x.subarray(row * length, (row + 1) * length).reduce((sum, value) => Math.fround(sum + value), 0),
  );
}

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'on %s',
  (device) => {
    // In chunks of 4 and of 2, one by one, and with a thread that has nothing.
    it.each([16, 6, 15])('are those of %i elements in turn', async (length) => {
      const data = Float32Array.from({ length: ROWS * length }, (_, k) => Math.sin(k * k) * 10 ** (k % 5));
      const x = lazy(data, { shape: [ROWS, length] });
      const sums = x.sum(1);
      const expected = inTurn(data, length);
      const [alone] = await compute([sums], { device });
      expect(alone!.data).toEqual(expected);
      // Beside elements, and as columns.
      const centred = x.sub(sums.reshape(ROWS, 1));
      const [beside, less] = await compute([sums, centred], { device });
      expect(beside!.data).toEqual(expected);
      expect(less!.data).toEqual(data.map((value, k) => value - expected[Math.floor(k / length)]!));
      const columns = Float32Array.from(
        { length: data.length },
        (_, k) => data[(k % ROWS) * length + Math.floor(k / ROWS)]!,
      );
      const [down] = await compute([lazy(columns, { shape: [length, ROWS] }).sum(0)], { device });
      expect(down!.data).toEqual(expected);
    });
  },
);
