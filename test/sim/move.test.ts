/**
 * Stored arrays that go to other devices: from GPU to GPU, through the host where they do not reach each
 * other, to and from the CPU.
 */
import { describe, expect, it } from 'vitest';
import { DeviceError, explain, type Lazy, lazy, memory, ones, persist } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults } from './simulator.js';

const MIB = 2 ** 20;
// Device 2 reaches nobody.
setDevices([
  { memory: 64 * MIB },
  { memory: 64 * MIB },
  { memory: 64 * MIB, unreachable: [0, 1, 3] },
  { memory: MIB * 3 },
]);

const data = Float32Array.from({ length: MIB / 4 }, (_, i) => Math.sin(i));
const array = lazy(data, { shape: [256, 1024] });
const bitsOf = async (x: Lazy): Promise<unknown> => (await x.compute()).data;

describe('a stored array', () => {
  it.each([
    ['cpu', 'cuda:1'],
    ['cuda:1', 'cpu'],
    ['cuda:0', 'cuda:1'],
    ['cuda:1', 'cuda:2'],
    ['cuda:2', 'cuda:0'],
    ['cuda:0', 'cuda:3'],
  ])('goes from %s to %s', async (from, to) => {
    using x = await array.persist({ device: from });
    using moved = await x.persist({ device: to });
    expect([moved.device, moved.shape, moved.dtype]).toEqual([to, [256, 1024], 'float32']);
    expect(await bitsOf(moved)).toEqual(data);
    expect([x.device, (await x.sum(1).compute()).size]).toEqual([from, 256]);
    x.dispose();
    expect(await bitsOf(moved)).toEqual(data);
  });

  it('goes from GPU to GPU without the host', async () => {
    using x = await array.persist({ device: 'cuda:0' });
    setFaults([]);
    using _moved = await x.persist({ device: 'cuda:1' });
    const { counts } = describeSimulator();
    expect(Object.keys(counts).filter((call) => /Dto?H|HtoD/.test(call))).toEqual([]);
  });

  it('leaves the memory of the first device to others once it is disposed of', async () => {
    const inUse = (device: string): number => memory().find((use) => use.device === device)?.inUse ?? 0;
    const before = [inUse('cuda:0'), inUse('cuda:1')];
    const x = await array.persist({ device: 'cuda:0' });
    using _moved = await x.persist({ device: 'cuda:1' });
    x.dispose();
    expect([inUse('cuda:0'), inUse('cuda:1')]).toEqual([before[0], before[1]! + data.byteLength]);
  });

  it('of shards becomes whole on one device, the other way round, and on other devices', async () => {
    using sharded = await array.persist({ devices: ['cuda:0', 'cuda:1'] });
    expect(sharded.device).toBe('cuda:0,cuda:1');
    using whole = await sharded.persist({ device: 'cuda:2' });
    expect(whole.device).toBe('cuda:2');
    expect(await bitsOf(whole)).toEqual(data);
    using again = await whole.persist({ devices: ['cuda:1', 'cuda:2'] });
    expect(again.device).toBe('cuda:1,cuda:2');
    expect(await bitsOf(again)).toEqual(data);
    using here = await again.persist({ device: 'cpu' });
    expect([here.device, await bitsOf(here)]).toEqual(['cpu', data]);
    using there = await here.persist({ devices: ['cuda:0', 'cuda:1'] });
    expect([there.device, await bitsOf(there)]).toEqual(['cuda:0,cuda:1', data]);
  });

  it('goes beside what is computed there, and beside others', async () => {
    using x = await array.persist({ device: 'cuda:0' });
    using y = await array.mul(2).persist({ device: 'cpu' });
    using z = await array.mul(3).persist({ device: 'cuda:1' });
    const all = await persist([x, array.sum(), y, z, ones([0])], { device: 'cuda:1' });
    expect(all.map(({ device }) => device)).toEqual(['cuda:1', 'cuda:1', 'cuda:1', 'cuda:1', undefined]);
    expect(await bitsOf(all[2])).toEqual(data.map((v) => v * 2));
    expect(await bitsOf(all[3])).toEqual(await bitsOf(z));
    for (const one of all) one.dispose();
  });

  it('of 64-bit integers, halves and complex numbers keeps its bits', async () => {
    for (const dtype of ['int64', 'float16', 'complex64', 'bool'] as const) {
      const some = lazy([1, 0, 1, 1, 0]).astype(dtype);
      using x = await some.persist({ device: 'cuda:0' });
      using moved = await x.persist({ device: 'cuda:2' });
      using back = await moved.persist({ device: 'cpu' });
      expect(await bitsOf(back)).toEqual((await some.compute({ device: 'cpu' })).data);
    }
  });

  it('is refused where it is computed with, where it is disposed of, and on devices that are not there', async () => {
    const x = await array.persist({ device: 'cuda:0' });
    await expect(x.add(1).persist({ device: 'cuda:1' })).rejects.toThrow(/copies it there/);
    await expect(x.compute({ device: 'cuda:1' })).rejects.toThrow(DeviceError);
    expect(() => explain([x], { device: 'cpu' })).toThrow(DeviceError);
    await expect(x.persist({ device: 'cuda:9' })).rejects.toThrow(/cuda:9/);
    await expect(x.persist({ device: 'cuda:1', memory: 1000 })).rejects.toThrow(/1000 B|1 kB|0.98 KiB|1,000/);
    x.dispose();
    await expect(x.persist({ device: 'cuda:1' })).rejects.toThrow(/disposed/);
  });
});
