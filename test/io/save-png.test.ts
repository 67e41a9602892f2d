/** Images into PNG files: their pixels, within less memory than they have, and that no file is there after a failure. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lazy, zeros } from '../../src/api/creation.js';
import type { Lazy } from '../../src/api/lazy.js';
import { arange } from '../../src/api/ranges.js';
import { FileError, ShapeError } from '../../src/host/errors.js';
import { fromReader } from '../../src/io/reader.js';
import { savePng } from '../../src/io/save.js';
import { readPng } from '../support/png.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weft-png-'));
});
afterAll(() => rm(folder, { recursive: true }));

const [HEIGHT, WIDTH] = [350, 400];
/** Bytes of three channels: ramps, and noise. */
const pixels = (): Lazy => {
  const place = arange(HEIGHT * WIDTH * 3).reshape([HEIGHT, WIDTH, 3]);
  return place.mul(7919).remainder(61).add(place.div(5000)).astype('uint8');
};

it('writes the pixels that toPNG writes', async () => {
  const path = join(folder, 'image.png');
  await savePng(path, pixels(), { device: 'cpu' });
  const image = await pixels().compute({ device: 'cpu' });
  expect(Buffer.compare(await readFile(path), await image.toPNG())).toBe(0);
  const map = arange(40).reshape([5, 8]);
  await savePng(path, map, { range: 'minmax', colors: 'heat', level: 9, device: 'cpu' });
  const { palette, bytes } = readPng(await readFile(path));
  expect([palette!.length, bytes[0], bytes[39]]).toEqual([768, 0, 255]);
});

it('writes an image that is larger than the memory that it may take', async () => {
  const path = join(folder, 'large.png');
  const given = await pixels().astype('float32').compute({ device: 'cpu' });
  // Elements that are not in memory: 1.6 MiB, of which tiles ask for parts.
  let most = 0;
  const read = (start: number, count: number): Float32Array => {
    most = Math.max(most, count);
    return given.data.slice(start, start + count) as Float32Array;
  };
  const image = fromReader(read, { dtype: 'float32', shape: [HEIGHT, WIDTH, 3] });
  const range = [0, 255] as const;
  await savePng(path, image, { range, device: 'cpu', memory: '384KiB', hostMemory: '384KiB' });
  expect(4 * most).toBeLessThan(384 * 2 ** 10);
  const { width, height, channels, bytes } = readPng(await readFile(path));
  expect([width, height, channels]).toEqual([WIDTH, HEIGHT, 3]);
  expect(Buffer.compare(bytes, Uint8Array.from(given.data as Float32Array))).toBe(0);
});

it('leaves what was there, and nothing else, after a failure', async () => {
  const own = await mkdtemp(join(folder, 'own-'));
  const path = join(own, 'kept.png');
  await writeFile(path, 'before');
  const failing = fromReader(() => Promise.reject(new Error('no camera')), { dtype: 'uint8', shape: [9, 9] });
  await expect(savePng(path, failing, { device: 'cpu' })).rejects.toThrow('no camera');
  await expect(savePng(path, zeros([2, 2, 2], 'uint8'))).rejects.toThrow(ShapeError);
  await expect(savePng(path, zeros([2, 2], 'int16'))).rejects.toThrow(
    /\[savePng\] expected a range for int16/,
  );
  const stopped = AbortSignal.abort();
  await expect(savePng(path, pixels(), { signal: stopped })).rejects.toThrow('aborted');
  const stop = new AbortController();
  const late = savePng(path, pixels(), { device: 'cpu', signal: stop.signal });
  setImmediate(() => stop.abort());
  await expect(late).rejects.toThrow('aborted');
  await expect(savePng(path, pixels(), { device: 'cpu', colours: 'heat' } as never)).rejects.toThrow(
    /colours/,
  );
  // 2 PiB of rows: more than a file, or the disk, has room for.
  const large = savePng(path, zeros([2 ** 20, 2 ** 31 - 1], 'uint8'), { device: 'cpu' });
  await expect(large).rejects.toThrow(/a file that can be written: .*\(.*kept\.png\)/);
  expect(await readdir(own)).toEqual(['kept.png']);
  expect(await readFile(path, 'utf8')).toBe('before');
  await expect(savePng(join(own, 'none/x.png'), lazy([[1]]), { device: 'cpu' })).rejects.toThrow(FileError);
});
