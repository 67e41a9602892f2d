/**
 * Results into Zarr arrays: what zarrita reads of them, what is replaced, and what a compute that fails
 * leaves.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  arange,
  DTypeError,
  FileError,
  lazy,
  loadZarr,
  npy,
  saveZarr,
  zarr,
  zeros,
} from '../../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'weft-zarr-'));
const path = join(folder, 'x.zarr');

beforeEach(() => {
  rmSync(path, { recursive: true, force: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Names that Weft gives what is not complete. */
const leftovers = (): string[] => readdirSync(folder).filter((name) => name.startsWith('.weft'));

describe('a Zarr array as a place for results', () => {
  it.each(['bool', 'int8', 'uint16', 'int32', 'int64', 'uint64', 'float32', 'float64'] as const)(
    'holds %s',
    async (dtype) => {
      const x = arange(24).reshape([4, 3, 2]).remainder(5).astype(dtype);
      const saved = await saveZarr(path, x, { device: 'cpu' });
      const wanted = await x.compute({ device: 'cpu' });
      expect((await saved.compute({ device: 'cpu' })).data).toEqual(wanted.data);
      const read = await loadZarr(path);
      expect([read.dtype, read.shape]).toEqual([dtype, [4, 3, 2]]);
      expect((await read.compute({ device: 'cpu' })).data).toEqual(wanted.data);
      expect(leftovers()).toEqual([]);
    },
  );

  it.each([[[]], [[0]], [[3, 0]], [[0, 3]], [[1]], [[7, 1, 5]]])('holds shape %j', async (shape) => {
    const x = zeros(shape, { dtype: 'float32' }).add(2.5);
    const saved = await x.compute({ to: zarr(path), device: 'cpu' });
    const wanted = await x.compute({ device: 'cpu' });
    for (const read of [saved, await loadZarr(path)]) {
      const got = await read.compute({ device: 'cpu' });
      expect([got.shape, got.data]).toEqual([shape, wanted.data]);
    }
  });

  it('holds complex numbers and halves, as its description says', async () => {
    for (const dtype of ['complex64', 'complex128', 'float16'] as const) {
      const saved = await saveZarr(path, lazy([1, 2, 3]).astype(dtype), { device: 'cpu' });
      const { data_type, fill_value } = JSON.parse(readFileSync(join(path, 'zarr.json'), 'utf8'));
      expect([data_type, fill_value]).toEqual([dtype, dtype === 'float16' ? 0 : [0, 0]]);
      expect(String(await saved.astype('complex128').real().compute({ device: 'cpu' }))).toBe('[1. 2. 3.]');
    }
  });

  it('is written in tiles, with chunks of some rows, of which readers fetch those that they need', async () => {
    const rows = 3001;
    const x = arange(rows * 1000)
      .reshape([rows, 1000])
      .sin();
    await x.compute({ to: zarr(path), device: 'cpu', memory: '2MiB' });
    const description = JSON.parse(readFileSync(join(path, 'zarr.json'), 'utf8'));
    expect(description.codecs[0].configuration.chunk_shape).toEqual([524, 1000]);
    expect(description.chunk_grid.configuration.chunk_shape).toEqual([6 * 524, 1000]);
    const read = await loadZarr(path);
    const wanted = (await x.compute({ device: 'cpu' })).data;
    expect(Buffer.from((await read.compute({ device: 'cpu' })).data.buffer)).toEqual(
      Buffer.from(wanted.buffer),
    );
    const last = await read.slice(-1).compute({ device: 'cpu' });
    expect(last.data).toEqual(wanted.slice(-1000));
  });

  it('takes the place of a Zarr array, and of nothing else', async () => {
    await saveZarr(path, lazy([1, 2, 3]), { device: 'cpu' });
    await saveZarr(path, lazy([[4, 5]]), { device: 'cpu' });
    expect(String(await (await loadZarr(path)).compute({ device: 'cpu' }))).toBe('[[4. 5.]]');
    const file = join(folder, 'a file');
    const other = join(folder, 'a folder');
    writeFileSync(file, 'text');
    mkdirSync(other);
    writeFileSync(join(other, 'kept'), 'text');
    for (const taken of [file, other, join(folder, 'none', 'x.zarr')])
      await expect(saveZarr(taken, lazy([1]), { device: 'cpu' })).rejects.toThrow(FileError);
    expect([readFileSync(file, 'utf8'), readdirSync(other)]).toEqual(['text', ['kept']]);
    expect(leftovers()).toEqual([]);
  });

  it('is not there after a compute that fails, and what was there is', async () => {
    await saveZarr(path, lazy([1, 2, 3]), { device: 'cpu' });
    const reason = new Error('no more');
    const stopped = arange(100).compute({ to: zarr(path), device: 'cpu', signal: AbortSignal.abort(reason) });
    await expect(stopped).rejects.toThrow('no more');
    const failed = lazy(1).compute({ to: [zarr(path), npy(join(folder, 'none', 'x.npy'))], device: 'cpu' });
    await expect(failed).rejects.toThrow();
    expect(String(await (await loadZarr(path)).compute({ device: 'cpu' }))).toBe('[1. 2. 3.]');
    const fresh = join(folder, 'fresh.zarr');
    const aborted = arange(100).compute({
      to: zarr(fresh),
      device: 'cpu',
      signal: AbortSignal.abort(reason),
    });
    await expect(aborted).rejects.toThrow('no more');
    expect([existsSync(fresh), leftovers()]).toEqual([false, []]);
  });

  it('has no bfloat16, and holds one array', async () => {
    await expect(saveZarr(path, lazy([1]).astype('bfloat16'))).rejects.toThrow(DTypeError);
    expect([existsSync(path), leftovers()]).toEqual([false, []]);
  });
});
