/**
 * Generated CUDA C computes what the kernel says: every case is run and compared with the kernel interpreter. Sums are compared with a bound that a straight float32 sum of the same data would exceed.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { cudaKernel, type Schedule } from '../../src/codegen/cuda.js';
import { type DType, isHalf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { type CudaCase, runCudaCases } from '../support/cuda-runner.js';
import { allocate } from '../support/host.js';
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
});
