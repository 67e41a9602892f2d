/** Products of kernels are rounded before they meet a sum, whatever is stored; matrix products are sums of multiply-adds. */
import { expect, it } from 'vitest';
import { cudaKernel, DEFAULT_LIMITS } from '../../src/codegen/cuda/cuda.js';
import { footprintOf } from '../../src/codegen/cuda/footprint.js';
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

/** Operations of floats in a kernel's PTX that are multiply-adds, or that an assembler may make one of: products without a rounding. */
async function multiplyAdds(kernel: Kernel): Promise<number> {
  const { text, options } = sourceOfKernel(kernel, DEFAULT_LIMITS);
  const { image } = await compileCuda(text, [...options, '--gpu-architecture=compute_90']);
  return (
    Buffer.from(image)
      .toString('latin1')
      .match(/\b(fma\.rn|mul)\.f(32|64)/g)?.length ?? 0
  );
}

it.skipIf(withoutNvrtc)(`makes the same of a product beside others and alone${whyNoNvrtc}`, async () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const x = placeholder([1000, 100], dtype);
    const product = x.mul(x);
    const scaled = x.mul(-1.5).add(1);
    const shifted = product.sub(product.max(0, { keepdims: true }));
    for (const results of [
      [shifted],
      [shifted, product],
      [scaled],
      [product.sum(1)],
      [product.sum(1), product],
    ])
      for (const kernel of kernelsOf(...results)) expect(await multiplyAdds(kernel)).toBe(0);
  }
});

it.skipIf(withoutNvrtc)(`sums products of pairs by multiply-adds${whyNoNvrtc}`, async () => {
  const [a, b] = [placeholder([4000, 1, 64], 'float32'), placeholder([1, 3000, 64], 'float32')];
  const [kernel] = kernelsOf(a.sub(b).square().sum(2));
  expect(footprintOf(kernel!).schedule.kind).toBe('outer-product');
  expect(cudaKernel(kernel!).source).toContain('= fmaf(');
  expect(await multiplyAdds(kernel!)).toBeGreaterThan(16);
});
