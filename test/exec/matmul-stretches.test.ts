/** How long the stretches are in which sums of products in TF32 are computed. */
import { describe, expect, it } from 'vitest';
import { stretchOf } from '../../src/exec/calls/products/matmul-stretches.js';

describe('a stretch of a sum', () => {
  it('is all of it up to 768 products, and half of it from there on', () => {
    expect([1, 768, 769, 1024].map(stretchOf)).toEqual([1, 768, 416, 512]);
  });

  it('is a multiple of 32 of about 31 √k products at most', () => {
    for (const k of [769, 1000, 1024, 2048, 4095, 8192, 16384, 65536, 1_000_003]) {
      expect(stretchOf(k) % 32).toBe(0);
      expect(stretchOf(k)).toBeLessThan(31 * Math.sqrt(k) + 32);
    }
    expect(Math.ceil(8192 / stretchOf(8192))).toBe(3);
    expect(Math.ceil(65536 / stretchOf(65536))).toBe(9);
  });
});
