/** Kernels on a GPU have the multiply-adds that expressions are written with, and no others, whatever is stored beside. */
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/codegen/cuda/cuda.js';
import { compileCuda } from '../../src/exec/native/native.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { sourceOfKernel } from '../../src/exec/targets/kernel-source.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { type Lazy, placeholder } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';

const kernelsOf = (...results: Lazy[]): Kernel[] =>
  partitionOf(
    results.map(({ expr }) => expr),
    { passes: CUDA_TARGET.passes, last: CUDA_TARGET.wholePasses },
  ).steps.flatMap((step) => (step.kind === 'kernel' ? [step.kernel.kernel] : []));

/** Operations of floats in a kernel's PTX: multiply-adds, and products that an assembler may make one of. */
async function operationsOf(kernel: Kernel): Promise<{ readonly adds: number; readonly open: number }> {
  const { text, options } = sourceOfKernel(kernel, DEFAULT_LIMITS);
  const { image } = await compileCuda(text, [...options, '--gpu-architecture=compute_90']);
  const ptx = Buffer.from(image).toString('latin1');
  const count = (pattern: RegExp): number => ptx.match(pattern)?.length ?? 0;
  return { adds: count(/\bfma\.rn\.f(32|64)/g), open: count(/\bmul\.f(32|64)/g) };
}

it.skipIf(withoutNvrtc)(`lets no compiler contract a product${whyNoNvrtc}`, async () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const [x, y, z] = [1, 2, 3].map(() => placeholder([1000, 100], dtype)) as [Lazy, Lazy, Lazy];
    const product = x.mul(y);
    const shifted = product.sub(product.max(0, { keepdims: true }));
    const rest = product.sub(z);
    for (const results of [[shifted], [shifted, product], [rest], [rest, product], [product.sum(1)]])
      for (const kernel of kernelsOf(...results))
        expect(await operationsOf(kernel)).toEqual({ adds: 0, open: 0 });
  }
});

it.skipIf(withoutNvrtc)(`has the multiply-adds that are written${whyNoNvrtc}`, async () => {
  const x = placeholder([1000, 1], 'float32');
  let value = x;
  for (let k = 0; k < 7; k++) value = value.mul(x).add(k);
  const [kernel] = kernelsOf(value);
  const { adds, open } = await operationsOf(kernel!);
  expect(open).toBe(0);
  expect(adds % 7).toBe(0);
  expect(adds).toBeGreaterThan(0);
});

it.skipIf(withoutNvrtc)(`sums products of pairs by multiply-adds${whyNoNvrtc}`, async () => {
  for (const length of [3, 64]) {
    const [a, b] = [placeholder([4000, 1, length], 'float32'), placeholder([1, 3000, length], 'float32')];
    const [kernel] = kernelsOf(a.sub(b).square().sum(2));
    const { adds, open } = await operationsOf(kernel!);
    expect(adds).toBeGreaterThan(16);
    expect(open).toBe(0);
  }
});

// Written out in another kernel, such a sum is of multiply-adds, too.
it.skipIf(withoutNvrtc)(
  `sums products so that all elements of a row share, or all columns${whyNoNvrtc}`,
  async () => {
    const row = placeholder([5000, 1], 'float32').broadcastTo([5000, 100]);
    const [a, b] = [placeholder([400, 1, 64], 'float32'), placeholder([1, 300, 64], 'float32')];
    const own = a.broadcastTo([400, 300, 64]).square().sum(2);
    for (const kernel of kernelsOf(row.square().sum(1), a.sub(b).square().sum(2), own))
      expect((await operationsOf(kernel)).adds).toBeGreaterThan(0);
  },
);
