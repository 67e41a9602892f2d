/** Where the native addon is looked for, and the sentence that each way to be without it gets. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findAddon } from '../../src/exec/native/addon-file.js';
import { type Host, PLATFORMS, packageOf, platformOf } from '../../src/exec/native/platform.js';
import { NativeError } from '../../src/host/errors.js';

const VERSION = '0.1.0';
const NAME = '@weftjs/linux-x64-gnu';
const ADDON = 'the addon';

/** A project that the published package is installed in, without a package of a platform. */
let project: string;
let home: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'weft-addon-'));
  home = join(project, 'node_modules', 'weftjs');
  write(join(home, 'package.json'), JSON.stringify({ name: 'weftjs', version: VERSION }));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

function write(path: string, text: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function addPackage(name: string, version = VERSION): string {
  const folder = join(project, 'node_modules', name);
  write(join(folder, 'package.json'), JSON.stringify({ name, version, addonByteLength: ADDON.length }));
  write(join(folder, 'weft.node'), ADDON);
  return join(folder, 'weft.node');
}

/** A program of ELF that asks for a dynamic loader, in a segment that another one comes before. */
function program(loader: string): string {
  const bytes = Buffer.alloc(64 + 2 * 56 + loader.length);
  bytes.writeUInt32BE(0x7f454c46, 0);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(2, 56);
  bytes.writeUInt32LE(1, 64);
  bytes.writeUInt32LE(3, 64 + 56);
  bytes.writeBigUInt64LE(BigInt(64 + 2 * 56), 64 + 56 + 8);
  bytes.writeBigUInt64LE(BigInt(loader.length), 64 + 56 + 32);
  bytes.write(loader, 64 + 2 * 56, 'latin1');
  const path = join(project, `program-${loader.replaceAll('/', '-')}`);
  write(path, bytes);
  return path;
}

const linux = (arch: string, loader = '/lib64/ld-linux-x86-64.so.2'): Host => ({
  platform: 'linux',
  arch,
  execPath: program(loader),
});

function refusal(host: Host): NativeError {
  try {
    findAddon(home, project, host);
  } catch (error) {
    if (error instanceof NativeError) return error;
    throw error;
  }
  throw new Error('an addon was found');
}

describe('a platform', () => {
  it('is the system, the processor and on Linux the C library, by the loader of the process', () => {
    expect(platformOf(linux('x64'))).toBe('linux-x64-gnu');
    expect(platformOf(linux('x64', '/lib/ld-musl-x86_64.so.1'))).toBe('linux-x64-musl');
    expect(platformOf(linux('arm64', '/nix/store/a-glibc/lib/ld-linux-aarch64.so.1'))).toBe(
      'linux-arm64-gnu',
    );
    expect(platformOf({ ...linux('x64'), platform: 'darwin' })).toBe('darwin-x64');
  });

  it('of a program that cannot be read is one of glibc', () => {
    expect(platformOf({ ...linux('x64'), execPath: join(project, 'none') })).toBe('linux-x64-gnu');
    write(join(project, 'short'), 'x');
    expect(platformOf({ ...linux('x64'), execPath: join(project, 'short') })).toBe('linux-x64-gnu');
  });
});

describe('the addon', () => {
  it('comes from the package of the platform', () => {
    const path = addPackage(NAME);
    addPackage('@weftjs/linux-x64-musl');
    expect(findAddon(home, project, linux('x64')).path).toBe(path);
  });

  it('that was built stands before the package', () => {
    addPackage(NAME);
    const built = join(home, 'build', 'Release', 'weft.node');
    write(built, ADDON);
    expect(findAddon(home, project, linux('x64'))).toMatchObject({ path: built });
  });

  it('of a tree with sources is built, whatever packages there are', () => {
    addPackage(NAME);
    write(join(home, 'CMakeLists.txt'), '');
    const { problem, remedy } = refusal(linux('x64'));
    expect(problem).toBe('the native addon is not built');
    expect(remedy).toMatch(/^run "node .*weftjs\/dist\/weft\/cli\.js build"; it needs CMake/);
  });

  it('of a platform without a package is built from source', () => {
    const { problem, remedy } = refusal({ platform: 'freebsd', arch: 'x64', execPath: process.execPath });
    expect(problem).toBe(
      `there is no native addon for freebsd-x64: there are packages for ${PLATFORMS.join(', ')}`,
    );
    expect(remedy).toMatch(/^build it from source, with CMake .* "npm install PATH_OF_THE_CLONE"$/);
  });

  it.each([
    ['package-lock.json', 'rm -rf node_modules package-lock.json && npm install --include=optional'],
    ['pnpm-lock.yaml', 'rm -rf node_modules && pnpm install'],
    ['yarn.lock', 'rm -rf node_modules && yarn install'],
    ['bun.lock', 'rm -rf node_modules && bun install'],
  ])('that a lockfile lost is asked for beside %s by its command', (file, command) => {
    write(join(project, file), '');
    const error = refusal(linux('x64'));
    expect(error.problem).toMatch(/^@weftjs\/linux-x64-gnu is not installed, .* where a lockfile/);
    expect(error.remedy).toBe(`run "${command}"`);
    expect(error.message).toBe(`${error.problem} (${error.remedy})`);
  });

  it('of another machine is named, where its packages were copied', () => {
    addPackage(NAME);
    expect(refusal(linux('arm64')).problem).toBe(
      `@weftjs/linux-arm64-gnu is not installed, which has the native addon for this machine: packages were installed on another machine, with ${NAME}`,
    );
  });

  it('of another version is refused', () => {
    addPackage(NAME, '0.0.9');
    expect(refusal(linux('x64')).problem).toBe(
      `weftjs ${VERSION} needs ${NAME} ${VERSION}, and 0.0.9 is installed`,
    );
  });

  it('that was cut off, or is gone, is never loaded', () => {
    const path = addPackage(NAME);
    truncateSync(path, 3);
    expect(refusal(linux('x64')).problem).toBe(`${NAME} is damaged: ${path} has 3 of 9 bytes`);
    rmSync(path);
    expect(refusal(linux('x64')).problem).toBe(`${NAME} is damaged: ${path} has 0 of 9 bytes`);
  });
});

describe('packages', () => {
  it('are JavaScript and an addon each, and none runs a script on installation', async () => {
    const { mainManifest, platformManifest } = await import(
      new URL('../../scripts/packages/manifests.mjs', import.meta.url).href
    );
    const own = JSON.parse(readFileSync('package.json', 'utf8'));
    const main = mainManifest(own);
    expect(main).not.toHaveProperty('scripts');
    expect(Object.keys(main.dependencies)).toEqual(['@dagrejs/graphlib', 'acorn', 'immer', 'yauzl']);
    expect(main.optionalDependencies).toEqual(
      Object.fromEntries(PLATFORMS.map((name) => [packageOf(name), own.version])),
    );
    // Installing in a clone would look for packages that are not published yet.
    expect(own).not.toHaveProperty('optionalDependencies');
    const manifest = platformManifest(own, 'linux-x64-musl', 9);
    expect(manifest).not.toHaveProperty('scripts');
    expect(manifest).toMatchObject({ os: ['linux'], cpu: ['x64'], libc: ['musl'], addonByteLength: 9 });
  });

  it('of macOS are read by their load commands', async () => {
    const { readMachO } = await import(new URL('../../scripts/packages/mach-o.mjs', import.meta.url).href);
    const path = join(project, 'weft.node');
    write(
      path,
      machO('/usr/lib/libSystem.B.dylib', { _napi_register_module_v1: 0x0f, _malloc: 0x01, _local: 0x0e }),
    );
    expect(readMachO(path)).toEqual({
      machine: 0x0100000c,
      needed: ['/usr/lib/libSystem.B.dylib'],
      oldest: '11.3',
      exported: ['napi_register_module_v1'],
      imported: ['malloc'],
    });
    write(path, 'no library');
    expect(() => readMachO(path)).toThrow(/weft.node is no 64-bit Mach-O file$/);
  });
});

/** A library of Mach-O for arm64 that needs another one, and has symbols of some types. */
function machO(needed: string, symbols: Record<string, number>): Buffer {
  const numbers = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
  const command = (number: number, fields: Buffer): Buffer =>
    Buffer.concat([numbers(number, 8 + fields.length), fields]);
  const names = Object.keys(symbols);
  const texts = Buffer.from(`\0${names.map((name) => `${name}\0`).join('')}`, 'latin1');
  const library = command(0x0c, Buffer.concat([numbers(24, 0, 0, 0), Buffer.from(`${needed}\0`, 'latin1')]));
  const system = command(0x32, numbers(1, 0x000b0300, 0, 0));
  const tableAt = 32 + library.length + system.length + 24;
  const textsAt = tableAt + 16 * names.length;
  const table = names.map((name, k) => {
    const at = names.slice(0, k).reduce((sum, before) => sum + before.length + 1, 1);
    return numbers(at, symbols[name] ?? 0, 0, 0);
  });
  const head = numbers(0xfeedfacf, 0x0100000c, 0, 6, 3, tableAt - 32, 0, 0);
  const symbolTable = command(0x02, numbers(tableAt, names.length, textsAt, texts.length));
  return Buffer.concat([head, library, system, symbolTable, ...table, texts]);
}
