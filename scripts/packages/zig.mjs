/**
 * The cross compiler: Zig's clang with libc++ and the headers of every C library, a wheel of PyPI. It is
 * `ZIG`, or is installed by pip into a folder of its own.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const VERSION = '0.17.1';

/** The folder that compilers and programs are kept in. */
export const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'weft-packages');

/** Runs a program with its output in the terminal; throws where it does not end well. */
export function run(program, args, options = {}) {
  const { status, signal, error } = spawnSync(program, args, { stdio: 'inherit', ...options });
  if (status !== 0)
    throw new Error(
      `${program} ${args.slice(0, 3).join(' ')} … ended with ${error?.message ?? signal ?? status}`,
    );
}

/** The path of Zig. */
export function findZig() {
  if (process.env.ZIG !== undefined) return process.env.ZIG;
  const folder = join(cache, `ziglang-${VERSION}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const target = `${folder}.${process.pid}`;
    rmSync(target, { recursive: true, force: true });
    const wheel = `ziglang==${VERSION}`;
    run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, wheel]);
    renameSync(target, folder);
  }
  return join(folder, 'ziglang', 'zig');
}

/** Programs for CMake, which takes compilers without arguments: in a folder, with a target. */
export function writeTools(zig, target, folder) {
  mkdirSync(folder, { recursive: true });
  const tools = { compiler: `c++ --target=${target}`, ar: 'ar', ranlib: 'ranlib' };
  return Object.fromEntries(
    Object.entries(tools).map(([name, command]) => {
      const path = join(folder, name);
      writeFileSync(path, `#!/bin/sh\nexec '${zig}' ${command} "$@"\n`);
      chmodSync(path, 0o755);
      return [name, path];
    }),
  );
}

/**
 * The environment of builds: Zig keeps the libc++ that it built for a target, for all builds. Where a compiler cache is
 * used, it knows the compiler by the script's text, which names Zig's version and the target.
 */
export const zigEnvironment = () => ({
  ...process.env,
  CCACHE_COMPILERTYPE: 'clang',
  CCACHE_COMPILERCHECK: 'content',
  ZIG_GLOBAL_CACHE_DIR: process.env.ZIG_GLOBAL_CACHE_DIR ?? join(cache, 'zig'),
});
