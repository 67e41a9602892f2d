/**
 * Products whose batches no single stride describes, or whose operands run backwards: in calls of cuBLAS where the
 * operands lie, or after the copies that take less time, as `explain()` says.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { CUDA_PRODUCTS } from '../../src/exec/calls/products/cuda-products.js';
import { clearPrograms } from '../../src/exec/run/program.js';
import {
  type DType,
  type EinsumOptions,
  type Explanation,
  einsum,
  type Lazy,
  lazy,
  placeholder,
} from '../../src/index.js';
import { largest, parts, ROUNDED, stored } from '../support/epilogue-forms.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const device = 'cuda';
const p = (...shape: number[]): Lazy<'float32'> => placeholder(shape, 'float32');
const halves = (...shape: number[]): Lazy<'float16'> => placeholder(shape, 'float16');
const CUBLAS = { library: 'cublas' } as const;
/** Of small products copies take less time than calls: here they are made dear. */
const COSTS = CUDA_PRODUCTS.calls! as { copySeconds: number };
const { copySeconds } = COSTS;
const BACK = [null, null, -1] as const;

/** Calls of libraries and kernels of a run. */
async function callsOf(x: Lazy, memory?: number) {
  setFaults([]);
  const found = await x.compute(memory === undefined ? { device } : { device, memory });
  const { counts } = describeSimulator();
  const of = (...names: string[]): number => names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  return {
    products: of('cublasGemmEx', 'cublasGemmStridedBatchedEx', 'cublasLtMatmul'),
    kernels: of('cuLaunchKernel'),
    x: await parts(lazy(found)),
  };
}

async function errorOf(x: readonly number[], built: Lazy): Promise<number> {
  const wanted = await parts(built);
  return largest(x.map((value, k) => value - wanted[k]!)) / largest(wanted);
}

const stepsOf = (found: Explanation): string[] =>
  found.steps.map(({ name, bytesWritten }) => (name === 'map_copy' ? `copy ${bytesWritten}` : name));
const choicesOf = (found: Explanation): string =>
  found.passes.flatMap(({ choices }) => choices.map(({ reason }) => reason)).join('; ');

afterEach(() => {
  COSTS.copySeconds = copySeconds;
  clearPrograms();
  setFaults([]);
  expect(takeProblems()).toEqual([]);
});

describe('products of many rows by few columns, or few rows by many columns', () => {
  it('are a kernel, about as fast as memory gives the long side, where cuBLAS is slower', () => {
    const stepsOfProduct = (rows: number, columns: number, terms = 1024): string[] =>
      stepsOf(p(rows, terms).matmul(p(terms, columns)).add(1).explain({ device }));
    for (const [rows, columns] of [
      [16384, 16],
      [16384, 32],
      [16384, 4],
      [4096, 16],
      [16, 16384],
    ] as const)
      expect(stepsOfProduct(rows, columns)).toEqual([
        Math.min(rows, columns) > 8 ? 'reduce_term_product_sum_add' : 'reduce_multiply_sum_add',
      ]);
    // More columns, fewer rows, fewer terms, or more than rows.
    for (const [rows, columns, terms] of [
      [16384, 33, 1024],
      [65536, 32, 512],
      [4096, 16, 16384],
      [4000, 16, 1024],
      [16384, 16, 128],
    ] as const)
      expect(stepsOfProduct(rows, columns, terms)[0]).toBe('matmul');
    // cuBLAS is faster on rows that lie apart, of more than 16 columns.
    const apart = p(1024, 16384).mT.matmul(p(1024, 32)).explain({ device });
    expect(stepsOf(apart)).toEqual(['matmul']);
  });
});

describe('attention with heads behind positions', () => {
  it.each(Object.keys(ROUNDED) as DType[])('is a call for each of its batches, of %s', async (dtype) => {
    COSTS.copySeconds = 1;
    const [q, k] = [await stored([2, 33, 3, 8], 1, dtype), await stored([2, 40, 3, 8], 2, dtype)];
    const scores = (options: EinsumOptions): Lazy => einsum('bqhd,bkhd->bhqk', q, k, options);
    const found = await callsOf(scores(CUBLAS));
    expect({ products: found.products, kernels: found.kernels }).toEqual({ products: 2, kernels: 0 });
    expect(await errorOf(found.x, scores({}))).toBeLessThan(ROUNDED[dtype]!);
    const weights = await stored([2, 3, 33, 40], 3, dtype);
    const v = await stored([2, 40, 3, 33], 4, dtype);
    const values = (options: EinsumOptions): Lazy => einsum('bhqk,bkhd->bqhd', weights, v, options);
    const second = await callsOf(values(CUBLAS));
    expect({ products: second.products, kernels: second.kernels }).toEqual({ products: 2, kernels: 0 });
    expect(await errorOf(second.x, values({}))).toBeLessThan(ROUNDED[dtype]!);
  });

  it('has its factor, addend and bias in the calls', async () => {
    COSTS.copySeconds = 1;
    const [q, k] = [await stored([2, 33, 3, 8], 1, 'float32'), await stored([2, 40, 3, 8], 2, 'float32')];
    const [mask, row] = [await stored([2, 3, 33, 40], 3, 'float32'), await stored([40], 4, 'float32')];
    const built = (options: EinsumOptions): Lazy =>
      einsum('bqhd,bkhd->bhqk', q, k, options).mul(0.5).add(mask).add(row);
    const found = await callsOf(built(CUBLAS));
    expect({ products: found.products, kernels: found.kernels }).toEqual({ products: 2, kernels: 0 });
    expect(await errorOf(found.x, built({}))).toBeLessThan(ROUNDED.float32!);
  });

  it.each([
    [6, 3],
    [3, 6],
  ])('is computed batch by batch within a budget, of %i batches of %i heads', async (b, h) => {
    const [q, k] = [await stored([b, 65, h, 64], 1, 'float32'), await stored([b, 64, h, 64], 2, 'float32')];
    const built = (options: EinsumOptions): Lazy => einsum('bqhd,bkhd->bhqk', q, k, options);
    clearPrograms();
    const { x } = await callsOf(built(CUBLAS), 700_000);
    expect(await errorOf(x, built({}))).toBeLessThan(ROUNDED.float32!);
    const found = built(CUBLAS).explain({ device, memory: 700_000 });
    expect(found.peakBytes).toBeLessThan(700_000);
  });

  it('says how many calls it is, and why', () => {
    const q = placeholder([2, 2048, 32, 128], 'bfloat16');
    const found = einsum('bqhd,bkhd->bhqk', q, q).explain({ device });
    expect(stepsOf(found)).toEqual(['matmul']);
    expect(choicesOf(found)).toMatch(
      /^in 2 calls, without the copies of 64.00 MiB that a single one needs: /,
    );
    expect(String(found)).toContain(
      'matmul of 2 x 32 x (2048, 128) @ (128, 2048) bfloat16, computed in float32 sums of exact products, in 2 calls',
    );
  });

  it('is one call after copies in float32, which cuBLAS multiplies faster so', () => {
    const found = einsum('bqhd,bkhd->bhqk', p(8, 1024, 16, 64), p(8, 1024, 16, 64)).explain({ device });
    expect(stepsOf(found)).toEqual(['copy 33554432', 'copy 33554432', 'matmul']);
    expect(choicesOf(found)).toMatch(/^after copies of 64.00 MiB: .*; 8 calls would take .* more$/);
  });

  it('is one call after copies where batches are many and small, which explain says', () => {
    const x = placeholder([64, 16, 64, 32], 'bfloat16');
    const found = einsum('abcd,aecd->acbe', x, x).explain({ device });
    expect(stepsOf(found)).toEqual(['copy 8388608', 'matmul']);
    expect(choicesOf(found)).toMatch(/calls would take/);
  });
});

describe('operands that run backwards', () => {
  it.each<[string, () => Lazy, readonly string[]]>([
    [
      'along the summed axis in both',
      () => p(64, 64).slice(null, BACK).matmul(p(64, 64).slice(BACK)),
      ['matmul'],
    ],
    [
      'along the summed axis of the larger: the smaller is copied',
      () => p(512, 64).slice(null, BACK).matmul(p(64, 64)),
      ['copy 16384', 'matmul'],
    ],
    [
      'along rows of an operand that is larger than the result: the result is reversed',
      () => p(512, 2048).slice(BACK).matmul(p(2048, 64)),
      ['matmul', 'copy 131072'],
    ],
    [
      'along batches: calls of a matrix each',
      () =>
        halves(3, 16384, 512)
          .slice(BACK)
          .matmul(halves(3, 512, 4096)),
      ['matmul'],
    ],
  ])('%s', (_, build, steps) => {
    expect(stepsOf(build().explain({ device }))).toEqual(steps);
  });

  it('have the values of copies', async () => {
    const [a, b, c] = [
      await stored([3, 70, 40], 1, 'float32'),
      await stored([3, 40, 66], 2, 'float32'),
      await stored([40, 66], 3, 'float32'),
    ];
    for (const built of [
      a.slice(BACK).matmul(b),
      a.slice(null, BACK).matmul(b),
      a.slice(null, null, BACK).matmul(b),
      a.slice(null, null, BACK).matmul(b.slice(null, BACK)),
      a.slice(BACK, BACK, BACK).matmul(c.slice(BACK, BACK)),
      a.slice(null, [null, null, 2]).matmul(b.slice(null, null, [null, null, -2])),
    ]) {
      const { x } = await callsOf(built);
      expect(await errorOf(x, built)).toBeLessThan(ROUNDED.float32!);
    }
  });
});

describe('operands of which neither rows nor columns lie side by side', () => {
  const EVERY_OTHER = [null, null, 2] as const;
  const stepped = (n: number, dtype: DType): Lazy =>
    placeholder([2 * n, 2 * n], dtype).slice(EVERY_OTHER, EVERY_OTHER);

  it('are gathered into a copy where arithmetic is most of the work, which explain says with its bytes', () => {
    const found = stepped(1024, 'float32').matmul(p(1024, 1024)).explain({ device });
    expect(stepsOf(found)).toEqual(['copy 4194304', 'matmul']);
    expect(choicesOf(found)).toMatch(/^after copies of 4.00 MiB: .* that cuTENSOR multiplies longer$/);
  });

  it('are read where they lie by cuTENSOR where the copy is', () => {
    const found = stepped(4096, 'float64')
      .matmul(placeholder([4096, 96], 'float64'))
      .explain({ device });
    expect(found.steps.map(({ name }) => name)).toEqual(['contraction']);
    expect(choicesOf(found)).toMatch(/^without the copies of 128.00 MiB that a matrix product needs: /);
  });

  it('are copied of a dtype that cuTENSOR has of some layouts only', () => {
    const found = stepped(1024, 'bfloat16')
      .matmul(placeholder([1024, 96], 'bfloat16'))
      .explain({ device });
    expect(stepsOf(found)).toEqual(['copy 2097152', 'matmul']);
    expect(choicesOf(found)).toBe(
      'after copies of 2.00 MiB: cuTENSOR has bfloat16 of some layouts only, and is used where it is asked for',
    );
  });

  it('have the values of copies by each library', async () => {
    const [a, b] = [await stored([70, 66], 1, 'float32'), await stored([33, 40], 2, 'float32')];
    for (const library of ['cublas', 'cutensor'] as const) {
      const built = (options: EinsumOptions): Lazy =>
        einsum('ij,jk->ik', a.slice(EVERY_OTHER, EVERY_OTHER), b, options);
      const { x } = await callsOf(built({ library }));
      expect(await errorOf(x, built({}))).toBeLessThan(ROUNDED.float32!);
    }
  });
});
