/**
 * Runs the tests of conformance with the addon of a package for another processor, under QEMU:
 * `npm run packages:emulate -- --from FOLDER --platform linux-arm64-gnu [test files …]`. Without a folder of packages
 * the addon is built from this tree. `--part` runs a few files that take seconds.
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
import { checkAddon } from './check-addon.mjs';
import { crossBuild } from './cross-build.mjs';
import { PLATFORMS, packageOf } from './platforms.mjs';
import { emulatedNode } from './programs.mjs';
import { readArchives } from './registry.mjs';
import { run } from './zig.mjs';

const tree = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Code of loops, maps by NEON's own functions, comparisons, reductions, products of all dtypes, sorts. */
const PART = [
  'test/codegen/compiled-loops.test.ts',
  'test/codegen/tape-math.test.ts',
  'test/conformance/special-values.test.ts',
  'test/conformance/matmul.test.ts',
  'test/graph/order-statistics.test.ts',
];

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

/** Puts the platform's addon into a folder: from its archive, or built. */
function placeAddon(folder, platform, archives) {
  if (archives === undefined) {
    const addon = crossBuild(platform, tree, join(tree, 'build', 'packages', `addon-${platform}`));
    checkAddon(platform, addon, { isLocal: false });
    return cpSync(addon, join(folder, 'weft.node'));
  }
  const archive = [...readArchives(resolve(archives)).values()].find(
    ({ manifest }) => manifest.name === packageOf(platform),
  );
  if (archive === undefined) throw new Error(`${archives} has no archive for ${platform}`);
  run('tar', ['-xzf', archive.path, '-C', folder, '--strip-components=1', 'package/weft.node']);
}

/** A tree of tests in `folder`, and the folder in it that the addon belongs in. */
function layTree(folder) {
  for (const name of PARTS) cpSync(join(tree, name), join(folder, name), { recursive: true });
  symlinkSync(join(tree, 'node_modules'), join(folder, 'node_modules'));
  const release = join(folder, 'build', 'Release');
  mkdirSync(release, { recursive: true });
  return release;
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
    part: { type: 'boolean', default: false },
    platform: { type: 'string', default: 'linux-arm64-gnu' },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
  allowPositionals: true,
});
const { emulation } = PLATFORMS[values.platform] ?? {};
if (emulation === undefined) throw new Error(`there is no emulation of ${values.platform}`);
if (!existsSync(emulation.sysroot))
  throw new Error(`${emulation.sysroot} has the libraries of ${values.platform}, and is not there`);
const folder = mkdtempSync(join(tmpdir(), 'weft-emulate-'));
try {
  placeAddon(layTree(folder), values.platform, values.from);
  const env = { ...process.env, WEFT_TEST_NODE: writeEmulator(folder, emulation), WEFT_TEST_ONLY: 'cpu' };
  const files = positionals.length > 0 ? positionals : values.part ? PART : ['test/conformance'];
  const vitest = join(tree, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--project', 'all', '--maxWorkers', values.workers, ...files];
  const { status } = spawnSync(process.execPath, args, { cwd: folder, env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
