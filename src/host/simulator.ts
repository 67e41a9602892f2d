/** The simulated GPU (`native/sim`), on which `WEFT_CHECK` runs CUDA C: a build of a clone of the repository. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));

/** Its addon, which says what it saw. */
export const SIMULATOR_ADDON = 'weft-sim.node';

/** The folder that was named, or that of this package, from its `src/` or its `dist/src/`; undefined: it has none. */
export const simulatorFolder = (named: string | undefined): string | undefined =>
  [...(named === undefined ? ['../..', '../../..'].map((up) => join(HERE, up, 'build/sim')) : [named])].find(
    (folder) => existsSync(join(folder, SIMULATOR_ADDON)),
  );

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
