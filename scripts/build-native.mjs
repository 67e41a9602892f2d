/**
 * Builds the addon: `npm run build:native` in a clone, and the package's `install` script where it was installed from an
 * archive. In a clone installing builds nothing: `npm test` and `npm run demo` do.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const isInstalling = process.argv.includes('--installing');

/** Whether a program can be started. */
const runs = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

function missing() {
  const compilers = process.env.CXX === undefined ? ['c++', 'g++', 'clang++'] : [process.env.CXX];
  if (!runs('cmake')) return 'CMake was not found';
  if (!compilers.some(runs)) return `no C++ compiler was found (${compilers.join(', ')})`;
  return undefined;
}

function build() {
  const problem = missing();
  if (problem !== undefined) {
    const again = isInstalling ? 'npm rebuild weftjs' : 'npm run build:native';
    console.error(`weft: ${problem}. The addon is built from source: that takes CMake 3.20 or later and a C++20 compiler
(gcc 12 or later), and no CUDA. On Debian and Ubuntu: apt install cmake g++. Then: ${again}`);
    return 1;
  }
  const { CMAKE_BUILD_PARALLEL_LEVEL: parallel = String(availableParallelism()) } = process.env;
  const { status } = spawnSync('cmake-js', ['build', '--silent'], {
    cwd: folder,
    env: { ...process.env, CMAKE_BUILD_PARALLEL_LEVEL: parallel },
    stdio: 'inherit',
  });
  return status ?? 1;
}

process.exitCode = isInstalling && existsSync(join(folder, 'src')) ? 0 : build();
