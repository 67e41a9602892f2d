/**
 * Values that a reduction stores for a later pass are made again for each tile of it, where nothing can wait
 * on the host.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, type NDArray, plan } from '../../src/index.js';

const [ROWS, COLUMNS] = [2 ** 16, 16];
const x = lazy(Float32Array.from({ length: ROWS * COLUMNS }, (_, k) => Math.sin(k * 1.7))).reshape([
  ROWS,
  COLUMNS,
]);
/** Moments of the elements that a mask chooses: two passes need the mask. */
function masked(axis: number): Lazy[] {
  const mask = x.greater(0.25).astype('float32');
  const count = mask.sum(axis, { keepdims: true });
  const mean = x.mul(mask).sum(axis, { keepdims: true }).div(count);
  return [x.sub(mean).mul(mask).square().sum(axis), mean];
}
/** The same of what is computed in floating point. */
function scaled(): Lazy[] {
  const y = x.mul(1.5).sub(0.25).sin();
  return [y.sub(y.mean(0)).square().mul(y).sum(0), y.max(0)];
}
const bitsOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

describe('a value that two passes need, in less memory than it takes', () => {
  it.each([
    ['a mask of columns', (): Lazy[] => masked(0)],
    ['a computed value', scaled],
  ] as const)('is made again, with the same bits: %s', async (_, make) => {
    const wanted = (await compute(make(), { device: 'cpu' })).map(bitsOf);
    for (const memory of [2 ** 20 - 4096, 2 ** 19, 2 ** 18 + 2 ** 17]) {
      const options = { device: 'cpu', memory };
      expect(plan(make(), options).peakBytes).toBeLessThanOrEqual(memory);
      expect((await compute(make(), options)).map(bitsOf)).toEqual(wanted);
    }
  });
});
