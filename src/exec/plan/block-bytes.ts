/**
 * Bytes that blocks of memory take of a device, as its pool rounds them. Mirrors
 * `native/runtime/host-pool.cpp` and `native/cuda/pool.cpp`. Called by `program-cpu.ts` and
 * `program-cuda.ts`.
 */
const KiB = 2 ** 10;
const MiB = 2 ** 20;

const roundUp = (bytes: number, step: number): number => Math.ceil(bytes / step) * step;

/** Host memory that a run works in: cache lines, from 64 KiB on pages. */
export const hostBlockBytes = (bytes: number): number => roundUp(bytes, bytes < 64 * KiB ? 64 : 4 * KiB);

/** Steps of sizes from one power of two to the next. */
const STEPS = 128;

/** Memory of a GPU: less than a hundredth is lost, but 512 bytes are the least. */
export function cudaBlockBytes(bytes: number): number {
  const power = 2 ** Math.floor(Math.log2(Math.max(1, bytes)));
  return roundUp(bytes, Math.min(2 * MiB, Math.max(512, power / STEPS)));
}
