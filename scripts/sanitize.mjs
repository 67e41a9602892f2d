/**
 * `npm run test:sanitize`: builds the addon with AddressSanitizer and UBSan, then with ThreadSanitizer, and
 * runs the tests that `test/sanitize/vitest.config.ts` names on each; with `address` or `thread` as an
 * argument, on that one. Of routines the addons have those alone that these tests run, the others are two fifths of what
 * there is to compile; with `--whole`, all of them.
 *
 * The second addon is built while the tests run on the first one, which leave a processor idle now and then.
 *
 * Node itself is not instrumented: the sanitizer's library is loaded before it, and
 * `scripts/sanitize-load.cjs` has it take this addon. Each report fails the run, also one of a process whose
 * death a test expects.
 */
import { spawn, spawnSync } from 'node:child_process';
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

const isWhole = process.argv.includes('--whole');
const named = process.argv.slice(2).filter((argument) => argument !== '--whole');

/** Runs a program, and gives its status. With `isQuiet` its output comes as a whole, once it has ended. */
function run(program, args, { env = {}, isQuiet = false } = {}) {
  const stdio = isQuiet ? ['ignore', 'pipe', 'pipe'] : 'inherit';
  const child = spawn(program, args, { cwd: root, stdio, env: { ...process.env, ...env } });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => output.push(bytes));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      process.stdout.write(Buffer.concat(output));
      resolve(status ?? 1);
    });
  });
}

function must(status) {
  if (status !== 0) throw new Error(`it ended with ${status}`);
}

/** Builds the addon in a folder, and gives its path. */
async function build(folder, flags) {
  const includes = ['node-api-headers/include', 'node-addon-api'].map((path) => inRoot('node_modules', path));
  must(
    await run('cmake', [
      ...['-S', root, '-B', folder, '--log-level=ERROR', '-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O0'],
      ...[`-DCMAKE_JS_INC=${includes.join(';')}`, `-DWEFT_SANITIZE=${flags}`],
      `-DWEFT_FEW_ROUTINES=${isWhole ? 'OFF' : 'ON'}`,
    ]),
  );
  const parallel = String(availableParallelism());
  must(await run('cmake', ['--build', folder, '--parallel', parallel], { isQuiet: true }));
  return join(folder, 'weft.node');
}

/** The path of a library of the compiler's. */
function libraryOf(name) {
  const { stdout } = spawnSync(process.env.CXX ?? 'c++', [`-print-file-name=${name}`], { encoding: 'utf8' });
  const path = stdout.trim();
  if (!path.includes('/')) throw new Error(`the compiler has no ${name}`);
  return path;
}

const folderOf = (name) => inRoot('build', name);

/** Runs the tests on an addon. */
async function test(name, addon) {
  const { library, projects } = SANITIZERS[name];
  const reports = join(folderOf(name), 'reports');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports);
  const report = `log_path=${join(reports, 'report')}`;
  const tests = [
    '--config',
    'test/sanitize/vitest.config.ts',
    // Where what is built is tested, files that replace modules are projects of their own.
    ...projects.flatMap((one) => ['--project', `${one}*`]),
  ];
  const env = {
    LD_PRELOAD: libraryOf(library),
    WEFT_SANITIZED: addon,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${inRoot('scripts/sanitize-load.cjs')}`,
    // V8 does not free what it has when a process ends; of the runtime's leaks, the tests on the simulated
    // CUDA tell.
    ASAN_OPTIONS: `detect_leaks=0:${report}`,
    UBSAN_OPTIONS: `print_stacktrace=1:${report}`,
    TSAN_OPTIONS: `ignore_noninstrumented_modules=1:${report}`,
  };
  const vitest = inRoot('node_modules/vitest/vitest.mjs');
  const status = await run(process.execPath, [vitest, 'run', ...tests], { env });
  const found = readdirSync(reports);
  for (const file of found) console.error(readFileSync(join(reports, file), 'utf8'));
  must(status);
  must(found.length);
}

/** Builds one after the other, each while the tests run on the one before. */
async function sanitize(names) {
  let tests = Promise.resolve();
  for (const name of names) {
    const both = await Promise.allSettled([build(folderOf(name), SANITIZERS[name].flags), tests]);
    const failed = both.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    tests = test(name, both[0].value);
  }
  await tests;
}

await sanitize(named.length > 0 ? named : Object.keys(SANITIZERS));
