/**
 * Files and folders that have a temporary name until they are complete: removed when the process exits, or
 * the thread ends, before.
 *
 * Used by `output-file.ts` and `output-folder.ts`.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { guardPath, releasePath } from '../exec/native/native.js';

export class Temporary {
  readonly path: string;
  /** Until the file has its own name. */
  #guard: object | undefined;

  private constructor(path: string) {
    this.path = path;
    this.#guard = guardPath(path);
  }

  /**
   * A new name in the folder of a target, known before there is anything of that name, so that nothing is
   * left.
   */
  static beside(target: string): Temporary {
    return new Temporary(join(dirname(target), `.weft-${randomUUID()}.tmp`));
  }

  /** Ends the guard without deleting: the file was renamed, or never made. */
  keep(): void {
    if (this.#guard !== undefined) releasePath(this.#guard);
    this.#guard = undefined;
  }

  /** Removes what has the name. Nothing happens if it was kept. */
  async remove(): Promise<void> {
    if (this.#guard === undefined) return;
    await rm(this.path, { recursive: true, force: true });
    this.keep();
  }
}
