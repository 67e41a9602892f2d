/**
 * A file that is read: opened only if it is a regular one, read exactly or refused, known again later by its
 * stamp.
 *
 * Every failure is a FileError that names the file. The meaning of the bytes is left to the formats (`npy.ts`
 * …), which call this; elements that a graph reads are read by `native/runtime/file.cpp`.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileStamp } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected, FileError } from '../host/errors.js';

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

/** Says how a function that takes nothing but a path is called with many. */
export const eachPath = (op: string): string => `of a list: paths.map((path) => ${op}(path))`;

/** Weft's own codes of a FileError; a failure of the system's has the system's. */
export type FileFault =
  | 'ERR_FILE_FORMAT'
  | 'ERR_FILE_CHECKSUM'
  | 'ERR_FILE_CHANGED'
  | 'ERR_FILE_KIND'
  | 'ERR_FILE_TIMEOUT';

/**
 * Throws a FileError: `[op] expected what: received (path)`. Without a code, it is about the file's format.
 */
export type Refuse = (what: string, received: string, hint?: string, code?: FileFault) => never;

export const refuser =
  (op: string, path: string): Refuse =>
  (what, received, hint, code = 'ERR_FILE_FORMAT') => {
    const about = hint === undefined ? path : `${hint}; ${path}`;
    throw new FileError(expected(op, what, received, about), path, code);
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

const sameStamp = (a: FileStamp, b: FileStamp): boolean =>
  a.device === b.device &&
  a.inode === b.inode &&
  a.byteLength === b.byteLength &&
  a.modifiedNs === b.modifiedNs;

function kindOf(stats: Pick<Stats, 'isDirectory' | 'isFIFO' | 'isSocket'>): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

/** A range of a file's bytes: see `readRange`. */
export interface FileRange {
  readonly offset?: number;
  readonly length?: number;
  readonly most?: number;
}

export class DataFile {
  private constructor(
    readonly op: string,
    readonly path: string,
    readonly handle: FileHandle,
    readonly stamp: FileStamp,
  ) {}

  /**
   * Opens a regular file. Pipes and devices are refused before they are opened: that alone can block, or do
   * something.
   */
  static async open(op: string, path: string): Promise<DataFile> {
    const refuse = refuser(op, path);
    let handle: FileHandle | undefined;
    try {
      const before = await stat(path);
      if (!before.isFile()) refuse('a regular file', kindOf(before), undefined, 'ERR_FILE_KIND');
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile())
        refuse('a regular file', 'another file than a moment ago', undefined, 'ERR_FILE_CHANGED');
      return new DataFile(op, path, handle, stampOf(stats));
    } catch (error) {
      await handle?.close();
      throw asFileError(op, path, 'a file that can be read', error);
    }
  }

  get byteLength(): number {
    return Number(this.stamp.byteLength);
  }

  readonly refuse: Refuse = (...about) => refuser(this.op, this.path)(...about);

  /** Exactly `length` bytes from `offset` on. Throws a FileError where the file ends before. */
  async read(offset: number, length: number): Promise<Buffer> {
    if (offset + length > this.byteLength) {
      return this.refuse(`a file of at least ${offset + length} bytes`, `${this.byteLength} bytes`);
    }
    const bytes = Buffer.allocUnsafe(length);
    await this.readInto(bytes, offset);
    return bytes;
  }

  /**
   * The bytes of a range, in a buffer of their own: without an offset all of them, which may be `most`; a
   * negative offset counts from the end. Throws a FileError for a range that is not all in the file.
   */
  async readRange({ offset = 0, length, most }: FileRange): Promise<Uint8Array<ArrayBuffer>> {
    const start = offset < 0 ? this.byteLength + offset : offset;
    const count = length ?? this.byteLength - start;
    if (most !== undefined && count > most) this.refuse(`at most ${most} bytes`, `${count}`);
    if (start < 0 || start + count > this.byteLength)
      this.refuse(`a file with bytes ${start} to ${start + count}`, `${this.byteLength} bytes`);
    const bytes = new Uint8Array(count);
    await this.readInto(bytes, start);
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
    if (!sameStamp(now, stamp)) {
      const received = 'one that was changed or replaced since';
      this.refuse('the file that was opened', received, undefined, 'ERR_FILE_CHANGED');
    }
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
