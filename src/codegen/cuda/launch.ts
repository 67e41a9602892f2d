/**
 * The parts of a CUDA launch as plain data: the CUDA program builder makes launch steps and scratch
 * buffers of it.
 */

export type Dim3 = readonly [number, number, number];

/**
 * Of a launch: a buffer of the kernel, a scratch buffer, bytes by value (a constant or a size), or where the
 * launch's blocks start in the grid of the whole (an unsigned 32-bit number; 0 where all of it runs).
 */
export type CudaArgument =
  | { readonly buffer: number }
  | { readonly scratch: number }
  | BytesArgument
  | { readonly block: 'x' | 'y' }
  /** Of buffers that are taken from in windows: the indices [first, last) that are there (signed 64-bit numbers). */
  | { readonly block: 'first' | 'last' }
  /** The steps of a loop that the launch does (an unsigned 32-bit number). */
  | { readonly steps: true }
  /** The steps of the loop that were done before the launch (a signed 64-bit number). */
  | { readonly done: true };

export interface BytesArgument {
  readonly bytes: Uint8Array;
  /** Of a constant that comes with a run: its position among those. */
  readonly number?: number | undefined;
  /** Of a constant: its position in the kernel's tape. */
  readonly constant?: number | undefined;
}

export interface CudaLaunch {
  readonly function: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Dynamic shared memory. */
  readonly sharedByteLength: number;
  readonly args: readonly CudaArgument[];
}

/** Blocks and threads of a launch: a schedule knows them before anything is printed. */
export type LaunchShape = Pick<CudaLaunch, 'grid' | 'block'>;

export interface Scratch {
  readonly byteLength: number;
  /** Whether it has to hold zeros when the first launch starts. */
  readonly zeroed: boolean;
}
