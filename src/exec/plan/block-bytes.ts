/**
 * Bytes that blocks of memory take of a device, as its pool rounds them (`native/runtime/host-pool.cpp`,
 * `native/cuda/pool.cpp`). Called by the models of targets.
 */
import {
  DEVICE_LEAST_STEP,
  DEVICE_MOST_STEP,
  DEVICE_STEPS,
  HOST_ALIGNMENT,
  HOST_GRANULE,
  HOST_LEAST_PAGED,
  HOST_PAGE,
} from '../../shared/layout.js';

const roundUp = (bytes: number, step: number): number => Math.ceil(bytes / step) * step;

/** Host memory that a run works in: cache lines, and pages of larger blocks. */
export const hostBlockBytes = (bytes: number): number =>
  roundUp(bytes, bytes < HOST_LEAST_PAGED ? HOST_ALIGNMENT : HOST_PAGE);

/** Host memory of a result. */
export const hostResultBytes = (bytes: number): number =>
  roundUp(bytes, bytes < HOST_LEAST_PAGED ? HOST_ALIGNMENT : HOST_GRANULE);

/** Memory of a GPU: less than a hundredth is lost, but the least step is the least. */
export function cudaBlockBytes(bytes: number): number {
  const power = 2 ** Math.floor(Math.log2(Math.max(1, bytes)));
  return roundUp(bytes, Math.min(DEVICE_MOST_STEP, Math.max(DEVICE_LEAST_STEP, power / DEVICE_STEPS)));
}
