/** Pages of Parquet files: encodings, compressions, lengths and checksums. */
import { brotliCompressSync, crc32, gzipSync } from 'node:zlib';
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { FileError, loadParquet } from '../../src/index.js';
import { PageReader } from '../../src/io/decoding/parquet-pages.js';
import { temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const COUNT = 1000;

/** A block of literals alone. */
function lz4Raw(bytes: Uint8Array): Uint8Array {
  const head = [0xf0];
  let left = bytes.length - 15;
  for (; left >= 255; left -= 255) head.push(255);
  return Buffer.concat([Uint8Array.from([...head, left]), bytes]);
}
const compressors = {
  GZIP: (bytes: Uint8Array) => gzipSync(bytes),
  BROTLI: (bytes: Uint8Array) => brotliCompressSync(bytes),
  LZ4_RAW: lz4Raw,
};

const integers = Int32Array.from({ length: COUNT }, (_, k) => Math.imul(k * k, 7919) >> (k % 30));
const DATA = {
  INT32: integers,
  INT64: BigInt64Array.from(integers, (k) => BigInt(k) * 0x1_0000_0001n),
  FLOAT: Float32Array.from(integers, (k) => k / 3),
  DOUBLE: Float64Array.from(integers, (k) => k / 3),
  BOOLEAN: Array.from(integers, (k) => k % 5 === 0),
};
type Type = keyof typeof DATA;

const asNumbers = (values: Iterable<number | bigint | boolean | null>): (number | null)[] =>
  Array.from(values, (value) => (value === null ? null : Number(value)));

describe('a column', () => {
  const cases: [Type, ColumnSource['encoding']][] = [
    ...(['INT32', 'INT64', 'FLOAT', 'DOUBLE', 'BOOLEAN'] as const).map(
      (type) => [type, 'PLAIN'] as [Type, 'PLAIN'],
    ),
    ...(['INT32', 'INT64', 'FLOAT', 'DOUBLE'] as const).map(
      (type) => [type, 'BYTE_STREAM_SPLIT'] as [Type, 'BYTE_STREAM_SPLIT'],
    ),
    ['INT32', 'RLE_DICTIONARY'],
    ['DOUBLE', 'RLE_DICTIONARY'],
    ['BOOLEAN', 'RLE'],
    ['INT32', 'DELTA_BINARY_PACKED'],
    ['INT64', 'DELTA_BINARY_PACKED'],
  ];
  it.each(cases)(
    'of %s in the encoding %s is read, with missing values and without',
    async (type, encoding) => {
      const data: readonly (number | bigint | boolean)[] = Array.from<number | bigint | boolean>(
        DATA[type] as never,
      );
      const gaps = data.map((value, k) => (k % 3 === 1 || (k > 40 && k < 90) ? null : value));
      const columnData: ColumnSource[] = [
        {
          name: 'x',
          data: DATA[type],
          type,
          nullable: false,
          ...(encoding === undefined ? {} : { encoding }),
        },
        { name: 'gaps', data: gaps, type, nullable: true, ...(encoding === undefined ? {} : { encoding }) },
      ];
      const bytes = parquetWriteBuffer({ columnData, rowGroupSize: 700, pageSize: 900 });
      const path = folder.put('x.parquet', new Uint8Array(bytes));
      const { x, gaps: filled } = await loadParquet(path, { nulls: 0 });
      expect(asNumbers((await x!.compute({ device: 'cpu' })).data)).toEqual(asNumbers(data));
      const wanted = asNumbers(gaps).map((value) => value ?? 0);
      expect(asNumbers((await filled!.compute({ device: 'cpu' })).data)).toEqual(wanted);
    },
  );

  it.each(['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI', 'LZ4_RAW'] as const)(
    'in %s is read',
    async (codec) => {
      const columnData = [{ name: 'x', data: DATA.DOUBLE, type: 'DOUBLE' as const }];
      const bytes = parquetWriteBuffer({ columnData, codec, compressors });
      const { x } = await loadParquet(folder.put(`${codec}.parquet`, new Uint8Array(bytes)));
      expect((await x!.compute({ device: 'cpu' })).data).toEqual(DATA.DOUBLE);
    },
  );

  it('that ends before its file says is refused when it is loaded', async () => {
    const columnData = [{ name: 'x', data: DATA.DOUBLE, type: 'DOUBLE' as const }];
    const bytes = Buffer.from(parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED' }));
    const cut = Buffer.concat([bytes.subarray(0, 4), bytes.subarray(2000)]);
    await expect(loadParquet(folder.put('cut.parquet', cut))).rejects.toThrow(
      /\[loadParquet] expected column x in group 0 before byte \d+/,
    );
    await expect(loadParquet(folder.put('cut.parquet', cut))).rejects.toThrow(FileError);
  });
});

/** Zigzag, as a varint. */
function integer(value: number): number[] {
  const bytes: number[] = [];
  let left = value >= 0 ? value * 2 : -value * 2 - 1;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return [...bytes, left];
}
interface Page {
  readonly body: readonly number[];
  readonly count: number;
  readonly encoding?: number;
  readonly crc?: number;
  readonly length?: number;
}
/** A data page, uncompressed, with a header of the given fields. */
function page({ body, count, encoding = 0, crc, length = body.length }: Page): number[] {
  const head = [0x15, ...integer(0), 0x15, ...integer(length), 0x15, ...integer(length)];
  const checksum = crc === undefined ? [] : [0x15, ...integer(crc | 0)];
  const fields = [
    0x15,
    ...integer(count),
    0x15,
    ...integer(encoding),
    0x15,
    ...integer(3),
    0x15,
    ...integer(3),
  ];
  return [...head, ...checksum, crc === undefined ? 0x2c : 0x1c, ...fields, 0, 0, ...body];
}
const dictionary = (values: readonly number[]): number[] => {
  const body = [...new Uint8Array(Int32Array.from(values).buffer)];
  const head = [0x15, ...integer(2), 0x15, ...integer(body.length), 0x15, ...integer(body.length)];
  return [...head, 0x4c, 0x15, ...integer(values.length), 0x15, ...integer(0), 0, 0, ...body];
};

describe('a page', () => {
  const read = (bytes: readonly number[], repetition = 0, type = 'INT32'): number[] =>
    Array.from(
      new PageReader(Uint8Array.from(bytes), { type, repetition }, (body) => body).next(100)
        .values as Int32Array,
    );
  const body = [...new Uint8Array(Int32Array.of(3, 1, 2).buffer)];
  const crc = crc32(Uint8Array.from(body));

  it('is read, and its checksum is checked where it has one', () => {
    expect(read(page({ body, count: 3 }))).toEqual([3, 1, 2]);
    expect(read(page({ body, count: 3, crc }))).toEqual([3, 1, 2]);
    expect(() => read(page({ body: [...body.slice(0, 4), 9, ...body.slice(5)], count: 3, crc }))).toThrow(
      /the checksum [0-9a-f]+ of a page/,
    );
    expect(
      read([...dictionary([10, 20, 30]), ...page({ body: [2, 6, 2, 3, 0b100100], count: 5, encoding: 8 })]),
    ).toEqual([30, 30, 30, 10, 20]);
  });

  it.each<[string, readonly number[], number, RegExp]>([
    [
      'that is longer than its part',
      page({ body, count: 3, length: 100 }),
      0,
      /a page of at most \d+ bytes: 100/,
    ],
    ['of more values than its bytes', page({ body, count: 4 }), 0, /16 bytes of values: 12/],
    ['of more values than its group', page({ body, count: 101 }), 0, /a page of 1 to 100 values: 101/],
    ['of no values', page({ body, count: 0 }), 0, /a page of 1 to 100 values: 0/],
    [
      'whose levels are beyond it',
      page({ body: [9, 0, 0, 0, 6, 1], count: 3 }),
      1,
      /runs of at most 2 bytes: 9/,
    ],
    [
      'with an empty run of levels',
      page({ body: [2, 0, 0, 0, 0, 1, ...body], count: 3 }),
      1,
      /a run of 1 to 3 values: 0/,
    ],
    [
      'with a run of 2^30 levels',
      page({ body: [6, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 8, 1, ...body], count: 3 }),
      1,
      /a run of 1 to 3 values: 1073741824/,
    ],
    [
      'with indices and no dictionary',
      page({ body: [2, 6, 2], count: 3, encoding: 8 }),
      0,
      /a dictionary before/,
    ],
    [
      'with an index beyond its dictionary',
      [...dictionary([10, 20]), ...page({ body: [2, 6, 2], count: 3, encoding: 8 })],
      0,
      /an index below 2: 2/,
    ],
    ['in an encoding of text', page({ body, count: 3, encoding: 7 }), 0, /an encoding of numbers: 7/],
    [
      'with deltas of no blocks',
      page({ body: [0, 0, 3, 2], count: 3, encoding: 5 }),
      0,
      /blocks of whole groups/,
    ],
    ['whose header ends too soon', [0x15, 0], 0, /a header: the end/],
    ['whose header has a long list', [0x19, 0xf5, 0xff, 0xff, 0xff, 0x7f], 0, /at most 0 elements of a list/],
    ['whose header is deep', Array(64).fill(0x1c), 0, /at most 16 structures in each other/],
  ])('%s is refused', (_, bytes, repetition, message) => {
    expect(() => read(bytes, repetition)).toThrow(message);
  });
});
