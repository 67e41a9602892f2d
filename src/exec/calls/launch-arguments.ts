/** Numbers as arguments of launches of kernels. */
import type { LaunchArgument } from '../native/program-types.js';

export const int64 = (value: number): LaunchArgument => ({
  bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer),
});

/** The low 32 bits of a whole number. */
export const int32 = (value: number): LaunchArgument => ({
  bytes: new Uint8Array(Int32Array.of(value).buffer),
});
