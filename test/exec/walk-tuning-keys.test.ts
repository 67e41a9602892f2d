/** Keys of walks that were measured: those on disk are for all processes, each of which numbers names as it meets them. */
import { expect, test, vi } from 'vitest';
import type { OpName } from '../../src/graph/ops.js';

/** The keys of maps of a transposed array by two ops, as a process has them that met these names before. */
async function keysAfter(names: readonly OpName[]): Promise<readonly string[]> {
  vi.resetModules();
  const { numberOf } = await import('../../src/fusion/passes/hash.js');
  for (const name of names) numberOf(name);
  const { CPU } = await import('../../src/exec/targets/device.js');
  const { CPU_WALKS } = await import('../../src/exec/targets/walk-tuning.js');
  const { KernelBuilder } = await import('../support/kernel-builder.js');
  return (['exp', 'sin'] as const).map((op) => {
    const builder = new KernelBuilder([300, 300]);
    const kernel = builder.store(builder.map(op, builder.load('float32', [1, 300])), [300, 1]).build();
    return JSON.stringify(CPU_WALKS.keyOf(kernel, CPU));
  });
}

test('the same of a kernel in every process, others of other kernels', async () => {
  const keys = await keysAfter(['exp', 'sin']);
  expect(new Set(keys).size).toBe(2);
  expect(await keysAfter(['sin', 'exp'])).toEqual(keys);
  expect(await keysAfter(['tanh', 'cos', 'exp'])).toEqual(keys);
});
