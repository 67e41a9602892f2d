/** Rates of the machine whose measurement fails are measured again, by the next who asks. */
import { expect, test, vi } from 'vitest';
import { timeTape } from '../../src/exec/native/native.js';
import { cpuRates, measureRates } from '../../src/exec/targets/cpu-probes.js';

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
