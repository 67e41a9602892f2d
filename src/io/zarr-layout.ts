/**
 * A Zarr array, version 3, as it is written: `zarr.json` and one shard, a file of all elements in C order.
 * Its chunks are some rows each, and the index at its end says where they are, so that readers fetch the
 * chunks that they need.
 *
 * Format: Zarr's core specification, version 3, and its codec `sharding_indexed`, version 1. Called by
 * `sinks.ts`; reading is in `zarr.ts`.
 */
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { Shape } from '../graph/expr.js';
import { sizeOfShape } from '../graph/graph.js';
import { crc32c } from './decoding/crc32c.js';
import type { FolderLayout } from './output-folder.js';

/** Bytes of a chunk, unless a row has more. */
const CHUNK_BYTES = 4 * 2 ** 20;

/** A reader gets so many bytes for each chunk in the index: where it is, and how long. */
const ENTRY_BYTES = 16;

const ELEMENTS = { name: 'bytes', configuration: { endian: 'little' } } as const;

/** Lays out an array. `bfloat16`, which Zarr has not, is not taken. */
export function zarrLayout(dtype: Exclude<DType, 'bfloat16'>, shape: Shape) {
  const [rows = 1, ...inner] = shape;
  const rowBytes = Math.max(1, sizeOfShape(inner)) * byteLengthOf(dtype);
  const height = Math.max(1, Math.min(rows, Math.floor(CHUNK_BYTES / rowBytes)));
  const count = Math.max(1, Math.ceil(rows / height));
  const chunkBytes = height * rowBytes;
  // No chunk has less than its shape: the last rows of the last one may be none of the array's.
  const end = count * chunkBytes;
  const index = shape.length === 0 ? Buffer.alloc(0) : indexOf(count, chunkBytes);
  const elements = { dtype, shape, order: 'C', byteOrder: 'little', byteOffset: 0 } as const;
  const width = inner.map((size) => Math.max(1, size));
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: dtype,
    chunk_grid: {
      name: 'regular',
      configuration: { chunk_shape: shape.length === 0 ? [] : [count * height, ...width] },
    },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    fill_value: dtype === 'bool' ? false : dtype.startsWith('complex') ? [0, 0] : 0,
    codecs: [shape.length === 0 ? ELEMENTS : sharding([height, ...width])],
    attributes: {},
  };
  const folder: FolderLayout = {
    member: ['c', ...shape.map(() => '0')].join('/'),
    name: 'zarr.json',
    bytes: Buffer.from(`${JSON.stringify(metadata, undefined, 2)}\n`),
  };
  const headers = index.length === 0 ? [] : [{ byteOffset: end, bytes: index }];
  return { arrays: [elements], byteLength: end + index.length, headers, folder };
}

const sharding = (chunkShape: Shape): object => ({
  name: 'sharding_indexed',
  configuration: {
    chunk_shape: chunkShape,
    codecs: [ELEMENTS],
    index_codecs: [ELEMENTS, { name: 'crc32c' }],
    index_location: 'end',
  },
});

/** The index of chunks that lie one after the other, and its checksum. */
function indexOf(count: number, chunkBytes: number): Buffer {
  const index = Buffer.alloc(count * ENTRY_BYTES + 4);
  for (let k = 0; k < count; k++) {
    index.writeBigUInt64LE(BigInt(k * chunkBytes), k * ENTRY_BYTES);
    index.writeBigUInt64LE(BigInt(chunkBytes), k * ENTRY_BYTES + 8);
  }
  index.writeUInt32LE(crc32c(index.subarray(0, -4)), count * ENTRY_BYTES);
  return index;
}
