/** Convolutions beside NumPy's values (`conformance/functions.test.ts`): kernels and errors. */
import { describe, expect, it } from 'vitest';
import { ArgumentError, arange, convolve, correlate, lazy, ShapeError } from '../../src/index.js';

const line = lazy(Float32Array.from({ length: 5000 }, (_, k) => k % 17));

describe('convolve', () => {
  it.each([3, 200])('holds no table of products, and is one kernel with what follows: %i', (size) => {
    const smooth = line.convolve(line.slice([0, size]), 'same').sqrt();
    const { steps, peakBytes } = smooth.explain({ device: 'cpu' });
    expect(steps).toHaveLength(1);
    expect(peakBytes).toBeLessThan(4 * 4 * 5000);
  });

  it('has the bits of the whole within a budget', async () => {
    const long = arange(200_000, { dtype: 'float32' }).mul(37).remainder(101);
    for (const size of [5, 40]) {
      const smooth = long.convolve(line.slice([0, size]).div(size), 'same');
      const whole = await smooth.compute({ device: 'cpu' });
      const tiled = await smooth.compute({ device: 'cpu', memory: '1 MiB' });
      expect(Buffer.from(tiled.data.buffer).equals(Buffer.from(whole.data.buffer))).toBe(true);
    }
  });

  it('refuses arrays of no or two axes, empty ones and other modes', () => {
    expect(() => line.convolve(2)).toThrow(ShapeError);
    expect(() => line.convolve([])).toThrow(ShapeError);
    expect(() => correlate(line.reshape([50, 100]), [1, 2])).toThrow(ShapeError);
    expect(() => convolve(line, [1, 2], 'wrap' as 'full')).toThrow(ArgumentError);
    expect(() => lazy([1]).convolve(null as unknown as number)).toThrow(ArgumentError);
  });
});
