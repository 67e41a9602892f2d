/**
 * The limit of the process on simulated GPUs: what the devices hold at most, by their own account, whatever
 * runs at a time.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { compile, type Lazy, lazy, limitMemory, MemoryError, memory, ones, trim } from '../../src/index.js';
import { describeSimulator, setDevices, setSchedule, takeProblems } from './simulator.js';

const MIB = 2 ** 20;
setDevices([{ memory: 256 * MIB }, { memory: 256 * MIB }]);

const data = Float32Array.from({ length: MIB / 4 }, (_, i) => (i % 1000) / 1000);
const x = lazy(data, { shape: [1024, 256] });
/** An array and its exponentials are there at a time, 1 MiB each. */
const job = (k: number): Lazy => x.add(k).exp().div(x.add(k).exp().sum(0)).sum(1);

const held = (k: number): number => describeSimulator().devices[k]!.held;
const use = (k: number) => memory().find((one) => one.device === `cuda:${k}`)!;
const many = <T>(make: (k: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: 6 }, (_, k) => make(k)));

/** Bytes that a device has out at most while something runs. */
async function peakOf(k: number, run: () => Promise<unknown>): Promise<number> {
  expect(takeProblems()).toEqual([]);
  await run();
  return describeSimulator().devices[k]!.peak;
}

afterEach(async () => {
  await limitMemory(null, 'cuda:0');
  await limitMemory(null);
  setSchedule({ timing: 'eager', seed: 1 });
});

describe('the limit of the process on a GPU', () => {
  it.each(['eager', 'late', 'random'] as const)(
    'is kept by computes at a time, with %s timing',
    async (timing) => {
      const wanted = await many(async (k) => (await job(k).compute({ device: 'cuda:0' })).data);
      await trim();
      setSchedule({ timing, seed: 3 });
      using stored = await ones([MIB], 'uint8').persist({ device: 'cuda:0' });
      // As a whole, a job would fit into the limit, but not beside what is stored.
      const { peakBytes } = job(1).plan({ device: 'cuda:0' });
      const limit = use(0).inUse + Math.floor(0.75 * peakBytes);
      expect(peakBytes).toBeLessThan(limit);
      await limitMemory(limit, 'cuda:0');
      let results: unknown;
      const peak = await peakOf(0, async () => {
        results = await many(async (k) => (await job(k).compute({ device: 'cuda:0' })).data);
      });
      expect(results).toEqual(wanted);
      expect([stored.size, use(0).limit]).toEqual([MIB, limit]);
      expect(peak).toBeLessThanOrEqual(limit);
      expect(held(0)).toBeLessThanOrEqual(limit);
      expect(use(1)?.limit).toBeUndefined();
    },
  );

  it('is kept by compiled functions that leave their results there', async () => {
    const f = compile((a: Lazy, k: Lazy) => a.add(k).exp(), { device: 'cuda:0' });
    using a = await x.persist({ device: 'cuda:0' });
    const limit = use(0).inUse + 2 * MIB + 4096;
    await limitMemory(limit, 'cuda:0');
    const peak = await peakOf(0, async () => {
      for (let k = 0; k < 6; k++) {
        using y = await f.persist(a, new Float32Array([k]));
        expect((await y.sum().compute()).dtype).toBe('float32');
      }
    });
    expect(peak).toBeLessThanOrEqual(limit);
    using _one = await f.persist(a, [1]);
    using _two = await f.persist(a, new Float32Array([2])).catch(() => ones([0]));
    expect(use(0).inUse).toBeLessThanOrEqual(limit);
  });

  it('holds for each of several devices', async () => {
    const y = lazy(Float32Array.from({ length: MIB }, (_, i) => i % 7)).reshape([4096, 256]);
    const whole = y.sub(y.mean(0)).sum(1);
    const wanted = (await whole.compute({ device: 'cuda:0' })).data;
    await trim();
    const limit = 2 * MIB + Math.max(use(0).inUse, use(1)?.inUse ?? 0);
    await limitMemory(limit);
    let result: unknown;
    const peak = await peakOf(1, async () => {
      result = (await whole.compute({ devices: ['cuda:0', 'cuda:1'] })).data;
    });
    expect(result).toEqual(wanted);
    expect(Math.max(peak, describeSimulator().devices[0]!.peak)).toBeLessThanOrEqual(limit);
  });

  it('gives back what is kept, and refuses what cannot fit with the numbers', async () => {
    (await ones([8 * MIB], 'uint8').persist({ device: 'cuda:0' })).dispose();
    await limitMemory(use(0).inUse + 2 * MIB, 'cuda:0');
    expect(held(0)).toBeLessThanOrEqual(use(0).inUse + 2 * MIB);
    const refused = ones([4 * MIB], 'uint8').persist({ device: 'cuda:0' });
    await expect(refused).rejects.toThrow(MemoryError);
    await expect(refused).rejects.toThrow(/limit of .* for this process/);
    using fits = await ones([MIB], 'uint8').persist({ device: 'cuda:0' });
    expect((await fits.sum().compute()).item()).toBe(MIB);
  });
});
