/**
 * Programs of the language of kernels, as plain data: what each thread of a grid does. `language/kernel-tracer.ts`
 * makes them; they are printed as CUDA C (`codegen/cuda/routines/kernel-program.ts`) and encoded for the CPU
 * (`codegen/cpu/kernel-program.ts`), which runs an instruction for all threads of a block before the next one.
 *
 * Values are in registers, of which each thread has its own.
 */
import type { DType, Scalar } from './dtype.js';
import type { OpName } from './ops.js';

/** An array of a kernel: one that is read, one that is written too, or memory that the threads of a block share. */
export type KernelMemory =
  | { readonly kind: 'input' | 'output'; readonly at: number; readonly dtype: DType }
  | { readonly kind: 'shared'; readonly size: number; readonly dtype: DType };

/** Numbers that a launch gives: places of threads, sizes of the grid and of arrays. */
export type KernelNumber =
  | { readonly of: 'threadIdx' | 'blockIdx' | 'blockDim' | 'gridDim'; readonly axis: 0 | 1 | 2 }
  /** Of an array: along an axis, or of all of it (-1). */
  | { readonly of: 'size'; readonly array: number; readonly axis: number }
  /** A scalar among the inputs. */
  | { readonly of: 'scalar'; readonly at: number };

/** Line and column in the function, counted from 1. */
export interface KernelPlace {
  readonly line: number;
  readonly column: number;
}

export const ATOMICS = ['add', 'min', 'max', 'and', 'or', 'xor', 'exchange', 'compare'] as const;
export type AtomicName = (typeof ATOMICS)[number];

/** Functions of the lanes of a warp, as CUDA has them. `activemask` has no mask, `sync` gives nothing. */
export const WARP_FUNCTIONS = [
  'shfl',
  'shflUp',
  'shflDown',
  'shflXor',
  'ballot',
  'any',
  'all',
  'matchAny',
  'matchAll',
  'reduceAdd',
  'reduceMin',
  'reduceMax',
  'reduceAnd',
  'reduceOr',
  'reduceXor',
  'activemask',
  'sync',
] as const;
export type WarpFunction = (typeof WARP_FUNCTIONS)[number];

export type KernelInstruction =
  | { readonly kind: 'map'; readonly op: OpName; readonly to: number; readonly args: readonly number[] }
  | { readonly kind: 'cast'; readonly to: number; readonly from: number }
  | { readonly kind: 'const'; readonly to: number; readonly value: Scalar }
  | { readonly kind: 'number'; readonly to: number; readonly number: KernelNumber }
  /** Of two registers of one dtype. */
  | { readonly kind: 'copy'; readonly to: number; readonly from: number }
  | ({
      readonly kind: 'read';
      readonly to: number;
      readonly array: number;
      readonly index: number;
    } & KernelPlace)
  | ({
      readonly kind: 'write';
      readonly array: number;
      readonly index: number;
      readonly from: number;
    } & KernelPlace)
  /** Gives the element before; `compare`: what it has to be to be replaced. */
  | ({
      readonly kind: 'atomic';
      readonly name: AtomicName;
      readonly to: number;
      readonly array: number;
      readonly index: number;
      readonly from: number;
      readonly compare?: number | undefined;
    } & KernelPlace)
  /** Refuses an index along an axis of an array that is out of range, where indices are checked. */
  | ({ readonly kind: 'bound'; readonly index: number; readonly size: number } & KernelPlace)
  | ({ readonly kind: 'sync' } & KernelPlace)
  | ({
      readonly kind: 'warp';
      readonly name: WarpFunction;
      /** Of `sync`, a register that nothing reads. */
      readonly to: number;
      /** The lanes that take part, an uint32. */
      readonly mask?: number | undefined;
      readonly from?: number | undefined;
      /** Of shuffles: the lane that is read, or how far away it is, an int32; and lanes of a part of the warp. */
      readonly lane?: number | undefined;
      readonly width?: number | undefined;
    } & KernelPlace)
  | {
      readonly kind: 'if';
      readonly condition: number;
      readonly yes: readonly KernelInstruction[];
      readonly no: readonly KernelInstruction[];
    }
  /** While the condition holds after `test`: the body, which `next` ends, then `update`. `end` ends the loop. */
  | {
      readonly kind: 'loop';
      readonly test: readonly KernelInstruction[];
      readonly condition: number;
      readonly body: readonly KernelInstruction[];
      readonly update: readonly KernelInstruction[];
      readonly next: number;
      readonly end: number;
    }
  /** A body that can be left. */
  | { readonly kind: 'scope'; readonly id: number; readonly body: readonly KernelInstruction[] }
  /** Goes on behind the scope, or the part of a loop, of this id; 0 is the whole program. */
  | { readonly kind: 'leave'; readonly id: number };

export interface KernelProgram {
  /** Dtypes of the registers. */
  readonly registers: readonly DType[];
  readonly arrays: readonly KernelMemory[];
  /** Dtypes of the scalars among the inputs. */
  readonly scalars: readonly DType[];
  /** Scopes, that of the whole among them. */
  readonly scopes: number;
  readonly body: readonly KernelInstruction[];
}
