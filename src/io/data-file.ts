/**
 * A file that is read: opened only if it is a regular one, read exactly or refused, known again later by its stamp.
 *
 * Every failure is a FileError that names the file. What the bytes mean is the formats' (`npy.ts` …), which call this;
 * elements that a graph reads are the native side's (`native/runtime/file.cpp`).
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ArgumentError, expected, FileError } from '../errors.js';
import type { FileStamp } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';

/** A file: a path, or a `file:` URL. */
export type FilePath = string | URL;

/** The absolute path that an argument names. Throws an ArgumentError for anything else. */
export function pathOf(op: string, path: unknown): string {
  if (path instanceof URL && path.protocol === 'file:') return fileURLToPath(path);
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw new ArgumentError(expected(op, 'a path or a file: URL', formatValue(path)));
  }
  return resolve(path);
}

/** Throws a FileError: `[op] expected what: received (path)`. */
export type Refuse = (what: string, received: string, hint?: string) => never;

export const refuser =
  (op: string, path: string): Refuse =>
  (what, received, hint) => {
    throw new FileError(expected(op, what, received, hint === undefined ? path : `${hint}; ${path}`), path);
  };

/** A failure of the system's as a FileError; anything else as it is. */
export function asFileError(op: string, path: string, what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  if (error instanceof FileError || !('syscall' in error)) return error;
  return new FileError(expected(op, what, error.message, path), path, error.code);
}

export const stampOf = (stats: {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}): FileStamp => ({
  device: stats.dev,
  inode: stats.ino,
  byteLength: stats.size,
  modifiedNs: stats.mtimeNs,
});

export const sameStamp = (a: FileStamp, b: FileStamp): boolean =>
  a.device === b.device &&
  a.inode === b.inode &&
  a.byteLength === b.byteLength &&
  a.modifiedNs === b.modifiedNs;

function kindOf(stats: Pick<Stats, 'isDirectory' | 'isFIFO' | 'isSocket'>): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

export class DataFile {
  private constructor(
    readonly op: string,
    readonly path: string,
    readonly handle: FileHandle,
    readonly stamp: FileStamp,
  ) {}

  /** Opens a regular file. Pipes and devices are refused before they are opened: that alone can block, or do something. */
  static async open(op: string, path: string): Promise<DataFile> {
    const refuse = refuser(op, path);
    let handle: FileHandle | undefined;
    try {
      const before = await stat(path);
      if (!before.isFile()) refuse('a regular file', kindOf(before));
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile()) refuse('a regular file', 'another file than a moment ago');
      return new DataFile(op, path, handle, stampOf(stats));
    } catch (error) {
      await handle?.close();
      throw asFileError(op, path, 'a file that can be read', error);
    }
  }

  get byteLength(): number {
    return Number(this.stamp.byteLength);
  }

  readonly refuse: Refuse = (what, received, hint) => refuser(this.op, this.path)(what, received, hint);

  /** Exactly `length` bytes from `offset` on. Throws a FileError where the file ends before. */
  async read(offset: number, length: number): Promise<Buffer> {
    if (offset + length > this.byteLength) {
      return this.refuse(`a file of at least ${offset + length} bytes`, `${this.byteLength} bytes`);
    }
    const bytes = Buffer.allocUnsafe(length);
    await this.readInto(bytes, offset);
    return bytes;
  }

  async readInto(bytes: Uint8Array, offset: number): Promise<void> {
    for (let at = 0; at < bytes.byteLength; ) {
      const { bytesRead } = await this.#system(
        this.handle.read(bytes, at, bytes.byteLength - at, offset + at),
      );
      if (bytesRead === 0) this.refuse(`a file of at least ${offset + bytes.byteLength} bytes`, 'its end');
      at += bytesRead;
    }
  }

  /** Throws a FileError unless the file is still the one of a stamp. */
  async checkStamp(stamp: FileStamp): Promise<void> {
    const now = stampOf(await this.#system(this.handle.stat({ bigint: true })));
    if (!sameStamp(now, stamp))
      this.refuse('the file that was opened', 'one that was changed or replaced since');
  }

  async #system<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw asFileError(this.op, this.path, 'a file that can be read', error);
    }
  }
}

/** Runs `body` on an opened file, and closes it. */
export async function withFile<T>(
  op: string,
  path: string,
  body: (file: DataFile) => Promise<T>,
): Promise<T> {
  const file = await DataFile.open(op, path);
  try {
    return await body(file);
  } finally {
    await file.handle.close();
  }
}
