/** `memory` and `trim` on every device. */
import { describe, expect, it } from 'vitest';
import { DeviceError, type Lazy, type MemoryUse, memory, ones, pinned, trim } from '../../src/index.js';
import { backends } from '../support/backends.js';

const MIB = 2 ** 20;

/** Pools take memory from the system in pieces; those of NVIDIA's driver are 32 MiB. */
const PIECE = 32 * MIB;

const persistOn = (device: string, mebibytes: number): Promise<Lazy> =>
  ones([mebibytes * MIB], { dtype: 'uint8' }).persist({ device });

const isDevice = (name: string): boolean => name === 'cpu' || name.startsWith('cuda');

describe.each(backends().filter(isDevice))('memory on %s', (device) => {
  const name = device === 'cuda' ? 'cuda:0' : device;
  const use = (): MemoryUse => memory().find((each) => each.device === name)!;

  it('counts an array that stays there until it is disposed of', async () => {
    (await persistOn(device, 1)).dispose();
    const before = use().inUse;
    const held = await persistOn(device, 8);
    expect(use().inUse - before).toBeGreaterThanOrEqual(8 * MIB);
    expect(use().inUse - before).toBeLessThan(8 * MIB + PIECE);
    expect(use().held).toBeGreaterThanOrEqual(use().inUse);
    held.dispose();
    expect(use().inUse).toBeLessThanOrEqual(before);
  });

  it('remembers the most until it is trimmed', async () => {
    (await persistOn(device, 128)).dispose();
    expect(use().peak).toBeGreaterThanOrEqual(use().inUse + 128 * MIB);
    await trim(device);
    expect(use().peak).toBeLessThan(use().inUse + PIECE);
  });

  it('gives back what nothing uses, and leaves what is in use', async () => {
    using kept = await persistOn(device, 4);
    (await persistOn(device, 128)).dispose();
    expect(use().held).toBeGreaterThan(use().inUse + PIECE);
    await trim();
    expect(use().held).toBeLessThanOrEqual(use().inUse + PIECE);
    expect((await kept.sum().compute()).item()).toBe(4 * MIB);
  });

  it('has pinned arrays among the pinned memory of a GPU', async () => {
    if (device === 'cpu') {
      expect(use().pinned).toBe(0);
      return;
    }
    await persistOn(device, 1);
    const before = use().pinned;
    const array = await pinned([MIB], 'float32', { device });
    expect(use().pinned - before).toBe(array.data.byteLength);
  });
});

describe('trim', () => {
  it('refuses devices that are not there', async () => {
    await expect(trim('cuda:99')).rejects.toThrow(DeviceError);
    await expect(trim('tpu')).rejects.toThrow();
  });

  it('gives bytes of every device as whole numbers', () => {
    for (const { device, ...bytes } of memory()) {
      expect(device).toMatch(/^(cpu|cuda:\d+)$/);
      for (const count of Object.values(bytes)) expect(Number.isInteger(count) && count >= 0).toBe(true);
    }
  });
});
