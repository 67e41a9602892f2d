/** Programs as people write them in NumPy, and the tests of how many kernels they are and the bytes that these move. */
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import type { Reason } from '../../src/fusion/partition/union.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { type DType, type Lazy, placeholder } from '../../src/index.js';
import { partitionOf } from './graphs.js';

export const x = (shape: readonly number[], dtype: DType = 'float32'): Lazy => placeholder(shape, { dtype });

export interface Program {
  readonly inputs: readonly Lazy[];
  readonly build: (...inputs: Lazy[]) => Lazy | Lazy[];
  /** One, unless said. */
  readonly kernels?: number;
  /** On a GPU, where sums with products are less arithmetic. */
  readonly kernelsOnGpu?: number;
  /** Bytes that kernels move, by those of inputs and results; 1.05 at most unless there is a reason. */
  readonly moved?: number;
  /** Why values are stored and arrays are read twice, where that is asserted. */
  readonly reasons?: readonly Reason[];
}

export const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

/** Tests of programs, on the CPU and on a GPU. */
export function describePrograms(programs: Readonly<Record<string, Program>>): void {
  describe.each([
    ['the CPU', CPU_TARGET],
    ['CUDA', CUDA_TARGET],
  ])('on %s', (_, { passes, wholePasses }) => {
    it.each(Object.entries(programs))('%s', (_, program) => {
      const { inputs, build, kernels = 1, kernelsOnGpu = kernels, moved = 1.05, reasons } = program;
      const results = [build(...inputs)].flat();
      const { steps, edges, sharedReads } = partitionOf(
        results.map(({ expr }) => expr),
        { passes, last: wholePasses },
      );
      let bytes = 0;
      for (const step of steps) {
        if (step.kind !== 'kernel') throw new Error(`a ${step.kind}`);
        const { bytesRead, bytesWritten } = trafficOf(step.kernel.kernel);
        bytes += bytesRead + bytesWritten;
      }
      if (reasons !== undefined) {
        const found = [...edges(), ...sharedReads()].map(({ reason }) => reason);
        expect(new Set(found)).toEqual(new Set(reasons));
      }
      expect(steps).toHaveLength(passes === CUDA_TARGET.passes ? kernelsOnGpu : kernels);
      expect(bytes).toBeLessThanOrEqual(moved * bytesOf([...inputs, ...results]));
    });
  });
}
