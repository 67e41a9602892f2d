/**
 * Installs the packages of a folder as a user does, and uses them: `npm run packages:try -- --from FOLDER`.
 *
 * npm installs them into an empty folder, with a PATH of Node.js and npm alone. They are used in a root file
 * system of Node.js and its libraries, where the machine allows that: the README's first lines by `import` and by
 * `require`, `weft doctor`, and the error where the platform's package is missing. Prints times and sizes.
 *
 * `--manager PACKAGE` installs with another package manager of npm's registry (`npm@12`, `pnpm`, `bun`),
 * `--runtime PACKAGE` runs with another runtime (`node@24`, `bun`, `deno`, `electron`). `--bundle` runs the first lines
 * bundled as well, by the README's command.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { asNode, electronProgram, useAsApp } from './electron.mjs';
import { programOf, timed, toolFolder } from './programs.mjs';
import { readArchives, serveArchives } from './registry.mjs';
import { makeSlimRoot, rootCommand } from './slim-root.mjs';

const tree = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const INSTALL = { npm: 'install', pnpm: 'add', bun: 'add' };
const RUN = { node: [], bun: [], deno: ['run', '--allow-all'], electron: [] };
const CLI = 'node_modules/weftjs/dist/weft/cli.js';
const RESULT = `1000000 ${Math.tanh(Math.exp(1) * 0.5 + Math.sqrt(2)).toFixed(5)}\n`;

const kindOf = (wanted) => wanted.split('@')[0];

const readme = readFileSync(join(tree, 'README.md'), 'utf8');

/** The README's first lines, as a module and, where the runtime takes modules by `require`, as a script. */
function firstLines(runtime) {
  const [, lines] = /```ts\n([\s\S]*?)```/.exec(readme);
  const [, names, body] = /^import \{ (.*) \} from 'weftjs';\n([\s\S]*)$/.exec(lines);
  const print = 'console.log(data.length, data[0].toFixed(5));\n';
  const script = `const { ${names} } = require('weftjs');\n(async () => {\n${body}${print}})();\n`;
  return {
    'import.mjs': `${lines}${print}`,
    ...(kindOf(runtime) !== 'electron' && { 'require.cjs': script }),
  };
}

const bytesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

function say(milliseconds, text) {
  console.log(`${`${milliseconds} ms`.padStart(9)}  ${text}`);
}

/** Installs the archives in `project`; the manager finds the platform's by itself. */
async function install(archives, project, { manager, tools, runtime }) {
  const main = [...archives.values()].find(({ manifest }) => manifest.name === 'weftjs');
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  for (const [name, text] of Object.entries(firstLines(runtime))) writeFileSync(join(project, name), text);
  const registry = await serveArchives(archives);
  writeFileSync(join(project, '.npmrc'), `@weftjs:registry=${registry.origin}/\n`);
  try {
    const kind = kindOf(manager);
    const env = { ...process.env, PATH: tools };
    const { milliseconds } = await timed([join(tools, kind), INSTALL[kind], main.path], {
      cwd: project,
      env,
    });
    const megabytes = bytesIn(join(project, 'node_modules')) / 1e6;
    say(milliseconds, `${manager} installs weftjs: ${megabytes.toFixed(1)} MB`);
  } finally {
    registry.close();
  }
}

/** Bundles the first lines by the README's command; gives the name of the bundle. */
async function bundle(project) {
  const [, given] = /`esbuild (app\.mjs [^`]*)`/.exec(readme);
  cpSync(join(project, 'import.mjs'), join(project, 'app.mjs'));
  const outfile = 'bundle.mjs';
  const command = [programOf('esbuild'), ...given.split(' '), `--outfile=${outfile}`];
  const { milliseconds } = await timed(command, { cwd: project });
  say(milliseconds, `esbuild ${given}`);
  return outfile;
}

/** The command that begins all others, and its folder: in a slim root, or on this machine. */
function place(folder, project, { runtime, program }) {
  const kind = kindOf(runtime);
  const options = { cwd: project, ...(kind === 'electron' && { env: asNode }) };
  const here = { command: [program, ...RUN[kind]], used: project, options };
  // Bun and Deno do not start without /proc, /dev and a home.
  if (kind !== 'node') return here;
  const root = join(folder, 'root');
  makeSlimRoot(root, program);
  cpSync(project, join(root, 'project'), { recursive: true, verbatimSymlinks: true });
  const { command, problem } = rootCommand(root);
  if (command !== undefined)
    return { command: [...command, '/bin/program'], used: join(root, 'project'), options: { env: {} } };
  console.log(`no root file system of its own is tried, but this machine's: ${problem}`);
  return here;
}

/** The widest of Weft's instruction sets that this processor has, as the system sees it. */
function widestIsa() {
  if (process.arch === 'arm64') return 'neon';
  const flags = new Set(/^flags\s*: (.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))[1].split(' '));
  const has = (...names) => names.every((name) => flags.has(name));
  if (!has('avx2', 'fma', 'f16c')) return 'baseline';
  return has('avx512f', 'avx512bw', 'avx512dq', 'avx512vl') ? 'avx512' : 'avx2';
}

/** Removes the packages of platforms, wherever a package manager keeps them. */
function removePlatforms(folder) {
  for (const path of readdirSync(folder, { recursive: true }))
    if (/(^|\/)@weftjs[^/]*$/.test(path)) rmSync(join(folder, path), { recursive: true, force: true });
}

async function checkDoctor(command, options) {
  const doctor = await timed([...command, CLI, 'doctor'], options);
  if (!/ok CPU backend/.test(doctor.stdout)) throw new Error(`weft doctor found no CPU: ${doctor.stdout}`);
  const isa = /works: (\w+) instructions/.exec(doctor.stdout)?.[1];
  if (isa !== widestIsa()) throw new Error(`kernels run with ${isa} instructions, and not ${widestIsa()}`);
  say(doctor.milliseconds, `weft doctor finds a CPU that works, with ${isa} instructions`);
}

/** Uses what was installed. */
async function use({ command, used, options }, runtime, files) {
  for (const file of files) {
    const { stdout, milliseconds } = await timed([...command, file], options);
    if (stdout !== RESULT) throw new Error(`${file} printed ${stdout}, and ${RESULT} was expected`);
    say(milliseconds, `${runtime} runs the README's first lines by ${file}`);
  }
  // The command line takes Node.js 20.
  if (kindOf(runtime) === 'electron') await useAsApp(command[0], used, say);
  else await checkDoctor(command, options);
  removePlatforms(join(used, 'node_modules'));
  const lost = await timed([...command, 'import.mjs'], { ...options, status: 1 });
  const sentence = /NativeError: (@weftjs\/\S+ is not installed.*)/.exec(lost.stderr)?.[1];
  if (sentence === undefined) throw new Error(`no sentence says that the package is missing: ${lost.stderr}`);
  say(lost.milliseconds, `without the platform's package: ${sentence}`);
}

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    manager: { type: 'string', default: 'npm' },
    runtime: { type: 'string', default: 'node' },
    bundle: { type: 'boolean', default: false },
  },
});
if (values.from === undefined) throw new Error('expected --from FOLDER, the folder that has the archives');
const { manager, runtime } = values;
const folder = mkdtempSync(join(tmpdir(), 'weft-try-'));
try {
  const project = join(folder, 'project');
  mkdirSync(project);
  const program = kindOf(runtime) === 'electron' ? electronProgram() : programOf(runtime);
  const node = kindOf(runtime) === 'node' ? program : process.execPath;
  const tools = toolFolder(join(folder, 'tools'), { node, [kindOf(manager)]: programOf(manager) });
  await install(readArchives(resolve(values.from)), project, { manager, tools, runtime });
  const files = [...Object.keys(firstLines(runtime)), ...(values.bundle ? [await bundle(project)] : [])];
  await use(place(folder, project, { runtime, program }), runtime, files);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
