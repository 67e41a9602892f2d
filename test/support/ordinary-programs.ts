/** Programs as people write them in NumPy, and the tests of how many kernels they are and the bytes that these move. */
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { type DType, type Lazy, placeholder } from '../../src/index.js';
import { partitionOf } from './graphs.js';

export const x = (shape: readonly number[], dtype: DType = 'float32'): Lazy => placeholder(shape, { dtype });

export interface Program {
  readonly inputs: readonly Lazy[];
  readonly build: (...inputs: Lazy[]) => Lazy | Lazy[];
  /** One, unless said. */
  readonly kernels?: number;
  /** Bytes that kernels move, by those of inputs and results; 1.05 at most unless there is a reason. */
  readonly moved?: number;
}

export const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

/** Tests of programs, on the CPU and on a GPU. */
export function describePrograms(programs: Readonly<Record<string, Program>>): void {
  describe.each([
    ['the CPU', CPU_TARGET.passes],
    ['CUDA', CUDA_TARGET.passes],
  ])('on %s', (_, passes) => {
    it.each(Object.entries(programs))('%s', (_, { inputs, build, kernels = 1, moved = 1.05 }) => {
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
}
