/**
 * Maps of a matrix, as of a product with a small one: kernels without reductions that read some values for all places.
 * These stay in registers of their own, and all else goes through one chain.
 */
import { isUniform, loadsOf } from '../../fusion/kernel/algebra.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';

/** Values for all places, at least. */
const LEAST_UNIFORM = 4;

export const isOfMatrix = (kernel: Kernel): boolean =>
  kernel.reduced.length === 0 &&
  loadsOf(kernel).filter(({ access }) => isUniform(access)).length >= LEAST_UNIFORM;
