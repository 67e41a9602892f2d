/** HostResult: a result of a compute that came to the host. Made by `evaluate.ts` and `small-calls.ts`. */
import type { DType } from '../../graph/dtype.js';
import type { Shape, TypedArray } from '../../graph/expr.js';
import type { HeldElements } from '../native/held-elements.js';

/** A result in host memory, contiguous in C order. */
export interface HostResult {
  readonly data: TypedArray | HeldElements;
  /** Frozen: it becomes the user's. */
  readonly shape: Shape;
  readonly dtype: DType;
}
