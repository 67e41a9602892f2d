/**
 * Sums of columns of arrays that the caches do not hold are read row by row where the rows lie side by side; of what two values
 * make, four leaves are added up in registers. They have the bits of sums of computed elements, of which neither is true.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, type NDArray, random } from '../../src/index.js';

/** More than 32 MiB of float32. */
const ELEMENTS = 9_000_000;

const bytesOf = ({ data }: NDArray): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

async function expectSameBits(x: Lazy, reduce: (x: Lazy, each: (x: Lazy) => Lazy) => Lazy): Promise<void> {
  const [read, computed] = await compute(
    [reduce(x, (v) => v), reduce(x, (v) => v.maximum(-1e30).minimum(1e30))],
    { device: 'cpu' },
  );
  expect(Buffer.compare(bytesOf(read!), bytesOf(computed!))).toBe(0);
}

describe('columns of a large array', () => {
  it.each([
    ['float32', 65],
    ['float32', 130],
    ['float32', 1000],
    ['float32', 2048],
    ['float32', 3000],
    ['float64', 100],
    ['float64', 1024],
  ] as const)('have the same sums read in place and computed: %s, rows of %i', async (dtype, width) => {
    const rows = Math.ceil(ELEMENTS / width);
    const [drawn] = await compute([random.normal(random.key(7), [rows, width]).astype(dtype)], {
      device: 'cpu',
    });
    const x = lazy(drawn!);
    await expectSameBits(x, (v, each) => each(v).sum(0));
    await expectSameBits(x, (v, each) => each(v).max(0));
    await expectSameBits(x, (v, each) =>
      each(v)
        .mul(each(v.slice([null, null, -1])))
        .sum(0),
    );
    // A part of each row, and of the rows.
    await expectSameBits(x, (v, each) => each(v.slice([1, null], [0, -1])).sum(0));
  });

  // Only the order in which partial sums meet shows in the sign of NaN.
  it('that are widened first are summed as those of one that the caches hold', async () => {
    const [width, rows] = [128, 140_000];
    const pattern = Uint16Array.from({ length: 100_003 }, (_, k) =>
      Math.imul(k, 0x9e3779b1) >>> 0 < 2 ** 29 ? 0x7fc1 | ((k & 1) << 15) : 0x3c00 + (k & 255),
    );
    const bits = new Uint16Array(rows * width);
    for (let k = 0; k < bits.length; k += pattern.length) bits.set(pattern.subarray(0, bits.length - k), k);
    const sumOf = (count: number): Lazy =>
      lazy(bits.slice(0, count * width), { shape: [count, width], dtype: 'float16' })
        .slice([0, 50_000])
        .sum(0);
    const [large, small] = await compute([sumOf(rows), sumOf(50_000)], { device: 'cpu' });
    expect(Buffer.compare(bytesOf(large!), bytesOf(small!))).toBe(0);
  });
});

describe('distances between points', () => {
  it.each([
    ['float32', 63],
    ['float32', 64],
    ['float32', 65],
    ['float32', 128],
    ['float32', 200],
    ['float32', 448],
    ['float64', 64],
    ['float64', 321],
  ] as const)('have the sums of stored differences: %s, %i coordinates', async (dtype, coordinates) => {
    for (const count of [64, 100, 300]) {
      const [x, y] = await compute(
        [1, 2].map((seed) =>
          random.normal(random.key(seed), [seed === 1 ? 20 : count, coordinates]).astype(dtype),
        ),
        { device: 'cpu' },
      );
      const apart = lazy(x!).expandDims(1).sub(lazy(y!).expandDims(0));
      await expectSameBits(apart, (v, each) => each(v.square()).sum(-1));
      await expectSameBits(apart, (v, each) => each(v.abs()).sum(-1));
    }
  });
});
