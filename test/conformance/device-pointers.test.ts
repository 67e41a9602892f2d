/** Addresses of arrays, and arrays over the memory of others. */
import { describe, expect, it, vi } from 'vitest';
import { devicePointer, fromDevicePointer, lazy, synchronize } from '../../src/index.js';
import { backends } from '../support/backends.js';

const devices = backends().filter((name) => name === 'cpu' || name.startsWith('cuda'));

describe.each(devices)('pointers on %s', (device) => {
  it('tell where the elements lie, which arrays over them read', async () => {
    using x = await lazy([1, 2, 3, 4]).mul(10).persist({ device });
    const pointer = await devicePointer(x);
    expect(pointer).toMatchObject({ device: x.device, dtype: 'float64', shape: [4], byteLength: 32 });
    expect([pointer.address > 0n, pointer.stream > 0n]).toEqual([true, device !== 'cpu']);
    const tail = fromDevicePointer({ ...pointer, address: pointer.address + 8n, shape: [3] });
    expect((await tail.add(1).compute({ device })).toArray()).toEqual([21, 31, 41]);
    expect((await devicePointer(tail)).address).toBe(pointer.address + 8n);
  });

  it('are released once, when nothing uses the memory any more', async () => {
    using x = await lazy([1, 2, 3]).persist({ device });
    const release = vi.fn();
    const y = fromDevicePointer(await devicePointer(x), { release });
    const sum = y.sum().compute({ device });
    y.dispose();
    y.dispose();
    expect((await sum).item()).toBe(6);
    await synchronize(device);
    await vi.waitFor(() => expect(release).toHaveBeenCalledTimes(1));
    await expect(y.sum().compute({ device })).rejects.toThrow();
  });
});

describe('a pointer', () => {
  const device = 'cpu';
  const good = { device, address: 4096n, dtype: 'float32', shape: [2] } as const;
  const wrong = (changes: object) => () => fromDevicePointer({ ...good, ...changes });

  it('is of an array that is on a device', async () => {
    await expect(devicePointer(lazy([1]).add(1))).rejects.toThrow('an array that is on a device');
    await expect(devicePointer(7 as never)).rejects.toThrow('[devicePointer] expected an array: 7');
  });

  it('is refused where it cannot be one', () => {
    expect(wrong({ address: 4097n })).toThrow('a multiple of 4 bytes for float32: 4097');
    expect(wrong({ address: 0n })).toThrow('an address as a bigint');
    expect(wrong({ address: 4096 })).toThrow('an address as a bigint');
    expect(wrong({ dtype: 'float' })).toThrow('a dtype');
    expect(wrong({ shape: [0] })).toThrow('a shape with elements');
    expect(wrong({ device: 'gpu' })).toThrow('gpu');
    expect(() => fromDevicePointer(good, { release: 3 as never })).toThrow('a function to release: 3');
  });
});
