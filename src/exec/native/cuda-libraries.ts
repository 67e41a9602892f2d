/**
 * Where the CUDA libraries may be: for each, an ordered list of names and paths that the native side tries to
 * load.
 *
 * An override stands alone. Otherwise: the loader's path, toolkits, and Python environments (pip and conda
 * packages). Whether a file is a library that will do (its version, its entry points) is decided by
 * `native/cuda/library.cpp`.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CudaSearchPaths } from '../../host/config.js';

export type CudaLibrary =
  | 'driver'
  | 'nvrtc'
  | 'cublas'
  | 'cublasLt'
  | 'cutensor'
  | 'cufft'
  | 'cusolver'
  | 'cudss';

/** Texts for each library: names of files, entry points, or why something was passed over. */
export type CudaLibraryTexts = Readonly<Record<CudaLibrary, readonly string[]>>;

/** File names by CUDA version, newest first. NVRTC 11 is `libnvrtc.so.11.2` from CUDA 11.2 on. */
const NVRTC_NAMES = ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so.11.2'];
const CUBLAS_NAMES = ['libcublas.so.13', 'libcublas.so.12', 'libcublas.so.11'];
const CUBLASLT_NAMES = ['libcublasLt.so.13', 'libcublasLt.so.12', 'libcublasLt.so.11'];
/** One name for all versions of CUDA: which of them it is of, its folder says. */
const CUTENSOR_NAMES = ['libcutensor.so.2'];
const CUSOLVER_NAMES = ['libcusolver.so.12', 'libcusolver.so.11'];
/** One name for all versions of CUDA, as of cuTENSOR. */
const CUDSS_NAMES = ['libcudss.so.1'];
const CUFFT_NAMES = ['libcufft.so.12', 'libcufft.so.11', 'libcufft.so.10'];
const DRIVER_NAMES = [
  'libcuda.so.1',
  '/usr/local/nvidia/lib64/libcuda.so.1',
  '/usr/lib/wsl/lib/libcuda.so.1',
  '/run/opengl-driver/lib/libcuda.so.1',
];

/** NVIDIA's name of this kind of machine. */
const TARGET = process.arch === 'arm64' ? 'sbsa-linux' : 'x86_64-linux';

/** Folders of the system's libraries, in which those of cuTENSOR's packages are. */
const SYSTEM_FOLDERS = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64'];

/** Reads a folder's names; what does not exist or may not be read has none. */
export type ListFolder = (folder: string) => readonly string[];

export const listFolder: ListFolder = (folder) => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Folders of `parent` whose name begins with `start`, the newest version first. */
function matching(list: ListFolder, parent: string, start: string): string[] {
  const order = new Intl.Collator('en', { numeric: true });
  return list(parent)
    .filter((name) => name.startsWith(start))
    .sort((a, b) => order.compare(b, a))
    .map((name) => join(parent, name));
}

function toolkitFolders(places: CudaSearchPaths, list: ListFolder): string[] {
  const besideCompiler = places.binFolders.filter((bin) => list(bin).includes('nvcc')).map(dirname);
  const roots = [...places.toolkits, ...besideCompiler, ...matching(list, '/usr/local', 'cuda'), '/opt/cuda'];
  return roots.flatMap((root) => [
    join(root, 'lib64'),
    join(root, 'lib'),
    join(root, 'targets', TARGET, 'lib'),
  ]);
}

/** The folders of packages: that of `weft setup`, then those of every Python there is, the environment in use first. */
export function packageFolders(places: CudaSearchPaths, list: ListFolder = listFolder): string[] {
  const besidePython = places.binFolders.filter((bin) => list(bin).includes('python3')).map(dirname);
  const prefixes = [
    ...places.pythonPrefixes,
    ...besidePython,
    ...(places.home === undefined ? [] : [join(places.home, '.local')]),
    '/usr/local',
    '/usr',
  ];
  const found = prefixes.flatMap((prefix) =>
    matching(list, join(prefix, 'lib'), 'python3').flatMap((python) => [
      join(python, 'site-packages'),
      join(python, 'dist-packages'),
    ]),
  );
  return places.packages === undefined ? found : [places.packages, ...found];
}

/** The `lib` folders of the nvidia packages. */
function pythonFolders(places: CudaSearchPaths, list: ListFolder): string[] {
  return packageFolders(places, list).flatMap((folder) => {
    const nvidia = join(folder, 'nvidia');
    return list(nvidia).map((name) => join(nvidia, name, 'lib'));
  });
}

/** The folders of cuTENSOR's own packages, of Python and of the system, by versions of CUDA. */
function cutensorFolders(places: CudaSearchPaths, list: ListFolder): string[] {
  const packages = packageFolders(places, list).map((folder) => join(folder, 'cutensor', 'lib'));
  const system = SYSTEM_FOLDERS.flatMap((folder) => {
    const own = join(folder, 'libcutensor');
    return matching(list, own, '');
  });
  return [...packages, ...system];
}

/** Names alone for the loader, then every file of these names in the folders. */
function candidatesOf(names: readonly string[], folders: readonly string[], list: ListFolder): string[] {
  const files = folders.flatMap((folder) => {
    const present = list(folder);
    return names.filter((name) => present.includes(name)).map((name) => join(folder, name));
  });
  return [...names, ...files];
}

/** Makes the lists. `list` is for tests. */
export function cudaCandidates(places: CudaSearchPaths, list: ListFolder = listFolder): CudaLibraryTexts {
  // A conda environment's own libraries are in its lib folder.
  const condaFolders = places.pythonPrefixes.map((prefix) => join(prefix, 'lib'));
  const folders = [
    ...new Set([...toolkitFolders(places, list), ...condaFolders, ...pythonFolders(places, list)]),
  ];
  return {
    driver: places.driver === undefined ? DRIVER_NAMES : [places.driver],
    nvrtc: places.nvrtc === undefined ? candidatesOf(NVRTC_NAMES, folders, list) : [places.nvrtc],
    cublas: places.cublas === undefined ? candidatesOf(CUBLAS_NAMES, folders, list) : [places.cublas],
    cublasLt: places.cublasLt === undefined ? candidatesOf(CUBLASLT_NAMES, folders, list) : [places.cublasLt],
    cutensor:
      places.cutensor === undefined
        ? candidatesOf(CUTENSOR_NAMES, [...cutensorFolders(places, list), ...folders], list)
        : [places.cutensor],
    cufft: places.cufft === undefined ? candidatesOf(CUFFT_NAMES, folders, list) : [places.cufft],
    cusolver: places.cusolver === undefined ? candidatesOf(CUSOLVER_NAMES, folders, list) : [places.cusolver],
    cudss: places.cudss === undefined ? candidatesOf(CUDSS_NAMES, folders, list) : [places.cudss],
  };
}
