/** What the tests of files share: the fixtures that NumPy wrote (`scripts/make-file-fixtures.py`), and folders to work in. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** What an array holds, to be compared with `StoredElements`. */
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
