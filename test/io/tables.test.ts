/** Arrays from functions, and from what other libraries read: Arrow columns, Parquet files, Zarr arrays. */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import FileSystemStore from '@zarrita/storage/fs';
import * as arrow from 'apache-arrow';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import * as zarr from 'zarrita';
import {
  ArgumentError,
  compute,
  DTypeError,
  FileError,
  fromArrow,
  fromReader,
  type Lazy,
  lazy,
  loadParquet,
  loadZarr,
  toArrow,
} from '../../src/index.js';
import { DTYPES } from '../../src/shared/layout.js';
import { temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const device = 'cpu';
const values = async (x: Lazy): Promise<unknown> => (await x.compute({ device })).toArray();

describe('fromReader', () => {
  const ramp = (start: number, count: number): Float32Array =>
    Float32Array.from({ length: count }, (_, i) => start + i);

  it('asks for the elements that are needed, when they are', async () => {
    const asked: number[][] = [];
    const x = fromReader(
      async (start, count) => {
        asked.push([start, count]);
        return ramp(start, count);
      },
      { dtype: 'float32', shape: [4, 5] },
    );
    expect(asked).toEqual([]);
    expect(await values(x.slice([1, 3]).sum(1))).toEqual([35, 60]);
    expect(asked).toEqual([[5, 10]]);
    const [a, b] = await compute([x.sum(), x.max()], { device });
    expect([a.item(), b.item(), asked.length]).toEqual([190, 19, 2]);
  });

  it('hands on the signal, and what the reader throws', async () => {
    const abort = new AbortController();
    const waiting = fromReader(
      (_, __, signal) =>
        new Promise((_resolve, reject) => {
          signal!.addEventListener('abort', () => reject(signal!.reason));
          setImmediate(() => abort.abort(new Error('enough')));
        }),
      { dtype: 'int8', shape: 3 },
    );
    await expect(waiting.compute({ device, signal: abort.signal })).rejects.toThrow('enough');
    const broken = fromReader(() => Promise.reject(new Error('no network')), { dtype: 'int8', shape: 3 });
    await expect(broken.compute({ device })).rejects.toThrow('no network');
  });

  it.each<[string, () => unknown]>([
    ['other types', () => new Float64Array(3)],
    ['fewer elements', () => new Float32Array(2)],
    ['more elements', () => new Float32Array(4)],
    ['no array', () => [1, 2, 3]],
    ['nothing', () => undefined],
  ])('refuses %s', async (_, read) => {
    const x = fromReader(read as () => Float32Array, { dtype: 'float32', shape: 3 });
    await expect(x.compute({ device })).rejects.toThrow(ArgumentError);
  });
});

describe('fromArrow', () => {
  it('takes columns of every number type', async () => {
    const types = {
      int8: new arrow.Int8(),
      int16: new arrow.Int16(),
      int32: new arrow.Int32(),
      uint8: new arrow.Uint8(),
      uint16: new arrow.Uint16(),
      uint32: new arrow.Uint32(),
      float32: new arrow.Float32(),
      float64: new arrow.Float64(),
    };
    for (const [dtype, type] of Object.entries(types)) {
      const x = fromArrow(arrow.vectorFromArray([1, 2, 3], type));
      expect([x.dtype, await values(x.mul(2))]).toEqual([dtype, [2, 4, 6]]);
    }
    const wide = fromArrow(arrow.vectorFromArray([1n, -(2n ** 62n)], new arrow.Int64()));
    expect([wide.dtype, await values(wide)]).toEqual(['int64', [1n, -(2n ** 62n)]]);
    const half = fromArrow(arrow.vectorFromArray([1.5, -2], new arrow.Float16()));
    expect([half.dtype, await values(half)]).toEqual(['float16', [1.5, -2]]);
    const instant = new Date('2026-11-21');
    const time = fromArrow(arrow.vectorFromArray([instant], new arrow.TimestampMillisecond()));
    expect([time.dtype, await values(time)]).toEqual(['int64', [BigInt(instant.getTime())]]);
    const flags = fromArrow(arrow.vectorFromArray([true, false, true]));
    expect([flags.dtype, await values(flags)]).toEqual(['bool', [true, false, true]]);
  });

  it('takes several batches and slices, without copying', async () => {
    const batches = [new Float32Array([1, 2, 3]), new Float32Array([4, 5])].map((x) =>
      arrow.tableFromArrays({ x }),
    );
    const column = batches[0]!.concat(batches[1]!).getChild('x')!;
    const x = fromArrow(column);
    expect(await values(x)).toEqual([1, 2, 3, 4, 5]);
    expect(await values(fromArrow(column.slice(2, 4)))).toEqual([3, 4]);
    const { source } = x.expr as unknown as { source: { chunks: Float32Array[] } };
    expect(source.chunks[1]!.buffer).toBe((column.data[1]!.values as Float32Array).buffer);
  });

  it('refuses missing values, or puts one in their place', async () => {
    const column = arrow.vectorFromArray([1, null, 3, null], new arrow.Float32());
    expect(() => fromArrow(column)).toThrow(/no missing values: 2/);
    expect(await values(fromArrow(column, { nulls: -1 }))).toEqual([1, -1, 3, -1]);
    expect(await values(fromArrow(column.slice(1, 3), { nulls: 0 }))).toEqual([0, 3]);
    const wide = arrow.vectorFromArray([1n, null], new arrow.Int64());
    expect(await values(fromArrow(wide, { nulls: 7 }))).toEqual([1n, 7n]);
    const flags = arrow.vectorFromArray([true, null], new arrow.Bool());
    expect(await values(fromArrow(flags, { nulls: 0 }))).toEqual([true, false]);
  });

  it('gives masks, of bitmaps that begin and end anywhere', async () => {
    const list = Array.from({ length: 53 }, (_, k) => (k % 5 === 2 ? null : k % 3 === 0));
    const parts = [list.slice(0, 13), list.slice(13, 16), list.slice(16)];
    const column = parts
      .map((part) => arrow.vectorFromArray(part, new arrow.Bool()))
      .reduce((all, part) => all.concat(part) as never);
    for (const [begin, end] of [
      [0, 53],
      [3, 50],
      [14, 15],
      [9, 24],
      [20, 20],
    ] as const) {
      const { values: x, valid } = fromArrow(column.slice(begin, end), { nulls: 'mask' });
      const kept = list.slice(begin, end);
      expect(await values(valid)).toEqual(kept.map((value) => value !== null));
      expect(await values(x.logicalAnd(valid))).toEqual(kept.map((value) => value === true));
    }
    const whole = fromArrow(arrow.vectorFromArray([1, 2], new arrow.Int8()), { nulls: 'mask' });
    expect(await values(whole.valid)).toEqual([true, true]);
    expect(() => fromArrow(column, { nulls: 'none' as never })).toThrow("nulls as a number or 'mask': none");
  });

  it('takes all columns of a table, and says which has missing values', async () => {
    const table = new arrow.Table({
      x: arrow.vectorFromArray([1, null], new arrow.Int32()),
      y: arrow.vectorFromArray([3, 4], new arrow.Float64()),
    });
    expect(() => fromArrow(table)).toThrow('no missing values in x: 1');
    const { x, y } = fromArrow(table, { nulls: 7 });
    expect(await values(x!.add(y!))).toEqual([4, 11]);
    expect(() => fromArrow(table, { nulls: 2 ** 40 })).toThrow(RangeError);
  });

  it('refuses other columns', () => {
    expect(() => fromArrow(arrow.vectorFromArray(['a', 'b']))).toThrow(DTypeError);
    expect(() => fromArrow([1, 2] as never)).toThrow(ArgumentError);
    expect(() => fromArrow(arrow.vectorFromArray([1]), { null: 0 } as object)).toThrow(ArgumentError);
  });
});

describe('toArrow', () => {
  it('makes columns of every number type over the memory of results', async () => {
    for (const dtype of DTYPES) {
      const x = await lazy([1, 0, 1]).astype(dtype).compute({ device });
      if (['bfloat16', 'complex64', 'complex128'].includes(dtype)) {
        await expect(toArrow(x, arrow)).rejects.toThrow('a dtype that Arrow has');
        continue;
      }
      const column = await toArrow(x, arrow);
      expect(column.length).toBe(3);
      if (dtype !== 'bool') expect((column.data[0]!.values as Float32Array).buffer).toBe(x.data.buffer);
      expect(await values(fromArrow(column))).toEqual(x.toArray());
    }
  });

  it('makes columns with missing values, and tables', async () => {
    const valid = Array.from({ length: 19 }, (_, k) => k % 4 !== 1);
    const column = await toArrow(lazy(new Float64Array(19)).add(2), arrow, { valid });
    expect([column.nullCount, column.get(0), column.get(1), column.get(18)]).toEqual([5, 2, null, 2]);
    const table = await toArrow({ values: [1, 2], flags: [true, false] }, arrow);
    expect(table.toArray().map((row) => ({ ...row.toJSON() }))).toEqual([
      { values: 1, flags: true },
      { values: 2, flags: false },
    ]);
    expect((await toArrow(lazy([], { dtype: 'bool' }), arrow)).length).toBe(0);
  });

  it('refuses other shapes, masks and modules', async () => {
    await expect(toArrow(lazy([[1]]), arrow)).rejects.toThrow('an array of one axis: (1, 1)');
    await expect(toArrow(lazy([1]), arrow, { valid: [true, false] })).rejects.toThrow('of shape (1,): (2,)');
    await expect(toArrow(lazy([1]), arrow, { valid: [1] })).rejects.toThrow(DTypeError);
    await expect(toArrow(lazy([1]), {} as never)).rejects.toThrow('the module apache-arrow');
  });
});

describe('loadParquet', () => {
  const count = 2500;
  const write = (name: string): string => {
    const path = join(folder.path, name);
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'i', data: Int32Array.from({ length: count }, (_, k) => k), type: 'INT32' },
        { name: 'l', data: BigInt64Array.from({ length: count }, (_, k) => BigInt(k) ** 2n), type: 'INT64' },
        { name: 'f', data: Float32Array.from({ length: count }, (_, k) => k / 4), type: 'FLOAT' },
        { name: 'd', data: Float64Array.from({ length: count }, (_, k) => -k), type: 'DOUBLE' },
        { name: 'b', data: Array.from({ length: count }, (_, k) => k % 3 === 0), type: 'BOOLEAN' },
        {
          name: 'gaps',
          data: Array.from({ length: count }, (_, k) => (k % 2 === 0 ? k : null)),
          type: 'DOUBLE',
        },
        { name: 's', data: Array.from({ length: count }, (_, k) => `${k}`), type: 'STRING' },
      ],
      rowGroupSize: 1000,
    });
    writeFileSync(path, new Uint8Array(buffer));
    return path;
  };
  const columns = ['i', 'l', 'f', 'd', 'b'];

  it('reads groups of rows one after the other where a column does not fit', async () => {
    const path = folder.put(
      'long.parquet',
      Buffer.from(
        parquetWriteBuffer({
          columnData: [
            { name: 'd', data: Float64Array.from({ length: 100_000 }, (_, k) => k / 8), type: 'DOUBLE' },
          ],
          rowGroupSize: 20_000,
        }),
      ),
    );
    const { d } = await loadParquet(path);
    const options = { device, memory: 300_000 } as const;
    expect(d!.add(1).plan(options).sweeps.length).toBeGreaterThan(0);
    const { data } = await d!.add(1).compute(options);
    expect([data.length, data[0], data[20_000], data[99_999]]).toEqual([100_000, 1, 2501, 99_999 / 8 + 1]);
  });

  it('reads the columns that are asked for, and the rows', async () => {
    const loaded = await loadParquet(write('x.parquet'), { columns });
    expect(Object.entries(loaded).map(([name, { dtype, shape }]) => [name, dtype, shape])).toEqual([
      ['i', 'int32', [count]],
      ['l', 'int64', [count]],
      ['f', 'float32', [count]],
      ['d', 'float64', [count]],
      ['b', 'bool', [count]],
    ]);
    const { i, l, f, d, b } = loaded as Record<string, Lazy>;
    expect(await values(i!.sum())).toBe(BigInt((count * (count - 1)) / 2));
    expect(await values(l!.slice([998, 1002]))).toEqual([998n ** 2n, 999n ** 2n, 1000n ** 2n, 1001n ** 2n]);
    expect(await values(f!.add(d!).slice([2400, 2402]))).toEqual([-1800, -1800.75]);
    expect(await values(b!.slice([0, 4]))).toEqual([true, false, false, true]);
  });

  it('refuses missing values, or puts one in their place', async () => {
    const path = write('gaps.parquet');
    const { gaps } = await loadParquet(path, { columns: ['gaps'] });
    await expect(gaps!.sum().compute({ device })).rejects.toThrow(
      // Groups of rows are read at a time: of any that has a gap.
      /no missing values in gaps: row (1|1001|2001) /,
    );
    const { gaps: filled } = await loadParquet(path, { columns: ['gaps'], nulls: -1 });
    expect(await values(filled!.slice([0, 4]))).toEqual([0, -1, 2, -1]);
  });

  it('refuses other columns, other files, and files that changed', async () => {
    const path = write('y.parquet');
    await expect(loadParquet(path)).rejects.toThrow(DTypeError);
    await expect(loadParquet(path, { columns: ['none'] })).rejects.toThrow(/a column of that name: none/);
    await expect(loadParquet(folder.put('no.parquet', 'hello, this is no such file'))).rejects.toThrow(
      FileError,
    );
    const { i } = await loadParquet(path, { columns: ['i'] });
    truncateSync(path, 100);
    await expect(i!.compute({ device })).rejects.toThrow(FileError);
  });
});

describe('loadZarr', () => {
  const create = async (name: string, dtype: zarr.DataType, data: ArrayLike<unknown>): Promise<string> => {
    const path = join(folder.path, name);
    const array = await zarr.create(new FileSystemStore(path), { shape: [5, 4], chunkShape: [2, 3], dtype });
    await zarr.set(array, null, { data, shape: [5, 4], stride: [4, 1] } as never);
    return path;
  };

  it.each(['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'float32', 'float64'] as const)(
    'reads %s, in chunks that do not divide the shape',
    async (dtype) => {
      const data = {
        int8: Int8Array,
        int16: Int16Array,
        int32: Int32Array,
        uint8: Uint8Array,
        uint16: Uint16Array,
      };
      const rest = { uint32: Uint32Array, float32: Float32Array, float64: Float64Array };
      const path = await create(
        dtype,
        dtype,
        new { ...data, ...rest }[dtype](Array.from({ length: 20 }, (_, k) => k)),
      );
      const x = await loadZarr(path);
      expect([x.dtype, x.shape]).toEqual([dtype, [5, 4]]);
      expect(Number(await values(x.sum()))).toBe(190);
      expect(await values(x.slice([1, 3], [1, null]))).toEqual([
        [5, 6, 7],
        [9, 10, 11],
      ]);
      expect(await values(x.slice([null, null, -2], 0))).toEqual([16, 8, 0]);
    },
  );

  it('fetches each chunk once, and only those that are needed, where the array does not fit', async () => {
    const [rows, columns] = [4000, 50];
    const data = Float32Array.from({ length: rows * columns }, (_, k) => (k % 1009) / 7);
    const store = new Map<string, Uint8Array>();
    const fetched: string[] = [];
    const meta = { zarr_format: 2, compressor: null, filters: null, fill_value: 0, dtype: '<f4', order: 'C' };
    store.set(
      '/.zarray',
      Buffer.from(JSON.stringify({ ...meta, shape: [rows, columns], chunks: [500, 50] })),
    );
    for (let k = 0; k < 8; k++)
      store.set(`/${k}.0`, new Uint8Array(data.slice(k * 25_000, (k + 1) * 25_000).buffer));
    const counting = {
      get: (key: string) => {
        if (/\d$/.test(key)) fetched.push(key);
        return store.get(key);
      },
    };
    const open = async (): Promise<Lazy> =>
      loadZarr(await zarr.open.v2(counting as never, { kind: 'array' }));
    const x = await open();
    const job = (y: Lazy): Lazy => y.mul(2).sum(1);
    const whole = await values(job(lazy(data, { shape: [rows, columns] })));
    const memory = 300_000;
    expect(job(x).plan({ device, memory }).sweeps[0]!.tiles).toBeGreaterThan(4);
    expect((await job(x).compute({ device, memory })).toArray()).toEqual(whole);
    expect(fetched.sort()).toEqual(Array.from({ length: 8 }, (_, k) => `/${k}.0`));
    fetched.splice(0);
    await (await open()).slice([2000, 2900]).sum(1).compute({ device, memory: 100_000 });
    expect(fetched.sort()).toEqual(['/4.0', '/5.0']);
  });

  it('reads 64-bit integers, booleans and opened arrays', async () => {
    const meta = { zarr_format: 2, compressor: null, filters: null, fill_value: 0, dtype: '<i8', order: 'C' };
    const store = new Map<string, Uint8Array>();
    store.set('/.zarray', Buffer.from(JSON.stringify({ ...meta, shape: [3], chunks: [2] })));
    store.set('/0', new Uint8Array(BigInt64Array.of(1n << 40n, 2n << 40n).buffer));
    store.set('/1', new Uint8Array(BigInt64Array.of(3n << 40n, 0n).buffer));
    const wide = await loadZarr(await zarr.open.v2(store as never, { kind: 'array' }));
    expect([wide.dtype, await values(wide)]).toEqual(['int64', [1n << 40n, 2n << 40n, 3n << 40n]]);
    const flags = await create(
      'flags',
      'bool',
      new zarr.BoolArray(Array.from({ length: 20 }, (_, k) => k % 2 === 1)) as never,
    );
    expect(await values((await loadZarr(flags)).sum(0))).toEqual([0n, 5n, 0n, 5n]);
    const opened = await zarr.open(new FileSystemStore(flags), { kind: 'array' });
    expect(await values((await loadZarr(opened)).any())).toBe(true);
  });

  it('reads version 2 arrays in Fortran order, and scalars', async () => {
    const store = new Map<string, Uint8Array>();
    const put = (key: string, value: object): unknown => store.set(key, Buffer.from(JSON.stringify(value)));
    const common = { zarr_format: 2, compressor: null, filters: null, fill_value: 0, dtype: '<f4' };
    put('/.zarray', { ...common, shape: [2, 3], chunks: [2, 3], order: 'F' });
    store.set('/0.0', new Uint8Array(new Float32Array([1, 4, 2, 5, 3, 6]).buffer));
    const x = await loadZarr(await zarr.open.v2(store as never, { kind: 'array' }));
    expect(await values(x)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const one = new Map<string, Uint8Array>();
    one.set('/.zarray', Buffer.from(JSON.stringify({ ...common, shape: [], chunks: [], order: 'C' })));
    one.set('/0', new Uint8Array(new Float32Array([7]).buffer));
    expect(await values(await loadZarr(await zarr.open.v2(one as never, { kind: 'array' })))).toBe(7);
  });

  it('refuses what is no array of numbers', async () => {
    await expect(loadZarr(join(folder.path, 'nowhere'))).rejects.toThrow(FileError);
    const store = new Map<string, Uint8Array>();
    const meta = {
      zarr_format: 2,
      compressor: null,
      filters: null,
      fill_value: '',
      dtype: '<U4',
      shape: [2],
      chunks: [2],
      order: 'C',
    };
    store.set('/.zarray', Buffer.from(JSON.stringify(meta)));
    const text = await zarr.open.v2(store as never, { kind: 'array' });
    await expect(loadZarr(text)).rejects.toThrow(DTypeError);
  });
});
