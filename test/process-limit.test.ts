/** The limit of the process on the CPU: what arrays, results, computes and pools hold together. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  compile,
  fromReader,
  type Lazy,
  lazy,
  limitMemory,
  MemoryError,
  memory,
  ones,
  trim,
} from '../src/index.js';

const MIB = 2 ** 20;
const device = 'cpu';
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const use = () => memory().find((one) => one.device === device)!;
/** Memory in use once nothing is held that can be collected. */
async function settled(): Promise<number> {
  for (let k = 0; k < 5; k++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await trim(device);
  return use().inUse;
}

const data = Float32Array.from({ length: MIB / 2 }, (_, i) => (i % 1000) / 1000);
const x = lazy(data, { shape: [2048, 256] });
const w = lazy(new Float32Array(256 * 256).fill(0.01), { shape: [256, 256] });
/** Values of 2 MiB each between products. */
const job = (k: number): Lazy => x.matmul(w).add(k).matmul(w).tanh().matmul(w).sum(1);

let before = 0;
beforeEach(async () => {
  await ones([1]).compute({ device });
  before = await settled();
});
afterEach(() => limitMemory(null, device));
afterAll(() => limitMemory(null));

describe('the limit of the process on the CPU', () => {
  it('is shown by memory()', async () => {
    expect(use().limit).toBeUndefined();
    await limitMemory('3MiB');
    expect(use().limit).toBe(3 * MIB);
    await limitMemory('1GiB', device);
    expect(use().limit).toBe(2 ** 30);
    await limitMemory(null);
    await limitMemory('50%', device);
    expect(use().limit).toBeGreaterThan(2 ** 27);
  });

  it('has a compute planned in tiles, with the same bits', async () => {
    const wanted = (await job(1).compute({ device })).data;
    const { peakBytes } = job(1).plan({ device });
    await settled();
    await limitMemory(before + peakBytes / 2, device);
    expect((await job(1).compute({ device })).data).toEqual(wanted);
    expect(use().peak).toBeLessThanOrEqual(before + peakBytes / 2);
    const f = compile(job, { device });
    for (let k = 0; k < 3; k++) expect((await f(1)).data).toEqual(wanted);
    expect(use().held).toBeLessThanOrEqual(before + peakBytes / 2);
  });

  it('counts arrays that stay there, and gives back what is kept', async () => {
    using _held = await ones([3 * MIB], 'uint8').persist({ device });
    (await ones([8 * MIB], 'uint8').persist({ device })).dispose();
    await limitMemory(before + 5 * MIB, device);
    expect(use().held).toBeLessThanOrEqual(before + 5 * MIB);
    using _more = await ones([MIB], 'uint8').persist({ device });
    const refused = ones([3 * MIB], 'uint8').persist({ device });
    await expect(refused).rejects.toThrow(MemoryError);
    await expect(refused).rejects.toThrow(/limit of .* for this process/);
    expect(use().held).toBeLessThanOrEqual(before + 5 * MIB);
  });

  it('is kept by computes at a time, which wait for each other', async () => {
    const wanted = await Promise.all(
      Array.from({ length: 8 }, async (_, k) => (await job(k).compute({ device })).data),
    );
    const { peakBytes } = job(1).plan({ device });
    await settled();
    const limit = before + Math.ceil(1.2 * peakBytes);
    await limitMemory(limit, device);
    const results = await Promise.all(
      Array.from({ length: 8 }, async (_, k) => (await job(k).compute({ device })).data),
    );
    expect(results).toEqual(wanted);
    expect(use().peak).toBeLessThanOrEqual(limit);
  });

  it('has no compute wait for itself whose reader computes, while another one waits to be alone', async () => {
    let begin = (): void => undefined;
    const isQueued = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const read = async (_: number, count: number) => {
      await isQueued;
      return (await ones([count], 'float32').mul(2).compute({ device })).data;
    };
    await limitMemory(before + 8 * MIB, device);
    const sum = fromReader(read, { dtype: 'float32', shape: [1024] })
      .sum()
      .compute({ device });
    const stored = await ones([3 * MIB], 'uint8').persist({ device });
    const refused = ones([6 * MIB], 'uint8').persist({ device });
    // Until it has been refused beside the stored array, and waits for the sum.
    await new Promise((resolve) => setTimeout(resolve, 200));
    begin();
    expect((await sum).item()).toBe(2048);
    await expect(refused).rejects.toThrow(MemoryError);
    stored.dispose();
  });

  it('refuses what the limit itself has no room for while others are under way', async () => {
    let end = (): void => undefined;
    const read = () =>
      new Promise<Float32Array>((resolve) => {
        end = () => resolve(new Float32Array(4));
      });
    await limitMemory('1GiB', device);
    const other = fromReader(read, { dtype: 'float32', shape: [4] })
      .sum()
      .compute({ device });
    await limitMemory(before + 64 * 1024, device);
    await expect(job(1).compute({ device })).rejects.toThrow(/limit of .* of 'cpu' for this process/);
    end();
    expect((await other).item()).toBe(0);
  });

  it('counts no memory in the peak that the system did not give', async () => {
    await expect(ones([2 ** 46], 'uint8').persist({ device })).rejects.toThrow('are in use by Weft');
    expect(use().peak).toBeLessThan(2 ** 40);
  });

  it('refuses at once what cannot fit, by its numbers, and what is no size', async () => {
    await limitMemory(before + 64 * 1024, device);
    await expect(job(1).compute({ device })).rejects.toThrow(/limit of .* of 'cpu' for this process/);
    await expect(ones([MIB]).compute({ device })).rejects.toThrow(MemoryError);
    await limitMemory(null, device);
    expect((await ones([MIB], 'uint8').sum().compute({ device })).item()).toBe(MIB);
    await expect(limitMemory('much')).rejects.toThrow('[limitMemory]');
    await expect(limitMemory(0)).rejects.toThrow('[limitMemory]');
    await expect(limitMemory('1GiB', 'tpu')).rejects.toThrow("'tpu'");
  });
});
