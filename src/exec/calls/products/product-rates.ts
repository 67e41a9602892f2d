/** Rates of the products of Weft's own on the CPU, as those of `exec/targets/cpu-call-rates.ts`, whose table has them. */
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
