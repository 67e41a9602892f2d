/**
 * Generated CUDA C computes what the kernel says: every case is run and compared with the kernel interpreter.
 * Sums are compared with a bound that a straight float32 sum of the same data would exceed.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { cudaKernel, type Schedule } from '../../src/codegen/cuda/cuda.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { type DType, isHalf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { type CudaCase, runCudaCases } from '../support/cuda-runner.js';
import { allocate } from '../support/host.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { interpretKernel } from '../support/kernel-interpreter.js';
import { randomValues } from '../support/random.js';
import { mismatch, type Tolerance } from '../support/ulp.js';
import { CUDA_CASES } from './cuda-cases.js';

/** Room for functions rounded twice and for the order of sums, which a wrong element would exceed by far. */
const toleranceOf = (dtype: DType): Tolerance => (isHalf(dtype) ? { ulp: 1 } : { ulp: 64, absolute: 1e-5 });

describe('generated CUDA', () => {
  const jobs: CudaCase[] = CUDA_CASES.map(({ kernel, schedule }, seed) => ({
    kernel,
    cuda: cudaKernel(kernel, schedule),
    inputs: kernel.buffers.map(({ role, dtype, elementCount }, k) =>
      role === 'input' ? randomValues(dtype, [elementCount], 97 * seed + k, -2, 3).data : undefined,
    ),
  }));
  let results: TypedArray[][] = [];
  beforeAll(async () => {
    results = await runCudaCases(jobs);
  }, 180_000);

  it.each(CUDA_CASES.map(({ name }, k) => [name, k] as const))('computes %s', (_, k) => {
    const { kernel, inputs } = jobs[k]!;
    const start = kernel.buffers.map(
      ({ dtype, elementCount }, b) => inputs[b] ?? allocate(dtype, elementCount),
    );
    const wanted = interpretKernel(kernel, start);
    kernel.buffers.forEach(({ role, dtype, elementCount }, b) => {
      const got = { dtype, shape: [elementCount], data: results[k]![b]! };
      const want = { dtype, shape: [elementCount], data: wanted[b]! };
      if (role === 'input') expect(got.data).toEqual(inputs[b]);
      else expect(mismatch(got, want, toleranceOf(dtype))).toBeUndefined();
    });
  });

  it('gives the same bits whether a long row is held in shared memory or walked again', async () => {
    const { kernel, schedule } = CUDA_CASES.find(({ name }) => name === 'rows of softmax in shared memory')!;
    if (schedule?.kind !== 'rows') throw new Error('a row schedule');
    const again: Schedule = { ...schedule, held: false, sharedChunks: 0, chunks: 4 };
    const input = randomValues('float32', [kernel.buffers[0]!.elementCount], 5).data;
    const ways = [schedule, again].map((way) => ({
      kernel,
      cuda: cudaKernel(kernel, way),
      inputs: [input, undefined],
    }));
    const [held, walked] = await runCudaCases(ways);
    expect(held![1]).toEqual(walked![1]);
  });

  it('gives the bits of the ops where pairs are computed in fast paths', async () => {
    const [rows, columns] = [300, 520];
    const rootsOf = (b: KernelBuilder): number =>
      b.map('sqrt', b.map('abs', b.map('multiply', b.load('float32', [1, 0]), b.load('float32', [0, 1]))));
    const together = new KernelBuilder([rows], [columns]);
    const roots = rootsOf(together);
    const reduced = together
      .store(together.reduce('max', roots))
      .store(together.reduce('min', roots))
      .build('reduced');
    const apart = new KernelBuilder([rows, columns]);
    const mapped = apart.store(rootsOf(apart)).build('mapped');

    for (const last of [200, columns - 4, columns]) {
      const [extremes, every] = await runOn([reduced, mapped], pointsUpTo(last, rows, columns));
      const all = every![2] as Float32Array;
      const wanted = [Math.max, Math.min].map((pick) =>
        Float32Array.from({ length: rows }, (_, i) => pick(...all.subarray(i * columns, (i + 1) * columns))),
      );
      expect(extremes!.slice(2)).toEqual(wanted);
    }
    expect(cudaKernel(reduced).source).toMatch(/= weft_near_sqrt_hidden\(/);
    expect(cudaKernel(mapped).source).not.toMatch(/weft_near/);
  });

  it('gives a row of a sum of exponentials the same bits whatever other rows meet', async () => {
    const [rows, columns] = [300, 520];
    const reducedBy = (reduction: 'sum' | 'max') => {
      const b = new KernelBuilder([rows], [columns]);
      const exp = b.map('exp', b.map('multiply', b.load('float32', [1, 0]), b.load('float32', [0, 1])));
      return b.store(b.reduce(reduction, exp)).build(reduction);
    };
    const summed = reducedBy('sum');
    expect(cudaKernel(summed).source).toMatch(/= weft_near_exp\(.*= weft_term_exp\(/s);
    expect(cudaKernel(reducedBy('max')).source).not.toMatch(/weft_(near|term)_exp/);
    const sums = async (x: Float32Array, y: Float32Array): Promise<Float32Array> =>
      (await runOn([summed], [x, y]))[0]![2] as Float32Array;
    for (const last of [200, columns - 4, columns]) {
      const [x, y] = pointsUpTo(last, rows, columns);
      const alone = await sums(x, y);
      // In every warp one row whose exponentials are subnormal, infinite or none, among others as they were.
      const isOther = (i: number): boolean => i % 32 === 7;
      const mixed = x.map((value, i) => (isOther(i) ? [-9.7, 1e30, Number.NaN][i % 3]! : value));
      const beside = await sums(mixed, y);
      expect(beside.filter((_, i) => !isOther(i))).toEqual(alone.filter((_, i) => !isOther(i)));
      alone.forEach((sum, i) => {
        const wanted = y.reduce((total, b) => total + Math.exp(Math.fround(x[i]! * b)), 0);
        if (Number.isNaN(wanted)) expect(sum).toBeNaN();
        else if (wanted > 2 ** 127) expect(sum).toBeGreaterThan(2 ** 126);
        else expect(Math.abs(sum - wanted)).toBeLessThanOrEqual(1e-5 * wanted + 2 ** -148);
      });
    }
  });
});

/**
 * Rows and columns whose products are ordinary up to column `last`, then up to where exponentials are
 * subnormal, 0 or infinite, and at last without end.
 */
function pointsUpTo(last: number, rows: number, columns: number): [Float32Array, Float32Array] {
  const x = randomValues('float32', [rows], 1, -2, 2).data as Float32Array;
  const y = Float32Array.from({ length: columns }, (_, j) =>
    j < 200 ? j / 10 + 0.01 : (j - 200) / 5 + 0.01,
  );
  y.set([0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], columns - 4);
  return [x, y.map((value, j) => (j < last ? value : 1))];
}

/** The buffers of each kernel, run on these inputs. */
const runOn = (kernels: readonly Kernel[], inputs: readonly TypedArray[]): Promise<TypedArray[][]> =>
  runCudaCases(
    kernels.map((kernel) => ({
      kernel,
      cuda: cudaKernel(kernel),
      inputs: kernel.buffers.map(({ role }, k) => (role === 'input' ? inputs[k] : undefined)),
    })),
  );
