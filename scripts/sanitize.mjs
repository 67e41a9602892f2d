/**
 * `npm run test:sanitize`: builds the addon with AddressSanitizer and UBSan, then with ThreadSanitizer, and
 * runs the tests that `test/sanitize/vitest.config.ts` names on each; with `address` or `thread` as an
 * argument, on that one.
 *
 * Node itself is not instrumented: the sanitizer's library is loaded before it, and
 * `scripts/sanitize-load.cjs` has it take this addon. Each report fails the run, also one of a process whose
 * death a test expects.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const inRoot = (...path) => join(root, ...path);

const SANITIZERS = {
  address: { flags: 'address,undefined', library: 'libasan.so', projects: ['cpu', 'sim'] },
  // The simulated CUDA finds races of kernels by the calls that this sanitizer has compiled into them.
  thread: { flags: 'thread', library: 'libtsan.so', projects: ['cpu', 'threads'] },
};

function run(program, args, env = {}) {
  const { status, error } = spawnSync(program, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (error) throw error;
  return status ?? 1;
}

function must(status) {
  if (status !== 0) process.exit(status);
}

/** Builds the addon in a folder, and gives its path. */
function build(folder, flags) {
  const includes = ['node-api-headers/include', 'node-addon-api'].map((path) => inRoot('node_modules', path));
  must(
    run('cmake', [
      ...['-S', root, '-B', folder, '--log-level=ERROR', '-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O0'],
      ...[`-DCMAKE_JS_INC=${includes.join(';')}`, `-DWEFT_SANITIZE=${flags}`],
    ]),
  );
  must(run('cmake', ['--build', folder, '--parallel', String(availableParallelism())]));
  return join(folder, 'weft.node');
}

/** The path of a library of the compiler's. */
function libraryOf(name) {
  const { stdout } = spawnSync(process.env.CXX ?? 'c++', [`-print-file-name=${name}`], { encoding: 'utf8' });
  const path = stdout.trim();
  if (!path.includes('/')) throw new Error(`the compiler has no ${name}`);
  return path;
}

function sanitize(name) {
  const { flags, library, projects } = SANITIZERS[name];
  const folder = inRoot('build', name);
  const addon = build(folder, flags);
  const reports = join(folder, 'reports');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports);
  const report = `log_path=${join(reports, 'report')}`;
  const tests = [
    '--config',
    'test/sanitize/vitest.config.ts',
    // Where what is built is tested, files that replace modules are projects of their own.
    ...projects.flatMap((one) => ['--project', `${one}*`]),
  ];
  const status = run(process.execPath, [inRoot('node_modules/vitest/vitest.mjs'), 'run', ...tests], {
    LD_PRELOAD: libraryOf(library),
    WEFT_SANITIZED: addon,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${inRoot('scripts/sanitize-load.cjs')}`,
    // V8 does not free what it has when a process ends; of the runtime's leaks, the tests on the simulated
    // CUDA tell.
    ASAN_OPTIONS: `detect_leaks=0:${report}`,
    UBSAN_OPTIONS: `print_stacktrace=1:${report}`,
    TSAN_OPTIONS: `ignore_noninstrumented_modules=1:${report}`,
  });
  const found = readdirSync(reports);
  for (const file of found) console.error(readFileSync(join(reports, file), 'utf8'));
  must(status);
  must(found.length);
}

for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SANITIZERS)) sanitize(name);
