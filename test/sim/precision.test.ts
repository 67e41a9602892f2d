/** Products that may multiply in less than their dtype's precision: what is kept of it, and what is not. */
import { afterEach, describe, expect, it } from 'vitest';
import { Lazy } from '../../src/api/lazy.js';
import { clearPrograms } from '../../src/exec/run/program.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import type { Tf32Traits } from '../../src/fusion/passes/lowering-context.js';
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
/** The sizes from which products are split, and their small parts rounded to bfloat16: tests need no large ones. */
const TF32 = CUDA_TARGET.products!.tf32! as { -readonly [Name in keyof Tf32Traits]: number };
const OWN_TF32 = { ...TF32 };
const splitSmall = (sizes: Partial<Tf32Traits> = {}): void => {
  Object.assign(TF32, { leastResults: 1 }, sizes);
};
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

afterEach(() => {
  Object.assign(TF32, OWN_TF32);
  clearPrograms();
  expect(takeProblems()).toEqual([]);
});

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
    splitSmall();
    const { errors } = await precisionErrors('cuda', [128, 128], 2, 2 ** 50);
    expect(errors.tf32x3).toBeLessThan(5e-7);
    expect(errors.tf32).toBeGreaterThan(50 * errors.tf32x3);
  });

  it('of long sums rounds the factors of small products to bfloat16, whose errors average out', async () => {
    splitSmall({ leastNarrowTerms: 1 });
    const [short, long] = [
      await precisionErrors('cuda', [32, 32], 16, 1),
      await precisionErrors('cuda', [32, 32], 4096, 1),
    ];
    expect(short.errors.tf32x3).toBeLessThan(1.5e-6);
    expect(long.errors.tf32x3).toBeLessThan(2 * long.errors.float32 + 1e-7);
    const text = explained(2048, OWN_TF32.leastNarrowTerms);
    expect(text.match(/matmul of .* bfloat16.* to float32, computed in float32 sums of exact/g)).toHaveLength(
      2,
    );
    Object.assign(TF32, OWN_TF32);
    clearPrograms();
    expect(explained(2048, OWN_TF32.leastNarrowTerms - 1)).not.toContain('bfloat16');
  });

  it('is computed in float32 where three products would be less exact, which explain() says', async () => {
    const { errors } = await precisionErrors('cuda', [32, 32], 256, 1);
    expect(errors.tf32x3).toBe(errors.float32);
    const x = matrix(FINE);
    const text = String(x.matmul(x.mT, { precision: 'tf32x3' }).explain({ device: 'cuda' }));
    expect(text.match(/^step \d+: /gm)).toHaveLength(1);
    expect(text).toContain('computed in full float32');
  });

  it.each([
    ['TF32', Number.POSITIVE_INFINITY],
    ['bfloat16', 1],
  ])(
    'in three products, small ones in %s, keeps infinities, NaN, zeros and the largest factors',
    async (_, leastNarrowTerms) => {
      splitSmall({ leastNarrowTerms });
      const values = [
        0,
        -0,
        Number.POSITIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
        Number.NaN,
        3.4e38,
        2 ** -130,
        FINE,
      ];
      const [rows, columns] = [16, 32];
      const data = Float32Array.from({ length: rows * 2 }, (_, k) =>
        k % 2 === 0 ? values[(k / 2) % 8]! : 0,
      );
      // The first column of the product is that of the factor: no sum adds to it, and NaN comes of infinities alone.
      const ones = lazy({ data: new Float32Array(2 * columns).fill(1), shape: [2, columns] });
      const x = lazy({ data, shape: [rows, 2] });
      const result = (await x.matmul(ones, { precision: 'tf32x3' }).compute({ device: 'cuda' })).data;
      const lost = leastNarrowTerms === 1 ? 2 ** -19 : 0; // of a sum of one term
      for (const [k, value] of values.entries()) {
        const found = result[k * columns] as number;
        if (Number.isFinite(value))
          expect(Math.abs(found - Math.fround(value)), `${value}`).toBeLessThanOrEqual(
            lost * Math.abs(value),
          );
        else expect(found, `${value}`).toBe(value);
      }
    },
  );

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
