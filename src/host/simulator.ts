/** The simulated GPU (`native/sim`), on which `WEFT_CHECK` runs CUDA C: a build of a clone of the repository. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from './package-folder.js';

/** Its addon, which says what it saw. */
export const SIMULATOR_ADDON = 'weft-sim.node';

/** The folder that was named, or that of this package; undefined: it has none. */
export function simulatorFolder(named: string | undefined): string | undefined {
  const folder = named ?? join(PACKAGE_FOLDER, 'build/sim');
  return existsSync(join(folder, SIMULATOR_ADDON)) ? folder : undefined;
}

const LIBRARIES = {
  driver: 'cuda',
  nvrtc: 'nvrtc',
  cublas: 'cublas',
  cublasLt: 'cublaslt',
  cutensor: 'cutensor',
  cufft: 'cufft',
  cusolver: 'cusolver',
  cudss: 'cudss',
} as const;

/** Its libraries, in the place of CUDA's. */
export const simulatedLibraries = (folder: string): Record<keyof typeof LIBRARIES, string> =>
  Object.fromEntries(
    Object.entries(LIBRARIES).map(([field, name]) => [field, join(folder, `libweft-sim-${name}.so`)]),
  ) as Record<keyof typeof LIBRARIES, string>;
