/** Kernels are laid out for the threads that run them, with the bits that they have everywhere. */
import { describe, expect, it } from 'vitest';
import { encodeFor, encodeTape, planTape } from '../../src/codegen/cpu/tape.js';
import { layoutFor } from '../../src/codegen/cpu/tape-sum-order.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { inputsOf, randomKernel, runTape } from '../support/tape-runner.js';

function sumOfColumns(rows: number, columns: number): Kernel {
  const b = new KernelBuilder([columns], [rows]);
  return b.store(b.reduce('sum', b.load('float32', [1, columns]))).build();
}
const layoutOf = (source: Kernel, threads: number) => {
  const { kernel, levels } = planTape(source);
  return layoutFor(kernel, levels, threads);
};

describe('a tape for some threads', () => {
  it('has longer rows where two threads share slots of columns', () => {
    const kernel = sumOfColumns(2000, 1000);
    expect(planTape(kernel).blocking).toMatchObject({ width: 256, rows: 64 });
    expect(layoutOf(kernel, 2)).toMatchObject({ width: 1000, rows: 16 });
    expect(encodeFor(kernel, 2).words).not.toEqual(encodeTape(kernel).words);
  });

  it('is that of all kernels by as many threads as decide the order of sums, and of small ones', () => {
    const [large, small] = [sumOfColumns(2000, 1000), sumOfColumns(200, 100)];
    expect(encodeFor(large, 16).words).toEqual(encodeTape(large).words);
    expect(encodeFor(large, 64).words).toEqual(encodeTape(large).words);
    expect(encodeFor(small, 2).words).toEqual(encodeTape(small).words);
  });

  it('gives the same bits', async () => {
    const native = await nativeWith({ WEFT_THREADS: '2' });
    const kernels = [
      ...[500, 1000, 1001, 3000].map((columns) => sumOfColumns(2000, columns)),
      ...Array.from({ length: 40 }, (_, seed) => randomKernel(seed)),
    ];
    let others = 0;
    for (const [k, kernel] of kernels.entries()) {
      const inputs = inputsOf(kernel, k).map((input) =>
        input instanceof Float32Array ? input.map((value, at) => value / ((at % 7) + 3)) : input,
      );
      const wanted = await runTape(native, kernel, inputs);
      for (const threads of [1, 2, 5]) {
        const blocking = layoutOf(kernel, threads);
        if (blocking === undefined) continue;
        others++;
        expect(await runTape(native, kernel, inputs, blocking)).toEqual(wanted);
      }
    }
    expect(others).toBeGreaterThan(3);
  });
});
