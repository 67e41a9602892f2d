/**
 * The BLAS libraries of Python packages, which the loader does not find by name: the native side tries them
 * after those that it does (`native/cpu/blas.cpp`).
 */
import { join } from 'node:path';
import type { CudaSearchPaths } from '../../host/config.js';
import { type ListFolder, listFolder, packageFolders } from './cuda-libraries.js';

/** Packages that are OpenBLAS and nothing else, with the library's name: sizes of 64 and of 32 bits. */
const PACKAGES = [
  ['scipy_openblas64', 'libscipy_openblas64_.so'],
  ['scipy_openblas32', 'libscipy_openblas.so'],
] as const;

/** Their files, those of the environment in use first. `list` is for tests. */
export const blasFiles = (places: CudaSearchPaths, list: ListFolder = listFolder): string[] =>
  packageFolders(places, list).flatMap((folder) =>
    PACKAGES.flatMap(([name, file]) => {
      const path = join(folder, name, 'lib');
      return list(path).includes(file) ? [join(path, file)] : [];
    }),
  );
