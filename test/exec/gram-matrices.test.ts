/** Products of a matrix and its own transpose, of which Weft's CPU product computes half: they have the bits of whole ones. */
import { expect, it } from 'vitest';
import { type Lazy, lazy, type NDArray } from '../../src/index.js';

process.env.WEFT_BLAS = 'none';

const device = 'cpu';

function numbers(shape: readonly number[], dtype: 'float32' | 'float64'): Lazy {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: size }, (_, k) => Math.sin(k * 1.7 + (k % 13)));
  return lazy(dtype === 'float64' ? values : new Float32Array(values), { shape });
}

/** The bits of a result. */
const bitsOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

it.each([
  ['float32', [512, 256]],
  ['float32', [1031, 515]],
  ['float64', [777, 333]],
] as const)('of %s %j, rows and columns', async (dtype, shape) => {
  const x = numbers(shape, dtype);
  const other = lazy(await x.mul(1).compute({ device }));
  for (const [half, whole] of [
    [x.matmul(x.T), x.matmul(other.T)],
    [x.T.matmul(x), other.T.matmul(x)],
  ] as const) {
    const found = await half.compute({ device });
    expect(bitsOf(found).equals(bitsOf(await whole.compute({ device })))).toBe(true);
    expect(bitsOf(found).equals(bitsOf(await half.T.compute({ device })))).toBe(true);
  }
});

it('within a budget, in parts', async () => {
  const x = numbers([600, 300], 'float32');
  const largest = x.matmul(x.T).abs().max(1);
  const memory = Math.floor(largest.plan({ device }).peakBytes / 2);
  expect(largest.plan({ device, memory }).sweeps.some(({ tiles }) => tiles > 1)).toBe(true);
  expect(await largest.compute({ device, memory })).toEqual(await largest.compute({ device }));
});
