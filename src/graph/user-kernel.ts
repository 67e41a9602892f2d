/**
 * Kernels of the user's own, as plain data: how a call of the routine `kernel` is launched, and what it reads and
 * writes. Its code is CUDA C, or a program of the language of kernels (`kernel-program.ts`).
 */
import type { DType, Scalar } from './dtype.js';
import type { KernelProgram } from './kernel-program.js';
import type { CudaFunction, CudaText } from './loop-step.js';

export type Dim3 = readonly [x: number, y: number, z: number];

/** A parameter of the kernel, in its place. */
export type KernelArgument =
  | { readonly input: number }
  | { readonly output: number }
  | { readonly dtype: DType; readonly value: Scalar }
  /** Where the blocks of a part begin along the axis that cuts it, as an unsigned 32-bit number; 0 of a whole. */
  | { readonly firstBlock: true };

export interface KernelOutput {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Its elements before the kernel runs: those of an input, or one value; undefined where it is not given. */
  readonly initial?: { readonly input: number } | { readonly value: Scalar } | undefined;
}

/**
 * The elements of an array in C order that blocks [a, b) touch: from `a · size - before` up to `b · size + after`.
 */
export interface KernelPart {
  readonly size: number;
  readonly before: number;
  readonly after: number;
}

/** How a kernel is run in parts: by blocks along an axis of its grid. */
export interface KernelCuts {
  readonly axis: 'x' | 'y';
  /** Of each input; undefined: every block may read all of it. */
  readonly inputs: readonly (KernelPart | undefined)[];
  readonly outputs: readonly KernelPart[];
}

/** CUDA C by its text. */
export interface CudaCode {
  readonly kind: 'text';
  readonly text: string;
  /** The function, or an instantiation of a template: `saxpy<float>`. */
  readonly entry: string;
  /** Further options of the compiler. */
  readonly options: readonly string[];
  /** The texts of the user's own in it, each behind a `#line` that names its file. */
  readonly userTexts: readonly CudaText[];
}

/** A program of the language of kernels. */
export interface ProgramCode {
  readonly kind: 'program';
  readonly program: KernelProgram;
}

/** Threads of a block of a kernel that is a function of scalars: each has an element. */
export const ELEMENTS_THREADS = 256;

/** A function of scalars in CUDA C, for each element of the outputs. */
export interface ElementsCode {
  readonly kind: 'elements';
  readonly function: CudaFunction;
}

export type KernelCode = CudaCode | ProgramCode | ElementsCode;

export interface UserKernel {
  readonly name: string;
  readonly code: KernelCode;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Dynamic shared memory of a block. */
  readonly sharedByteLength: number;
  readonly arguments: readonly KernelArgument[];
  readonly outputs: readonly KernelOutput[];
  readonly cuts?: KernelCuts | undefined;
  /** Equal keys are equal kernels; the place of a text is no part of it. */
  readonly key: string;
}
