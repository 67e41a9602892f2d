/** Devices and their memory on a machine without a GPU: this project has no CUDA. */
import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { compile, devices, type Lazy, lazy, pinned } from '../src/index.js';

const cuda = async (): Promise<boolean> => (await devices()).length > 1;

describe('devices', () => {
  it('are the CPU with the memory that this process may use, and what the driver lists', async () => {
    const [cpu, ...gpus] = await devices();
    expect(cpu).toMatchObject({ device: 'cpu', isUsable: true, problem: undefined });
    expect(cpu!.totalBytes).toBeGreaterThan(2 ** 28);
    expect(cpu!.totalBytes).toBeLessThanOrEqual(totalmem());
    expect(cpu!.freeBytes).toBeGreaterThan(0);
    expect(cpu!.freeBytes).toBeLessThanOrEqual(cpu!.totalBytes);
    for (const [k, gpu] of gpus.entries()) expect(gpu.device).toBe(`cuda:${k}`);
  });
});

describe('a pinned array without a GPU', () => {
  it('is in ordinary memory, says so, and is computed with', async () => {
    if (await cuda()) return;
    const array = await pinned([3], 'float64');
    expect(array.isPinned).toBe(false);
    array.data.set([1, 2, 4]);
    expect((await lazy(array).sum().compute()).item()).toBe(7);
    await expect(pinned([3], 'float64', { device: 'cuda' })).rejects.toThrow("'cuda:0' cannot be used");
  });
});

describe('a share as a size', () => {
  const x = lazy(new Float32Array(2 ** 20)).reshape([16384, 64]);
  const w = lazy(new Float32Array(64 * 64)).reshape([64, 64]);
  const layers = x.matmul(w).tanh().matmul(w).tanh().sum(1);

  it('is of the memory of the CPU', async () => {
    const [cpu] = await devices();
    const percent = (((6 * 2 ** 20) / cpu!.totalBytes) * 100).toFixed(12);
    const [share, bytes] = [`${percent}%`, Math.floor((Number(percent) / 100) * cpu!.totalBytes)];
    const { peakBytes, sweeps } = layers.plan({ device: 'cpu', memory: share });
    const same = layers.plan({ device: 'cpu', memory: bytes });
    expect([peakBytes, sweeps]).toEqual([same.peakBytes, same.sweeps]);
    expect(sweeps.length).toBeGreaterThan(0);
    const f = compile((y: Lazy) => y.mul(2).sum(), { device: 'cpu', memory: '50%' });
    expect((await f([1, 2])).item()).toBe(6);
    expect(layers.plan({ device: 'cpu', memory: '50%', hostMemory: '10%' }).sweeps).toEqual([]);
  });

  it.each(['0%', '101%', '-5%', '%', '5 %%'])('is refused as %s', (memory) => {
    expect(() => layers.plan({ device: 'cpu', memory })).toThrow(/\[compute\] expected a s/);
    expect(() => compile((y: Lazy) => y, { memory })).toThrow(/\[compute\] expected a s/);
  });
});
