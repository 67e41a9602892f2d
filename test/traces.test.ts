/**
 * Traces of errors begin at the user's line, and call sites name it: in Node as it is, with source maps, and
 * where a loader gives Weft's files other names, as those that compile TypeScript do. Real processes, on the
 * built package.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** A source map in a comment, from each line of a text to the same line of another file. */
function mapped(text: string, source: string): string {
  const mappings = text.split('\n').map((_, k) => (k === 0 ? 'AAAA' : 'AACA'));
  const map = JSON.stringify({
    version: 3,
    sources: [source],
    sourcesContent: [text],
    names: [],
    mappings: mappings.join(';'),
  });
  const url = `data:application/json;base64,${Buffer.from(map).toString('base64')}`;
  return `${text}\n//# sourceMappingURL=${url}\n`;
}

/** Has Node take all of Weft's files for others, as a loader with source maps does. */
const RENAMING = `
import { register } from 'node:module';
const mapped = ${mapped};
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.includes('/dist/weft/')) return loaded;
  return { ...loaded, source: mapped(String(loaded.source), url.replace(/.*dist\\/weft/, '/elsewhere').replace('.js', '.ts')) };
}
if (!process.env.REGISTERED) { process.env.REGISTERED = 1; register(import.meta.url); }
`;

const SYNC = `
const x = lazy([1, 2, 3]);
function main() {
  return x.add([1, 2]); // the user's mistake
}
main();`;

const ASYNC = `
const x = lazy(new Float32Array(90000)).reshape([300, 300]);
async function main() {
  await x.softmax(0).T.softmax(0).compute({ device: 'cpu', memory: 1 }); // the user's mistake
}
main();`;

/** Prints the first frame of every error, and of the site of every refused compute. */
const CALLS = `
const x = lazy([1, 2, 3]);
const here = (error) => console.log(JSON.stringify([
  error.stack.split('\\n').find((line) => line.trimStart().startsWith('at ')),
  /made at (.*)/.exec(error.message)?.[1],
]));
const caught = (act) => { try { act(); } catch (error) { here(error); } };
const m = lazy(new Float32Array(90000)).reshape([300, 300]); const refused = { device: 'cpu', memory: 1 };
caught(() => x.reshape([2]));
caught(() => weft.zeros(-1));
caught(() => x.sum(4).mT);
caught(() => weft.lazy([1]).mT);
caught(() => weft.iterate(2, x, (y) => y.add([1, 2])));
caught(() => weft.npy(4));
await m.softmax(0).T.softmax(0).compute(refused).catch(here);
await weft.persist([weft.softmax(m.softmax(0).T, 0)], refused).catch(here);
await weft.compile((y) => y.reshape([2]))(x).catch(here);
const hard = weft.compile((y) => y.softmax(0).T.softmax(0), refused);
await (async () => { await hard(m); })().catch(here);
await (async () => { await weft.loadNpy('/no/file.npy'); })().catch(here);
`;

let folder: string;
beforeAll(() => {
  mkdirSync('build', { recursive: true });
  folder = mkdtempSync(join('build', 'traces-')); // inside the package, so that \`weftjs\` is this package
  writeFileSync(join(folder, 'renaming.mjs'), RENAMING);
  for (const [name, text] of Object.entries({ SYNC, ASYNC, CALLS })) {
    const body = `import * as weft from 'weftjs'; const { lazy } = weft;${text}`;
    writeFileSync(join(folder, `${name}.mjs`), mapped(body, `${name}.ts`));
    writeFileSync(
      join(folder, `${name}.cjs`),
      mapped(body.replace("import * as weft from 'weftjs'", "const weft = require('weftjs')"), `${name}.ts`),
    );
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(flags: readonly string[], file: string) {
  return spawnSync(process.execPath, ['--no-warnings', ...flags, join(folder, file)], { encoding: 'utf8' });
}

const RUNTIMES: readonly [string, string, readonly string[]][] = [
  ['as it is', 'mjs', []],
  ['with source maps, and a loader that renames', 'ts', ['--enable-source-maps', '--import', './RENAMING']],
];

describe.each(RUNTIMES)('in Node %s', (_, ending, given) => {
  const flags = (): string[] =>
    given.map((flag) => flag.replace('./RENAMING', resolve(folder, 'renaming.mjs')));

  it.each(['SYNC', 'ASYNC'])('the user’s line stands above an uncaught error: %s', (name) => {
    const { status, stderr } = run(flags(), `${name}.mjs`);
    expect(status).toBe(1);
    const lines = stderr.split('\n').filter((line) => line.trim() !== '');
    expect(lines[0]).toMatch(new RegExp(`${name}\\.${ending}:4$`));
    expect(frames(stderr)[0]).toMatch(new RegExp(`main .*${name}\\.${ending}:4:`));
    expect(stderr).not.toMatch(/dist\/weft|elsewhere/);
  });

  it('traces begin at the user’s line, and sites are lines of the user’s', () => {
    const { status, stdout, stderr } = run(flags(), 'CALLS.mjs');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const printed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, string?]);
    const places = printed.map((both) =>
      both.map((place) => /CALLS\.(\w+):(\d+)/.exec(place ?? '')?.slice(1)),
    );
    expect(places.map(([frame]) => frame)).toEqual(
      [9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20].map((line) => [ending, `${line}`]),
    );
    expect(places.map(([, site]) => site).filter((site) => site !== undefined)).toEqual(
      [15, 16, 18].map((line) => [ending, `${line}`]),
    );
  });
});

const frames = (text: string): string[] => text.split('\n').filter((line) => /^\s*at /.test(line));

it('a mistake in CommonJS is printed without a line of Weft’s', () => {
  const { status, stderr } = run([], 'SYNC.cjs');
  expect(status).toBe(1);
  expect(stderr.trimStart()).toMatch(/^ShapeError: \[add\]/);
  expect(frames(stderr)[0]).toMatch(/main .*SYNC\.cjs:4:/);
  expect(stderr).not.toContain('dist/weft');
});
