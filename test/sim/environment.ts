/** Where the simulated CUDA (`native/sim`) is built, and the environment in which Weft uses it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** Tests run from their sources and, the soak test, from `dist/`. */
export const SIM_FOLDER = ['../../build/sim', '../../../build/sim']
  .map((folder) => resolve(import.meta.dirname, folder))
  .reduce((found, other) => (existsSync(found) ? found : other));

export const SIM_ENVIRONMENT = {
  WEFT_CUDA_DRIVER: `${SIM_FOLDER}/libweft-sim-cuda.so`,
  WEFT_NVRTC: `${SIM_FOLDER}/libweft-sim-nvrtc.so`,
  WEFT_CUBLAS: `${SIM_FOLDER}/libweft-sim-cublas.so`,
  WEFT_CUBLASLT: `${SIM_FOLDER}/libweft-sim-cublaslt.so`,
  WEFT_CUTENSOR: `${SIM_FOLDER}/libweft-sim-cutensor.so`,
  WEFT_CUFFT: `${SIM_FOLDER}/libweft-sim-cufft.so`,
  WEFT_CUSOLVER: `${SIM_FOLDER}/libweft-sim-cusolver.so`,
  WEFT_CUDSS: `${SIM_FOLDER}/libweft-sim-cudss.so`,
  // The simulated NVRTC keeps what it compiled itself, by all that it depends on.
  WEFT_CACHE: 'off',
  // Every buffer on a device is a block of the driver's own, so that the simulator sees all uses of it.
  WEFT_POISON: '1',
} as const;
