/**
 * Files and folders that have a temporary name until they are complete: removed when the process exits, or
 * the thread ends, before.
 *
 * Used by `output-file.ts` and `output-folder.ts`.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { guardPath, releasePath } from '../exec/native/native.js';

const ALL = { recursive: true, force: true } as const;

/** Of this thread. When a worker is terminated, which runs no handlers, their guards remove them. */
const unfinished = new Set<string>();
let watching = false;

function watchExit(): void {
  if (watching) return;
  watching = true;
  process.once('exit', () => {
    for (const path of unfinished) rmSync(path, ALL);
  });
}

export class Temporary {
  readonly path: string;
  readonly #guard: object;

  private constructor(path: string) {
    this.path = path;
    this.#guard = guardPath(path);
    unfinished.add(path);
  }

  /**
   * A new name in the folder of a target, known before there is anything of that name, so that nothing is
   * left.
   */
  static beside(target: string): Temporary {
    watchExit();
    return new Temporary(join(dirname(target), `.weft-${randomUUID()}.tmp`));
  }

  /** Ends the guard without deleting: the file was renamed, or never made. */
  keep(): void {
    if (unfinished.delete(this.path)) releasePath(this.#guard);
  }

  /** Removes what has the name. Nothing happens if it was kept. */
  async remove(): Promise<void> {
    if (!unfinished.has(this.path)) return;
    await rm(this.path, ALL);
    this.keep();
  }
}
