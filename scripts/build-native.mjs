/**
 * Builds the addon: `npm run build:native` in a clone, `weft build` anywhere, and the package's `install`
 * script where it was installed from an archive by a package manager that runs such scripts.
 *
 * A clone keeps its build folder for the next build, and installing builds nothing there: `npm test` and `npm
 * run demo` do. Elsewhere the build has a folder of its own, and leaves `weft.node` alone. An `install`
 * script that fails would have the package manager remove the package, and `weft build` with it: it leaves a
 * note instead, which the error of loading the addon quotes, and exits with 0.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const isClone = existsSync(join(folder, 'src'));
const isInstalling = process.argv.includes('--installing');
const release = join(folder, 'build', 'Release');
const failureNote = join(folder, 'build', 'failure.txt');

/** npm hides the output of `install` scripts that end well: what takes minutes is said in its terminal. */
const terminal =
  isInstalling && process.env.npm_config_user_agent?.startsWith('npm/') ? openTerminal() : undefined;

function openTerminal() {
  try {
    return openSync('/dev/tty', 'w');
  } catch {
    return undefined; // there is none
  }
}

function say(text) {
  console.error(`weft: ${text}`);
  if (terminal !== undefined) writeSync(terminal, `\r\x1b[Kweft: ${text}\n`);
}

/** Whether a program can be started. */
const runs = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

function missing() {
  const compilers = process.env.CXX === undefined ? ['c++', 'g++', 'clang++'] : [process.env.CXX];
  if (!runs('cmake')) return 'CMake was not found';
  if (!compilers.some(runs)) return `no C++ compiler was found (${compilers.join(', ')})`;
  return undefined;
}

/** Builds into a folder, with the compiler's output in the terminal. Gives the status of the build. */
function compile(out) {
  const { CMAKE_BUILD_PARALLEL_LEVEL: parallel = String(availableParallelism()) } = process.env;
  const cmakeJs = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js');
  const child = spawn(process.execPath, [cmakeJs, 'build', '--log-level', 'error', '--out', out], {
    cwd: folder,
    env: { ...process.env, CMAKE_BUILD_PARALLEL_LEVEL: parallel },
    stdio: 'inherit',
  });
  // The compilers get the signal as well, or end with their parent; what they leave is removed when they
  // have.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('exit', (code, signal) => resolve(signal ?? code));
  });
}

/** Builds in a folder of its own, of which the addon is kept. Gives the status of the build. */
async function compileApart() {
  mkdirSync(release, { recursive: true });
  const work = mkdtempSync(join(folder, 'build', 'work-'));
  try {
    const status = await compile(work);
    if (status === 0) renameSync(join(work, 'Release', 'weft.node'), join(release, 'weft.node'));
    return status;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Gives why the addon could not be built, or undefined. */
async function build() {
  const problem = missing();
  if (problem !== undefined) return problem;
  const cores = availableParallelism();
  say(`building the addon from source on ${cores} ${cores === 1 ? 'core' : 'cores'}, which takes minutes`);
  const start = performance.now();
  const status = await (isClone ? compile(join(folder, 'build')) : compileApart());
  if (status !== 0) return `the build ended with ${status}`;
  say(`built in ${Math.round((performance.now() - start) / 1000)} s: ${join(release, 'weft.node')}`);
  return undefined;
}

/** The command that builds the addon, for the package manager that runs this. */
async function buildCommand() {
  if (isClone) return 'npm run build:native';
  const { BUILD_COMMANDS } = await import('../dist/weft/package-manager.js');
  const manager = /^\w+/.exec(process.env.npm_config_user_agent ?? '')?.[0];
  return BUILD_COMMANDS[manager] ?? BUILD_COMMANDS.npm;
}

async function main() {
  if (isInstalling && isClone) return 0;
  const problem = await build().catch((error) => error.message);
  rmSync(failureNote, { force: true });
  if (problem === undefined) return 0;
  say(`${problem}. The addon is built from source: that takes CMake 3.20 or later and a C++20 compiler
(gcc 12 or later), and no CUDA. On Debian and Ubuntu: apt install cmake g++. Then: ${await buildCommand()}`);
  if (!isInstalling) return 1;
  mkdirSync(dirname(failureNote), { recursive: true });
  writeFileSync(failureNote, `${problem}\n`);
  return 0;
}

process.exitCode = await main();
