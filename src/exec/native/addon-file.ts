/**
 * Finds the file of the native addon: in a tree that has its sources, where they are built; else in the package
 * of the process's platform, an optional dependency of the published package. Neither builds anything, and both
 * say what to do where there is none.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { NativeError } from '../../host/errors.js';
import { buildCommand, installCommand } from '../../inspect/package-manager.js';
import { type Host, isPlatform, PLATFORMS, type Platform, packageOf, platformOf } from './platform.js';

/** The addon's file, and what to do where it cannot be loaded. */
export interface AddonFile {
  readonly path: string;
  readonly remedy: string;
}

/** Of the `package.json` of a platform's package; `scripts/packages/manifests.mjs` writes it. */
interface PlatformManifest {
  readonly version: string;
  /** The size of the addon: to map a file that was cut off ends the process. */
  readonly addonByteLength: number;
}

const SOURCES = 'CMakeLists.txt';

/** Finds the addon of the package in `folder`, for a process that works in `project`. */
export function findAddon(folder: string, project: string, host: Host = process): AddonFile {
  const built = join(folder, 'build', 'Release', 'weft.node');
  const hasSources = existsSync(join(folder, SOURCES));
  if (hasSources || existsSync(built)) {
    const build = `run "${buildCommand(folder, project)}"; it needs CMake and a C++20 compiler, and no CUDA`;
    if (!existsSync(built))
      throw new NativeError(`the native addon is not built${failureNote(folder)}`, build);
    return { path: built, remedy: build };
  }
  const platform = platformOf(host);
  if (!isPlatform(platform)) throw noPackage(platform);
  return packagedAddon(folder, platform, `run "${installCommand(project)}"`);
}

/** Why building failed when a package with sources was installed: see `scripts/build-native.mjs`. */
function failureNote(folder: string): string {
  const note = join(folder, 'build', 'failure.txt');
  return existsSync(note) ? `, since its building failed: ${readFileSync(note, 'utf8').trim()}` : '';
}

const noPackage = (platform: string): NativeError =>
  new NativeError(
    `there is no native addon for ${platform}: there are packages for ${PLATFORMS.join(', ')}`,
    'build it from source, with CMake and a C++20 compiler: in a clone of the repository "npm ci && npm run build", then here "npm install PATH_OF_THE_CLONE"',
  );

function packagedAddon(folder: string, platform: Platform, remedy: string): AddonFile {
  const require = createRequire(join(folder, 'package.json'));
  const name = packageOf(platform);
  const manifestPath = resolved(require, name);
  if (manifestPath === undefined) throw notInstalled(require, platform, remedy);
  const { version, addonByteLength } = JSON.parse(readFileSync(manifestPath, 'utf8')) as PlatformManifest;
  const expected = (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PlatformManifest)
    .version;
  if (version !== expected)
    throw new NativeError(
      `weftjs ${expected} needs ${name} ${expected}, and ${version} is installed`,
      remedy,
    );
  const path = join(dirname(manifestPath), 'weft.node');
  const byteLength = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (byteLength !== addonByteLength)
    throw new NativeError(
      `${name} is damaged: ${path} has ${byteLength} of ${addonByteLength} bytes`,
      remedy,
    );
  return { path, remedy };
}

/** The manifest of an installed package. */
function resolved(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

function notInstalled(require: NodeJS.Require, platform: Platform, remedy: string): NativeError {
  const others = PLATFORMS.map(packageOf).filter((name) => resolved(require, name) !== undefined);
  const why =
    others.length > 0
      ? `packages were installed on another machine, with ${others.join(' and ')}`
      : 'package managers leave it out where optional packages are omitted, and where a lockfile of another machine does not name it';
  return new NativeError(
    `${packageOf(platform)} is not installed, which has the native addon for this machine: ${why}`,
    remedy,
  );
}
