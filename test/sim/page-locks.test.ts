/**
 * Memory that results are put into again and again is page-locked, so that the device copies into it without
 * staging; it is unlocked before the system gets it back, and counted until then.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { memory, trim } from '../../src/exec/native/native.js';
import { type ComputeOptions, concat, type Lazy, lazy, profile } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults, show, takeProblems } from './simulator.js';

setDevices([{}, {}]);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** From 32 MiB on blocks are locked: few large elements, for the simulator's sake. */
const PART = 2 ** 18;
const PARTS = 9;
const device = 'cuda';
const part = Float64Array.from({ length: 2 * PART }, (_, i) => i % 1013);
const staging = (): number => memory().find(({ device: name }) => name === 'cuda:0')?.staging ?? 0;
const pinnedBytes = (): number => describeSimulator().live.pinnedBytes!;
const BYTES = PARTS * PART * 16;

afterEach(() => {
  setFaults([]);
});

/** A large result that takes the simulator little time. */
const large = (): Lazy => concat(Array.from({ length: PARTS }, () => lazy(part, { dtype: 'complex128' })));

/** A result whose memory is free again afterwards. Whether it was right. */
async function computeOnce(options: ComputeOptions = { device }): Promise<boolean> {
  const { data } = await large().compute(options);
  return Array.from({ length: PARTS }, (_, k) => (k + 1) * PART - 1 - k).every(
    (at) => data[2 * at + 1] === part[(2 * at + 1) % part.length],
  );
}

async function settle(isDone: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !isDone(); i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Its memory is locked when it was used so often. */
const USES = 2;

describe('memory of results', () => {
  const host = (): number => memory().find(({ device: name }) => name === 'cpu')!.inUse;

  it('is locked once it came back a few times, takes results without staging, and is unlocked at last', async () => {
    await trim();
    // Buffers that copies go through are given back, too.
    const nothing = [pinnedBytes(), staging()];
    const inUse = host();
    const isFree = (): boolean => host() <= inUse;
    expect(await computeOnce()).toBe(true);
    await settle(isFree);
    const [before, counted] = [pinnedBytes(), staging()];
    for (let k = 1; k < USES; k++) {
      expect(pinnedBytes()).toBe(before);
      expect(await computeOnce()).toBe(true);
      await settle(isFree);
    }
    await settle(() => pinnedBytes() > before);
    expect(pinnedBytes() - before).toBeGreaterThanOrEqual(BYTES);
    expect(staging() - counted).toBe(pinnedBytes() - before);

    setFaults([]);
    expect(await computeOnce()).toBe(true);
    // One copy of the whole result, none through the lanes.
    expect(describeSimulator().counts.cuMemcpyDtoHAsync_v2).toBe(1);

    await settle(isFree);
    await trim();
    await settle(() => pinnedBytes() === nothing[0]);
    expect([pinnedBytes(), staging()]).toEqual(nothing);
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('is locked within what is left of the host memory that a compute may take', async () => {
    await trim();
    const inUse = host();
    const before = pinnedBytes();
    const { hostPeakBytes } = large().plan({ device });
    for (const [more, isLocked] of [
      [BYTES - 1, false],
      [BYTES + 2 ** 20, true],
    ] as const) {
      const options = { device, hostMemory: hostPeakBytes + more };
      for (let k = 0; k < USES; k++) {
        expect(await computeOnce(options)).toBe(true);
        await settle(() => host() <= inUse);
      }
      if (isLocked) await settle(() => pinnedBytes() - before >= BYTES);
      expect(pinnedBytes() - before >= BYTES).toBe(isLocked);
      expect(pinnedBytes() - before).toBeLessThanOrEqual(options.hostMemory);
    }
    await trim();
  });

  it('is locked where two devices write to it, and takes the results of both without staging', async () => {
    const options = { devices: ['cuda:0', 'cuda:1'] };
    await trim();
    const inUse = host();
    setFaults([]);
    const locks = (): number => describeSimulator().counts.cuMemHostRegister_v2 ?? 0;
    for (let k = 0; k < USES; k++) {
      expect(locks()).toBe(0);
      expect(await computeOnce(options)).toBe(true);
      await settle(() => host() <= inUse);
    }
    expect(locks()).toBe(1);

    const { timeline } = await profile(() => computeOnce(options));
    const copiesOut = timeline.spans.filter(({ kind }) => kind === 'copy out');
    expect(new Set(copiesOut.map((span) => span.device))).toEqual(new Set(options.devices));
    expect(timeline.spans.filter(({ name }) => name === 'from pinned memory')).toEqual([]);

    await settle(() => host() <= inUse);
    await trim();
    await settle(() => describeSimulator().counts.cuMemHostUnregister === 1);
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('is used as it is where the driver locks none', async () => {
    await trim();
    const inUse = host();
    setFaults([{ call: 'cuMemHostRegister_v2', nth: 1, status: 2 }]);
    const before = pinnedBytes();
    for (let k = 0; k <= USES; k++) {
      expect(await computeOnce()).toBe(true);
      await settle(() => host() <= inUse);
    }
    expect(describeSimulator().counts.cuMemHostRegister_v2).toBe(1);
    expect(pinnedBytes() - before).toBeLessThan(BYTES);
  });
});
