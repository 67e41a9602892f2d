/** Numbers as arguments of launches of kernels. */
import type { LaunchArgument } from '../native/program-types.js';

/** The bytes of a number. */
type Bytes = Extract<LaunchArgument, { readonly bytes: Uint8Array }>;

export const int64 = (value: number): Bytes => ({
  bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer),
});

/** The low 32 bits of a whole number. */
export const int32 = (value: number): Bytes => ({
  bytes: new Uint8Array(Int32Array.of(value).buffer),
});
