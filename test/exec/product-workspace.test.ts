/**
 * The workspace of a matrix product on the CPU, besides its operands and its result: planned, held to by the
 * account of the host's memory, and smaller where a budget leaves less, with the same bits.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { memory, trim } from '../../src/exec/native/native.js';
import { type DType, isHalf } from '../../src/graph/dtype.js';
import { explain, type Lazy, lazy, matmul } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

const device = 'cpu';
const peak = (): number => memory().find(({ device: name }) => name === device)!.workPeak;

/** Panels of the least size, of any dtype. */
const ENOUGH = 256 * 2 ** 10;

const PRODUCTS: readonly (readonly [
  string,
  readonly number[],
  readonly number[],
  DType,
  'as they are' | 'turned',
])[] = [
  ['a thin one', [4, 3000], [3000, 300], 'float32', 'as they are'],
  ['halves', [300, 3000], [3000, 400], 'float16', 'as they are'],
  ['halves over a long k', [70, 70_000], [70_000, 50], 'bfloat16', 'as they are'],
  ['a square one', [900, 900], [900, 900], 'float32', 'as they are'],
  ['complex numbers', [300, 300], [300, 300], 'complex128', 'as they are'],
  ['a batch', [16, 100, 400], [16, 400, 100], 'float64', 'as they are'],
  ['many small ones', [300, 40, 300], [300, 300, 40], 'float32', 'as they are'],
  ['transposed ones', [700, 300], [900, 700], 'float32', 'turned'],
  ['one that packs no more than it may', [1500, 5000], [5000, 1500], 'float32', 'as they are'],
  ['a few long dot products', [3, 400_000], [400_000, 1], 'float32', 'as they are'],
  ['a vector whose elements lie apart', [50, 9000], [9000, 1], 'float64', 'as they are'],
];

function values(shape: readonly number[], dtype: DType, seed: number): Lazy {
  const size = shape.reduce((a, b) => a * b, 1);
  if (isHalf(dtype)) {
    // Bits between 1 and 2, of both signs.
    const bits = new Uint16Array(size).map((_, k) => 0x3c00 + ((k * 7919 + seed) % 509) + (k % 2) * 0x8000);
    return lazy(bits, { shape, dtype });
  }
  if (dtype !== 'float32' && dtype !== 'float64') return toLazy(randomValues(dtype, shape, seed, -2, 3));
  const data = dtype === 'float32' ? new Float32Array(size) : new Float64Array(size);
  for (let k = 0; k < size; k++) data[k] = ((k * 7919 + seed) % 1009) / 500 - 1;
  return lazy(data, { shape });
}

describe.each(PRODUCTS)('a product of matrices on the CPU: %s', (_, left, right, dtype, order) => {
  let product: Lazy;
  beforeAll(() => {
    const [a, b] = [values(left, dtype, 1), values(right, dtype, 2)];
    product = order === 'turned' ? matmul(a.mT, b.mT) : matmul(a, b);
  });
  const bytesOf = async (bytes?: number): Promise<Buffer> => {
    const { data } = await product.compute({ device, memory: bytes });
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  };

  it('works in what its plan says', async () => {
    await trim();
    await bytesOf();
    expect(peak()).toBe(explain([product], { device }).peakBytes);
  });

  it('has the same bits with less', async () => {
    const wanted = await bytesOf();
    const { peakBytes } = explain([product], { device });
    for (const share of [1, 0.7, 0.2, 0.05, 0.01]) {
      const budget = Math.floor(peakBytes * share);
      if (budget < ENOUGH) continue;
      await trim();
      const planned = product.plan({ device, memory: budget }).peakBytes;
      expect((await bytesOf(budget)).equals(wanted)).toBe(true);
      expect(peak()).toBeLessThanOrEqual(planned);
      expect(planned).toBeLessThanOrEqual(budget);
    }
  });
});
