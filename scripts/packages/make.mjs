/**
 * Makes the packages that are published: `npm run packages -- --out FOLDER` leaves the archive of `weftjs`, which
 * is JavaScript alone, and one of the addon for each platform, and prints a table of them.
 *
 * `--platform NAME`, any number of times: these platforms instead of all. `--local`: the platform of this machine,
 * with the addon of `npm run build:native` as it is, which runs here and perhaps nowhere else: to try how packages
 * are installed without waiting for compilers.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { platformOf } from '../../dist/src/exec/native/platform.js';
import { checkAddon } from './check-addon.mjs';
import { crossBuild } from './cross-build.mjs';
import { mainManifest, platformManifest } from './manifests.mjs';
import { PLATFORMS } from './platforms.mjs';
import { run } from './zig.mjs';

const tree = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const own = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8'));

function options() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      platform: { type: 'string', multiple: true },
      local: { type: 'boolean', default: false },
    },
  });
  if (values.out === undefined) throw new Error('expected --out FOLDER, the folder that archives go to');
  const names = values.local ? [platformOf(process)] : (values.platform ?? Object.keys(PLATFORMS));
  const unknown = names.filter((name) => !(name in PLATFORMS));
  if (unknown.length > 0)
    throw new Error(`expected a platform of ${Object.keys(PLATFORMS).join(', ')}, not ${unknown.join(', ')}`);
  return { out: resolve(values.out), names, isLocal: values.local };
}

/** An empty folder with a manifest and the licence. */
function stage(folder, manifest) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  copyFileSync(join(tree, 'LICENSE'), join(folder, 'LICENSE'));
}

/** Packs a folder; gives the row of its archive. */
function pack(folder, out) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack in ${folder} ended with ${status}: ${stderr}`);
  const [{ name, filename, size, unpackedSize, entryCount }] = JSON.parse(stdout);
  return { name, file: filename, archive: size, unpacked: unpackedSize, files: entryCount };
}

/**
 * Writes the types of typed arrays as TypeScript 5.6 knows them, which has no parameter for their memory. Later
 * versions read the same: the parameter is one that they add, but in types of Weft's own.
 */
function writeOlderTypes(folder) {
  for (const path of readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
    const file = join(folder, path);
    const text = readFileSync(file, 'utf8');
    const older = text.replaceAll(/\b(\w+Array|Buffer)<ArrayBuffer(?:Like)?>/g, '$1');
    if (older !== text) writeFileSync(file, older);
  }
}

function packMain(work, out) {
  const folder = join(work, 'weftjs');
  stage(folder, mainManifest(own));
  run(process.execPath, [join(tree, 'scripts', 'make-functions.mjs')], { cwd: tree });
  const compiler = join(tree, 'node_modules', 'typescript', 'bin', 'tsc');
  const project = join(tree, 'scripts', 'packages', 'tsconfig.json');
  const types = ['--emitDeclarationOnly', '--outDir', join(folder, 'dist')];
  run(process.execPath, [compiler, '--project', project, ...types], { cwd: tree });
  cpSync(join(tree, 'dist', 'weft'), join(folder, 'dist', 'weft'), { recursive: true });
  writeOlderTypes(join(folder, 'dist'));
  copyFileSync(join(tree, 'README.md'), join(folder, 'README.md'));
  return pack(folder, out);
}

function packPlatform(name, work, out, isLocal) {
  const addon = isLocal
    ? join(tree, 'build', 'Release', 'weft.node')
    : crossBuild(name, tree, join(work, `addon-${name}`));
  const { needed, from } = checkAddon(name, addon, { isLocal });
  const folder = join(work, name);
  stage(folder, platformManifest(own, name, statSync(addon).size));
  copyFileSync(addon, join(folder, 'weft.node'));
  return { ...pack(folder, out), needed, from };
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;

function printTable(rows) {
  const cells = rows.map(({ name, archive, unpacked, from, needed }) => [
    name,
    megabytes(archive),
    megabytes(unpacked),
    from ?? '',
    (needed ?? []).join(' '),
  ]);
  const table = [['package', 'archive', 'unpacked', 'from', 'needs'], ...cells];
  const widths = table[0].map((_, k) => Math.max(...table.map((row) => row[k].length)));
  for (const row of table)
    console.log(
      row
        .map((cell, k) => cell.padEnd(widths[k]))
        .join('  ')
        .trimEnd(),
    );
}

const { out, names, isLocal } = options();
const work = join(tree, 'build', 'packages');
mkdirSync(out, { recursive: true });
const rows = [packMain(work, out)];
for (const name of names) {
  const start = performance.now();
  rows.push(packPlatform(name, work, out, isLocal));
  console.log(`${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
printTable(rows);
