/**
 * Checks the packages of a folder as TypeScript and bundlers see them: `npm run packages:types -- --from FOLDER`.
 * A program is checked by each version of TypeScript, in modules and, where TypeScript knows that Node.js takes
 * modules by `require`, in scripts; then publint and attw read the archives.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { programOf, timed } from './programs.mjs';
import { readArchives } from './registry.mjs';

const VERSIONS = ['5.6', '5.7', '5.8', '5.9', '6.0', '7.0'];
/** The first version that lets a script import a module. */
const REQUIRES = '5.8';

const LINES = `
const x: Lazy<'float32'> = lazy(new Float32Array(4));
const step = compile((a: Lazy, dt: number) => ({ next: a.add(dt) }));
const { values, indices } = topK(arange(10), 3);
const z: Lazy<'float64'> = random.normal(random.key(7), [3]);
// @ts-expect-error a dtype that is none
x.astype('float31');
export async function use(): Promise<void> {
  const y: NDArray<'float32'> = await x.mul(2).sum(0).compute();
  const data: Float32Array = y.data;
  const { next } = await step([1, 2], 0.5);
  using kept = await z.persist();
  console.log(data.length, next.shape, values.shape, indices.shape, kept.dtype);
}
`;
const SOURCE = `import { arange, compile, type Lazy, lazy, type NDArray, random, topK } from 'weftjs';\n${LINES}`;

const OPTIONS = [
  '--noEmit',
  '--strict',
  '--target',
  'es2022',
  '--lib',
  'es2023,esnext.disposable',
  '--types',
  'node',
];
const RESOLUTIONS = [
  ['--module', 'nodenext'],
  ['--module', 'esnext', '--moduleResolution', 'bundler'],
];

async function checkTypes(project) {
  for (const version of VERSIONS) {
    const compiler = programOf(`typescript@${version}`);
    for (const resolution of RESOLUTIONS) {
      const files = Number(version) >= Number(REQUIRES) ? ['module.mts', 'script.cts'] : ['module.mts'];
      const command = [process.execPath, compiler, ...OPTIONS, ...resolution, ...files];
      const { milliseconds } = await timed(command, { cwd: project });
      console.log(
        `TypeScript ${version}, ${resolution.slice(-1)}: ${files.join(', ')} in ${milliseconds} ms`,
      );
    }
  }
}

const { values } = parseArgs({ options: { from: { type: 'string' } } });
if (values.from === undefined) throw new Error('expected --from FOLDER, the folder that has the archives');
const project = mkdtempSync(join(tmpdir(), 'weft-types-'));
try {
  const archives = [...readArchives(values.from).values()];
  const main = archives.find(({ manifest }) => manifest.name === 'weftjs');
  for (const file of ['module.mts', 'script.cts']) writeFileSync(join(project, file), SOURCE);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  mkdirSync(join(project, 'node_modules'));
  // Types of Node.js are those of the oldest that is supported.
  const packages = [main.path, '@types/node@20.19'];
  await timed(['npm', 'install', '--omit=optional', '--ignore-scripts', ...packages], { cwd: project });
  await checkTypes(project);
  for (const { path } of archives) {
    await timed([process.execPath, programOf('publint'), path, '--strict'], { cwd: project });
    console.log(`publint finds nothing in ${path}`);
  }
  // Scripts get modules: Node.js 20.19 and later take them by require.
  await timed([process.execPath, programOf('attw'), main.path, '--profile', 'esm-only'], { cwd: project });
  console.log('attw finds nothing');
} finally {
  rmSync(project, { recursive: true, force: true });
}
