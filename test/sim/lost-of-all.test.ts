/**
 * All devices are those that can be used: a lost one is left out by what comes after, and `explain` says so.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { batch, compile, compute, DeviceLostError, explain, lazy, plan } from '../../src/index.js';
import { setDevices, setFaults } from './simulator.js';

const ILLEGAL_ADDRESS = 700;
setDevices(Array.from({ length: 4 }, () => ({ memory: 2 ** 26 })));

const data = Float32Array.from({ length: 2 ** 18 }, (_, k) => Math.sin(k));
const x = lazy(data).reshape([4096, 64]);
const work = [x.mul(2).add(1)] as const;
const doubled = compile((a) => a.mul(2).add(1), { devices: 'all' });
const lose = async (device: string): Promise<void> => {
  setFaults([{ call: 'run launch', nth: 1, status: ILLEGAL_ADDRESS, sticky: true }]);
  await expect(compute(work, { device })).rejects.toThrow(DeviceLostError);
  setFaults([]);
};

afterEach(() => {
  setFaults([]);
});

describe('all devices, where one was lost', () => {
  it('are the others, for whatever says all', async () => {
    const [wanted] = await compute(work, { devices: 'all' });
    expect((await doubled(x)).data).toEqual(wanted.data);
    expect(explain(work, { devices: 'all' }).deviceReason).toBe('all usable GPUs');
    await lose('cuda:1');
    const [found] = await compute(work, { devices: 'all' });
    expect(found.data).toEqual(wanted.data);
    const { device, deviceReason } = explain(work, { devices: 'all' });
    expect(device).toBe('cuda:0,cuda:2,cuda:3');
    expect(deviceReason).toBe(
      'all usable GPUs; not cuda:1: it was lost (CUDA_ERROR_ILLEGAL_ADDRESS), until a new process begins',
    );
    expect(plan(work, { devices: 2 }).device).toBe('cuda:0,cuda:2');
    expect(() => plan(work, { devices: 4 })).toThrow(/4 usable GPUs: there are 3; not cuda:1: it was lost/);
    // A function that ran on all of them before.
    expect((await doubled(x)).data).toEqual(wanted.data);
    expect((await doubled(x)).data).toEqual(wanted.data);
    const results = await batch(Array.from({ length: 8 }, () => work[0])).all();
    expect(results.map(({ ok }) => ok)).toEqual(Array(8).fill(true));
    expect(results.some((result) => result.device === 'cuda:1')).toBe(false);
  });

  it('do not count it in where it is named alone', async () => {
    await expect(compute(work, { devices: ['cuda:0', 'cuda:1'] })).rejects.toThrow(DeviceLostError);
    await expect(compute(work, { device: 'cuda:1' })).rejects.toThrow(DeviceLostError);
  });

  it('are none where all were lost, and the CPU does not take their work', async () => {
    for (const device of ['cuda:0', 'cuda:2', 'cuda:3']) await lose(device);
    await expect(compute(work, { devices: 'all' })).rejects.toThrow(DeviceLostError);
  });
});
