/**
 * Plants bugs, one at a time, in a copy of the last commit and runs the tests on the simulated CUDA against
 * each: every one has to be caught. `npm run test:mutants`, or `-- <part of a name>` for some. Prints the
 * list with the results, and exits with 1 if a mutant survives.
 *
 * Wants the addon and the simulator built. The copy stays in `build/mutants`, where mutants of C++ rebuild
 * its addon.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { MUTANTS, planted } from './mutant-list.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const COPY = join(ROOT, 'build', 'mutants');
const ADDON = join('build', 'Release', 'weft.node');

/** A mutant that makes a run wait for ever is caught too. */
const TIME_LIMIT_MS = 240_000;

/** The last commit, kept between calls so that its addon is built once. */
function makeCopy() {
  const fresh = mkdtempSync(join(tmpdir(), 'weft-mutants-'));
  try {
    const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', fresh], { input: archive });
    const list = execFileSync('git', ['ls-tree', '-r', '--name-only', 'HEAD'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const files = list.trim().split('\n');
    for (const file of files) copyChanged(join(fresh, file), join(COPY, file));
    removeOthers(new Set(files));
  } finally {
    rmSync(fresh, { recursive: true });
  }
  linkTo(join(ROOT, 'node_modules'), join(COPY, 'node_modules'));
  mkdirSync(join(COPY, 'build', 'Release'), { recursive: true });
  linkTo(join(ROOT, 'build', 'sim'), join(COPY, 'build', 'sim'));
  // The build that TypeScript's mutants run with; C++'s build their own.
  copyChanged(join(ROOT, ADDON), join(COPY, ADDON));
}

/** Files that stay as they are keep their times, by which the build goes. */
function copyChanged(from, to) {
  if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) return;
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function removeOthers(files) {
  for (const folder of ['src', 'native', 'test']) {
    for (const entry of readdirSync(join(COPY, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !files.has(relative(COPY, path))) rmSync(path);
    }
  }
}

function linkTo(target, path) {
  if (!existsSync(path)) symlinkSync(target, path);
}

function buildAddon() {
  const { status, stdout, stderr } = spawnSync('npx', ['cmake-js', 'build', '--silent'], {
    cwd: COPY,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the addon does not build:\n${stdout}${stderr}`);
}

/** undefined: every test passed; else the first that failed, with what it said. */
function firstFailure(project, tests, timeLimitMs) {
  const report = join(COPY, 'build', 'report.json');
  rmSync(report, { force: true });
  const args = ['run', '--project', project, '--bail', '1', '--reporter', 'json', '--outputFile', report];
  const { status, error, stderr } = spawnSync('node_modules/.bin/vitest', [...args, ...tests], {
    cwd: COPY,
    encoding: 'utf8',
    timeout: timeLimitMs,
  });
  if (error?.code === 'ETIMEDOUT') return `nothing ended within ${timeLimitMs / 1000} s`;
  if (status === 0) return undefined;
  const results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  for (const { name, assertionResults } of results) {
    const failed = assertionResults.find((result) => result.status === 'failed');
    if (failed !== undefined)
      return `${relative(COPY, name)}: ${failed.fullName} — ${firstLines(failed.failureMessages[0])}`;
  }
  // A test that crashes takes its file with it; one that does not even load has tested nothing.
  if (/Worker exited unexpectedly|Worker forks emitted error/.test(stderr)) return 'the process crashed';
  throw new Error(`the tests do not run:\n${stderr}`);
}

const firstLines = (message) =>
  message
    .split(/\n\s+at /)[0]
    .replace(/\s+/g, ' ')
    .slice(0, 200);

function plant(mutant) {
  const path = join(COPY, mutant.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, planted(mutant, text));
  return () => writeFileSync(path, text);
}

/** Says who caught a mutant; undefined: nobody. */
function tryMutant(mutant) {
  const restore = plant(mutant);
  try {
    if (isNative(mutant)) buildAddon();
    return firstFailure(projectOf(mutant), mutant.tests, TIME_LIMIT_MS);
  } finally {
    restore();
  }
}

const isNative = ({ file }) => file.startsWith('native/');

/** Of `vitest.config.ts`: the simulated CUDA, unless the mutant's tests need no device. */
const projectOf = ({ project = 'sim*' }) => project;

function main() {
  const wanted = process.argv.slice(2).join(' ');
  // C++ last: its mutants leave the addon of the copy mutated until the next build.
  const mutants = MUTANTS.filter(({ name }) => name.includes(wanted)).sort(
    (a, b) => isNative(a) - isNative(b),
  );
  if (!existsSync(join(ROOT, 'build', 'sim')))
    throw new Error('build the simulator first: npm run build:sim');
  makeCopy();
  // Kernels that were not compiled before take their time.
  for (const project of new Set(mutants.map(projectOf))) {
    const those = mutants.filter((mutant) => projectOf(mutant) === project);
    const before = firstFailure(project, [...new Set(those.flatMap(({ tests }) => tests))]);
    if (before !== undefined) throw new Error(`the tests fail without a mutant: ${before}`);
  }
  let caught = 0;
  for (const mutant of mutants) {
    const started = Date.now();
    const by = tryMutant(mutant);
    if (by !== undefined) caught++;
    const seconds = Math.round((Date.now() - started) / 1000);
    console.log(`${by === undefined ? 'SURVIVED' : 'caught  '} ${mutant.name} (${seconds} s)`);
    console.log(`           ${by ?? 'every test passed'}`);
  }
  console.log(`${caught} of ${mutants.length} mutants caught`);
  process.exitCode = caught === mutants.length ? 0 : 1;
}

main();
