/** Programs as people write them in NumPy: how many kernels they are, and the bytes that these move. */
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { type DType, type Lazy, placeholder } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';

const x = (shape: readonly number[], dtype: DType = 'float32'): Lazy => placeholder(shape, { dtype });

interface Program {
  readonly inputs: readonly Lazy[];
  readonly build: (...inputs: Lazy[]) => Lazy | Lazy[];
  readonly kernels: number;
  /** Bytes that kernels move, by those of inputs and results; 1.05 at most unless there is a reason. */
  readonly moved?: number;
}

/** The inner part of a field after a step of diffusion; the border stays. */
function diffused(u: Lazy): Lazy {
  const inner = u.slice([1, -1], [1, -1]);
  const around = u
    .slice([0, -2], [1, -1])
    .add(u.slice([2, null], [1, -1]))
    .add(u.slice([1, -1], [0, -2]))
    .add(u.slice([1, -1], [2, null]));
  return u.at([1, -1], [1, -1]).set(inner.add(around.sub(inner.mul(4)).mul(0.1)));
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a step of diffusion that is set inside a fixed border': {
    inputs: [x([500, 700])],
    build: (u) => diffused(u!),
    kernels: 1,
  },
  'columns scaled in place, a row of zeros': {
    inputs: [x([500, 700])],
    build: (u) => u!.at(null, [10, 20]).multiply(2).at(0).set(0),
    kernels: 1,
  },
};

const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

describe.each([
  ['the CPU', CPU_TARGET.passes],
  ['CUDA', CUDA_TARGET.passes],
])('on %s', (_, passes) => {
  it.each(Object.entries(PROGRAMS))('%s', (_, { inputs, build, kernels, moved = 1.05 }) => {
    const results = [build(...inputs)].flat();
    const { steps } = partitionOf(
      results.map(({ expr }) => expr),
      { passes },
    );
    let bytes = 0;
    for (const step of steps) {
      if (step.kind !== 'kernel') throw new Error(`a ${step.kind}`);
      const { bytesRead, bytesWritten } = trafficOf(step.kernel.kernel);
      bytes += bytesRead + bytesWritten;
    }
    expect(steps).toHaveLength(kernels);
    expect(bytes).toBeLessThanOrEqual(moved * bytesOf([...inputs, ...results]));
  });
});
