/**
 * A folder that is written: a file of elements and a small one that describes them. The elements are written as any output file
 * is; once they are complete, the folder is put together under a temporary name and gets its own, in the place of a folder of
 * the same kind that had it before.
 *
 * Called by `store.ts`.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { FileStamp } from '../graph/expr.js';
import { asFileError, refuser } from './data-file.js';
import { isThere, OutputFile, syncFolder } from './output-file.js';

/** What a folder holds beside its elements, and where those are in it. */
export interface FolderLayout {
  /** The path of the file of elements. */
  readonly member: string;
  /** The file that describes them, by which a folder of this kind is known. */
  readonly name: string;
  readonly bytes: Buffer;
}

const WRITABLE = 'a folder that can be written';

export class OutputFolder {
  readonly #op: string;
  readonly #file: OutputFile;
  readonly #target: string;
  readonly #layout: FolderLayout;

  private constructor(op: string, file: OutputFile, target: string, layout: FolderLayout) {
    this.#op = op;
    this.#file = file;
    this.#target = target;
    this.#layout = layout;
  }

  /** Rejects with a FileError where there is something else of that name. A link is followed. */
  static async create(op: string, path: string, layout: FolderLayout): Promise<OutputFolder> {
    let target: string;
    try {
      target = await targetOf(op, path, layout);
    } catch (error) {
      throw asFileError(op, path, WRITABLE, error);
    }
    return new OutputFolder(op, await OutputFile.createFor(op, target), target, layout);
  }

  /** Of the file of elements. */
  get path(): string {
    return join(this.#target, this.#layout.member);
  }

  get fd(): number {
    return this.#file.fd;
  }

  reserve(byteLength: number): Promise<void> {
    return this.#file.reserve(byteLength);
  }

  write(bytes: Uint8Array, byteOffset: number): Promise<void> {
    return this.#file.write(bytes, byteOffset);
  }

  complete(byteLength: number): Promise<FileStamp> {
    return this.#file.complete(byteLength);
  }

  async publish(): Promise<void> {
    const { member, name, bytes } = this.#layout;
    const around = dirname(this.#target);
    const made = join(around, `.weft-${randomUUID()}.tmp`);
    const before = join(around, `.weft-${randomUUID()}.old`);
    try {
      await mkdir(join(made, dirname(member)), { recursive: true });
      const description = await open(join(made, name), 'wx');
      try {
        await description.writeFile(bytes);
        await description.sync();
      } finally {
        await description.close();
      }
      await this.#file.publish(join(made, member));
      await syncFolder(made);
      const isReplaced = await isThere(this.#target);
      if (isReplaced) await rename(this.#target, before);
      try {
        await rename(made, this.#target);
      } catch (error) {
        if (isReplaced) await rename(before, this.#target);
        throw error;
      }
      await syncFolder(around);
      if (isReplaced) await rm(before, { recursive: true, force: true });
    } catch (error) {
      await rm(made, { recursive: true, force: true });
      throw asFileError(this.#op, this.#target, WRITABLE, error);
    }
  }

  discard(): Promise<void> {
    return this.#file.discard();
  }
}

/** The folder that a path names or will name. What is there is one of this kind. */
async function targetOf(op: string, path: string, { name }: FolderLayout): Promise<string> {
  if (!(await isThere(path))) return join(await realpath(dirname(path)), basename(path));
  const target = await realpath(path);
  const isKnown = (await lstat(target)).isDirectory() && (await isThere(join(target, name)));
  if (!isKnown) refuser(op, path)(`a folder with a ${name}, or none`, 'something else of that name');
  return target;
}
