/**
 * The times by which those of calls on the CPU are predicted (`cpu-call-seconds.ts`), in nanoseconds of one thread: for each
 * routine, by dtype and way (`exec/calls/call-work.ts`), those of a call, of a row, of an element and of an operation, beside
 * the bytes that it moves. Fitted to 1,389 measured calls (`bench/call-corpus.ts`) on an AMD EPYC 9004 (Zen 4, AVX-512) with
 * Weft's own routines: where a library computes in their place, its times differ.
 */
import { PRODUCT_RATES } from '../calls/products/product-rates.js';

export type CallRates = readonly [call: number, row: number, element: number, operation: number];

/** Of routines that were not measured: a guess. */
export const UNMEASURED: CallRates = [1000, 20, 2, 1];

export const CALL_RATES: Readonly<Record<string, Readonly<Record<string, CallRates>>>> = {
  ...PRODUCT_RATES,
  argsort: {
    float16: [0, 0, 6.1, 0.265],
    float32: [16.3, 0, 0, 0.332],
    float64: [0, 0, 0, 2.38],
    int32: [0, 0, 0, 0.33],
    int64: [0, 0, 0, 2.25],
    uint8: [0, 213, 3.69, 0.0853],
  },
  attention: {
    float32: [11200, 0, 1.21, 0.0167],
  },
  binSums: {
    float32: [0, 0, 1.44, 0],
    float64: [0, 0, 3.76, 0],
  },
  bins: {
    'float32 fixed': [100, 21.4, 0, 0],
    'float32 scale': [82.9, 0, 1.64, 0],
    'float64 fixed': [101, 13.4, 0.977, 0],
    'float64 scale': [84.3, 0, 1.63, 0],
    'int32 count': [0, 0.414, 0.527, 0],
    'int64 count': [0, 0.416, 0.419, 0],
  },
  cholesky: {
    complex128: [0, 11100, 7.74, 0.0643],
    'complex128 small': [0, 28, 0, 1.08],
    complex64: [0, 25300, 6.79, 0.0245],
    'complex64 small': [0, 22.6, 0, 0.973],
    float32: [109, 0, 1.15, 0.0133],
    'float32 small': [55, 44.5, 0.194, 0.161],
    float64: [0, 0, 1.12, 0.0287],
    'float64 small': [65.3, 40.9, 0.372, 0.112],
  },
  compact: {
    'bool places': [0, 113, 0.119, 0],
  },
  eig: {
    'float32 vectors': [0, 0, 75.3, 0.0415],
    'float32 vectors small': [2.49e3, 1.02e3, 43.4, 0.0873],
    'float64 vectors': [0, 0, 109, 0.0708],
    'float64 vectors small': [0, 1.03e3, 61.8, 0.163],
  },
  eigh: {
    'complex128 vectors': [0, 12000, 63.9, 0.0375],
    'complex128 vectors small': [1.8e3, 89.7, 62.7, 0.0809],
    'complex64 vectors': [0, 52300, 58.1, 0.0135],
    'complex64 vectors small': [1.91e3, 0, 66.1, 0.101],
    float32: [0, 10700, 18, 0.00331],
    'float32 small': [1.01e3, 229, 28.1, 0],
    'float32 vectors': [8.75e3, 12100, 18.3, 0.0068],
    'float32 vectors small': [2.3e3, 506, 26.3, 0],
    float64: [0, 12800, 22.9, 0.0062],
    'float64 small': [754, 344, 33.7, 0],
    'float64 vectors': [0, 6.3e3, 25.9, 0.0123],
    'float64 vectors small': [1.98e3, 705, 29.6, 0],
  },
  expm: {
    float32: [21100, 0, 4.48, 0.0225],
    'float32 small': [485, 1.29e3, 11.9, 0],
    float64: [18400, 28700, 0, 0.0414],
    'float64 small': [0, 2.35e3, 5.79, 0.0392],
  },
  fft: {
    complex128: [0, 0, 2.47, 0.00436],
    'complex128 long': [0, 0, 0, 0.414],
    complex64: [986, 0, 1.04, 0.00226],
    'complex64 long': [32200, 0, 1.55, 0.125],
  },
  histogram: {
    float32: [0, 1.03, 0, 0.21],
    float64: [0, 1.03, 0, 0.221],
  },
  inverse: {
    complex128: [2.41e3, 0, 7.73, 0.136],
    complex64: [8.22e3, 0, 6.15, 0.0737],
    float32: [5.49e3, 0, 3.3, 0.0205],
    float64: [0, 6.71e3, 3.49, 0.0376],
  },
  irfft: {
    complex128: [0, 0, 0.138, 0.237],
    'complex128 long': [0, 0, 0, 0.29],
    complex64: [0, 0, 0.743, 0.0979],
    'complex64 long': [0, 0, 0, 0.167],
  },
  labels: {
    bool: [0, 31.3, 5.4, 0],
  },
  leastSquares: {
    float32: [9.59e3, 0, 40.6, 0.00698],
    'float32 small': [3.37e3, 134, 45.6, 0],
    float64: [10000, 0, 44.6, 0.0407],
    'float64 small': [2.15e3, 0, 57.8, 0],
  },
  luFactors: {
    complex128: [0, 2.65e3, 4.25, 0.0657],
    complex64: [0, 3.38e3, 3.93, 0.036],
    float32: [0, 1.55e3, 2.86, 0.00743],
    'float32 small': [0, 35.8, 2.82, 0],
    float64: [0, 5.3e3, 2.2, 0.021],
    'float64 small': [0, 52.1, 2.61, 0.0191],
  },
  luParts: {
    float32: [0, 2.31e3, 0.12, 0],
    'float32 small': [86.2, 56.5, 0.329, 0],
    float64: [0, 1.05e3, 0.158, 0],
    'float64 small': [33.7, 76.4, 0.36, 0],
  },
  luSolve: {
    complex128: [0, 2.61e3, 0, 5.11],
    complex64: [0, 5.87e3, 0, 4.05],
    float32: [0, 6.52e3, 1.34, 0.0323],
    float64: [0, 9.59e3, 1.26, 0.0581],
  },
  members: {
    int32: [0, 2.11, 0.907, 0],
    int64: [0, 2.12, 0.872, 0],
  },
  qrParts: {
    complex128: [6.56e3, 0, 20.2, 0.083],
    'complex128 small': [794, 181, 17, 0.154],
    complex64: [0, 0, 21.5, 0.0387],
    'complex64 small': [1.33e3, 420, 18.9, 0.0868],
    float32: [0, 0, 3.44, 0.0153],
    'float32 small': [1e3, 529, 3.43, 0],
    float64: [0, 0, 3.87, 0.0409],
    'float64 small': [814, 428, 2.05, 0.0617],
  },
  ranks: {
    float32: [48000, 0, 7.87, 0],
    float64: [0, 0, 17.2, 0],
  },
  rfft: {
    float32: [0, 0, 0.826, 0.00478],
    'float32 long': [0, 0, 0, 0.106],
    float64: [0, 0, 0.936, 0.0157],
    'float64 long': [0, 0, 0, 0.245],
  },
  scan: {
    'float32 max': [0, 55, 1.07, 0],
    'float32 sum': [79.1, 0, 0.883, 0],
    'float32 sum mapped': [0, 612, 1.25, 0],
    'float32 sum of columns': [66, 0.176, 0.181, 0],
    'float64 max': [0, 63.1, 0.761, 0],
    'float64 sum': [78.1, 11.5, 0.668, 0],
    'float64 sum of columns': [173, 2.79, 0.128, 0],
    'int64 sum': [0, 80.5, 0.207, 0],
    'int64 sum mapped': [0, 502, 0.417, 0],
  },
  scanBefore: {
    'float32 max': [39.1, 0, 2.72, 0],
    'float64 max': [0, 0, 3.08, 0],
    'float64 sum': [45.4, 0, 2.92, 0],
    'float64 sum of columns': [32.8, 0.198, 0.18, 0],
    'int64 sum': [0, 51, 1.58, 0],
  },
  scanTotals: {
    'float32 max': [49600, 0, 0.566, 0],
    'float32 sum': [126, 0, 0.125, 0],
    'float32 sum mapped': [0, 946, 0.246, 0],
    'float32 sum of columns': [0, 0, 0.131, 0],
    'float64 max': [166000, 0, 0.43, 0],
    'float64 sum': [0, 0, 0.0847, 0],
    'float64 sum of columns': [0, 0, 0.194, 0],
    'int64 sum': [0, 0, 0.07, 0],
    'int64 sum mapped': [0, 958, 0.206, 0],
  },
  solve: {
    'complex128 small': [31.6, 47.8, 1.91, 0.39],
    'complex64 small': [0, 82.4, 0.189, 0.471],
    'float32 small': [27.1, 59.9, 1.18, 0.0749],
    'float64 small': [27.1, 54.3, 0.767, 0.131],
  },
  sort: {
    float16: [0, 836, 9.09, 0],
    float32: [31.4, 16.9, 0, 0.152],
    float64: [18.3, 0, 0, 0.335],
    int32: [47.8, 6.63, 0, 0.148],
    int64: [34.3, 0, 0, 0.313],
    uint8: [0, 1.29e3, 6.83, 0],
  },
  sparseCombine: {
    float32: [176, 10.7, 0, 0],
    float64: [181, 8.54, 0, 0],
  },
  sparseDense: {
    float32: [68.6, 0, 0.642, 0],
    float64: [63.5, 0, 0.706, 0],
  },
  sparseGather: {
    float32: [175, 3.38, 0.0119, 0],
    float64: [175, 3.54, 0, 0],
  },
  sparseKept: {
    float32: [144, 7.76, 0, 0],
    float64: [146, 7.27, 0, 0],
  },
  sparseProduct: {
    float32: [361, 0, 0.416, 0.23],
    float64: [373, 0, 0.358, 0.101],
  },
  sparseRows: {
    int64: [44.4, 0, 0.253, 0],
  },
  sparseTranspose: {
    float32: [90, 14.4, 0, 0],
    float64: [0, 0, 2.89, 0],
  },
  svd: {
    'complex128 vectors': [0, 0, 81.6, 0.0394],
    'complex128 vectors small': [1.91e3, 945, 51.6, 0.496],
    'complex64 vectors': [0, 73800, 74.7, 0],
    'complex64 vectors small': [2.6e3, 0, 81.4, 0.0555],
    float32: [8.97e3, 0, 33.5, 0.00354],
    'float32 small': [866, 510, 44, 0],
    'float32 vectors': [0, 28100, 15.7, 0.0115],
    'float32 vectors small': [3.09e3, 1.02e3, 21.9, 0],
    float64: [0, 0, 44.9, 0.00967],
    'float64 small': [696, 486, 49.6, 0.0785],
    'float64 vectors': [37200, 121000, 14.7, 0.0257],
    'float64 vectors small': [1.95e3, 761, 27.6, 0.00989],
  },
  top: {
    float32: [0, 0, 2.24, 0],
    float64: [0, 0, 1.91, 0],
  },
};
