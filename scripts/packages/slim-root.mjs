/** A root file system with nothing but a program and the libraries that it needs. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The files of the libraries of a program, its loader among them. */
function librariesOf(program) {
  const { stdout, status } = spawnSync('ldd', [program], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ldd ${program} ended with ${status}`);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
}

/** Makes the root in `folder`: the program is `/bin/program`, and there is `/tmp`. */
export function makeSlimRoot(folder, program) {
  for (const path of ['bin', 'tmp', 'project']) mkdirSync(join(folder, path), { recursive: true });
  copyFileSync(realpathSync(program), join(folder, 'bin', 'program'));
  for (const path of librariesOf(program)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    copyFileSync(realpathSync(path), join(folder, path));
  }
}

/** The command that runs what follows it in a root, or why no program can be run so here. */
export function rootCommand(folder) {
  const unshare = ['unshare', '--map-root-user', `--root=${folder}`, '--wd=/project'];
  const { status, stderr, error } = spawnSync(
    unshare[0],
    [...unshare.slice(1), '/bin/program', '--version'],
    {
      encoding: 'utf8',
      env: {},
    },
  );
  if (status === 0) return { command: unshare };
  return { problem: error?.message ?? stderr.trim() };
}
