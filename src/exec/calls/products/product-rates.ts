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
      complex128: { launch: 3070, step: 12.8, row: 8.36, operation: 0.000139, moved: 0.931 },
      complex64: { launch: 3920, step: 18.7, operation: 0.000149 },
      float16: { launch: 2940, step: 7.5, row: 5.22, operation: 1.94e-6, moved: 2.7 },
      float32: { launch: 2740, step: 15.2, row: 1.04, operation: 3.76e-5, moved: 1.7 },
      float64: { launch: 2740, step: 9.04, operation: 3.37e-5, moved: 1.04 },
    },
  },
} as const;
