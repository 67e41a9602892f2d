/** Products that may multiply in less than their dtype's precision: what is kept of it, and what is not. */
import { afterEach, describe, expect, it } from 'vitest';
import { Lazy } from '../../src/api/lazy.js';
import { contract } from '../../src/graph/infer.js';
import { lazy, placeholder } from '../../src/index.js';
import { precisionErrors } from '../devices/precision-errors.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const N = 16;

/** Of float32's 24 bits, TF32 keeps 11: 1 + 2⁻¹¹ is halfway between two of its numbers, and even is 1. */
const FINE = 1 + 2 ** -11 + 2 ** -20;
const TIE = 1 + 2 ** -11;

const product = (a: Lazy, b: Lazy, precision?: 'tf32'): Lazy =>
  new Lazy(
    contract(
      'matmul',
      [
        [0, 1],
        [1, 2],
      ],
      [0, 2],
      [a.expr, b.expr],
      { precision },
    ),
  );
/** A precision that passes give, not users. */
const STRETCHED = 'tf32-stretched' as string as 'tf32';
/** As many results as three products are made for. */
const LARGE = [2048, 2048] as const;
/** The steps of a product of an array and its transpose. */
function explained(rows: number, k: number): string {
  const x = placeholder([rows, k], { dtype: 'float32' });
  return String(x.matmul(x.mT, { precision: 'tf32x3' }).explain({ device: 'cuda' }));
}
const matrix = (value: number): Lazy => lazy({ data: new Float32Array(N * N).fill(value), shape: [N, N] });
const identity = lazy({
  data: Float32Array.from({ length: N * N }, (_, k) => (k % (N + 1) === 0 ? 1 : 0)),
  shape: [N, N],
});

afterEach(() => expect(takeProblems()).toEqual([]));

describe('a product in TF32', () => {
  it('rounds its factors to 10 bits of mantissa, ties to even', async () => {
    const first = async (value: number): Promise<number> =>
      (await product(matrix(value), identity, 'tf32').compute({ device: 'cuda' })).data[0] as number;
    expect(await first(FINE)).toBe(1 + 2 ** -10);
    expect(await first(TIE)).toBe(1);
    expect(await first(1 + 2 ** -10)).toBe(1 + 2 ** -10);
  });

  it('is another program than the full product of the same operands', async () => {
    const a = matrix(FINE);
    const full = await product(a, identity).compute({ device: 'cuda' });
    expect(full.data[0]).toBe(Math.fround(FINE));
    const both = await product(a, identity)
      .add(product(a, identity, 'tf32'))
      .compute({ device: 'cuda' });
    expect(both.data[0]).toBe(Math.fround(Math.fround(FINE) + 1 + 2 ** -10));
  });

  it('is computed in full on the CPU, which explain() says', async () => {
    const own = product(matrix(FINE), identity, 'tf32');
    expect((await own.compute({ device: 'cpu' })).data[0]).toBe(Math.fround(FINE));
    expect(String(await own.explain({ device: 'cpu' }))).toContain(
      'which has more than the tf32 that is allowed',
    );
    expect(String(await own.explain({ device: 'cuda' }))).toContain(
      'tf32 (factors of 10 bits, float32 sums), as allowed',
    );
  });

  it('in three products of split factors has errors of a few units of float32', async () => {
    const { errors } = await precisionErrors('cuda', LARGE, 2, 2 ** 50);
    expect(errors.tf32x3).toBeLessThan(5e-7);
    expect(errors.tf32).toBeGreaterThan(50 * errors.tf32x3);
  });

  it('is computed in float32 where three products would be less exact, which explain() says', async () => {
    const { errors } = await precisionErrors('cuda', [32, 32], 256, 1);
    expect(errors.tf32x3).toBe(errors.float32);
    const x = matrix(FINE);
    const text = String(x.matmul(x.mT, { precision: 'tf32x3' }).explain({ device: 'cuda' }));
    expect(text.match(/^step \d+: /gm)).toHaveLength(1);
    expect(text).toContain('computed in full float32');
  });

  it('in three products keeps infinities, NaN, zeros and the largest factors', async () => {
    const values = [
      0,
      -0,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      3e38,
      2 ** -130,
      FINE,
    ];
    const [rows, columns] = LARGE;
    const data = Float32Array.from({ length: rows * 2 }, (_, k) => (k % 2 === 0 ? values[(k / 2) % 8]! : 0));
    // The first column of the product is that of the factor: no sum adds to it, and NaN comes of infinities alone.
    const ones = lazy({ data: new Float32Array(2 * columns).fill(1), shape: [2, columns] });
    const x = lazy({ data, shape: [rows, 2] });
    const result = (await x.matmul(ones, { precision: 'tf32x3' }).compute({ device: 'cuda' })).data;
    for (const [k, value] of values.entries())
      expect(result[k * columns], `${value}`).toBe(value === 0 ? 0 : Math.fround(value));
  });

  it('splits a factor once that stands twice, and is three calls', async () => {
    const text = explained(2048, 256);
    expect(text.match(/^step \d+: /gm)).toHaveLength(5);
    expect(text.match(/^step \d+: matmul/gm)).toHaveLength(3);
    expect(text).toMatch(/contract \S+ in tf32x3/);
  });

  it('adds up the long sums of its first product in stretches', () => {
    const text = explained(2048, 8192);
    expect(text.match(/^step \d+: matmul/gm)).toHaveLength(3);
    expect(text.match(/in stretches of 2752/g)).toHaveLength(1);
    expect(text.match(/^step \d+: /gm)).toHaveLength(5);
  });

  it('adds up stretches of products as their whole', async () => {
    const [rows, k] = [24, 1000];
    const numbers = (count: number, factor: number): Float32Array =>
      Float32Array.from({ length: count }, (_, i) => ((i * factor) % 17) - 8);
    const a = lazy({ data: numbers(rows * k, 7), shape: [2, rows, k / 2] });
    const b = lazy({ data: numbers(rows * k, 5), shape: [2, k / 2, rows] });
    const inStretches = new Lazy(
      contract(
        'matmul',
        [
          [0, 1, 2],
          [0, 2, 3],
        ],
        [0, 1, 3],
        [a.tile([1, 1, 2]).expr, b.tile([1, 2, 1]).expr],
        { precision: STRETCHED },
      ),
    );
    setFaults([]);
    const found = await inStretches.compute({ device: 'cuda' });
    expect(describeSimulator().counts.cublasGemmStridedBatchedEx).toBe(2);
    expect(found.data).toEqual((await a.matmul(b).mul(2).compute({ device: 'cpu' })).data);
  });

  it('refuses dtypes that have no such units', () => {
    const half = matrix(1).astype('float16');
    expect(() => product(half, half, 'tf32')).toThrow(
      "[matmul] expected float32 or complex64 for precision 'tf32': float16",
    );
  });
});
