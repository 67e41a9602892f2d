/**
 * Runs the tests of conformance with the addon of a package for another processor, under QEMU:
 * `npm run packages:emulate -- --from FOLDER --platform linux-arm64-gnu [test files …]`.
 *
 * Vitest runs on this machine; its workers run in Node.js for that processor. Needs `qemu-aarch64-static` and the
 * processor's C and C++ libraries: on Debian the packages qemu-user-static, libc6-arm64-cross and
 * libstdc++6-arm64-cross.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PLATFORMS, packageOf } from './platforms.mjs';
import { emulatedNode } from './programs.mjs';
import { readArchives } from './registry.mjs';
import { run } from './zig.mjs';

const tree = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** All that tests are made of; `build` comes from the package. */
const PARTS = [
  'CMakeLists.txt',
  'bench',
  'docs',
  'examples',
  'native',
  'package.json',
  'README.md',
  'scripts',
  'src',
  'test',
  'tsconfig.json',
  'vitest.config.ts',
];

/** A tree of tests in `folder`, with the addon of the platform's archive. */
function layTree(folder, archive) {
  for (const name of PARTS) cpSync(join(tree, name), join(folder, name), { recursive: true });
  symlinkSync(join(tree, 'node_modules'), join(folder, 'node_modules'));
  const release = join(folder, 'build', 'Release');
  mkdirSync(release, { recursive: true });
  run('tar', ['-xzf', archive.path, '-C', release, '--strip-components=1', 'package/weft.node']);
}

/** A program that runs Node.js of the processor under QEMU. */
function writeEmulator(folder, { emulator, sysroot, nodePackage }) {
  const path = join(folder, 'node');
  const command = [emulator, '-L', sysroot, emulatedNode(nodePackage)];
  writeFileSync(path, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(' ')} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

const { values, positionals } = parseArgs({
  options: {
    from: { type: 'string' },
    platform: { type: 'string', default: 'linux-arm64-gnu' },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
  allowPositionals: true,
});
if (values.from === undefined) throw new Error('expected --from FOLDER, the folder that has the archives');
const { emulation } = PLATFORMS[values.platform] ?? {};
if (emulation === undefined) throw new Error(`there is no emulation of ${values.platform}`);
if (!existsSync(emulation.sysroot))
  throw new Error(`${emulation.sysroot} has the libraries of ${values.platform}, and is not there`);
const archive = [...readArchives(resolve(values.from)).values()].find(
  ({ manifest }) => manifest.name === packageOf(values.platform),
);
if (archive === undefined) throw new Error(`${values.from} has no archive for ${values.platform}`);
const folder = mkdtempSync(join(tmpdir(), 'weft-emulate-'));
try {
  layTree(folder, archive);
  const env = { ...process.env, WEFT_TEST_NODE: writeEmulator(folder, emulation), WEFT_TEST_ONLY: 'cpu' };
  const files = positionals.length > 0 ? positionals : ['test/conformance'];
  const vitest = join(tree, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--project', 'all', '--maxWorkers', values.workers, ...files];
  const { status } = spawnSync(process.execPath, args, { cwd: folder, env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
