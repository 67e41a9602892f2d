/** Footprints: planning for a GPU knows launches and scratch memory before a line of source is printed. */

import { describe, expect, it, vi } from 'vitest';
import { cudaKernel } from '../../src/codegen/cuda/cuda.js';
import { footprintOf } from '../../src/codegen/cuda/footprint.js';
import { normalize } from '../../src/codegen/cuts/domain.js';
import { type DevicePlan, kernelsOf } from '../../src/exec/plan/plan.js';
import { gpu } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { iterate, lazy, zeros } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { CUDA_CASES } from './cuda-cases.js';

vi.mock('../../src/codegen/cuda/cuda.js', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/codegen/cuda/cuda.js')>();
  return { ...original, cudaKernel: vi.fn(original.cudaKernel) };
});

const kindsOf = ({ steps }: DevicePlan): string[] => steps.map(({ kind }) => kind);

describe('the footprint of a kernel', () => {
  it.each(CUDA_CASES.filter(({ schedule }) => schedule === undefined))(
    'has the launches and the scratch memory of what is printed: $name',
    ({ kernel }) => {
      const { schedule, launches, scratch } = footprintOf(kernel);
      const printed = cudaKernel(kernel, schedule);
      expect(scratch).toEqual(printed.scratch);
      expect(launches).toEqual(printed.launches.map(({ grid, block }) => ({ grid, block })));
    },
  );
});

it('is all that planning for a GPU asks for: nothing is printed', () => {
  vi.mocked(cudaKernel).mockClear();
  const x = lazy(new Float32Array(4096)).reshape([64, 64]);
  const results = [
    x.softmax(1).sum(),
    x.transpose().add(1),
    x.matmul(x).max(0),
    iterate(100, zeros([4096]), (state) => state.mul(0.5).add(1)),
  ];
  expect(planOnDevice(canonicalize(results.map(({ expr }) => expr)), gpu(0), {}).plan.steps).not.toEqual([]);
  const swept = canonicalize([lazy(new Float32Array(2 ** 20)).exp().expr]);
  expect(kindsOf(planOnDevice(swept, gpu(0), { budget: 2 ** 22 }).plan)).toEqual(['sweep']);
  expect(cudaKernel).not.toHaveBeenCalled();
});

it('is chosen once for kernels that differ in constants and buffers alone', () => {
  const results = [2, 3].map((k) =>
    lazy(new Float32Array(2 ** 16).fill(k))
      .mul(k)
      .add(k + 5)
      .exp(),
  );
  const { plan } = planOnDevice(canonicalize(results.map(({ expr }) => expr)), gpu(0), {});
  const kernels = plan.steps.flatMap(kernelsOf);
  const [first, second] = kernels.map((kernel) => footprintOf(kernel));
  expect(kernels).toHaveLength(2);
  expect(second!.schedule).toBe(first!.schedule);
  expect(kernels.map((kernel) => footprintOf(kernel).normal)).toEqual(kernels.map(normalize));
  expect(cudaKernel(kernels[0]!, first!.schedule).source).toBe(
    cudaKernel(kernels[1]!, second!.schedule).source,
  );
});
