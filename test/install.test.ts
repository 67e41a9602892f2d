/**
 * Weft where it is installed: the package's files, building the addon there, and the advice where it is not
 * built.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
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
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCommand } from '../src/inspect/package-manager.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weft-install-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text = '', mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

describe('the package', () => {
  it('holds what the addon is built of, and no source maps, tests or simulator', () => {
    const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      encoding: 'utf8',
    });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'CMakeLists.txt',
        'scripts/build-native.mjs',
        'dist/weft/index.js',
        'dist/weft/cli.js',
        'dist/weft/decoding/worker.js',
        'dist/weft/package-manager.js',
        'dist/weft/page/index.html',
        'dist/src/index.d.ts',
      ]),
    );
    const sources = readFileSync('CMakeLists.txt', 'utf8').match(/native\/\S+\.cpp/g)!;
    expect(paths).toEqual(expect.arrayContaining(sources));
    expect(paths.filter((path) => /\.map$|^native\/sim|test/.test(path))).toEqual([]);
    // Packing starts with an empty dist/src; here outputs of sources that are gone may be in it.
    const built = paths.filter((path) => existsSync(path.replace(/^dist\/(.*)\.js$/, '$1.ts')));
    const mapped = built.filter((path) => readFileSync(path, 'utf8').includes('//# sourceMappingURL'));
    expect(mapped).toEqual([]);
  });
});

/** Stands in for cmake-js: leaves the addon and more, then ends with a status. */
const cmakeJs = (status: number): string => `
const { mkdirSync, writeFileSync } = require('node:fs');
const out = process.argv[process.argv.indexOf('--out') + 1];
mkdirSync(out + '/Release', { recursive: true });
for (const name of ['CMakeCache.txt', 'Release/weft.node', 'Release/libweft_cpu.a']) writeFileSync(out + '/' + name, 'built');
console.log(${status === 0 ? "'[1/1] compiled'" : "'error: no such type'"});
process.exitCode = ${status};
`;
const WORKS = '#!/bin/sh\nexit 0\n';

interface Tools {
  readonly cmake?: string;
  readonly 'c++'?: string;
}

/** A project that Weft is installed in, but for the addon. */
let project: string;
let home: string;
beforeAll(() => {
  project = join(folder, 'project');
  home = join(project, 'node_modules', 'weftjs');
  for (const part of ['dist/weft', 'package.json', 'CMakeLists.txt', 'scripts/build-native.mjs'])
    cpSync(part, join(home, part), { recursive: true });
  for (const name of ['acorn', 'immer', 'yauzl', 'pend', '@dagrejs'])
    symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
  write(join(project, 'node_modules', 'cmake-js', 'package.json'), '{}');
  write(join(project, 'node_modules', '.bin', 'weft'));
});

/** Runs a script of the package in the project, with these programs and no others. */
function run(tools: Tools, script: string, args: readonly string[], agent = 'npm/11.0.0 node/v20') {
  rmSync(join(project, 'tools'), { recursive: true, force: true });
  for (const [name, text] of Object.entries(tools)) write(join(project, 'tools', name), text, 0o755);
  const { CXX: _, ...env } = process.env;
  return spawnSync(process.execPath, [join(home, script), ...args], {
    encoding: 'utf8',
    cwd: project,
    env: { ...env, PATH: join(project, 'tools'), npm_config_user_agent: agent },
  });
}

/** As `run`, where nothing was built before, and building ends with a status. */
function runUnbuilt(tools: Tools, status: number, script: string, args: readonly string[], agent?: string) {
  rmSync(join(home, 'build'), { recursive: true, force: true });
  write(join(project, 'node_modules', 'cmake-js', 'bin', 'cmake-js'), cmakeJs(status));
  return run(tools, script, args, agent);
}

const INSTALL = ['scripts/build-native.mjs', ['--installing']] as const;
const BUILD = ['dist/weft/cli.js', ['build']] as const;
const left = (): string[] => (readdirSync(join(home, 'build'), { recursive: true }) as string[]).sort();

describe('the addon', () => {
  it.each([INSTALL, BUILD])('is built in place by %s, says so, and nothing else stays', (script, args) => {
    const { status, stdout, stderr } = runUnbuilt({ cmake: WORKS, 'c++': WORKS }, 0, script, args);
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^weft: building the addon from source on \d+ cores?, which takes minutes\nweft: built in \d+ s: /,
    );
    expect(stdout).toContain('compiled');
    expect(left()).toEqual(['Release', join('Release', 'weft.node')]);
  });

  it('that does not build shows the compiler’s errors, and leaves the package as it was', () => {
    const { status, stdout, stderr } = runUnbuilt({ cmake: WORKS, 'c++': WORKS }, 3, ...BUILD);
    expect(status).toBe(1);
    expect(stdout).toContain('error: no such type');
    expect(stderr).toMatch(
      /weft: the build ended with 3[\s\S]*CMake 3\.20[\s\S]*apt install cmake g\+\+[\s\S]*npx weft build/,
    );
    expect(left()).toEqual(['Release']);
  });

  it('that does not build on installation fails no installation, and is named when it is missed', () => {
    const { status, stderr } = runUnbuilt({ cmake: WORKS }, 0, ...INSTALL);
    expect(status).toBe(0);
    expect(stderr).toMatch(/no C\+\+ compiler was found[\s\S]*npx weft build/);
    expect(left()).toEqual(['failure.txt']);
    const doctor = run({}, 'dist/weft/cli.js', ['doctor']);
    expect(doctor.status).toBe(1);
    expect(doctor.stdout).toMatch(
      /not built, since its building failed: no C\+\+ compiler was found .*\n[\s\S]*run "npx weft build"/,
    );
  });

  it('is asked for by the command of the package manager that runs the script', () => {
    const { stderr } = runUnbuilt({}, 0, ...INSTALL, 'pnpm/11.2.0 npm/? node/v22');
    expect(stderr).toMatch(/CMake was not found[\s\S]*Then: pnpm exec weft build\n$/);
  });

  it('is not built when a clone is installed, and its clone says how', () => {
    const at = (...args: readonly string[]) =>
      spawnSync(process.execPath, ['scripts/build-native.mjs', ...args], {
        encoding: 'utf8',
        env: { PATH: folder },
      });
    expect(at('--installing')).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(at()).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/CMake was not found[\s\S]*npm run build:native\n$/),
    });
  });
});

describe('the command that builds the addon', () => {
  it.each([
    ['package-lock.json', 'npx weft build'],
    ['pnpm-lock.yaml', 'pnpm exec weft build'],
    ['bun.lock', 'bunx weft build'],
    ['yarn.lock', 'yarn weft build'],
    ['nothing', 'npx weft build'],
  ])('beside %s is %s', (file, command) => {
    const project = mkdtempSync(join(folder, 'manager-'));
    write(join(project, file));
    const home = join(project, 'node_modules', '.store', 'node_modules', 'weftjs');
    expect(buildCommand(home, project)).toBe(`node ${join(home, 'dist/weft/cli.js')} build`);
    write(join(project, 'node_modules', '.bin', 'weft'));
    expect(buildCommand(home, join(project, 'packages', 'one'))).toBe(command);
  });

  it('of Yarn without node_modules, and of a clone', () => {
    const project = mkdtempSync(join(folder, 'pnp-'));
    for (const file of ['.pnp.cjs', 'yarn.lock']) write(join(project, file));
    expect(
      buildCommand(join(project, '.yarn', 'unplugged', 'weftjs', 'node_modules', 'weftjs'), project),
    ).toBe('yarn weft build');
    expect(buildCommand(process.cwd(), project)).toBe('npm run build:native');
    expect(existsSync(join(process.cwd(), 'src'))).toBe(true);
  });
});
