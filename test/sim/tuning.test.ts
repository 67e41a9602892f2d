/**
 * Products whose algorithms are measured (`tune: true`): which of those that the library offers is taken, what is
 * kept of it, and what becomes of candidates, folders and entries that are no good. The simulated library offers
 * four, of which the first is the slowest and each adds up its sums in another number of parts.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { clearTuning, TuningCache } from '../../src/exec/run/tuning-cache.js';
import { isTunedProduct, type TunedProduct } from '../../src/exec/targets/product-tuning.js';
import { compile, iterate, type Lazy, lazy } from '../../src/index.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const device = 'cuda';
const SIDE = 32;
const numbers = (count: number, factor: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => ((k * factor) % 1009) / 1009 - 0.5);
const matrix = (rows: number, columns: number, factor = 7919): Lazy =>
  lazy({ data: numbers(rows * columns, factor), shape: [rows, columns] });
const product = (k = 400): Lazy => matrix(SIDE, k).matmul(matrix(k, SIDE, 31));

/** Calls of the library in a compute. */
async function counted(
  x: Lazy,
  options: object = {},
): Promise<{ calls: Record<string, number>; data: unknown }> {
  setFaults([]);
  const { data } = await x.compute({ device, ...options });
  return { calls: describeSimulator().counts as Record<string, number>, data };
}

afterEach(() => {
  setFaults([]);
  clearPrograms();
  clearTuning();
  expect(takeProblems()).toEqual([]);
});

describe('a tuned product', () => {
  it('takes the fastest of the algorithms that the library offers, and says so', async () => {
    const x = product();
    expect(String(x.explain({ device, tune: true }))).toContain('measured when it is first computed');
    const tuned = await counted(x, { tune: true });
    expect(tuned.calls.cublasGemmEx ?? 0).toBe(0);
    expect(tuned.calls.cublasLtMatmul).toBeGreaterThan(4);
    expect(String(x.explain({ device, tune: true }))).toMatch(
      /algorithm: [234] of 4 by measurement, [\d.]+ µs, [\d.]+ µs of the heuristic's first/,
    );
    expect(String(x.explain({ device }))).not.toContain('algorithm:');
  });

  it('is measured once, whatever computes it', async () => {
    const first = await counted(product(), { tune: true });
    clearPrograms();
    const again = await counted(product(), { tune: true });
    expect(again.calls.cublasLtMatmul).toBe(1);
    expect(again.data).toEqual(first.data);
    const step = compile((a: Lazy, b: Lazy) => a.matmul(b), { device, tune: true });
    expect((await step(matrix(SIDE, 400), matrix(400, SIDE, 31))).data).toEqual(first.data);
  });

  it('is near the untuned one, and has other bits where its sums have another order', async () => {
    const tuned = (await product().compute({ device, tune: true })).data as Float32Array;
    const plain = (await product().compute({ device })).data as Float32Array;
    expect([...tuned]).not.toEqual([...plain]);
    for (const [k, value] of tuned.entries()) expect(value).toBeCloseTo(plain[k]!, 4);
  });

  it('keeps its epilogue, and is one call in loops', async () => {
    const x = matrix(SIDE, 400)
      .matmul(matrix(400, SIDE, 31))
      .add(matrix(1, SIDE, 17).reshape([SIDE]))
      .relu();
    const wanted = (await x.compute({ device: 'cpu' })).data as Float32Array;
    const found = (await x.compute({ device, tune: true })).data as Float32Array;
    for (const [k, value] of found.entries()) expect(value).toBeCloseTo(wanted[k]!, 4);
    const square = matrix(SIDE, SIDE);
    const powers = iterate(3, square, (y) => y.matmul(square));
    const own = (await powers.compute({ device, tune: true })).data as Float32Array;
    const byCpu = (await powers.compute({ device: 'cpu' })).data as Float32Array;
    for (const [k, value] of own.entries()) expect(value).toBeCloseTo(byCpu[k]!, 4);
  });

  it('passes over algorithms that fail', async () => {
    setFaults([{ call: 'cublasLtMatmul', nth: 1, status: 15 }]);
    const x = product();
    await x.compute({ device, tune: true });
    expect(String(x.explain({ device, tune: true }))).toMatch(/algorithm: \d of 3 by measurement/);
  });

  it("is the library's own choice where the device has no room to measure, until it has", async () => {
    const x = product();
    setFaults([1, 2].map((nth) => ({ call: 'cuMemAllocFromPoolAsync', nth, status: 2 })));
    const { data } = await x.compute({ device, tune: true });
    expect(data).toEqual((await x.compute({ device })).data);
    expect(String(x.explain({ device, tune: true }))).toContain(
      "the library's own choice (no room to measure)",
    );
    setFaults([]);
    clearPrograms();
    await x.compute({ device, tune: true });
    expect(String(x.explain({ device, tune: true }))).toContain('by measurement');
  });

  it('is untouched by the option on the CPU, and refuses what is no answer', async () => {
    const [plain, tuned] = [
      await product().compute({ device: 'cpu' }),
      await product().compute({ device: 'cpu', tune: true }),
    ];
    expect(tuned.data).toEqual(plain.data);
    const wrong = { device, tune: 'yes' } as unknown as { tune: boolean };
    await expect(product().compute(wrong)).rejects.toThrow('[compute] expected tune as true or false');
  });
});

describe('the choices on disk', () => {
  const choice: TunedProduct = {
    algorithm: Array.from({ length: 16 }, (_, k) => k),
    place: 2,
    count: 8,
    seconds: 1e-4,
    firstSeconds: 2e-4,
  };
  const key = 'a'.repeat(64);
  const folders: string[] = [];
  const makeFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-tuning-'));
    folders.push(folder);
    return folder;
  };
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  const cacheIn = (folder: string) => new TuningCache<TunedProduct>(folder, 2 ** 20, isTunedProduct);
  const refuse = (): Promise<TunedProduct> => Promise.reject(new Error('measured again'));

  it('are measured by one process for all', async () => {
    const folder = makeFolder();
    let measured = 0;
    const measure = async (): Promise<TunedProduct> => {
      measured++;
      return choice;
    };
    const cache = cacheIn(folder);
    expect(await Promise.all([cache.get(key, measure), cache.get(key, measure)])).toEqual([choice, choice]);
    expect(measured).toBe(1);
    expect(await cacheIn(folder).get(key, refuse)).toEqual(choice);
  });

  it.each([
    '',
    '{}',
    'null',
    '{"algorithm":[1]}',
    JSON.stringify({ ...choice, algorithm: Array(16).fill(-1) }),
  ])('are measured anew where the entry is %j', async (text) => {
    const folder = makeFolder();
    const writer = cacheIn(folder);
    await writer.get(key, async () => JSON.parse(text === '' ? '0' : text) as TunedProduct);
    expect(await cacheIn(folder).get(key, async () => choice)).toEqual(choice);
  });

  it('are measured anew where the file is broken', async () => {
    const folder = makeFolder();
    await cacheIn(folder).get(key, async () => choice);
    const [file] = readdirSync(folder).filter((name) => name.endsWith('.image'));
    writeFileSync(join(folder, file!), 'rubbish');
    expect(await cacheIn(folder).get(key, async () => choice)).toEqual(choice);
  });

  it('are no condition: a folder that cannot be written to', async () => {
    const cache = cacheIn('/proc/weft');
    expect(await cache.get(key, async () => choice)).toEqual(choice);
    expect(await cache.get(key, refuse)).toEqual(choice);
  });
});
