/**
 * Kernel: one fused computation, the single object that CUDA C is printed from, that the CPU interprets, that
 * the cache hashes and that golden files record.
 *
 * The iteration domain is a box of `parallel` axes followed by `reduced` axes. The tape is a list of values
 * in SSA form: each instruction's arguments are earlier positions. A value is at *row* level if it does not
 * depend on the reduced axes (what a reduction gives, and what is computed from such), else at *element*
 * level. A `reduce` runs over all reduced axes; what depends on its result belongs to the next *phase*, which
 * walks the reduced axes again:
 *
 *     parallel [i: 262144]  reduced [j: 1024]
 *     %0 = load b0[1024 i + j]            element   phase 0
 *     %1 = reduce max %0                  row
 *     %2 = map subtract %0 %1             element   phase 1
 *     %3 = map exp %2
 *     %4 = reduce sum %3                  row
 *     %5 = map divide %3 %4               element   phase 2
 *     store b1[1024 i + j] = %5
 *
 * A kernel with no reduced axes is a map. Halves are explicit: loads and stores have half dtypes, arithmetic
 * has casts to float32 and back around it. Reductions of halves take float32 arguments.
 */
import type { DType } from '../../graph/dtype.js';
import type { Fold } from '../../graph/expr.js';
import type { CudaFunction, ElementLoop, MonoidPart } from '../../graph/loop-step.js';
import type { OpName } from '../../graph/ops.js';
import type { ReductionName } from '../../graph/reductions.js';
import type { ConstantValue } from '../../graph/runtime-scalar.js';

/** An affine function of the domain's axes: `offset + Σ strides[k] * axis[k]`, parallel axes first. */
export interface Affine {
  readonly offset: number;
  readonly strides: readonly number[];
}

/** Holds where `0 <= affine < size`. */
export interface Bound extends Affine {
  readonly size: number;
  /** A load reads another element where the bound does not hold, instead of 0. */
  readonly fold?: BoundFold;
}

/**
 * The element that a load reads outside of a bound: the bound's value c is folded back into 0 … size - 1, and
 * `stride` says by how many elements of the buffer the place moves with c:
 *
 *     load b0[64 i + j - 2 | 0 <= j - 2 < 64 reflect 1]     x[i, fold(j - 2)]
 */
export interface BoundFold {
  readonly mode: Fold;
  readonly stride: number;
}

/** Whether a load reads 0 outside of a bound. */
export const isZeroOutside = ({ fold }: Bound): boolean => fold === undefined;

/**
 * An element of a buffer as an affine index map, in elements; with `index`, of a gather, so much further on
 * as a value of the tape says:
 *
 *     %3 = load b0[64 i + j]                    table[i, j]
 *     %3 = load b0[j + 64 %2 of 1000]           table[k, j], where %2 holds k
 */
export interface Access extends Affine {
  /** Position in `Kernel.buffers`. */
  readonly buffer: number;
  /**
   * The load reads 0 where a bound without fold does not hold, and must not touch memory there; a fold moves its
   * place. Stores have none.
   */
  readonly bounds: readonly Bound[];
  /** Only loads have one. */
  readonly index?: AccessIndex;
  /** Where the elements are, in order, if a load's were taken before: code reads them there instead (`inWindows`). */
  readonly place?: Affine;
}

/** The part of an address that a value chooses: `stride * value` elements. */
export interface AccessIndex {
  /** Position in the tape of an int64 value, which the tape has brought into 0 … size - 1. */
  readonly value: number;
  readonly stride: number;
  readonly size: number;
}

/** The access by which an element is read: of one that was taken before, where it is. */
export function placedAccess(access: Access): Access {
  const { index: _, place, ...rest } = access;
  return place === undefined ? access : { ...rest, ...place };
}

/**
 * An instruction of a tape. Its kind stands in its form, which the algebra reads (`formOf`) and everything
 * else asks the algebra about: TypeScript refuses `instruction.kind` anywhere else.
 */
export interface Instruction {
  readonly dtype: DType;
  readonly [FORM]: never;
}
declare const FORM: unique symbol;

/** The forms of an instruction. */
export type InstructionForm =
  | { readonly kind: 'load'; readonly dtype: DType; readonly access: Access }
  /** A constant; CUDA sources take it as an argument, so that another value needs no other kernel. */
  | { readonly kind: 'const'; readonly dtype: DType; readonly value: ConstantValue }
  /** The affine function itself, as int64. */
  | { readonly kind: 'index'; readonly dtype: 'int64'; readonly affine: Affine }
  /** Whether all bounds hold. */
  | { readonly kind: 'inside'; readonly dtype: 'bool'; readonly bounds: readonly Bound[] }
  /** An op of the table. All arguments have the dtypes of its signature; never a half. */
  | { readonly kind: 'map'; readonly dtype: DType; readonly op: OpName; readonly args: readonly number[] }
  | { readonly kind: 'cast'; readonly dtype: DType; readonly args: readonly [number] }
  /** A state after a loop of each element, of its arguments. Arithmetic in it is never that of a half. */
  | {
      readonly kind: 'repeat';
      readonly dtype: DType;
      readonly loop: ElementLoop;
      readonly result: number;
      readonly args: readonly number[];
    }
  /** A result of a function in CUDA C. */
  | {
      readonly kind: 'function';
      readonly dtype: DType;
      readonly function: CudaFunction;
      readonly result: number;
      readonly args: readonly number[];
    }
  /** One argument, or value and int64 index for argmin and argmax; of a user’s monoid, the parts of an accumulator. */
  | {
      readonly kind: 'reduce';
      readonly dtype: DType;
      readonly reduction: ReductionName;
      /** Instructions of one monoid and the same arguments are one reduction. */
      readonly monoid?: MonoidPart | undefined;
      readonly args: readonly number[];
      /** Rows are in the order of one of so many reductions, which follow each other along the outermost axis. */
      readonly batch?: number | undefined;
    };

/**
 * The form of an instruction: for the algebra, for code that prints, encodes or runs instructions, and for
 * nothing else (`test/structure.test.ts`).
 */
export const formOf = (instruction: Instruction): InstructionForm =>
  instruction as unknown as InstructionForm;

export interface Store {
  /** Position in the tape; the value's dtype is the buffer's. */
  readonly value: number;
  /** A row-level store has stride 0 on every reduced axis. */
  readonly access: Access;
}

export interface BufferParameter {
  readonly dtype: DType;
  readonly role: 'input' | 'output';
  /** Elements of the whole buffer: the bound that index arithmetic and checks may rely on. */
  readonly elementCount: number;
  /** Whether its memory is that of another buffer of the kernel, element by element. */
  readonly isShared?: boolean;
  /** In a tile of a larger job: which array it has a window of, where other buffers have windows of the same one. */
  readonly array?: number;
  /**
   * In a tile of a larger job: how rows of the buffer's window lie. Neither schedule nor order depends on it.
   */
  readonly pitch?: Pitch;
  /**
   * In a tile of a larger job: whether its gathers find some indices alone, a range that comes with each launch. Elements
   * of the kernel with other indices are neither computed nor stored. All gathers of such buffers have one index.
   */
  readonly isTakenInWindows?: boolean;
}

/**
 * Rows of a buffer that are `from` elements apart as a whole and `to` elements apart in the memory that code
 * is for.
 */
export interface Pitch {
  readonly from: number;
  readonly to: number;
}

export interface Kernel {
  /** A readable identifier made of the ops inside: [a-z][a-z0-9_]*. */
  readonly name: string;
  /** Sizes of the parallel axes, outermost first; none is 0 or 1, and [] is a single row. */
  readonly parallel: readonly number[];
  /** Sizes of the reduced axes, outermost first; [] for a map. */
  readonly reduced: readonly number[];
  readonly buffers: readonly BufferParameter[];
  readonly tape: readonly Instruction[];
  readonly stores: readonly Store[];
  /**
   * Of a loop's body that may be run several times in one launch: outputs that are inputs of the next run.
   */
  readonly carried?: readonly CarriedBuffers[];
  /**
   * Inputs of a kernel with carried buffers, of one int64 each, that it reads as so much more as there were steps
   * before.
   */
  readonly counters?: readonly number[];
  /**
   * In a tile of a larger job: the rows of a slot's partial results in the memory that code is for; without
   * it, all rows.
   */
  readonly partialRows?: number;
}

/** How many partial results of a slot there are before those of the next. */
export const partialRowsOf = ({ parallel, partialRows }: Kernel): number => partialRows ?? product(parallel);

/** Positions in `Kernel.buffers`. */
export interface CarriedBuffers {
  readonly output: number;
  readonly input: number;
}

/** A function of kernels, which never change, that keeps its results as long as their kernels are there. */
export function oncePerKernel<R extends object>(find: (kernel: Kernel) => R): (kernel: Kernel) => R {
  const known = new WeakMap<Kernel, R>();
  return (kernel) => {
    let found = known.get(kernel);
    if (found === undefined) {
      found = find(kernel);
      known.set(kernel, found);
    }
    return found;
  };
}

export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}

export const sameAffine = (a: Affine, b: Affine): boolean =>
  a.offset === b.offset && sameNumbers(a.strides, b.strides);

export function sameBounds(a: readonly Bound[], b: readonly Bound[]): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (!sameBound(a[k]!, b[k]!)) return false;
  return true;
}

export const sameBound = (a: Bound, b: Bound): boolean =>
  a.size === b.size && a.fold?.mode === b.fold?.mode && a.fold?.stride === b.fold?.stride && sameAffine(a, b);

export function product(sizes: readonly number[]): number {
  let size = 1;
  for (let k = 0; k < sizes.length; k++) size *= sizes[k]!;
  return size;
}

const NO_ARGS: readonly number[] = [];
/** Positions of the values that an instruction takes, in order; a gather takes its index. */
export function argumentsOf(instruction: Instruction): readonly number[] {
  const form = formOf(instruction);
  if ('args' in form) return form.args;
  const index = form.kind === 'load' ? form.access.index : undefined;
  return index === undefined ? NO_ARGS : [index.value];
}
