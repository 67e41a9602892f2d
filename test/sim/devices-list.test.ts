/**
 * The list of devices on the simulated CUDA: names, memory, and one that is lost; shares of a device's
 * memory.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { DeviceLostError, devices, lazy, ones, pinned } from '../../src/index.js';
import { setDevices, setFaults } from './simulator.js';

const MIB = 2 ** 20;
setDevices([{ memory: 64 * MIB, name: 'First' }, { memory: 32 * MIB, name: 'Second' }, { memory: 8 * MIB }]);

afterEach(() => {
  setFaults([]);
});

describe('devices', () => {
  it('have names and memory', async () => {
    const [cpu, first, second, third, ...others] = await devices();
    expect([cpu!.device, others]).toEqual(['cpu', []]);
    expect(first).toMatchObject({ device: 'cuda:0', name: 'First', isUsable: true, totalBytes: 64 * MIB });
    expect(second).toMatchObject({ device: 'cuda:1', name: 'Second', totalBytes: 32 * MIB });
    expect(third!.totalBytes).toBe(8 * MIB);
    using held = await ones([4 * MIB], 'uint8').persist({ device: 'cuda:1' });
    const [, , now] = await devices();
    expect(second!.freeBytes! - now!.freeBytes!).toBeGreaterThanOrEqual(held.size);
  });

  it('are marked when they are lost', async () => {
    setFaults([{ call: 'run launch', nth: 1, status: 700, sticky: true }]);
    await expect(ones([100]).exp().compute({ device: 'cuda:2' })).rejects.toThrow(DeviceLostError);
    setFaults([]);
    const [, first, , third] = await devices();
    expect(first).toMatchObject({ isUsable: true, problem: undefined });
    expect(third).toMatchObject({ device: 'cuda:2', isUsable: false, freeBytes: undefined });
    expect(third!.problem).toMatch(/lost|ILLEGAL_ADDRESS/);
  });
});

describe('a share as a size', () => {
  it('is of the memory of the device', async () => {
    const x = lazy(new Float32Array(MIB).fill(1)).reshape([1024, 1024]);
    const job = x.mul(2).sum(1);
    const plan = (memory: string | number) => job.plan({ device: 'cuda:1', memory });
    expect(plan('10%').peakBytes).toBe(plan(Math.floor(3.2 * MIB)).peakBytes);
    expect(plan('10%').sweeps.length).toBeGreaterThan(0);
    expect((await job.compute({ device: 'cuda:1', memory: '10%' })).at(3)).toBe(2048);
  });
});

describe('a pinned array', () => {
  it('says that it is pinned', async () => {
    expect((await pinned([5])).isPinned).toBe(true);
  });
});
