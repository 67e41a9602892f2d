/** The estimate that panels of products are chosen by. */
import { describe, expect, it } from 'vitest';
import { panelSeconds } from '../../src/exec/calls/products/product-cost.js';
import type { MatmulStep } from '../../src/exec/calls/products/product-steps.js';

const n = 16384;
const operand = { buffer: 0, offset: 0, batchStride: 0, rowStride: n, columnStride: 1 };
const product = (dtype: MatmulStep['dtype']): MatmulStep => ({
  kind: 'call',
  call: 'matmul',
  nodes: [],
  dtype,
  precision: undefined,
  batch: 1,
  m: n,
  n,
  k: n,
  a: operand,
  b: operand,
  c: operand,
});

/** In `columns` passes over the rows. */
const seconds = (dtype: MatmulStep['dtype'], rows: number, columns: number): number => {
  const size = dtype === 'float32' ? 4 : 2;
  const work = {
    rows,
    columns,
    tiles: Math.ceil(n / rows) * Math.ceil(n / columns),
    bytes: (Math.ceil(n / columns) + 2) * n * n * size,
    firstBytes: (rows + columns) * n * size,
    lastBytes: rows * columns * size,
  };
  return panelSeconds(product(dtype), work, 132);
};

describe('the time of a product by panels', () => {
  it('is less where its tiles keep all multiprocessors busy', () => {
    // 8 × 32 blocks are 2 rounds of 132 nearly full; 5 × 32 are 2 rounds, too.
    expect(seconds('float32', 1024, 4096)).toBeLessThan(0.85 * seconds('float32', 640, 4096));
  });

  it('counts what waits for the first panels', () => {
    expect(seconds('float32', 1024, 4096)).toBeLessThan(seconds('float32', 1024, 8192));
  });

  it('is that of the copies where arithmetic is faster', () => {
    expect(seconds('bfloat16', 1024, 4096)).toBeGreaterThan(seconds('bfloat16', 1024, 8192));
  });
});
