/**
 * The typed mirror of the native addon, and the only place that loads it.
 *
 * A program is created once from plain data and run many times. All waiting, copying and computing happens on native
 * threads; calls that take time return promises.
 */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NativeError } from '../errors.js';
import type { DeviceBuffer, TypedArray } from '../graph/expr.js';
import type { MatrixOperand } from './plan.js';
import type { TapeSpec } from '../codegen/tape.js';

export interface BufferSpec {
  readonly role: 'input' | 'output' | 'temporary';
  readonly byteLength: number;
  /** Byte offset in the arena, for temporaries. */
  readonly offset: number;
}

/** An argument of a CUDA kernel: a buffer's address, or the bytes of a scalar. */
export type LaunchArgument = { readonly buffer: number } | { readonly bytes: Uint8Array };

export type StepSpec =
  | { readonly kind: 'tape'; readonly tape: TapeSpec; readonly buffers: readonly number[] }
  | {
      readonly kind: 'launch';
      /** Position in `images`. */
      readonly image: number;
      readonly function: string;
      readonly grid: readonly [number, number, number];
      readonly block: readonly [number, number, number];
      /** Dynamic shared memory. */
      readonly sharedByteLength: number;
      readonly args: readonly LaunchArgument[];
    }
  | {
      readonly kind: 'matmul';
      /** Code of the dtype (`dtypeCode`). */
      readonly dtype: number;
      readonly m: number;
      readonly n: number;
      readonly k: number;
      readonly batch: number;
      readonly a: MatrixOperand;
      readonly b: MatrixOperand;
      readonly c: MatrixOperand;
    }
  /** Sets a buffer's bytes to 0. */
  | { readonly kind: 'zero'; readonly buffer: number };

export interface ProgramSpec {
  /** `cpu` or `cuda:N`. */
  readonly device: string;
  readonly buffers: readonly BufferSpec[];
  readonly arenaByteLength: number;
  /** Device code (cubin); `key` identifies it, so that a module is loaded once per device. */
  readonly images: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  readonly steps: readonly StepSpec[];
}

/** Opaque; freed by the collector. */
export interface NativeProgram {
  readonly __program: unique symbol;
}

export interface RunOptions {
  /** Where results are wanted: in host memory (ArrayBuffer) or on the device (DeviceBuffer), for each output buffer. */
  readonly outputs: readonly ('host' | 'device')[];
  /** Token made by `createCancel`, or undefined. */
  readonly cancel?: object | undefined;
}

export interface RunResult {
  /** One for each buffer of role `output`, in the order of `ProgramSpec.buffers`. */
  readonly outputs: readonly (ArrayBuffer | DeviceBuffer)[];
  /** Time on the device's executor, from the first copy to the last, in nanoseconds. */
  readonly nanoseconds: number;
}
