/**
 * Zarr arrays that were copied in part, or changed: refused with the file that is broken, never read as other
 * values.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import FileSystemStore from '@zarrita/storage/fs';
import { beforeEach, describe, expect, it } from 'vitest';
import * as zarr from 'zarrita';
import { arange, FileError, loadZarr, saveZarr } from '../../src/index.js';
import { crc32c } from '../../src/io/decoding/crc32c.js';
import { temporaryFolder } from '../support/files.js';

const root = temporaryFolder();
let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(root.path, 'each-')), 'x.zarr');
});

const device = 'cpu';
const sum = async (): Promise<number> =>
  (await (await loadZarr(path)).sum().compute({ device })).item() as number;
const refused = async (message: RegExp, member: string, code = 'ERR_FILE_FORMAT'): Promise<void> => {
  const error = await sum().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FileError);
  expect(error).toMatchObject({ path: join(path, member), code });
  expect((error as Error).message).toMatch(message);
};

function put(name: string, contents: object | Uint8Array): void {
  const file = join(path, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, contents instanceof Uint8Array ? contents : JSON.stringify(contents));
}

const LITTLE = { name: 'bytes', configuration: { endian: 'little' } };
const V3 = {
  zarr_format: 3,
  node_type: 'array',
  shape: [4, 3],
  data_type: 'float32',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2, 3] } },
  chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
  fill_value: 0,
  codecs: [LITTLE],
};
const V2 = {
  zarr_format: 2,
  shape: [4, 3],
  chunks: [2, 3],
  dtype: '<f4',
  fill_value: 0,
  order: 'C',
  filters: null,
};
const rows = (from: number): Uint8Array =>
  new Uint8Array(Float32Array.from({ length: 6 }, (_, k) => from + k).buffer);

/** Two chunks of six elements in a shard, and an index that says where they are, or something else. */
function putShard(
  entries: readonly bigint[],
  { checksum = true, atStart = false, counted = true } = {},
): void {
  const index = new Uint8Array(BigUint64Array.from(entries).buffer);
  const crc = new Uint8Array(Uint32Array.of(crc32c(index) ^ (counted ? 0 : 1)).buffer);
  const whole = [index, ...(checksum ? [crc] : [])];
  const configuration = {
    chunk_shape: [2, 3],
    codecs: [LITTLE],
    index_codecs: checksum ? [LITTLE, { name: 'crc32c' }] : [LITTLE],
    index_location: atStart ? 'start' : 'end',
  };
  put('zarr.json', {
    ...V3,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [4, 3] } },
    codecs: [{ name: 'sharding_indexed', configuration }],
  });
  put('c/0/0', Buffer.concat(atStart ? [...whole, rows(0), rows(6)] : [rows(0), rows(6), ...whole]));
}

describe('a shard', () => {
  it('is read where its index says, at its end or its start', async () => {
    putShard([0n, 24n, 24n, 24n]);
    expect(await sum()).toBe(66);
    putShard([36n, 24n, 60n, 24n], { atStart: true });
    expect(await sum()).toBe(66);
    putShard([2n ** 64n - 1n, 2n ** 64n - 1n, 24n, 24n], { checksum: false });
    expect(await sum()).toBe(51);
  });

  it.each([
    ['2^31 bytes', [0n, 24n, 24n, 2n ** 31n]],
    ['2^63 bytes', [0n, 24n, 24n, 2n ** 63n]],
    ['an offset behind its end', [0n, 24n, 2n ** 40n, 24n]],
    ['a chunk that goes on into the index', [0n, 24n, 30n, 24n]],
  ])('with an index that claims %s is refused', async (_, entries) => {
    putShard(entries, { checksum: false });
    await refused(/a chunk in bytes 0 to 48 of the shard \(chunk 1, 0\)/, 'c/0/0');
  });

  it.each([
    ['fewer bytes than its elements', [0n, 24n, 24n, 12n]],
    ['more', [0n, 24n, 20n, 28n]],
  ])('with a chunk of %s is refused', async (_, entries) => {
    putShard(entries, { checksum: false });
    await refused(/a chunk of 24 bytes \(chunk 1, 0\): (12|28)/, '');
  });

  it('whose index has another checksum is refused', async () => {
    putShard([0n, 24n, 20n, 24n], { counted: false });
    await refused(/the checksum [0-9a-f]+ of the shard's index/, 'c/0/0', 'ERR_FILE_CHECKSUM');
  });

  it('that was cut off is refused, and so is one with a changed index that Weft wrote', async () => {
    await saveZarr(path, arange(60).reshape([5, 12]), { device });
    const shard = join(path, 'c/0/0');
    const whole = readFileSync(shard);
    writeFileSync(shard, whole.with(whole.length - 6, 1));
    await refused(/the checksum/, 'c/0/0', 'ERR_FILE_CHECKSUM');
    truncateSync(shard, 7);
    await refused(/a file with bytes -13 to 7: 7 bytes/, 'c/0/0');
  });
});

describe('a chunk', () => {
  it.each([
    ['half of its bytes', rows(0).slice(0, 12)],
    ['no bytes', new Uint8Array(0)],
    ['a few bytes more', new Uint8Array(28)],
  ])('of %s is refused, in both versions', async (_, bytes) => {
    const received = new RegExp(`a chunk of 24 bytes \\(chunk 1, 0\\): ${bytes.length}`);
    put('zarr.json', V3);
    put('c/0/0', rows(0));
    put('c/1/0', bytes);
    await refused(received, '');
    rmSync(path, { recursive: true });
    put('.zarray', { ...V2, compressor: null });
    put('0.0', rows(0));
    put('1.0', bytes);
    await refused(received, '');
  });

  it('that is not there is fill values, of whatever size', async () => {
    put('zarr.json', { ...V3, fill_value: 2.5 });
    put('c/1/0', rows(0));
    expect(await sum()).toBe(15 + 15);
    const chunk_grid = { name: 'regular', configuration: { chunk_shape: [2 ** 40, 3] } };
    put('zarr.json', { ...V3, fill_value: 1, chunk_grid });
    rmSync(join(path, 'c'), { recursive: true });
    expect(await sum()).toBe(12);
  });

  it('that is compressed may be as long as its elements, and is checked', async () => {
    const compressors = [
      [{ id: 'zlib', level: 1 }, deflateSync],
      [{ id: 'gzip', level: 1 }, gzipSync],
    ] as const;
    for (const [compressor, compress] of compressors) {
      put('.zarray', { ...V2, compressor });
      put('0.0', compress(rows(0)));
      put('1.0', compress(rows(6)));
      expect(await sum()).toBe(66);
      put('1.0', compress(rows(6)).subarray(0, -6));
      await refused(/bytes of chunk 1, 0/, '');
      // A million times what it should be.
      put('1.0', compress(Buffer.alloc(2 ** 24)));
      await refused(/bytes of chunk 1, 0: Cannot create a Buffer larger than/, '');
      put('1.0', compress(rows(6).subarray(4)));
      await refused(/a chunk of 24 bytes \(chunk 1, 0\): 20/, '');
    }
  });

  it('with a checksum of its own is checked', async () => {
    put('zarr.json', { ...V3, codecs: [LITTLE, { name: 'crc32c' }] });
    const checked = (bytes: Uint8Array, wrong = 0): Buffer =>
      Buffer.concat([bytes, new Uint8Array(Uint32Array.of(crc32c(bytes) ^ wrong).buffer)]);
    put('c/0/0', checked(rows(0)));
    put('c/1/0', checked(rows(6)));
    expect(await sum()).toBe(66);
    put('c/1/0', checked(rows(6), 8));
    await refused(/the checksum [0-9a-f]+ of a chunk \(chunk 1, 0\)/, '', 'ERR_FILE_CHECKSUM');
  });

  it('that is a pipe or a folder is refused', async () => {
    put('zarr.json', V3);
    mkdirSync(join(path, 'c/0'), { recursive: true });
    execFileSync('mkfifo', [join(path, 'c/0/0')]);
    await refused(/a regular file: a pipe/, 'c/0/0', 'ERR_FILE_KIND');
    rmSync(join(path, 'c/0/0'));
    mkdirSync(join(path, 'c/0/0'));
    await refused(/a regular file: a directory/, 'c/0/0', 'ERR_FILE_KIND');
  });

  it('of an array that was opened by zarrita is refused, too', async () => {
    put('zarr.json', V3);
    put('c/0/0', rows(0));
    put('c/1/0', rows(6).subarray(0, 8));
    const opened = await loadZarr(await zarr.open(new FileSystemStore(path), { kind: 'array' }));
    await expect(opened.sum().compute({ device })).rejects.toThrow(/6 elements of chunk 1,0: 2/);
  });
});

it.each<[string, object]>([
  ['a shape of fractions', { shape: [1.5, 3] }],
  ['a negative shape', { shape: [-4, 3] }],
  ['more bytes than can be counted', { shape: [2 ** 52, 2 ** 52] }],
  ['chunks of another rank', { shape: [4] }],
  ['chunks of no rows', { chunk_grid: { name: 'regular', configuration: { chunk_shape: [0, 3] } } }],
  ['another grid', { chunk_grid: { name: 'rectilinear' } }],
  ['a codec of no name', { codecs: [3] }],
  ['an unknown codec', { codecs: [LITTLE, { name: 'none such' }] }],
  ['a fill value of text', { fill_value: [1] }],
  ['another node', { node_type: 'group' }],
])('metadata with %s is refused', async (_, change) => {
  put('zarr.json', { ...V3, ...change });
  put('c/0/0', rows(0));
  const error = await sum().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FileError);
  expect(error).toMatchObject({ path, code: 'ERR_FILE_FORMAT' });
});
