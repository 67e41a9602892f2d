/** Kernels that a compiler may take for ever over: they compile with the real NVRTC, where it is found. */
import { describe, expect, it } from 'vitest';
import { cudaKernel, KERNEL_OPTIONS } from '../../src/codegen/cuda/cuda.js';
import { compileCuda } from '../../src/exec/native/native.js';
import { partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { lazy, stack } from '../../src/index.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';

describe.skipIf(withoutNvrtc)(`NVRTC${whyNoNvrtc}`, () => {
  it('compiles statistics of stacked integer quotients in seconds', async () => {
    const date = lazy(new BigInt64Array(4096));
    const delay = lazy(new Int32Array(4096));
    const hour = date.floorDivide(3_600n).remainder(24n);
    const weekday = date.floorDivide(86_400n).add(3n).remainder(7n);
    const columns = stack([delay, delay.mul(2), hour, weekday].map((column) => column.astype('float32')));
    const results = [columns.mean(1), columns.std(1), columns];
    const graph = runPasses(canonicalize(results.map(({ expr }) => expr)).graph);
    for (const step of partition(graph).steps) {
      if (step.kind !== 'kernel') continue;
      const { source } = cudaKernel(step.kernel.kernel);
      const { image } = await compileCuda(source, [...KERNEL_OPTIONS, '--gpu-architecture=sm_90']);
      expect(image.byteLength).toBeGreaterThan(0);
    }
  }, 30_000);

  it('compiles a thousand steps, a third of them sines, in seconds', async () => {
    let y = lazy(new Float32Array(512));
    for (let k = 0; k < 1000; k++) y = k % 3 === 0 ? y.sin() : k % 3 === 1 ? y.abs() : y.mul(0.5);
    const graph = runPasses(canonicalize([y.expr]).graph);
    const kernels = partition(graph).steps.flatMap((step) => (step.kind === 'kernel' ? [step.kernel] : []));
    expect(kernels.length).toBe(1);
    const { source } = cudaKernel(kernels[0]!.kernel);
    expect(source.match(/\breturn weft_sin\(/g)).toHaveLength(1);
    const { image } = await compileCuda(source, [...KERNEL_OPTIONS, '--gpu-architecture=sm_90']);
    expect(image.byteLength).toBeGreaterThan(0);
  }, 30_000);
});
