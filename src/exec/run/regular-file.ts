/**
 * Reads of files whose names others could guess: what stands there may be anything. Called by
 * `image-folder.ts` and `file-lock.ts`.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';

export interface RegularFile {
  readonly bytes: Buffer;
  readonly modifiedMs: number;
}

/**
 * The content of a regular file. Anything else (a pipe, a device, a folder, a link) is undefined, and is not
 * opened: to open a pipe waits for its writer, on one of the few threads that Node has for all files. Rejects
 * where nothing can be read.
 */
export async function readRegularFile(path: string): Promise<RegularFile | undefined> {
  if (!(await lstat(path)).isFile()) return undefined;
  let file: FileHandle | undefined;
  try {
    // Not blocking: another kind of file may have come meanwhile.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const stats = await file.stat();
    return stats.isFile() ? { bytes: await file.readFile(), modifiedMs: stats.mtimeMs } : undefined;
  } finally {
    await file?.close();
  }
}
