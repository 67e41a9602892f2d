/**
 * A file that is written: under a temporary name in the folder of its final one, which it gets when it is
 * complete and on the disk. Until then, and after any failure, what had that name before is still there, and
 * nothing else is left.
 *
 * Called by `store.ts` and `png.ts`.
 */
import { type FileHandle, lstat, open, realpath, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { reserveFile } from '../exec/native/native.js';
import type { FileStamp } from '../graph/expr.js';
import { asFileError, refuser, stampOf } from './data-file.js';
import { Temporary } from './temporary.js';

const WRITABLE = 'a file that can be written';

export class OutputFile {
  readonly #op: string;
  readonly #handle: FileHandle;
  readonly #temporary: Temporary;
  readonly #target: string;
  #closed = false;

  private constructor(op: string, handle: FileHandle, temporary: Temporary, target: string) {
    this.#op = op;
    this.#handle = handle;
    this.#temporary = temporary;
    this.#target = target;
  }

  /**
   * Makes the temporary file. A link is followed: what it points to is replaced. Rejects with a FileError.
   */
  static async create(op: string, path: string): Promise<OutputFile> {
    try {
      const { target, mode } = await targetOf(op, path);
      return await OutputFile.createFor(op, target, mode);
    } catch (error) {
      throw asFileError(op, path, WRITABLE, error);
    }
  }

  /** Makes the temporary file beside what it is for. Rejects with a FileError. */
  static async createFor(op: string, target: string, mode?: number): Promise<OutputFile> {
    try {
      const temporary = Temporary.beside(target);
      const handle = await open(temporary.path, 'wx+').catch((error: unknown) => {
        temporary.keep();
        throw error;
      });
      const file = new OutputFile(op, handle, temporary, target);
      try {
        if (mode !== undefined) await handle.chmod(mode);
        return file;
      } catch (error) {
        await file.discard();
        throw error;
      }
    } catch (error) {
      throw asFileError(op, target, WRITABLE, error);
    }
  }

  get path(): string {
    return this.#target;
  }

  get fd(): number {
    return this.#handle.fd;
  }

  /** Takes the room on the disk, so that a full one is found before anything is computed. */
  async reserve(byteLength: number): Promise<void> {
    await reserveFile(this.#handle.fd, byteLength, this.#target);
  }

  async write(bytes: Uint8Array, byteOffset: number): Promise<void> {
    for (let at = 0; at < bytes.byteLength; ) {
      const { bytesWritten } = await this.#system(() =>
        this.#handle.write(bytes, at, bytes.byteLength - at, byteOffset + at),
      );
      at += bytesWritten;
    }
  }

  /** The first bytes, in order, in pieces. */
  async *pieces(byteLength: number, pieceBytes: number): AsyncGenerator<Uint8Array, void, void> {
    for (let at = 0; at < byteLength; ) {
      const length = Math.min(pieceBytes, byteLength - at);
      const { buffer, bytesRead } = await this.#system(() =>
        this.#handle.read(Buffer.allocUnsafe(length), 0, length, at),
      );
      if (bytesRead === 0) refuser(this.#op, this.#target)(`${byteLength} bytes`, `${at}`);
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /**
   * Brings everything to the disk; the file still has its temporary name. Gives the stamp it will have under
   * its own.
   */
  async complete(byteLength: number): Promise<FileStamp> {
    return this.#system(async () => {
      await this.#handle.truncate(byteLength);
      await this.#handle.sync();
      const stats = await this.#handle.stat({ bigint: true });
      await this.#close();
      return stampOf(stats);
    });
  }

  /** Gives the file its name, or another one on the same disk. */
  async publish(path = this.#target): Promise<void> {
    await this.#system(async () => {
      await rename(this.#temporary.path, path);
      this.#temporary.keep();
      await syncFolder(dirname(path));
    });
  }

  /** Removes the file, unless it has its name already. */
  async discard(): Promise<void> {
    await this.#close();
    await this.#temporary.remove();
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#handle.close();
  }

  async #system<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw asFileError(this.#op, this.#target, WRITABLE, error);
    }
  }
}

/** Whether something has a name; a link counts, wherever it leads. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** The file that a path names or will name, and the mode of the one that is there. */
async function targetOf(op: string, path: string): Promise<{ target: string; mode: number | undefined }> {
  if (!(await isThere(path)))
    return { target: join(await realpath(dirname(path)), basename(path)), mode: undefined };
  const target = await realpath(path);
  const stats = await lstat(target);
  if (!stats.isFile()) refuser(op, path)('a regular file, or none', 'something else of that name');
  return { target, mode: stats.mode & 0o777 };
}

/**
 * Errors of file systems that cannot sync a folder, or do not let it be opened: the file itself is on the
 * disk.
 */
const UNSYNCED = ['EINVAL', 'ENOTSUP', 'EACCES', 'EPERM', 'EISDIR'];

/** Brings a rename to the disk. */
export async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path, 'r');
    await folder.sync();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!UNSYNCED.includes(code)) throw error;
  } finally {
    await folder?.close();
  }
}
