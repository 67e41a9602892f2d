/**
 * Products of many numbers on the CPU: large and small ones by turns, whose products as far as each are small, overflow in
 * no part, however the elements are walked.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
import { elementAt } from '../support/host.js';

const byTurns = (count: number, each = 1): Lazy =>
  lazy(
    Float64Array.from({ length: count * each }, (_, i) => 2 ** (Math.floor(i / each) % 2 === 0 ? 40 : -40)),
  );

describe.each(['float32', 'float64', 'complex64', 'complex128'] as const)('products of %s', (dtype) => {
  it.each<[string, () => Lazy]>([
    ['of a line', () => byTurns(200_000).astype(dtype).prod()],
    ['of a line that ends within a chunk', () => byTurns(100_006).astype(dtype).prod()],
    ['of long rows', () => byTurns(120_000).reshape([12, 10_000]).astype(dtype).prod(1)],
    ['of short rows', () => byTurns(60_000).reshape([100, 600]).astype(dtype).prod(1)],
    ['of rows of an odd length', () => byTurns(64_002).reshape([2, 32_001]).astype(dtype).prod()],
    ['of columns', () => byTurns(6000, 40).reshape([6000, 40]).astype(dtype).prod(0)],
    ['of few columns', () => byTurns(40_000, 3).reshape([40_000, 3]).astype(dtype).prod(0)],
    ['of computed values', () => byTurns(90_000).mul(0.5).add(0).mul(2).astype(dtype).prod()],
    [
      'beside a sum',
      () => byTurns(90_000).astype(dtype).prod().add(byTurns(90_000).astype(dtype).sum().mul(0)),
    ],
  ])('%s are 1', async (_, build) => {
    const [product] = await compute([build()], { device: 'cpu' });
    const { data } = product!;
    for (let k = 0; k < product!.size; k++) {
      const value = elementAt(dtype, data, k);
      expect(typeof value === 'object' ? value.re : Number(value)).toBe(1);
    }
  });
});
