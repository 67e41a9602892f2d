/**
 * Inputs that are not one typed array: files, arrays in pieces. They give the same bits as the same elements
 * in memory.
 */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  chunked,
  compute,
  DTYPES,
  FileError,
  fromFile,
  type Lazy,
  lazy,
  loadNpy,
  npy,
  ShapeError,
  saveNpy,
} from '../../src/index.js';
import { backends } from '../support/backends.js';
import { temporaryFolder } from '../support/files.js';
import { randomIntegers } from '../support/random.js';

const folder = temporaryFolder();
const devices = backends().filter((name) => name !== 'reference' && name !== 'interpreted');

/** Elements of a size that takes one packed copy, one slot of the staging ring, or many. */
const SIZES = [
  ['a few bytes', [3, 5]],
  ['hundreds of KiB', [300, 257]],
  ['tens of MiB', [1037, 4099]],
] as const;

const bytesOf = (data: ArrayBufferView): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

describe.each(devices)('on %s', (device) => {
  const same = async (x: Lazy, y: Lazy): Promise<void> => {
    const [a, b] = await compute([x, y], { device });
    expect([a.dtype, a.shape]).toEqual([b.dtype, b.shape]);
    expect(bytesOf(a.data).equals(bytesOf(b.data))).toBe(true);
  };

  it.each(SIZES)('reads files of %s', async (_, shape) => {
    const data = new Float32Array(shape[0] * shape[1]).map((_, k) => (k % 8191) - 4000);
    const x = lazy(data, { shape });
    for (const order of ['C', 'F'] as const) {
      for (const byteOrder of ['little', 'big'] as const) {
        const path = join(folder.path, 'x.npy');
        await saveNpy(path, x, { order, byteOrder, device: 'cpu' });
        const y = await loadNpy(path);
        await same(y.mul(2), x.mul(2));
        await same(y.sum(0), x.sum(0));
        await same(
          y.slice([1, null, 2], [null, null, -3]).add(1),
          x.slice([1, null, 2], [null, null, -3]).add(1),
        );
      }
    }
  });

  it.each(SIZES)('reads arrays in pieces, of %s', async (_, shape) => {
    const data = new Float64Array(shape[0] * shape[1]).map((_, k) => (k % 8191) - 4000);
    const cuts = [0, 1, 2, 2, Math.floor(data.length / 3), data.length - 1, data.length];
    const pieces = cuts.slice(1).map((end, k) => data.slice(cuts[k], end));
    const x = lazy(data, { shape });
    const y = chunked(pieces, shape as unknown as number[]);
    await same(y.mul(2), x.mul(2));
    await same(y.sum(0), x.sum(0));
    await same(y.slice(1, [2, 4]), x.slice(1, [2, 4]));
    await same(chunked(pieces, shape as unknown as number[], 'float32').exp(), x.astype('float32').exp());
  });

  it('reads and writes files part by part, within a budget', async () => {
    const shape = [2000, 300];
    const data = new Float32Array(shape[0]! * shape[1]!).map((_, k) => (k % 8191) - 4000);
    const x = lazy(data, { shape });
    const [path, to] = ['tiled.npy', 'tiled-out.npy'].map((name) => join(folder.path, name));
    for (const byteOrder of ['little', 'big'] as const) {
      const y = await saveNpy(path!, x, { byteOrder, device: 'cpu' });
      const options = { device, memory: 1_200_000 };
      for (const job of [(z: Lazy) => z.mul(2).exp(), (z: Lazy) => z.sum(1), (z: Lazy) => z.sum()]) {
        const { sweeps, peakBytes } = job(y).plan(options);
        expect(peakBytes).toBeLessThanOrEqual(options.memory);
        // Where a CPU's threads add up what they read, there are no tiles.
        if (device !== 'cpu') expect(sweeps.length).toBeGreaterThan(0);
        const [whole] = await compute([job(x)], { device });
        const tiled = await job(y).compute(options);
        expect(bytesOf(tiled.data).equals(bytesOf(whole.data))).toBe(true);
        const stored = await job(y).compute({ ...options, to: npy(to!, { byteOrder }) });
        await same(stored, lazy(whole));
      }
    }
  });

  it('reads every dtype in both byte orders, at odd offsets', async () => {
    for (const dtype of DTYPES) {
      const { data } = randomIntegers(dtype, [7, 3], 5);
      const x = lazy({ data, shape: [7, 3], dtype });
      for (const byteOrder of ['little', 'big'] as const) {
        const bytes = Buffer.from(bytesOf(data));
        const complex = dtype.startsWith('complex');
        const word = data.byteLength / 21 / (complex ? 2 : 1);
        if (byteOrder === 'big' && word > 1)
          bytes[word === 2 ? 'swap16' : word === 4 ? 'swap32' : 'swap64']();
        const path = join(folder.path, `${dtype}.raw`);
        writeFileSync(path, Buffer.concat([Buffer.alloc(5), bytes]));
        await same(await fromFile(path, { dtype, shape: [7, 3], offset: 5, byteOrder }), x);
      }
    }
  });

  it('joins pieces of halves and complex numbers', async () => {
    const halves = new Uint16Array([0x3c00, 0x4000, 0x4200]);
    const x = chunked([halves.slice(0, 1), halves.slice(1)], 3, 'float16');
    expect([x.dtype, (await x.add(1).compute({ device })).toArray()]).toEqual(['float16', [2, 3, 4]]);
    const pairs = chunked([new Float32Array([1]), new Float32Array([2, 3, 4])], [2], 'complex64');
    expect((await pairs.mul(2).compute({ device })).toArray()).toEqual([
      { re: 2, im: 4 },
      { re: 6, im: 8 },
    ]);
  });

  it('refuses files that changed, and goes on with others', async () => {
    const path = join(folder.path, 'short.npy');
    for (const [, shape] of SIZES) {
      const size = shape[0] * shape[1];
      await saveNpy(path, lazy(new Float32Array(size)), { device: 'cpu' });
      const x = await loadNpy(path);
      truncateSync(path, 130);
      const failing = x.add(1).compute({ device });
      await expect(failing).rejects.toThrow(FileError);
      await expect(failing).rejects.toMatchObject({
        path,
        message: expect.stringMatching(/changed or replaced/),
      });
      expect((await lazy(new Float32Array(size)).sum().compute({ device })).item()).toBe(0);
    }
  });

  it('refuses pieces that lost their memory', async () => {
    const pieces = [new Float32Array(4), new Float32Array(4)];
    const x = chunked(pieces);
    structuredClone(pieces[0]!.buffer, { transfer: [pieces[0]!.buffer] });
    await expect(x.sum().compute({ device })).rejects.toThrow(ArgumentError);
  });
});

describe('chunked', () => {
  it('refuses what does not fit together', () => {
    const a = new Float32Array(4);
    expect(() => chunked([])).toThrow(ArgumentError);
    expect(() => chunked([[1]] as never)).toThrow(ArgumentError);
    expect(() => chunked(a as never)).toThrow(ArgumentError);
    expect(() => chunked([a, new Float64Array(4)])).toThrow(/arrays of one type/);
    expect(() => chunked([a, a], [3, 3])).toThrow(ShapeError);
    expect(() => chunked([a, new Float32Array(1)], undefined, 'complex64')).toThrow(ShapeError);
  });
});
