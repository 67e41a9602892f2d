/** Builds the addon for a platform, on any Linux machine. */

import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { PLATFORMS } from './platforms.mjs';
import { findZig, run, writeTools, zigEnvironment } from './zig.mjs';

const require = createRequire(import.meta.url);

/** Headers of Node-API, which come with cmake-js, and those for C++. */
const includes = () => [
  createRequire(require.resolve('cmake-js'))('node-api-headers').include_dir,
  resolve(require('node-addon-api').include_dir),
];

/** Builds in `folder`; gives the path of the addon. */
export function crossBuild(name, tree, folder) {
  const { target, system, linking, processor } = PLATFORMS[name];
  const tools = writeTools(findZig(), target, join(folder, 'tools'));
  const build = join(folder, 'build');
  const env = zigEnvironment();
  const settings = {
    CMAKE_BUILD_TYPE: 'Release',
    CMAKE_SYSTEM_NAME: system,
    CMAKE_SYSTEM_PROCESSOR: processor,
    CMAKE_CXX_COMPILER: tools.compiler,
    CMAKE_AR: tools.ar,
    CMAKE_RANLIB: tools.ranlib,
    CMAKE_JS_INC: includes().join(';'),
    CMAKE_SHARED_LINKER_FLAGS: linking,
    // No path of this machine in the file, which macOS would look for.
    CMAKE_BUILD_WITH_INSTALL_NAME_DIR: 'ON',
    CMAKE_INSTALL_NAME_DIR: '@rpath',
  };
  const defined = Object.entries(settings).map(([key, value]) => `-D${key}=${value}`);
  run('cmake', ['-S', tree, '-B', build, '--log-level=WARNING', ...defined], { env });
  const { CMAKE_BUILD_PARALLEL_LEVEL: parallel = String(availableParallelism()) } = process.env;
  run('cmake', ['--build', build, '--parallel', parallel, '--', '--no-print-directory'], { env });
  return join(build, 'weft.node');
}
