/**
 * Support of the tests of files: the fixtures that NumPy wrote (`scripts/make-file-fixtures.py`), and folders
 * to work in.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { afterAll } from 'vitest';
import type { ByteOrder, DType, Lazy, Order } from '../../src/index.js';

/** Elements in C order, little-endian. */
export interface StoredElements {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: string;
}

export interface ArchiveFixture {
  readonly name: string;
  readonly file: string;
  readonly arrays: Readonly<Record<string, StoredElements>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

export type NpyFixture = StoredElements & {
  readonly name: string;
  readonly file: string;
  readonly order: Order;
  readonly byteOrder: ByteOrder;
  readonly version: number;
};

interface FileFixtures {
  readonly npy: readonly NpyFixture[];
  readonly refused: readonly { readonly name: string; readonly file: string }[];
  readonly npz: readonly ArchiveFixture[];
  readonly safetensors: readonly ArchiveFixture[];
}

export const fileFixtures = JSON.parse(
  readFileSync(new URL('../fixtures/files.json', import.meta.url), 'utf8'),
) as FileFixtures;

export const decode = (base64: string): Buffer => Buffer.from(base64, 'base64');

/** A folder for the tests of a file, removed after them. */
export function temporaryFolder(): {
  readonly path: string;
  put(name: string, bytes: Uint8Array | string): string;
} {
  const path = mkdtempSync(join(tmpdir(), 'weft-files-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    put: (name, bytes) => {
      const file = join(path, name);
      writeFileSync(file, bytes);
      return file;
    },
  };
}

/** The elements of an array, to be compared with `StoredElements`. */
export async function stored(x: Lazy): Promise<StoredElements> {
  const { dtype, shape, data } = await x.compute({ device: 'cpu' });
  return {
    dtype,
    shape,
    values: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
  };
}

export const elementsOf = ({ dtype, shape, values }: StoredElements): StoredElements => ({
  dtype,
  shape,
  values,
});

export interface TestMember {
  readonly name: string;
  readonly bytes: Buffer;
  readonly method?: number;
  readonly flags?: number;
  readonly checksum?: number;
  readonly byteLength?: number;
  readonly compressed?: Buffer;
  readonly localOffset?: number;
}

/** A zip archive with whatever is said in its headers. */
export function archive(members: readonly TestMember[]): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const {
    name,
    bytes,
    method = 8,
    flags = 0,
    checksum,
    byteLength,
    compressed,
    localOffset,
  } of members) {
    const body = compressed ?? (method === 8 ? deflateRawSync(bytes) : bytes);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(flags, 2);
    fields.writeUInt16LE(method, 4);
    fields.writeUInt32LE(checksum ?? crc32(bytes), 10);
    fields.writeUInt32LE(body.length, 14);
    fields.writeUInt32LE(byteLength ?? bytes.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    fields.copy(entry, 6);
    entry.writeUInt32LE(localOffset ?? offset, 42);
    central.push(entry, Buffer.from(name, 'latin1'));
    const parts = [Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name, 'latin1'), body];
    local.push(...parts);
    offset += parts.reduce((sum, part) => sum + part.length, 0);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(
    central.reduce((sum, part) => sum + part.length, 0),
    12,
  );
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, ...central, end]);
}
