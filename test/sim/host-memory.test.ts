/**
 * The host's memory that jobs on a GPU take beside arrays and results: planned before anything runs, never
 * more than that, and refused, or done without values that wait there, where it is more than allowed.
 */
import { describe, expect, it } from 'vitest';
import { memory, trim } from '../../src/exec/native/native.js';
import { type ComputeOptions, compute, type Lazy, lazy, MemoryError, plan } from '../../src/index.js';
import { setDevices, show, takeProblems } from './simulator.js';

setDevices([{}]);
const device = 'cuda';
const MIB = 2 ** 20;

const matrix = (rows: number, columns: number): Lazy =>
  lazy(
    new Float32Array(rows * columns).map((_, k) => ((k * 7919) % 1009) / 1000),
    { shape: [rows, columns] },
  );

/** To compute the product again takes four times the bytes that it has. */
const product = matrix(4096, 256).matmul(matrix(256, 64));
const centered = product.sub(product.mean(0));

const isSpilled = (options: ComputeOptions): boolean =>
  / spill /.test(String(plan([centered], { device, ...options })));

/** Of the host's memory: pinned, and worked in. */
function held(): number {
  const reports = memory();
  return reports.reduce((sum, { device: name, workPeak, staging }) => {
    return sum + staging + (name === 'cpu' ? workPeak : 0);
  }, 0);
}

describe('the host memory of a job on a GPU', () => {
  const tiled = { device, memory: 700_000 };

  it('is bounded by its plan, with values that wait and without', async () => {
    expect(isSpilled(tiled)).toBe(true);
    for (const options of [{ device }, tiled]) {
      const { hostPeakBytes } = plan([centered], options);
      await trim();
      await compute([centered], options);
      expect(held()).toBeLessThanOrEqual(hostPeakBytes);
      expect(hostPeakBytes).toBeGreaterThan(0);
    }
  });

  it('holds no waiting values where it may not, with the same result', async () => {
    const { hostPeakBytes } = plan([centered], tiled);
    const options = { ...tiled, hostMemory: hostPeakBytes - 1 };
    expect(isSpilled(options)).toBe(false);
    expect(plan([centered], options).hostPeakBytes).toBeLessThan(hostPeakBytes);
    const [wanted] = await compute([centered], tiled);
    const [found] = await compute([centered], options);
    expect(found.data).toEqual(wanted.data);
  });

  it.each([
    ['as a whole', {}, 3 * MIB],
    ['in tiles', { memory: '1MiB' }, 5 * MIB],
  ])('shrinks to two slots of a MiB for each kind of copies, %s', async (_, more, least) => {
    const job = matrix(4096, 200).mul(matrix(1, 200));
    const options = { device, ...more };
    const most = plan([job], options).hostPeakBytes;
    const [wanted] = await compute([job], options);
    for (const hostMemory of [most - 1, Math.floor(most / 2), least + MIB, least]) {
      const { hostPeakBytes } = plan([job], { ...options, hostMemory });
      expect(hostPeakBytes).toBeLessThanOrEqual(hostMemory);
      await trim();
      const [found] = await compute([job], { ...options, hostMemory });
      expect(Buffer.from(found.data.buffer).equals(Buffer.from(wanted.data.buffer))).toBe(true);
      expect(held()).toBeLessThanOrEqual(hostPeakBytes);
    }
    expect(plan([job], { ...options, hostMemory: least }).hostPeakBytes).toBe(least);
    expect(() => plan([job], { ...options, hostMemory: least - 1 })).toThrow(MemoryError);
    const [found] = await compute([job], options);
    expect(Buffer.from(found.data.buffer).equals(Buffer.from(wanted.data.buffer))).toBe(true);
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('that is too much is refused before anything runs, with the step and what it needs', async () => {
    const options = { device, hostMemory: '64KiB' };
    const job = matrix(512, 64).exp();
    const refused =
      /fits into 64.00 KiB of host memory: map_exp needs .* MiB of pinned memory .*host-memory\.test/s;
    expect(() => plan([job], options)).toThrow(MemoryError);
    expect(() => plan([job], options)).toThrow(refused);
    await expect(job.compute(options)).rejects.toThrow(refused);
  });

  it('is none on the CPU', () => {
    expect(plan([centered], { device: 'cpu', hostMemory: 1 }).hostPeakBytes).toBe(0);
  });

  it('has to be a size', async () => {
    await expect(product.compute({ device, hostMemory: 'plenty' })).rejects.toThrow(/a size in bytes/);
  });
});
