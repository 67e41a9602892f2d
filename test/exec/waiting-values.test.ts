/**
 * Values of jobs on the CPU that wait in files: only where they cannot be made again, with the bits of the
 * whole, in no more memory than the budget, and in files that are gone afterwards.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ComputeOptions,
  compute,
  iterate,
  type Lazy,
  lazy,
  loadNpy,
  npy,
  plan,
  where,
  whileLoop,
} from '../../src/index.js';
import { bitsOf, meterOf } from '../support/budget-corpus.js';
import { temporaryFolder } from '../support/files.js';

const device = 'cpu';
const folder = temporaryFolder();
const [rows, columns] = [2048, 1024];
const matrix = (): Lazy =>
  lazy(
    Float32Array.from({ length: rows * columns }, (_, k) => ((k * 31) % 101) / 7 - 6),
    { shape: [rows, columns] },
  );
const around = (x: Lazy): Lazy =>
  x
    .pad([
      [1, 0],
      [0, 0],
    ])
    .slice([null, -1])
    .add(x)
    .mul(0.5);
const centered = (x: Lazy): Lazy => x.sub(x.mean(0)).mul(0.9);

const JOBS: Readonly<Record<string, () => readonly Lazy[]>> = {
  'a loop of neighbours': () => [iterate(18, matrix(), around)],
  'its states on the way': () => [iterate(6, matrix(), around, { every: 3 })],
  'a loop that centers columns': () => [iterate(3, matrix(), centered)],
  'a loop until a condition holds': () => [
    whileLoop(
      (x) => x.abs().max().greater(2),
      (x) => around(x).mul(0.8),
      matrix(),
      { max: 3 },
    ),
  ],
  'a loop whose condition never holds': () => [
    whileLoop(
      (x) => x.max().greater(100),
      (x) => around(x),
      matrix().exp().mul(1e-6),
    ),
  ],
  'columns that are sorted': () => [matrix().sort(0)],
};

const waits = (results: readonly Lazy[], options: ComputeOptions): boolean =>
  / spill /.test(String(plan(results, options)));

/** Files without names that the process has open. */
const openFiles = (): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return / \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;

describe('values that wait in files', () => {
  it.each(Object.entries(JOBS))('have the bits of the whole: %s', async (_, make) => {
    const meter = await meterOf(device, false);
    const before = openFiles();
    const whole = await compute(make(), { device });
    const memory = Math.floor(plan(make(), { device }).peakBytes / 3);
    expect(waits(make(), { device, memory })).toBe(true);
    await meter.begin();
    const found = await compute(make(), { device, memory });
    expect(meter.peak()).toBeLessThanOrEqual(memory);
    expect(found.map((array) => bitsOf(array).equals(bitsOf(whole[0]!)))).toEqual([true]);
    expect(openFiles()).toBe(before);
  });

  it('go to files of results, too', async () => {
    const [wanted] = await compute(JOBS['a loop of neighbours']!(), { device });
    const path = join(folder.path, 'result.npy');
    await compute(JOBS['a loop of neighbours']!(), { device, memory: '2MiB', to: [npy(path)] });
    const found = await (await loadNpy(path)).compute({ device });
    expect(bitsOf(found).equals(bitsOf(wanted!))).toBe(true);
  });

  it('are none where what is needed again can be made again', () => {
    const x = matrix().exp();
    const standardized = [x.sub(x.mean(0)).div(x.std(0)), x.softmax(0)];
    expect(waits(standardized, { device, memory: '2MiB' })).toBe(false);
  });

  it('are not made again behind what reads them, with another value of their kernel', async () => {
    const waves = (by: number): Lazy =>
      lazy(Float32Array.from({ length: 26_400 }, (_, k) => Math.sin(k * by))).reshape([33, 8, 100]);
    const x = waves(0.7);
    const most = x.softmax(1).maximum(x);
    const results = [where(waves(1.3).greater(0), 1, most).square(), most.reshape([-1, 5]).softmax(1)];
    const whole = await compute(results, { device });
    for (const memory of [44_000, 37_000, 32_000, 27_000, 16_000]) {
      const found = await compute(results, { device, memory });
      expect(found.map((array, k) => bitsOf(array).equals(bitsOf(whole[k]!)))).toEqual([true, true]);
    }
  });
});
