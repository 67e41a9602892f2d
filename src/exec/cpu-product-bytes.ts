/**
 * The memory that a matrix product takes on the CPU besides its operands and its result: an upper bound for plans, of what
 * `native/cpu/gemm-blocked.cpp` packs. A BLAS library's own buffers are not in it.
 */
import { byteLengthOf } from '../graph/dtype.js';
import type { MatmulStep } from './plan.js';

const MiB = 2 ** 20;
/** `kPackedByteLimit` of `native/cpu/gemm.h`. */
const MOST_PACKED = 32 * MiB;
/** What a thread has of its own, at most: pieces of panels, and sums of halves. */
const MOST_OF_A_THREAD = MiB;
/** Sums of halves over a long k that are kept apart. */
const MOST_SUMS = 5 * MiB;
/** Panels are filled up: this many rows and columns more at most. */
const PANEL = 64;
/** Halves are packed as float32. */
const LEAST_ELEMENT = 4;

export function cpuProductBytes({ m, n, k, batch, dtype }: MatmulStep, threads: number): number {
  const element = Math.max(byteLengthOf(dtype), LEAST_ELEMENT);
  // Products of a batch may run at the same time, each on a thread.
  const together = Math.min(batch, threads);
  const panels = (m + n + 2 * PANEL) * k * element;
  const sums = byteLengthOf(dtype) < LEAST_ELEMENT ? (m + PANEL) * (n + PANEL) * LEAST_ELEMENT : 0;
  const shared = Math.min(panels, MOST_PACKED) + Math.min(sums, MOST_SUMS);
  const own = Math.min(panels + sums, MOST_OF_A_THREAD);
  // A vector that is not contiguous is copied by each thread.
  const vector = m === 1 || n === 1 ? k * element : 0;
  return together * shared + threads * Math.max(own, vector);
}
