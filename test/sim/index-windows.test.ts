/** Elements at any indices of arrays larger than a GPU's memory: the arrays come in windows of the indexed axis, once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  compute,
  type Lazy,
  lazy,
  loadNpy,
  npy,
  placeholder,
  profile,
  RangeArgumentError,
} from '../../src/index.js';
import { setDevices } from './simulator.js';

setDevices([{}, {}, {}]);
const device = 'cuda:0';

const [ROWS, COLUMNS] = [4096, 16];
const BYTES = 4 * ROWS * COLUMNS;
const data = Float32Array.from({ length: ROWS * COLUMNS }, (_, k) => Math.sin(k) * 8);
const table = lazy(data, { shape: [ROWS, COLUMNS] });
const other = lazy(
  data.map((x) => x + 1),
  { shape: [ROWS, COLUMNS] },
);
/** Indices from both ends, some of them several times. */
const indices = (length: number, step = 3571): Lazy =>
  lazy(BigInt64Array.from({ length }, (_, k) => BigInt(((k * step) % (2 * ROWS)) - ROWS)));

const windowsOf = (job: Lazy, memory: string | number): string =>
  /\d+ windows of indices.*/.exec(String(job.plan({ device, memory })))?.[0] ?? '';

async function copiedIn(job: Lazy, memory: string): Promise<{ bytes: number; data: unknown }> {
  const { result, timeline } = await profile(job, { device, memory });
  const copies = timeline.spans.filter(({ kind }) => kind === 'copy in');
  return { bytes: copies.reduce((sum, span) => sum + span.bytes, 0), data: result.data };
}

describe('an array that does not fit', () => {
  it('is taken from in so many parts that none lies across two rows of a transposed array: those need more', () => {
    const i = placeholder([3, 20_000], { dtype: 'int32' });
    const job = placeholder([2 ** 16])
      .take(i, 0)
      .add(placeholder([20_000, 3]).transpose());
    expect(job.plan({ device, memory: 495_000 }).peakBytes).toBeLessThanOrEqual(495_000);
  });

  it('goes through the GPU once, in windows, with what is computed of its elements in the same kernel', async () => {
    const i = indices(500);
    const y = lazy(Float32Array.from({ length: 500 }, (_, k) => k)).reshape([500, 1]);
    const job = table.take(i.add(1), 0, { mode: 'wrap' }).abs().sqrt().mul(y);
    expect(job.plan({ device, memory: '128KiB' }).sweeps).toHaveLength(1);
    expect(windowsOf(job, '128KiB')).toMatch(/^\d+ windows of indices$/);
    const { bytes, data: found } = await copiedIn(job, '128KiB');
    expect(bytes).toBe(BYTES + 8 * 500 + 4 * 500);
    expect(found).toEqual((await job.compute({ device })).data);
  });

  it('goes through it for each part of a result that does not fit either', async () => {
    const job = table.take(indices(5000), 0).add(1);
    expect(windowsOf(job, '128KiB')).toMatch(/windows of indices for each of \d+ parts of the result/);
    expect((await job.compute({ device, memory: '128KiB' })).data).toEqual(
      (await job.compute({ device })).data,
    );
    expect(String(job.explain({ device, memory: '128KiB' }))).toMatch(
      /taken in \d+ windows of indices for each of/,
    );
  });

  it.each<[string, Lazy]>([
    ['by several indices', table.take(indices(400), 0).mul(table.take(indices(400, 7919), 0))],
    [
      'by indices that are taken themselves',
      table.take(lazy(new Int32Array(65_536).map((_, k) => k % ROWS)).take(indices(400)), 0),
    ],
    ['into sums', table.take(indices(2000), 0).sum(0)],
    ['along an axis', table.takeAlongAxis(indices(60 * COLUMNS).reshape([60, COLUMNS]), 0)],
    ['of what is computed before', table.exp().take(indices(400), 0)],
    ['of single elements, beyond the end', lazy(data).take(indices(3001).mul(40), 0, { mode: 'clip' })],
  ])('has the bits of the whole %s', async (_, job) => {
    expect(windowsOf(job, '160KiB')).not.toBe('');
    const [whole] = await compute([job], { device });
    expect((await job.compute({ device, memory: '160KiB' })).data).toEqual(whole.data);
  });

  it.each([11, 15])('passes in rows of windows where it is transposed: %i columns', async (columns) => {
    const rows = 4099;
    const x = lazy(data.subarray(0, columns * rows), { shape: [columns, rows] }).transpose();
    const i = lazy(Int32Array.from({ length: 3000 }, (_, k) => ((k * 3571) % (2 * rows)) - rows));
    const sums = x.mul(1).cumulativeSum(0);
    for (const job of [
      x.take(i, 0).mul(2),
      sums.take(i, 0).sum(),
      sums.flip(0).take(i, 0),
      sums.take(i, 0).sum(1),
    ]) {
      const memory = Math.max(2 ** 17, Math.floor(job.plan({ device }).peakBytes / 4));
      expect(windowsOf(job, memory)).toMatch(/windows of indices/);
      const [whole] = await compute([job], { device });
      expect((await job.compute({ device, memory })).data).toEqual(whole.data);
    }
  });

  it('passes whole between its indices where those are further apart than the rows of one', async () => {
    const x = lazy(data, { shape: [128, 16, 32] }).slice(':', ':', '5:7');
    const i = lazy(Int32Array.from({ length: 300 }, (_, k) => ((k * 37) % 256) - 128));
    for (const job of [x.take(i, 0), x.flip(0).take(i, 0).sum(1), x.take(i, 0).sum()]) {
      const memory = 2 ** 16;
      expect(windowsOf(job, memory)).toMatch(/windows of indices/);
      const [whole] = await compute([job], { device });
      expect((await job.compute({ device, memory })).data).toEqual(whole.data);
    }
  });

  it('is not brought twice where two are read at the same indices', async () => {
    const i = indices(400);
    const job = table.take(i, 0).sub(other.take(i, 0));
    const { bytes, data: found } = await copiedIn(job, '128KiB');
    // Indices come once more to be checked.
    expect(bytes).toBe(2 * BYTES + 2 * 8 * 400);
    expect(found).toEqual(new Float32Array(400 * COLUMNS).fill(-1).map((_, k) => wanted(k)));
  });

  it('has the bits of the whole on several devices', async () => {
    const job = table.take(indices(3000), 0).mul(3).sum(1);
    const whole = await job.compute({ device });
    for (const count of [2, 3]) {
      const devices = ['cuda:0', 'cuda:1', 'cuda:2'].slice(0, count);
      expect((await job.compute({ devices, memory: '160KiB' })).data).toEqual(whole.data);
    }
  });

  it('is read from a file once on the CPU, in one piece for each window', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-windows-'));
    const path = join(folder, 'table.npy');
    await table.compute({ device: 'cpu', to: npy(path) });
    const job = (await loadNpy(path)).take(indices(100), 0);
    const { timeline } = await profile(job, { device: 'cpu', memory: '64KiB' });
    const reads = timeline.spans.filter(({ kind }) => kind === 'read');
    const [windows] = /\d+(?= windows)/.exec(String(job.plan({ device: 'cpu', memory: '64KiB' })))!;
    expect(reads.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(BYTES);
    expect(reads).toHaveLength(Number(windows));
    rmSync(folder, { recursive: true });
  });

  it('comes window by window of few long rows', async () => {
    const job = lazy(data, { shape: [4, ROWS * 4] }).take(indices(2 ** 13, 7919).remainder(ROWS), 1);
    expect(windowsOf(job, '96KiB')).toMatch(/windows of indices for each of \d+ parts of the result/);
    expect((await job.compute({ device, memory: '96KiB' })).data).toEqual(
      (await job.compute({ device })).data,
    );
  });

  it('refuses an index out of range by name', async () => {
    const wrong = lazy(Int32Array.of(3, ROWS, 5));
    const computed = table.take(wrong, 0).exp().compute({ device, memory: '128KiB' });
    await expect(computed).rejects.toThrow(RangeArgumentError);
    await expect(computed).rejects.toThrow(/4096/);
  });
});

/** An element less the one of the other array at its place. */
function wanted(k: number): number {
  const i = ((Math.floor(k / COLUMNS) * 3571) % (2 * ROWS)) - ROWS;
  const x = data[((i + ROWS) % ROWS) * COLUMNS + (k % COLUMNS)]!;
  return Math.fround(x - Math.fround(x + 1));
}
