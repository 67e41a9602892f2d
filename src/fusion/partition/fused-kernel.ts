/**
 * FusedKernel: a kernel while fusion works on it. Buffers are named by what they hold, the domain keeps its
 * natural axes (`lower-kernel.ts` collapses them and gives the `Kernel` that code is generated from).
 */
import type { DType } from '../../graph/dtype.js';
import { mapAffines } from '../kernel/algebra.js';
import { mapAccess } from '../kernel/instruction.js';
import type { Access, Affine, Instruction, Store } from '../kernel/kernel.js';
import type { BufferKey } from './buffer-key.js';

export interface KernelBuffer {
  readonly key: BufferKey;
  readonly dtype: DType;
  readonly elementCount: number;
}

export interface FusedKernel {
  readonly parallel: readonly number[];
  readonly reduced: readonly number[];
  readonly buffers: readonly KernelBuffer[];
  readonly tape: readonly Instruction[];
  readonly stores: readonly Store[];
}

/** A kernel's accesses in another domain: `axisOf[k]` is where axis k went, out of `axes`. */
export function moveAffine<T extends Affine>(affine: T, axisOf: readonly number[], axes: number): T {
  if (axisOf.length === axes && axisOf.every((axis, k) => axis === k)) return affine;
  const strides = new Array<number>(axes).fill(0);
  affine.strides.forEach((stride, k) => {
    if (stride !== 0) strides[axisOf[k]!] = stride;
  });
  return { ...affine, strides };
}

/** An access in another domain, of another buffer. */
export const moveAccess = (
  access: Access,
  axisOf: readonly number[],
  axes: number,
  buffer: number,
): Access => ({
  ...mapAccess(access, (affine) => moveAffine(affine, axisOf, axes)),
  buffer,
});

/** Splits one axis into an outer part and an inner part of size `inner`. */
export function splitDomainAxis(kernel: FusedKernel, axis: number, inner: number): FusedKernel {
  const cut = (sizes: readonly number[], at: number): number[] =>
    sizes.flatMap((n, k) => (k === at ? [n / inner, inner] : [n]));
  const first = kernel.parallel.length;
  return mapAffines(kernel, cut(kernel.parallel, axis), cut(kernel.reduced, axis - first), (a) => ({
    ...a,
    strides: splitStrides(a.strides, axis, inner),
  }));
}

export const splitStrides = (strides: readonly number[], axis: number, inner: number): number[] =>
  strides.flatMap((stride, k) => (k === axis ? [stride * inner, stride] : [stride]));
