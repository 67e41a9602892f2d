/**
 * FFTW and MKL of Python environments, which the loader does not find by name: the native side tries them after those
 * that it does (`native/cpu/fft-library.cpp`).
 */
import { join } from 'node:path';
import type { CudaSearchPaths } from '../../host/config.js';
import { type ListFolder, listFolder, packageFolders } from './cuda-libraries.js';

/** By the precision of the transforms. */
export interface FftFiles {
  readonly float32: readonly string[];
  readonly float64: readonly string[];
}

export const NO_FFT_FILES: FftFiles = { float32: [], float64: [] };

/** The FFTW of pyFFTW's wheels, whose names have a hash: `libfftw3f-b4465a35.so.3.5.5`. */
const FFTW_FOLDERS = ['pyfftw.libs', 'pyFFTW.libs'];
const FFTW_FILES = { float32: /^libfftw3f-\w+\.so/, float64: /^libfftw3-\w+\.so/ } as const;

/** MKL's wheels put it beside the environment's `python3.x`. */
const MKL_FILES = ['libmkl_rt.so.3', 'libmkl_rt.so.2'];

/** Their files, those of the environment in use first. `list` is for tests. */
export function fftFiles(places: CudaSearchPaths, list: ListFolder = listFolder): FftFiles {
  const packages = packageFolders(places, list);
  const filesIn = (folder: string, isOne: (name: string) => boolean): string[] =>
    list(folder)
      .filter(isOne)
      .map((name) => join(folder, name));
  const libraries = new Set(packages.map((folder) => join(folder, '..', '..')));
  const mkl = [...libraries].flatMap((folder) => filesIn(folder, (name) => MKL_FILES.includes(name)));
  const of = (pattern: RegExp): string[] => [
    ...packages.flatMap((folder) =>
      FFTW_FOLDERS.flatMap((name) => filesIn(join(folder, name), (file) => pattern.test(file))),
    ),
    ...mkl,
  ];
  return { float32: of(FFTW_FILES.float32), float64: of(FFTW_FILES.float64) };
}
