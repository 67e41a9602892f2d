/**
 * Mutated files of every format that Weft reads, and what must hold of them, whatever the bytes: loading and
 * computing gives the elements or rejects with an error of its own, soon; and where the format has a checksum
 * or a length that tells, it never gives other elements. Called by `fuzz.test.ts`.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Float32, Int64, vectorFromArray } from 'apache-arrow';
import fc from 'fast-check';
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import {
  ArgumentError,
  compute,
  DTypeError,
  FileError,
  fromArrow,
  type Lazy,
  loadNpy,
  loadNpz,
  loadParquet,
  loadSafetensors,
  loadZarr,
  MemoryError,
} from '../../src/index.js';
import { crc32c } from '../../src/io/decoding/crc32c.js';
import { decode, fileFixtures } from '../support/files.js';

/** A change of a file's bytes: set, insert, remove, repeat a part, cut off. */
type Change =
  | { readonly kind: 'set'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'copy'; readonly at: number; readonly from: number; readonly length: number }
  | { readonly kind: 'remove'; readonly at: number; readonly length: number }
  | { readonly kind: 'cut'; readonly at: number };

/** Places near the beginning and the end, where headers are, as often as anywhere else. */
const place = fc.oneof(fc.integer({ min: 0, max: 160 }), fc.integer({ min: -120, max: -1 }), fc.nat(4000));
const words = [
  '<',
  '>',
  'O',
  '(',
  ')',
  '-1',
  ',',
  '9999999999999999999999',
  '\0',
  '"',
  "'",
  '{',
  '}',
  '[',
  'F64',
];
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 8 }),
  fc.constantFrom(...words).map((word) => new Uint8Array(Buffer.from(word))),
  fc.constantFrom(
    new Uint8Array(4).fill(0xff),
    new Uint8Array(8).fill(0xff),
    new Uint8Array(8),
    // 2^31, where signed lengths end, and 2^40.
    Uint8Array.of(0, 0, 0, 0x80, 0, 0, 0, 0),
    Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0),
  ),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), at: place, bytes }),
  fc.record({ kind: fc.constant('insert' as const), at: place, bytes }),
  fc.record({ kind: fc.constant('copy' as const), at: place, from: place, length: fc.nat(64) }),
  fc.record({ kind: fc.constant('remove' as const), at: place, length: fc.nat(32) }),
  fc.record({ kind: fc.constant('cut' as const), at: place }),
);

function changed(file: Buffer, step: Change): Buffer {
  const index = (at: number): number => (at < 0 ? Math.max(0, file.length + at) : Math.min(at, file.length));
  const at = index(step.at);
  const [before, after] = [file.subarray(0, at), file.subarray(at)];
  switch (step.kind) {
    case 'set':
      return Buffer.concat([before, step.bytes, after.subarray(step.bytes.length)]);
    case 'insert':
      return Buffer.concat([before, step.bytes, after]);
    case 'copy':
      return Buffer.concat([before, file.subarray(index(step.from), index(step.from) + step.length), after]);
    case 'remove':
      return Buffer.concat([before, after.subarray(step.length)]);
    case 'cut':
      return before;
  }
}

/** A file, or the files of a folder, in memory. */
interface Sample {
  /** Of its files; '' where it is one itself. */
  readonly files: Readonly<Record<string, Buffer>>;
  /**
   * Of a mutated file: whether its elements must be those of the unmutated one, if they can be read at all.
   */
  readonly tells?: (name: string, before: Buffer, after: Buffer) => boolean;
}

export interface Format {
  readonly name: string;
  readonly samples: readonly Sample[];
  readonly load: (path: string) => Promise<Readonly<Record<string, Lazy>>>;
  /** Errors beside FileErrors that say what is wrong with what can be read. */
  readonly errors: readonly (new (
    ...args: never[]
  ) => Error)[];
  /**
   * The most bytes of elements for a byte of the file; of chunks that are not there, there may be any number.
   */
  readonly most: number;
}

const fileSamples = (fixtures: readonly { readonly file: string }[], tells = false): Sample[] =>
  fixtures.map(({ file }) => ({ files: { '': decode(file) }, ...(tells && { tells: () => true }) }));

const COUNT = 60;
const integers = Array.from({ length: COUNT }, (_, k) => (k * k) % 41);

function parquetSamples(): Sample[] {
  const columns: readonly ColumnSource[] = [
    { name: 'i', data: Int32Array.from(integers), type: 'INT32' },
    { name: 'e', data: Int32Array.from(integers), type: 'INT32', encoding: 'DELTA_BINARY_PACKED' },
    { name: 'l', data: BigInt64Array.from(integers, BigInt), type: 'INT64', encoding: 'DELTA_BINARY_PACKED' },
    { name: 's', data: Float32Array.from(integers), type: 'FLOAT', encoding: 'BYTE_STREAM_SPLIT' },
    {
      name: 'd',
      data: Float64Array.from(integers, (k) => k % 3),
      type: 'DOUBLE',
      encoding: 'RLE_DICTIONARY',
    },
    { name: 'g', data: integers.map((k) => (k % 4 === 0 ? null : k)), type: 'DOUBLE', nullable: true },
    { name: 'b', data: integers.map((k) => k % 2 === 0), type: 'BOOLEAN', nullable: true },
  ];
  const GZIP = (page: Uint8Array): Uint8Array => gzipSync(page);
  return (['UNCOMPRESSED', 'SNAPPY', 'GZIP'] as const).flatMap((codec) =>
    [columns.slice(0, 4), columns.slice(4)].map((columnData) => {
      const options = { columnData, codec, compressors: { GZIP }, rowGroupSize: 40 };
      return { files: { '': Buffer.from(parquetWriteBuffer(options)) } };
    }),
  );
}

const LITTLE = { name: 'bytes', configuration: { endian: 'little' } };
const CRC = { name: 'crc32c' };
const text = (fields: object): Buffer => Buffer.from(JSON.stringify(fields));
const elements = (from: number): Buffer =>
  Buffer.from(Float64Array.from({ length: 6 }, (_, k) => from + k).buffer);

function checked(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, new Uint8Array(Uint32Array.of(crc32c(bytes)).buffer)]);
}

/** Arrays of 4 × 3 float64 in two chunks, so that each has 48 bytes. */
function zarrSamples(): Sample[] {
  const v3 = (chunk: readonly number[], codecs: readonly object[]): Buffer =>
    text({
      zarr_format: 3,
      node_type: 'array',
      shape: [4, 3],
      data_type: 'float64',
      chunk_grid: { name: 'regular', configuration: { chunk_shape: chunk } },
      chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
      fill_value: 0,
      codecs,
    });
  const v2 = {
    zarr_format: 2,
    shape: [4, 3],
    chunks: [2, 3],
    dtype: '<f8',
    fill_value: 0,
    order: 'C',
    filters: null,
  };
  const index = checked(Buffer.from(BigUint64Array.of(0n, 48n, 48n, 48n).buffer));
  const sharding = {
    chunk_shape: [2, 3],
    codecs: [LITTLE],
    index_codecs: [LITTLE, CRC],
    index_location: 'end',
  };
  const shard = v3([4, 3], [{ name: 'sharding_indexed', configuration: sharding }]);
  /** Files of the chunks, and of their lengths. */
  const isData = (name: string): boolean => /\d$/.test(name);
  const lengthTells: Sample['tells'] = (name, before, after) =>
    isData(name) && before.length !== after.length;
  return [
    {
      files: { 'zarr.json': v3([2, 3], [LITTLE]), 'c/0/0': elements(0), 'c/1/0': elements(6) },
      tells: lengthTells,
    },
    {
      files: {
        'zarr.json': v3([2, 3], [LITTLE, CRC]),
        'c/0/0': checked(elements(0)),
        'c/1/0': checked(elements(6)),
      },
      tells: isData,
    },
    {
      files: { 'zarr.json': shard, 'c/0/0': Buffer.concat([elements(0), elements(6), index]) },
      // The index has a checksum, the chunks have none.
      tells: (name, before, after) =>
        isData(name) && before.subarray(0, 96).equals(after.subarray(0, 96)) && after.length >= 96,
    },
    {
      files: { '.zarray': text({ ...v2, compressor: null }), '0.0': elements(0), '1.0': elements(6) },
      tells: lengthTells,
    },
    {
      files: {
        '.zarray': text({ ...v2, compressor: { id: 'gzip', level: 1 } }),
        '0.0': gzipSync(elements(0)),
        '1.0': gzipSync(elements(6)),
      },
      tells: isData,
    },
  ];
}

export const formats: readonly Format[] = [
  {
    name: 'npy',
    samples: fileSamples(fileFixtures.npy),
    load: async (path) => ({ x: await loadNpy(path) }),
    errors: [],
    most: 1,
  },
  { name: 'npz', samples: fileSamples(fileFixtures.npz, true), load: loadNpz, errors: [], most: 1100 },
  {
    name: 'safetensors',
    samples: fileSamples(fileFixtures.safetensors),
    load: loadSafetensors,
    errors: [],
    most: 1,
  },
  {
    name: 'parquet',
    samples: parquetSamples(),
    load: (path) => loadParquet(path, { nulls: 0 }),
    // Types that it does not take, and values that are missing.
    errors: [DTypeError, ArgumentError],
    most: 1100,
  },
  {
    name: 'zarr',
    samples: zarrSamples(),
    load: async (path) => ({ x: await loadZarr(path) }),
    errors: [DTypeError, MemoryError],
    most: Number.POSITIVE_INFINITY,
  },
];

interface Mutation {
  readonly sample: number;
  readonly file: number;
  readonly changes: readonly Change[];
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  sample: fc.nat(),
  file: fc.nat(),
  changes: fc.array(change, { minLength: 1, maxLength: 4 }),
});

/** Findings of many mutations. */
export interface Tally {
  read: number;
  refused: number;
  /** Milliseconds of the longest. */
  longest: number;
}

/**
 * Mutates files of a format so many times, or until the time is up; throws with the first mutation that
 * breaks a promise.
 */
export async function mutate(
  format: Format,
  folder: string,
  options: { readonly numRuns: number; readonly seed?: number; readonly interruptAfterTimeLimit?: number },
): Promise<Tally> {
  const tally: Tally = { read: 0, refused: 0, longest: 0 };
  const samples = await Promise.all(
    format.samples.map((sample, k) => prepared(format, sample, join(folder, `${k}`))),
  );
  const property = fc.asyncProperty(mutation, async ({ sample, file, changes }) => {
    const chosen = samples[sample % samples.length]!;
    const begun = performance.now();
    const isRead = await survives(format, chosen, file, changes);
    tally.longest = Math.max(tally.longest, performance.now() - begun);
    tally[isRead ? 'read' : 'refused']++;
  });
  await fc.assert(property, { markInterruptAsFailure: false, ...options });
  return tally;
}

type Elements = Readonly<
  Record<string, { readonly dtype: string; readonly shape: string; readonly bytes: Buffer }>
>;

interface Prepared extends Sample {
  readonly path: string;
  readonly wanted: Elements;
  /** Of the file that is mutated at present; all others are as in `files`. */
  mutated?: string;
}

async function prepared(format: Format, sample: Sample, path: string): Promise<Prepared> {
  rmSync(path, { recursive: true, force: true });
  for (const [name, bytes] of Object.entries(sample.files)) put(join(path, name), bytes);
  return { ...sample, path, wanted: await elementsOf(await format.load(path)) };
}

function put(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

/**
 * Overwrites a file in place. One that is truncated before, as `writeFileSync` does, is brought to the disk
 * by ext4 when it is closed: 1.7 ms instead of 0.1 ms, most of what a mutation took.
 */
function overwrite(path: string, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
    ftruncateSync(file, bytes.length);
  } finally {
    closeSync(file);
  }
}

/** Puts a mutated file in the place of one of a sample's, and all others back as they were. */
function overwriteOnly(sample: Prepared, name: string, bytes: Buffer): void {
  const { path, files, mutated } = sample;
  if (mutated !== undefined && mutated !== name) overwrite(join(path, mutated), files[mutated]!);
  sample.mutated = name;
  overwrite(join(path, name), bytes);
}

async function elementsOf(arrays: Readonly<Record<string, Lazy>>): Promise<Elements> {
  const results = await compute(Object.values(arrays), { device: 'cpu' });
  return Object.fromEntries(
    Object.keys(arrays).map((name, k) => {
      const { dtype, shape, data } = results[k]!;
      return [
        name,
        { dtype, shape: shape.join(), bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength) },
      ];
    }),
  );
}

/** Whether a mutated file was read; false: it was refused as it should be. */
async function survives(
  { load, errors, most }: Format,
  sample: Prepared,
  file: number,
  changes: readonly Change[],
): Promise<boolean> {
  const { files, tells, path, wanted } = sample;
  const names = Object.keys(files);
  const name = names[file % names.length]!;
  const before = files[name]!;
  const after = changes.reduce(changed, before);
  overwriteOnly(sample, name, after);
  try {
    const found = await elementsOf(await load(path));
    const held = Object.values(found).reduce((sum, array) => sum + array.bytes.length, 0);
    if (held > most * after.length) throw new Error(`${held} bytes of a file of ${after.length}`);
    if (tells?.(name, before, after) === true) checkSame(found, wanted);
    return true;
  } catch (error) {
    const isOwn = error instanceof FileError && error.path.startsWith(path) && error.code !== undefined;
    if (isOwn || errors.some((type) => error instanceof type)) return false;
    throw error;
  }
}

/** Arrays of the same name are the same; names have no checksum. */
function checkSame(found: Elements, wanted: Elements): void {
  for (const [name, { dtype, shape, bytes }] of Object.entries(found)) {
    const array = wanted[name];
    if (array === undefined) continue;
    const isSame = array.dtype === dtype && array.shape === shape && array.bytes.equals(bytes);
    if (!isSame) throw new Error(`other elements of ${name}, and no error: ${dtype} (${shape})`);
  }
}

/**
 * Columns of Arrow that say other lengths than they have, as those of a damaged message may: no more is taken
 * of them than there is. (What apache-arrow makes of the bytes of a message is its own.) Gives how many were
 * taken.
 */
export function mutateArrow(options: { readonly numRuns: number; readonly seed?: number }): number {
  const columns = [
    vectorFromArray(integers, new Float32()),
    vectorFromArray(integers.map(BigInt), new Int64()),
    vectorFromArray(integers.map((k) => k % 2 === 0)),
    vectorFromArray(
      integers.map((k) => (k % 3 === 0 ? null : k)),
      new Float32(),
    ),
  ];
  const length = fc.oneof(
    fc.constantFrom(0, 1, COUNT - 1, COUNT, COUNT + 1, -1, 0.5, 2 ** 31, 2 ** 53),
    fc.nat(600),
  );
  const fields = fc.record(
    { column: length, batch: length, nulls: length, values: length },
    { requiredKeys: [] },
  );
  let taken = 0;
  const property = fc.property(
    fc.nat(columns.length - 1),
    fields,
    (which, { column, batch, nulls, values }) => {
      const of = columns[which]!;
      const whole = of.data[0]!;
      const over = (target: object, changes: Readonly<Record<string, unknown>>): object =>
        new Proxy(target, { get: (from, key) => changes[String(key)] ?? Reflect.get(from, key, from) });
      const data = over(whole, {
        length: batch,
        nullCount: nulls,
        values: values === undefined ? undefined : whole.values.subarray(0, values),
      });
      const rows = column ?? batch ?? COUNT;
      // Memory is padded, and a byte has eight booleans.
      const there = whole.values.length * (String(of.type) === 'Bool' ? 8 : 1);
      try {
        const { shape } = fromArrow(over(of, { length: rows, nullCount: nulls, data: [data] }) as never, {
          nulls: 0,
        });
        if (shape[0] !== rows || rows > there) throw new Error(`${shape} of a column of ${rows}`);
        taken++;
      } catch (error) {
        if (!(error instanceof ArgumentError || error instanceof DTypeError)) throw error;
      }
    },
  );
  fc.assert(property, options);
  return taken;
}
