/** Rates of the machine whose measurement fails are measured again, by the next who asks. */
import { expect, test, vi } from 'vitest';
import { secondsOfTape } from '../../src/codegen/cpu/tape-seconds.js';
import { timeTape } from '../../src/exec/native/native.js';
import { cpuRates, measureRates } from '../../src/exec/targets/cpu-probes.js';
import { KernelBuilder } from '../support/kernel-builder.js';

vi.mock('../../src/exec/native/native.js', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  timeTape: vi.fn(async () => 1e-5),
}));

test('a measurement that failed is tried again', async () => {
  const times = vi.mocked(timeTape);
  times.mockRejectedValueOnce(new Error('no memory'));
  const both = await Promise.allSettled([measureRates([]), measureRates([])]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(times).toHaveBeenCalledTimes(1);
  await measureRates([]);
  const calls = times.mock.calls.length;
  await measureRates([]);
  expect(times).toHaveBeenCalledTimes(calls);
  expect(cpuRates().slowness).toBeGreaterThan(0);
});

test('a kernel of a function that was measured takes as long as then, in as many threads', async () => {
  const builder = new KernelBuilder([1 << 15], []);
  const sine = builder.map('sin', builder.map('abs', builder.load('float32', [1])));
  const kernel = builder.store(builder.map('negative', sine), [1]).build();
  vi.mocked(timeTape).mockResolvedValue(1e-3);
  await measureRates([kernel]);
  expect(secondsOfTape(kernel, { ...cpuRates(), functions: new Map() })).toBeLessThan(1e-3);
  expect(secondsOfTape(kernel, cpuRates())).toBeCloseTo(1e-3, 9);
});

test('functions that are measured at the same time are all kept', async () => {
  const kernels = (['cos', 'exp'] as const).map((op) => {
    const builder = new KernelBuilder([1 << 15], []);
    return builder.store(builder.map(op, builder.load('float32', [1])), [1]).build();
  });
  vi.mocked(timeTape).mockResolvedValue(1e-3);
  await Promise.all(kernels.map((kernel) => measureRates([kernel])));
  const keys = [...cpuRates().functions.keys()].join();
  expect(keys).toContain('cos');
  expect(keys).toContain('exp');
});
