/** A plan's peak on the CPU counts what matrix products pack: measured by the account of the host's memory. */
import { describe, expect, it } from 'vitest';
import { cpuInfo, memory } from '../../src/exec/native.js';
import type { DType } from '../../src/graph/dtype.js';
import { explain, full, matmul } from '../../src/index.js';

const use = () => memory().find(({ device }) => device === 'cpu')!;
const cpu = { device: 'cpu' };

/** Each takes more memory than those before it: the account knows the highest peak only. */
const PRODUCTS: readonly (readonly [string, readonly number[], readonly number[], DType])[] = [
  ['a thin one', [4, 3000], [3000, 300], 'float32'],
  ['halves', [300, 3000], [3000, 400], 'float16'],
  ['a square one', [900, 900], [900, 900], 'float32'],
  ['complex numbers', [700, 700], [700, 700], 'complex128'],
  ['a batch', [16, 400, 400], [16, 400, 400], 'float64'],
  ['one that packs no more than it may', [2500, 2500], [2500, 2500], 'float32'],
];

describe('the peak of a plan with a matrix product', () => {
  it.each(PRODUCTS)('is as high as that of %s, and not much higher', async (_, left, right, dtype) => {
    const x = await full(left, 1, { dtype }).persist(cpu);
    const y = await full(right, 1, { dtype }).persist(cpu);
    const product = matmul(x, y);
    const before = use();
    const result = await product.persist(cpu);
    const after = use();
    expect(after.peak).toBeGreaterThan(before.peak);
    const packed = after.peak - after.inUse;
    const { peakBytes } = explain([product], cpu);
    expect(peakBytes).toBeGreaterThanOrEqual(packed);
    expect(peakBytes).toBeLessThan(2 * packed + (cpuInfo().threads + 8) * 2 ** 20);
    for (const array of [x, y, result]) array.dispose();
  });
});
