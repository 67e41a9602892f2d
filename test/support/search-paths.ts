/** Places where libraries may lie: an environment of Python in use and a home folder, nothing else. */
import type { CudaSearchPaths } from '../../src/host/config.js';

export const PYTHON_PLACES: CudaSearchPaths = {
  driver: undefined,
  nvrtc: undefined,
  cublas: undefined,
  cublasLt: undefined,
  cutensor: undefined,
  cufft: undefined,
  cusolver: undefined,
  cudss: undefined,
  toolkits: [],
  pythonPrefixes: ['/venv'],
  binFolders: [],
  home: '/home/u',
  packages: undefined,
  environment: undefined,
};
