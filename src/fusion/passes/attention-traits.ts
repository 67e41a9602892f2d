/** Attention on a target: which it computes without scores in memory, and when that takes less time. */
import type { DType } from '../../graph/dtype.js';
import type { Kernel } from '../kernel/kernel.js';

export interface AttentionSizes {
  readonly dtype: DType;
  readonly batch: number;
  /** Rows of Q, and of K and V. */
  readonly m: number;
  readonly n: number;
  /** Elements of a row of Q and K, and of V. */
  readonly inner: number;
  readonly width: number;
  readonly isCausal: boolean;
  /** Whether scores are mapped by more than a factor. */
  readonly isMapped: boolean;
}

export interface AttentionTraits {
  /** Whether the routine can map so many scores, which are the kernel's buffer `given`. */
  readonly canMap: (kernel: Kernel, count: number, given: number) => boolean;
  /** The choice between the routine and products with a softmax between them, and the reason, for `explain()`. */
  readonly choose: (sizes: AttentionSizes) => { readonly isOwn: boolean; readonly reason: string };
}
