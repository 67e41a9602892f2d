/** Elements at any indices of files larger than the budget on the CPU: files are read in windows of the axis, once. */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CPU } from '../../src/exec/targets/device.js';
import { bytesMoved } from '../../src/exec/tiles/loop-sweeps.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import {
  fromFile,
  type Lazy,
  lazy,
  loadNpy,
  MemoryError,
  npy,
  RangeArgumentError,
  ShapeError,
} from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { generator, randomValues } from '../support/random.js';

const folder = mkdtempSync(join(tmpdir(), 'weft-windows-'));
afterAll(() => rmSync(folder, { recursive: true }));
const device = 'cpu';

/** An array in memory, and the same in a `.npy` file. */
async function both(shape: readonly number[], seed: number): Promise<[Lazy, Lazy]> {
  const host = lazy(randomValues('float32', shape, seed).data as Float32Array, { shape: [...shape] });
  const path = join(folder, `${seed}.npy`);
  await host.compute({ device, to: npy(path) });
  return [host, await loadNpy(path)];
}

const indicesOf = (length: number, size: number, seed: number): Lazy => {
  const next = generator(seed);
  return lazy(BigInt64Array.from({ length }, () => BigInt(Math.floor(next() * 2 * size) - size)));
};

const windowsOf = (job: Lazy, memory: number): string =>
  /\d+ windows of indices.*/.exec(String(job.plan({ device, memory })))?.[0] ?? '';

describe('a file that does not fit', () => {
  it('is read once, whatever the indices', async () => {
    const [host, file] = await both([20_000, 16], 1);
    const job = (x: Lazy): Lazy =>
      x
        .take(indicesOf(30_000, 20_000, 2), 0)
        .mul(2)
        .add(1);
    expect(windowsOf(job(file), 2 ** 18)).toMatch(/^\d+ windows of indices$/);
    const { plan } = planOnDevice(canonicalize([job(file).expr]), CPU, { budget: 2 ** 18 });
    expect(bytesMoved(plan)).toBe(4 * 20_000 * 16);
    const found = await job(file).compute({ device, memory: 2 ** 18 });
    expect(found.data).toEqual((await job(host).compute({ device })).data);
  });

  it('is read in rows where indices are of columns', async () => {
    const [host, file] = await both([4000, 64], 3);
    const job = (x: Lazy): Lazy => x.take(lazy(Int32Array.of(3, -1, 3, 60)), 1);
    expect(windowsOf(job(file), 2 ** 18)).toBe('');
    const found = await job(file).compute({ device, memory: 2 ** 18 });
    expect(found.data).toEqual((await job(host).compute({ device })).data);
  });

  it('has rows set by index, and elements updated by a mask, in tiles', async () => {
    const [host, file] = await both([4000, 64], 4);
    const rows = indicesOf(300, 4000, 5);
    const jobs: readonly ((x: Lazy) => Lazy)[] = [
      (x) => x.at(rows).set(7),
      (x) => x.at(rows).set(host.slice(':300')),
      (x) => x.at(x.less(0)).add(1),
    ];
    for (const job of jobs) {
      const memory = 2 ** 18;
      expect(
        job(file)
          .plan({ device, memory })
          .sweeps.map(({ tiles }) => tiles > 2),
      ).toEqual([true]);
      const found = await job(file).compute({ device, memory });
      expect(found.data).toEqual((await job(host).compute({ device })).data);
    }
  });

  it('is read once for few long rows, window by window of each', async () => {
    const [host, file] = await both([3, 30_000], 6);
    const i = indicesOf(9000, 30_000, 7);
    for (const job of [
      (x: Lazy): Lazy => x.take(i, 1),
      (x: Lazy): Lazy => x.takeAlongAxis(i.slice([0, 6000]).reshape([3, 2000]), 1).mul(2),
    ]) {
      const memory = 100_000;
      expect(windowsOf(job(file), memory)).toMatch(/\d+ windows of indices/);
      const found = await job(file).compute({ device, memory });
      expect(found.data).toEqual((await job(host).compute({ device })).data);
    }
  });

  it('is read row by row of a middle axis, in windows of each', async () => {
    const [host, file] = await both([4, 8000, 4], 10);
    const job = (x: Lazy): Lazy => x.take(indicesOf(8000, 8000, 11), 1);
    const memory = 80_000;
    expect(windowsOf(job(file), memory)).toMatch(/\d+ windows of indices for each of \d+ parts/);
    const found = await job(file).compute({ device, memory });
    expect(found.data).toEqual((await job(host).compute({ device })).data);
  });

  it('is read in rows of windows where it is transposed', async () => {
    const [host, file] = await both([8, 9001], 20);
    const i = indicesOf(7000, 9001, 21);
    for (const job of [
      (x: Lazy): Lazy => x.transpose().take(i, 0).mul(2),
      (x: Lazy): Lazy => x.transpose().flip(0).take(i, 0),
      (x: Lazy): Lazy => x.transpose().mul(1).cumulativeSum(0).take(i, 0).sum(),
    ]) {
      const memory = 80_000;
      expect(windowsOf(job(file), memory)).toMatch(/windows of indices/);
      const found = await job(file).compute({ device, memory });
      expect(found.data).toEqual((await job(host).compute({ device })).data);
    }
  });

  it('is searched step by step, each of which reads how far the last one has come and what it took', async () => {
    const [host, file] = await both([2 ** 14], 12);
    const [, sought] = await both([2 ** 14], 13);
    const job = (x: Lazy): Lazy => x.cumulativeMax().searchsorted(sought);
    const memory = 70_000;
    const { plan } = planOnDevice(canonicalize([job(file).expr]), CPU, { budget: memory });
    const touched = plan.steps.flatMap((step) =>
      step.kind === 'sweep' && step.taken !== undefined ? [step.windows.length] : [],
    );
    expect(touched.length).toBeGreaterThan(10);
    expect(Math.max(...touched)).toBeLessThanOrEqual(6);
    const found = await job(file).compute({ device, memory });
    expect(found.data).toEqual((await job(host).compute({ device })).data);
  });

  it('is reduced over many short rows in parts of all columns: windows of one column would hold all', async () => {
    const [host, file] = await both([2 ** 17, 4], 8);
    const i = indicesOf(2 ** 17, 2 ** 17, 9);
    for (const [job, part] of [
      [(x: Lazy): Lazy => x.take(i, 0).sum(0), 0.6],
      [(x: Lazy): Lazy => x.median(0), 0.25],
    ] as const) {
      const memory = Math.floor(job(file).plan({ device }).peakBytes * part);
      const found = await job(file).compute({ device, memory });
      expect(found.data).toEqual((await job(host).compute({ device })).data);
    }
  });

  it('is not read for no indices, and has nothing where there are no rows to take', async () => {
    const [, file] = await both([20_000, 16], 10);
    const none = lazy(new Int32Array(0));
    expect((await file.take(none, 0).compute({ device, memory: 2 ** 17 })).shape).toEqual([0, 16]);
    const columns = file.slice(null, [0, 0]).take(indicesOf(5, 20_000, 11), 0);
    expect((await columns.compute({ device, memory: 2 ** 17 })).shape).toEqual([5, 0]);
    const rows = file.slice([0, 0]);
    expect((await rows.take(none, 0).compute({ device })).shape).toEqual([0, 16]);
    expect(() => rows.take(lazy(Int32Array.of(0)), 0)).toThrow(ShapeError);
  });

  it('refuses an index out of range by name, whichever window it would be in', async () => {
    const [, file] = await both([20_000, 16], 12);
    for (const wrong of [20_000, -20_001, 2 ** 31 - 1]) {
      const taken = file.take(lazy(Int32Array.of(0, 19_999, wrong, -1)), 0);
      expect(windowsOf(taken, 2 ** 17)).not.toBe('');
      const computed = taken.compute({ device, memory: 2 ** 17 });
      await expect(computed).rejects.toThrow(RangeArgumentError);
      await expect(computed).rejects.toThrow(new RegExp(`from -20000 to 19999 .*: ${wrong}`));
    }
  });

  it('has windows beyond 2^31 elements', async () => {
    const rows = 3 * 2 ** 30;
    const path = join(folder, 'sparse.bin');
    writeFileSync(path, '');
    truncateSync(path, 2 * rows);
    const file = await fromFile(path, { dtype: 'uint8', shape: [rows, 2] });
    const job = file.take(lazy(BigInt64Array.of(-1n, 0n, 5n)), 0);
    const { plan } = planOnDevice(canonicalize([job.expr]), CPU, { budget: 2 ** 30 });
    const [sweep] = plan.steps.flatMap((step) => (step.kind === 'sweep' ? [step] : []));
    const last = sweep!.body[0]!.ranges[0]!.slice(-6);
    expect([...last.slice(4)]).toEqual([expect.any(Number), rows]);
    expect(last[4]).toBeGreaterThan(2 ** 31);
    expect(bytesMoved(plan)).toBe(2 * rows);
  });

  it('gives the bits of the whole in random programs, within their budgets', async () => {
    let [taken, refused] = [0, 0];
    for (let seed = 10; seed < 34; seed++) {
      const next = generator(seed);
      const among = <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)]!;
      const shape = among([[30_000], [4000, 8], [3, 9000], [40, 30, 20]]);
      const axis = Math.floor(next() * shape.length);
      const mode = among(['raise', 'wrap', 'clip'] as const);
      const length = among([7, 500, 3000]);
      const reach = mode === 'raise' ? shape[axis]! : 3 * shape[axis]!;
      const i = indicesOf(length, reach, seed);
      const epilogue = among<(x: Lazy) => Lazy>([
        (x) => x,
        (x) => x.mul(3).abs().sqrt(),
        (x) => x.sum(axis),
        (x) => x.add(x.max(-1, { keepdims: true })),
        (x) => x.slice('::2').add(1),
      ]);
      const job = (x: Lazy): Lazy => epilogue(x.take(i, axis, { mode }));
      const [host, file] = await both(shape, seed);
      const memory = Math.floor(4 * shape.reduce((a, b) => a * b) * among([0.7, 0.4]));
      const windows = windowsOrRefused(job(file), memory);
      if (windows === undefined) refused++;
      else {
        if (windows !== '') taken++;
        const found = await job(file).compute({ device, memory });
        expect(found.data).toEqual((await job(host).compute({ device })).data);
      }
    }
    expect(taken).toBeGreaterThan(8);
    // Few indices of an inner axis: each unit needs most of the file.
    expect(refused).toBeLessThan(5);
  });
});

/** `undefined`: refused. */
function windowsOrRefused(job: Lazy, memory: number): string | undefined {
  try {
    return windowsOf(job, memory);
  } catch (error) {
    if (error instanceof MemoryError) return undefined;
    throw error;
  }
}
