/** Loops on a GPU that never dispose, and loops that never compute: device memory stays within bounds. */
import { afterEach, describe, expect, it } from 'vitest';
import { collectGarbage, memory } from '../../src/exec/native/native.js';
import { withLevels } from '../../src/graph/depth.js';
import { type Lazy, lazy } from '../../src/index.js';
import { describeSimulator, setDevices, takeProblems } from './simulator.js';

const device = 'cuda';
const KiB = 1024;
const MiB = KiB ** 2;
const peak = (): number => describeSimulator().devices[0]!.peak;

setDevices([{ memory: 16 * MiB }]);

// The garbage of these tests, which others want gone.
afterEach(async () => {
  await collectGarbage();
});

describe('a loop', () => {
  it('that never disposes does not run out of a device that its garbage fills', async () => {
    const x = lazy(new Float32Array(MiB / 4).fill(1));
    let last: Lazy = x;
    for (let k = 0; k < 60; k++) last = await x.add(k).persist({ device });
    expect((await last.slice([0, 3]).compute()).toArray()).toEqual([60, 60, 60]);
    last.dispose();
  });

  it('that keeps what it makes is refused when the device is full', async () => {
    const x = lazy(new Float32Array(MiB / 4).fill(1));
    const kept: Lazy[] = [];
    const fill = async (): Promise<void> => {
      for (let k = 0; k < 60; k++) kept.push(await x.add(k).persist({ device }));
    };
    await expect(fill()).rejects.toMatchObject({ name: 'MemoryError' });
    expect(kept.length).toBeGreaterThan(8);
    for (const each of kept) each.dispose();
  });

  it('of thousands of small results, more than the device holds, never disposes', async () => {
    let acc = lazy(new Float32Array(4096));
    for (let k = 0; k < 3000; k++) acc = await acc.add(1).persist({ device });
    expect((await acc.slice([0, 2]).compute()).toArray()).toEqual([3000, 3000]);
    acc.dispose();
  });

  it('that never computes needs no more than some values at a time', async () => {
    const n = MiB / 4;
    const x = lazy(new Float32Array(n).fill(1));
    const acc = withLevels(16, () => {
      let sum = lazy(new Float32Array(n));
      for (let k = 0; k < 200; k++) sum = sum.add(x);
      return sum;
    });
    const { segments, peakBytes } = acc.plan({ device });
    expect(segments).toBeGreaterThan(8);
    takeProblems();
    expect((await acc.compute({ device })).at(5)).toBe(200);
    expect(peak()).toBeLessThanOrEqual(peakBytes);
    expect(peakBytes).toBeLessThanOrEqual(4 * MiB + KiB);
    expect(memory().find((each) => each.device === 'cuda:0')!.inUse).toBe(0);
  });

  it('that never computes stays within a budget that its parts fit', async () => {
    const n = MiB / 4;
    const whole = lazy(Float32Array.from({ length: n }, (_, i) => i % 7));
    const loop = (): Lazy => {
      let x = whole;
      for (let k = 0; k < 60; k++) x = x.mul(0.5).add(whole);
      return x;
    };
    const acc = withLevels(16, loop);
    expect(acc.plan({ device }).segments).toBeGreaterThan(3);
    takeProblems();
    const found = await acc.compute({ device, memory: MiB });
    expect(peak()).toBeLessThanOrEqual(MiB);
    const expected = await withLevels(Number.POSITIVE_INFINITY, loop).compute({ device });
    expect(found.data).toEqual(expected.data);
  });

  it('that never computes stops when it is aborted, and lets go of its parts', async () => {
    const x = lazy(new Float32Array(MiB / 4).fill(1));
    const acc = withLevels(16, () => {
      let sum = x;
      for (let k = 0; k < 2000; k++) sum = sum.add(x);
      return sum;
    });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(acc.compute({ device, signal: controller.signal })).rejects.toThrow('enough');
    expect(memory().find((each) => each.device === 'cuda:0')!.inUse).toBe(0);
  });
});
