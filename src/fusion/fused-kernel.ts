/**
 * FusedKernel: a kernel while fusion works on it. Buffers are named by what they hold, the domain keeps its natural axes
 * (`finalize.ts` collapses them and gives the `Kernel` that code is generated from).
 */
import type { DType } from '../graph/dtype.js';
import type { BufferKey } from './buffer-key.js';
import {
  type Access,
  type Affine,
  argumentsOf,
  type Bound,
  type Instruction,
  type Store,
  sameNumbers,
} from './kernel.js';

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
  /** Graph nodes whose arithmetic it holds; one may stand more than once. */
  readonly nodes: readonly number[];
}

export const sizesOf = (kernel: FusedKernel): number[] => [...kernel.parallel, ...kernel.reduced];

/** A kernel's accesses in another domain: `axisOf[k]` is where axis k went, out of `axes`. */
export function moveAffine<T extends Affine>(affine: T, axisOf: readonly number[], axes: number): T {
  if (axisOf.length === axes && axisOf.every((axis, k) => axis === k)) return affine;
  const strides = new Array<number>(axes).fill(0);
  affine.strides.forEach((stride, k) => {
    if (stride !== 0) strides[axisOf[k]!] = stride;
  });
  return { ...affine, strides };
}

export function moveAccess(access: Access, axisOf: readonly number[], axes: number, buffer: number): Access {
  const bounds = moveBounds(access.bounds, (bound) => moveAffine(bound, axisOf, axes));
  return { ...moveAffine(access, axisOf, axes), bounds, buffer };
}

const moveBounds = (bounds: readonly Bound[], affine: <T extends Affine>(a: T) => T): readonly Bound[] =>
  bounds.length === 0 ? bounds : bounds.map((bound) => affine(bound));

/** An instruction with other arguments and its affine functions changed; the instruction itself if nothing changed. */
export function mapInstruction(
  i: Instruction,
  args: readonly number[],
  affine: <T extends Affine>(a: T) => T,
  buffer: (position: number) => number,
): Instruction {
  switch (i.kind) {
    case 'load': {
      const { access } = i;
      const at = buffer(access.buffer);
      const moved = affine(access);
      if (at === access.buffer && moved === access && access.bounds.length === 0) return i;
      return {
        kind: i.kind,
        dtype: i.dtype,
        access: { ...moved, bounds: moveBounds(access.bounds, affine), buffer: at },
      };
    }
    case 'const':
      return i;
    case 'index': {
      const moved = affine(i.affine);
      return moved === i.affine ? i : { kind: i.kind, dtype: i.dtype, affine: moved };
    }
    case 'inside':
      return { kind: i.kind, dtype: i.dtype, bounds: moveBounds(i.bounds, affine) };
    case 'cast':
      return args[0] === i.args[0] ? i : { kind: i.kind, dtype: i.dtype, args: [args[0]!] };
    case 'map':
      return sameNumbers(args, i.args) ? i : { kind: i.kind, dtype: i.dtype, op: i.op, args };
    case 'reduce':
      return sameNumbers(args, i.args) ? i : { kind: i.kind, dtype: i.dtype, reduction: i.reduction, args };
  }
}

/** The same kernel with every affine function changed, over other axes. */
export function mapAffines(
  kernel: FusedKernel,
  parallel: readonly number[],
  reduced: readonly number[],
  affine: <T extends Affine>(a: T) => T,
): FusedKernel {
  const tape = kernel.tape.map((i) => mapInstruction(i, argumentsOf(i), affine, (buffer) => buffer));
  const stores = kernel.stores.map((store) => ({ ...store, access: affine(store.access) }));
  const { buffers, nodes } = kernel;
  return { buffers, nodes, parallel, reduced, tape, stores };
}

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
