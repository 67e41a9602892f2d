/**
 * Generated CUDA C computes what the kernel says: every case is run and compared with the kernel interpreter. Sums are compared with a bound that a straight float32 sum of the same data would exceed.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { cudaKernel, type Schedule } from '../../src/codegen/cuda.js';
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

  it('gives the bits of the ops where pairs are computed in near forms', async () => {
    const [rows, columns] = [300, 520];
    const pairs = (b: KernelBuilder) => {
      const product = b.map('multiply', b.load('float32', [1, 0]), b.load('float32', [0, 1]));
      return { exp: b.map('exp', product), root: b.map('sqrt', b.map('abs', product)) };
    };
    const together = new KernelBuilder([rows], [columns]);
    const { exp, root } = pairs(together);
    const reduced = together
      .store(together.reduce('max', exp))
      .store(together.reduce('min', exp))
      .store(together.reduce('max', root))
      .store(together.reduce('min', root))
      .build('reduced');
    const apart = new KernelBuilder([rows, columns]);
    const all = pairs(apart);
    const mapped = apart.store(all.exp).store(all.root).build('mapped');

    const x = randomValues('float32', [rows], 1, -2, 2).data as Float32Array;
    // Ordinary at first; then up to results that are subnormal, zero or infinite; and at last what has no end.
    const y = Float32Array.from({ length: columns }, (_, j) =>
      j < 200 ? j / 10 + 0.01 : (j - 200) / 5 + 0.01,
    );
    y.set([0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], columns - 4);
    for (const [name, last] of [
      ['ordinary', 200],
      ['far', columns - 4],
      ['any', columns],
    ] as const) {
      const to = y.map((value, j) => (j < last ? value : 1));
      const [some, every] = await runCudaCases(
        [reduced, mapped].map((kernel) => ({
          kernel,
          cuda: cudaKernel(kernel),
          inputs: kernel.buffers.map(({ role }, k) => (role === 'input' ? [x, to][k] : undefined)),
        })),
      );
      const values = every!.slice(2) as Float32Array[];
      const wanted = values.flatMap((of) =>
        [Math.max, Math.min].map((pick) =>
          Float32Array.from({ length: rows }, (_, i) => pick(...of.subarray(i * columns, (i + 1) * columns))),
        ),
      );
      expect(some!.slice(2), name).toEqual(wanted);
    }
    expect(cudaKernel(reduced).source).toMatch(/weft_near_exp\(.*weft_near_sqrt_hidden\(/s);
    expect(cudaKernel(mapped).source).not.toMatch(/weft_near/);
  });
});
