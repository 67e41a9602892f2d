/** Stores of interleaved channels through shared memory, of which a block has only so much. */
import { expect, it } from 'vitest';
import { cudaKernel } from '../../src/codegen/cuda/cuda.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { placeholder, stack } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';

/** The CUDA C of so many results of four channels of float64, of one array of bytes. */
function sourceOf(results: number): string {
  const x = placeholder([1 << 20], 'uint8').astype('float64');
  const outputs = Array.from({ length: results }, (_, k) =>
    stack(
      Array.from({ length: 4 }, (_, channel) => x.add(10 * k + channel)),
      -1,
    ),
  );
  const { steps } = partitionOf(
    outputs.map(({ expr }) => expr),
    { passes: CUDA_TARGET.passes, last: CUDA_TARGET.wholePasses },
  );
  const [step] = steps;
  if (steps.length !== 1 || step?.kind !== 'kernel') throw new Error('not one kernel');
  return cudaKernel(step.kernel.kernel).source;
}

it('go through shared memory as far as there is some', () => {
  const stores = [1, 2, 4].map((results) => sourceOf(results).match(/__shared__/g)?.length);
  expect(stores).toEqual([1, 2, 2]);
});

it.skipIf(withoutNvrtc)(`compile where there is none left${whyNoNvrtc}`, async () => {
  await expectCompiled([sourceOf(4)], 'sm_90');
});
