/** Rates of products, which the tables of all calls have: those of Weft's own on the CPU (`exec/targets/cpu-call-rates.ts`). */
export const PRODUCT_RATES = {
  matmul: {
    complex128: [0, 0, 0.945, 0.165],
    'complex128 small': [687, 0, 0, 0.328],
    complex64: [0, 3.33e3, 0.464, 0.0846],
    'complex64 small': [785, 180, 1.16, 0],
    float16: [2.31e3, 0, 0.146, 0.0191],
    'float16 small': [748, 379, 0.236, 0],
    float32: [989, 0, 0.0169, 0.0213],
    'float32 small': [57, 194, 0.139, 0],
    float64: [0, 0, 0.128, 0.0424],
    'float64 small': [53.4, 0, 0, 0.0473],
  },
} as const;

/** The same of the products of libraries on a GPU (`exec/targets/cuda-call-rates.ts`). */
export const CUDA_PRODUCT_RATES = {
  matmul: {
    library: {
      complex128: { launch: 3120, step: 11.4, row: 8.37, operation: 0.000137, moved: 0.913 },
      complex64: { launch: 3600, step: 24, row: 1.01, operation: 0.000146 },
      float16: { launch: 3050, step: 8.64, row: 4.1, operation: 1.8e-6, moved: 4.15 },
      float32: { launch: 2860, step: 14.2, row: 1.03, operation: 3.45e-5, moved: 2.75 },
      float64: { launch: 2860, step: 7.81, operation: 3.46e-5, moved: 1.16 },
    },
  },
} as const;
