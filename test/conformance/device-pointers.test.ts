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
    // Kernels read several elements at a time: on a GPU an array begins where memory of CUDA's does.
    const after = { ...pointer, address: pointer.address + 8n, shape: [3] };
    if (device !== 'cpu') expect(() => fromDevicePointer(after)).toThrow('a multiple of 256 bytes');
    const [given, wanted] = device === 'cpu' ? [after, [21, 31, 41]] : [pointer, [11, 21, 31, 41]];
    const own = fromDevicePointer(given);
    expect((await own.add(1).compute({ device })).toArray()).toEqual(wanted);
    expect((await devicePointer(own)).address).toBe(given.address);
  });

  it('are released once, when nothing uses the memory any more', async () => {
    using x = await lazy([1, 2, 3]).persist({ device });
    const release = vi.fn();
    const y = fromDevicePointer(await devicePointer(x), { release });
    expect((await y.sum().compute({ device })).item()).toBe(6);
    expect(release).not.toHaveBeenCalled();
    y.dispose();
    y.dispose();
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
