/**
 * A folder that is written: a file of elements and a small one that describes them. The elements are written
 * as any output file is; once they are complete, the folder is put together under a temporary name and gets
 * its own, in the place of a folder of the same kind that had it before.
 *
 * Called by `store.ts`.
 */
import { lstat, mkdir, open, realpath, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { exchangePaths } from '../exec/native/native.js';
import type { FileStamp } from '../graph/expr.js';
import { asFileError, refuser } from './data-file.js';
import { isThere, OutputFile, syncFolder } from './output-file.js';
import { Temporary } from './temporary.js';

/** The files of a folder beside its elements, and the places of the elements. */
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
    const made = Temporary.beside(this.#target);
    try {
      await this.#putTogether(made).finally(() => made.remove());
    } catch (error) {
      throw asFileError(this.#op, this.#target, WRITABLE, error);
    }
  }

  async #putTogether(made: Temporary): Promise<void> {
    const { member, name, bytes } = this.#layout;
    await mkdir(join(made.path, dirname(member)), { recursive: true });
    const description = await open(join(made.path, name), 'wx');
    try {
      await description.writeFile(bytes);
      await description.sync();
    } finally {
      await description.close();
    }
    await this.#file.publish(join(made.path, member));
    await syncFolder(made.path);
    await putInPlace(made, this.#target);
    await syncFolder(dirname(this.#target));
  }

  discard(): Promise<void> {
    return this.#file.discard();
  }
}

/** Gives a folder its name. One that has it gets the temporary name, and is removed as what is temporary. */
async function putInPlace(made: Temporary, target: string): Promise<void> {
  if (!(await isThere(target))) {
    await rename(made.path, target);
    made.keep();
    return;
  }
  if (await exchangePaths(made.path, target)) return;
  // Between the two renames nothing has the name.
  const before = `${made.path}.old`;
  await rename(target, before);
  try {
    await rename(made.path, target);
  } catch (error) {
    await rename(before, target);
    throw error;
  }
  await rename(before, made.path);
}

/** The folder that a path names or will name. An existing one has to be of this format. */
async function targetOf(op: string, path: string, { name }: FolderLayout): Promise<string> {
  if (!(await isThere(path))) return join(await realpath(dirname(path)), basename(path));
  const target = await realpath(path);
  const isKnown = (await lstat(target)).isDirectory() && (await isThere(join(target, name)));
  if (!isKnown) refuser(op, path)(`a folder with a ${name}, or none`, 'something else of that name');
  return target;
}
