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
      complex128: { launch: 3080, step: 9.83, row: 2.33, operation: 0.000138, moved: 1.86 },
      complex64: { launch: 3310, step: 28.6, row: 1.59, operation: 0.000151 },
      float16: { launch: 3090, operation: 2.53e-6, moved: 1.39 },
      'float16 many unaligned': { launch: 6000, operation: 1e-5, moved: 0.8 },
      'float16 unaligned': { launch: 3250, step: 7.22, row: 3.01, operation: 1.23e-5, moved: 5.34 },
      float32: { launch: 2760, step: 13.5, row: 0.777, operation: 3.91e-5, moved: 1.63 },
      'float32 of sums': { launch: 10500, step: 6, operation: 0.0008 },
      float64: { launch: 2810, step: 6.72, operation: 3.71e-5, moved: 1.2 },
    },
  },
} as const;
