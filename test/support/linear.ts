/** Linear algebra of random matrices on every backend: dtypes, what factors should multiply to, and how nearly. */
import { expect } from 'vitest';
import { eye, type Lazy } from '../../src/index.js';
import { run, toLazy } from './api.js';
import { backends, isSimulated } from './backends.js';
import { randomValues } from './random.js';

/** Where linear algebra runs: the CPU and GPUs. */
export const LINEAR_BACKENDS = backends().filter(
  (device) => device !== 'reference' && device !== 'interpreted',
);

export const EPSILON = {
  float32: 2 ** -23,
  float64: 2 ** -52,
  complex64: 2 ** -23,
  complex128: 2 ** -52,
} as const;
export type LinearDType = keyof typeof EPSILON;
/** Each kernel is compiled for the simulator, so that it has few dtypes and sizes. */
export const dtypesOn = (device: string): readonly LinearDType[] =>
  isSimulated(device) ? ['float32', 'complex128'] : (Object.keys(EPSILON) as LinearDType[]);

export const matrices = (dtype: LinearDType, shape: readonly number[], seed: number): Lazy =>
  toLazy(randomValues(dtype, shape, seed, -1, 1));
export const adjoint = (x: Lazy): Lazy => x.matrixTranspose().conj();
/** The columns' products less the identity. */
export const orthonormal = (q: Lazy): Lazy => {
  const product = adjoint(q).matmul(q);
  return product.sub(eye(product.shape.at(-1)!));
};
export const largest = (x: Lazy): Lazy => x.abs().max().astype('float64');

/** Whether differences are within a multiple of the precision. */
export async function expectSmall(
  device: string,
  dtype: LinearDType,
  differences: readonly Lazy[],
  most = 64,
): Promise<void> {
  const values = await run(device, differences.map(largest));
  for (const { data } of values) expect(Number(data[0])).toBeLessThan(most * EPSILON[dtype]);
}
