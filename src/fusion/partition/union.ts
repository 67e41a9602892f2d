/**
 * Union: how two kernels become one, or the reason why they stay apart. Found by `merge.ts`, within
 * `merge-limits.ts`.
 */
import type { BufferKey } from './buffer-key.js';
import type { MutableKernel } from './mutable-kernel.js';

/** Why two kernels stay apart. Stable codes: `explain()` reports one for each edge that was not fused. */
export type Reason =
  /** The consumer reads the value at another place than where it is made (shifted, transposed). */
  | 'read-elsewhere'
  /** The consumer reads the value at places that depend on data. */
  | 'looked-up'
  /** The consumer reads the value at several places, at each of which it would be computed again. */
  | 'read-around'
  /** Read at several places by another kernel, and so small that it is in a cache until then: of plans, not of kernels. */
  | 'in-cache'
  /** The consumer walks a domain that does not line up with the producer's. */
  | 'domain-mismatch'
  /** One of two steps reads a part of the array alone, as a slice, so that they walk other shapes. */
  | 'part-read'
  /** The value would be computed again for each element it is broadcast to. */
  | 'broadcast-recompute'
  /** A reduction of the results of the same reduction over other axes. */
  | 'nested-reduction'
  /** A reduction along an axis of the results of another one, each of which has a walk of its own. */
  | 'reduced-first'
  /** A row that is reduced and read again is too long to stay on the chip. */
  | 'row-too-long'
  /** Too few rows to fill the device with one block for each. */
  | 'too-few-rows'
  /** A sum would meet its elements in another order than alone, and have other bits. */
  | 'sum-order'
  /** The kernel would have too many instructions. */
  | 'instruction-limit'
  /** The kernel would walk its rows too often. */
  | 'phase-limit'
  /** The kernel would have too many buffers. */
  | 'buffer-limit'
  /** Another kernel has to run between the two. */
  | 'kernel-between'
  /** One side is a library call. */
  | 'library-call'
  /** Several routines read the value, each of which could compute it alone: of plans, not of kernels. */
  | 'several-calls'
  /** One side is a product of many terms, which is computed from memory. */
  | 'product-call'
  /** One side is attention, which reads keys and values again for each block of queries. */
  | 'attention-call'
  /** The producer only copies an operand into an order in which a call reads it. */
  | 'operand-copy'
  /** One side is a loop: its states are in memory. */
  | 'loop'
  /** A map beside a reduction that stores what it reads side by side at places far apart. */
  | 'turned-store'
  /** Siblings that share no input at the same places, or in maps a little apart. */
  | 'no-shared-input'
  /** Siblings, or a step and its reader, that reduce over different axes. */
  | 'other-axes'
  /** A step that needs a result of the other, perhaps through others, and reads what that has read again. */
  | 'needs-result'
  /** Siblings of so many others that read the array that they were not compared. */
  | 'many-readers';

/** How two kernels become one: the domain, and where each one's axes are in it. */
export interface Union {
  readonly first: MutableKernel;
  readonly second: MutableKernel;
  readonly axisOfFirst: readonly number[];
  readonly axisOfSecond: readonly number[];
  readonly parallel: readonly number[];
  readonly reduced: readonly number[];
}

export type Merge = Union | { readonly reason: Reason };

/** Whether a value must still be stored once the two kernels are one. */
export type IsLiveOut = (key: BufferKey) => boolean;
