/** Pinned arrays on the simulated CUDA: read without staging, counted, freed when they are collected. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { memory } from '../../src/exec/native/native.js';
import { ArgumentError, lazy, MemoryError, pinned } from '../../src/index.js';
import { describeSimulator, setFaults } from './simulator.js';

const N = 100_000;
const staging = (): number => memory().find(({ device }) => device === 'cuda:0')?.staging ?? 0;

afterEach(() => {
  setFaults([]);
});

describe('a pinned array', () => {
  it('has the shape, the dtype and the memory asked for', async () => {
    const array = await pinned([3, 4], 'complex64', { device: 'cuda' });
    expect(array).toMatchObject({ shape: [3, 4], dtype: 'complex64' });
    expect(array.data).toHaveLength(24);
    expect((await pinned([0])).data).toHaveLength(0);
  });

  it('is copied to the device in one piece from where it is', async () => {
    const array = await pinned([N]);
    for (let i = 0; i < N; i++) array.data[i] = i % 100;
    const x = lazy(array);
    await x.mul(2).sum().compute({ device: 'cuda' });
    setFaults([]);
    const before = staging();
    const result = await x.mul(2).sum().compute({ device: 'cuda' });
    expect(result.item()).toBe(9_900_000);
    expect(describeSimulator().counts.cuMemcpyHtoDAsync_v2).toBe(1);
    expect(staging()).toBe(before);
  });

  it('is copied window by window where the job does not fit', async () => {
    const array = await pinned([N]);
    for (let i = 0; i < N; i++) array.data[i] = i % 100;
    const x = lazy(array);
    const result = await x.mul(2).sum().compute({ device: 'cuda', memory: 100_000 });
    expect(result.item()).toBe(9_900_000);
  });

  it('is counted, and given back when it is collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const before = describeSimulator().live.pinnedBytes!;
    const counted = staging();
    await pinned([2 ** 20]);
    expect(describeSimulator().live.pinnedBytes).toBe(before + 2 ** 22);
    expect(staging()).toBe(counted + 2 ** 22);
    for (let i = 0; i < 50 && describeSimulator().live.pinnedBytes! > before; i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(describeSimulator().live.pinnedBytes).toBeLessThanOrEqual(before);
    expect(staging()).toBeLessThanOrEqual(counted);
  });

  it('is refused on the CPU, and where there is no memory', async () => {
    await expect(pinned([3], 'float32', { device: 'cpu' })).rejects.toThrow(ArgumentError);
    setFaults([{ call: 'cuMemHostAlloc', nth: 1, status: 2 }]);
    await expect(pinned([3])).rejects.toThrow(MemoryError);
  });
});
