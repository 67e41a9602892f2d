/** Where the simulated CUDA (`native/sim`) is built, and the environment in which Weft uses it. */
import { resolve } from 'node:path';

export const SIM_FOLDER = resolve(import.meta.dirname, '../../build/sim');

export const SIM_ENVIRONMENT = {
  WEFT_CUDA_DRIVER: `${SIM_FOLDER}/libweft-sim-cuda.so`,
  WEFT_NVRTC: `${SIM_FOLDER}/libweft-sim-nvrtc.so`,
  WEFT_CUBLAS: `${SIM_FOLDER}/libweft-sim-cublas.so`,
  // The simulated NVRTC keeps what it compiled itself, by all that it depends on.
  WEFT_CACHE: 'off',
} as const;
