/**
 * The manifests of the packages. The repository's own has scripts and sources to build the addon with, and names
 * no package of a platform: those are not published before it, and installing in a clone would look for them.
 */
import { PLATFORMS, packageOf } from './platforms.mjs';

/** Dependencies of building alone. */
const BUILD_DEPENDENCIES = ['cmake-js', 'node-addon-api'];

/** The manifest of `weftjs`, from the repository's: JavaScript alone, and no script that runs on installation. */
export function mainManifest(own) {
  const { scripts: _, devDependencies: _dev, binary: _napi, overrides: _overrides, ...kept } = own;
  return {
    ...kept,
    files: ['dist/weft', 'dist/src/**/*.d.ts', 'README.md', 'LICENSE'],
    dependencies: Object.fromEntries(
      Object.entries(own.dependencies).filter(([name]) => !BUILD_DEPENDENCIES.includes(name)),
    ),
    optionalDependencies: Object.fromEntries(
      Object.keys(PLATFORMS).map((name) => [packageOf(name), own.version]),
    ),
  };
}

/** The manifest of a platform's package. `addonByteLength`: the loader refuses an addon that was cut off. */
export const platformManifest = (own, name, addonByteLength) => ({
  name: packageOf(name),
  version: own.version,
  description: `The native addon of ${own.name} for ${name}`,
  license: own.license,
  engines: own.engines,
  ...PLATFORMS[name].manifest,
  type: 'commonjs',
  main: './weft.node',
  files: ['weft.node'],
  // Yarn otherwise keeps packages in archives, from which nothing can be loaded.
  preferUnplugged: true,
  addonByteLength,
});
