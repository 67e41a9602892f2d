/** The folder of Weft's own package, whose files are found from it: code is in `src/`, `dist/src/` or `dist/weft/`. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The nearest folder above a file with a `package.json`; where there is none, as in a program of one file, the root. */
function folderAbove(file: string): string {
  let folder = dirname(file);
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

export const PACKAGE_FOLDER = folderAbove(fileURLToPath(import.meta.url));
