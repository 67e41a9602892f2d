/**
 * Compiled functions on several devices: the bits of one, wherever the arguments lie; phases that are queued
 * ahead of the devices.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { compile, type Lazy, lazy, type NDArray } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults, setSchedule } from './simulator.js';

setDevices([{ memory: 2 ** 26 }, { memory: 2 ** 26 }, { memory: 2 ** 25 }]);

const ROWS = 2048;
const matrix = (scale: number, rows = ROWS): Lazy =>
  lazy(Float32Array.from({ length: rows * 64 }, (_, k) => Math.sin(k) * scale)).reshape([rows, 64]);
const bytesOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
/** Two reductions that are combined on one device, a map of one of them, and another reduction. */
const fn = (x: Lazy): readonly Lazy[] => {
  const centered = x.sub(x.mean(0));
  return [centered.abs().sum(1), centered.exp().sum(0), x.max()];
};

afterEach(() => setSchedule({ timing: 'eager', seed: 1 }));

describe('a compiled function on several devices', () => {
  it('gives the bits of one device, call after call and wherever its argument lies', async () => {
    const one = compile(fn, { device: 'cuda:0' });
    const several = compile(fn, { devices: 2 });
    for (const [k, timing] of (['late', 'random'] as const).entries()) {
      const x = matrix(k + 1);
      const wanted = (await one(x)).map(bytesOf);
      setSchedule({ timing, seed: k });
      using sharded = await x.persist({ devices: 2 });
      using otherwise = await x.persist({ devices: ['cuda:2', 'cuda:1', 'cuda:0'] });
      using whole = await x.persist({ device: 'cuda:1' });
      for (const argument of [x, sharded, otherwise, whole])
        expect((await several(argument)).map(bytesOf)).toEqual(wanted);
    }
  });

  it('tells layouts on the same devices apart', async () => {
    const devices = ['cuda:0', 'cuda:2'];
    const sums = compile((x: Lazy) => x.sin().sum(0), { devices });
    const x = matrix(1, 2 * ROWS);
    // By the memory of the devices, and in equal parts.
    using uneven = await x.persist({ devices });
    using even = await x.persist({ devices, memory: 2 ** 22 });
    expect(even.device).toBe(uneven.device);
    const wanted = bytesOf(await x.sin().sum(0).compute({ device: 'cuda:0' }));
    for (const argument of [uneven, even, uneven]) expect(bytesOf(await sums(argument))).toEqual(wanted);
  });

  it('leaves shards on the devices, and goes on with them', async () => {
    const step = compile((x: Lazy) => x.mul(0.5).add(1), { devices: 2 });
    let x = await matrix(1).persist({ devices: 2 });
    for (let k = 0; k < 4; k++) {
      const next = await step.persist(x);
      expect(next.device).toBe('cuda:0,cuda:1');
      x.dispose();
      x = next;
    }
    const wanted = Float32Array.from({ length: ROWS * 64 }, (_, k) => Math.sin(k));
    for (let k = 0; k < 4; k++) for (const [j, value] of wanted.entries()) wanted[j] = value * 0.5 + 1;
    expect((await x.compute()).data).toEqual(wanted);
    x.dispose();
  });

  it('plans and compiles once', async () => {
    const sums = compile((x: Lazy) => x.cos().sum(0), { devices: 2 });
    using x = await matrix(1).persist({ devices: 2 });
    await sums(x);
    setFaults([]);
    await sums(x);
    expect(describeSimulator().counts.cuModuleLoadDataEx ?? 0).toBe(0);
    expect(describeSimulator().counts.nvrtcCompileProgram ?? 0).toBe(0);
  });
});
