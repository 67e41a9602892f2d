/**
 * Files that a kernel on the CPU goes through once are read by the threads that compute on them; others
 * before anything is computed.
 */
import { truncateSync, utimesSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { arange, chunked, type Lazy, loadNpy, npy, saveNpy, stack } from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const CPU = { device: 'cpu' } as const;
const MIB = 2 ** 20;

const ROWS = 4000;
/** 12 MiB, of which blocks do not end where windows do. */
const made = (): Lazy =>
  arange(ROWS * 801)
    .reshape([ROWS, 801])
    .astype('float32')
    .mul(1e-5)
    .sin();
const path = `${folder.path}/x.npy`;
await saveNpy(path, made(), CPU);
const x = await loadNpy(path);
const inMemory = await made().persist(CPU);

describe('a file that is read once', () => {
  it.each<[string, (x: Lazy) => Lazy]>([
    ['the mean of all', (x) => x.mean()],
    ['sums of rows', (x) => x.square().sum(1)],
    ['a softmax of rows', (x) => x.softmax(1).sum(1)],
    ['a part of the rows, from behind', (x) => x.slice([3000, 100, -1]).sum(1)],
    ['the largest of all rows', (x) => x.max(1).add(x.min(1)).sum()],
  ])('is never in memory as a whole for %s, with the bits of an array in memory', async (_, fn) => {
    const y = fn(x);
    expect(y.plan(CPU).peakBytes).toBeLessThan(MIB);
    expect((await y.compute(CPU)).data).toEqual((await fn(inMemory).compute(CPU)).data);
  });

  it('nor for the moments of a few columns', async () => {
    const file = `${folder.path}/columns.npy`;
    const columns = await made()
      .slice([null], [null, 800])
      .reshape([ROWS * 100, 8])
      .persist(CPU);
    await saveNpy(file, columns, CPU);
    const moments = (z: Lazy): Lazy => stack([z.mean(0), z.std(0)]);
    const y = moments(await loadNpy(file));
    expect(y.plan(CPU).peakBytes).toBeLessThan(MIB);
    expect((await y.compute(CPU)).data).toEqual((await moments(columns).compute(CPU)).data);
  });

  it('nor beside other arrays, in the other byte order, or in pieces', async () => {
    const swapped = `${folder.path}/swapped.npy`;
    await saveNpy(swapped, made(), { ...CPU, byteOrder: 'big' });
    const pieces = [new Float32Array(MIB).fill(1), new Float32Array(2 * MIB).fill(2)];
    const jobs: [Lazy, Lazy][] = [
      [x.sub(inMemory).abs().sum(1), inMemory.sub(inMemory).abs().sum(1)],
      [(await loadNpy(swapped)).sum(1), inMemory.sum(1)],
      [
        chunked(pieces, [3 * MIB]).sum(),
        chunked(pieces, [3 * MIB])
          .mul(1)
          .max()
          .mul(0)
          .add(5 * MIB),
      ],
    ];
    for (const [y, wanted] of jobs) {
      expect(y.plan(CPU).peakBytes).toBeLessThan(MIB);
      expect((await y.compute(CPU)).data).toEqual((await wanted.compute(CPU)).data);
    }
  });

  it('is read for a file that is written', async () => {
    const to = npy(`${folder.path}/y.npy`);
    const [saved] = [await x.mul(2).compute({ ...CPU, to })];
    expect((await saved.sum(1).compute(CPU)).data).toEqual((await inMemory.mul(2).sum(1).compute(CPU)).data);
  });

  it('is refused if it is not the one that was opened', async () => {
    for (const change of [
      (file: string) => truncateSync(file, 5 * MIB),
      (file: string) => utimesSync(file, new Date(), new Date(Date.now() - 5000)),
    ]) {
      const other = `${folder.path}/other.npy`;
      await saveNpy(other, made(), CPU);
      const opened = await loadNpy(other);
      change(other);
      await expect(opened.sum(0).compute(CPU)).rejects.toThrow(/expected .*file that was opened.*other.npy/);
    }
  });
});

describe('a file is read before anything is computed', () => {
  it.each<[string, (x: Lazy) => Lazy]>([
    ['that is needed twice', (x) => x.sub(x.mean(0)).div(x.std(0)).sum(1)],
    ['that is small', (x) => x.slice([0, 100]).sum()],
    ['for a product', (x) => x.transpose().matmul(x)],
    ['of which blocks would be columns', (x) => x.transpose().cos().add(1)],
    ['whose columns are summed', (x) => x.sum(0)],
    [
      'whose neighbours are needed',
      (x) =>
        x
          .slice([1, null])
          .sub(x.slice([null, -1]))
          .sum(1),
    ],
  ])('%s', async (_, fn) => {
    const y = fn(x);
    const isSmall = fn(inMemory).plan(CPU).peakBytes;
    expect(y.plan(CPU).peakBytes).toBeGreaterThan(isSmall);
    expect((await y.compute(CPU)).data).toEqual((await fn(inMemory).compute(CPU)).data);
  });
});
