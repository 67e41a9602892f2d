/**
 * Short reductions, which combine their elements one after the other, in C order: in kernels of their own, in whatever layout,
 * beside others, and written out as ops inside another kernel (`unroll-reductions.ts`).
 *
 *     sum of 6: ((((x0 + x1) + x2) + x3) + x4) + x5
 *     rows      a thread has x0 and x1, its neighbours x2 and x3, x4 and x5: they meet in turn (`printers/in-turn.ts`)
 *     columns   a thread has a column, as it does with a row whose elements come one by one
 */
import { hasMonoid } from '../../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { COMBINING_OPS, type ReductionName, SHORT_REDUCTION } from '../../../graph/reductions.js';

/** Whether the reductions of a kernel are short. Elements of a user's monoid keep their order in any case. */
export const isShort = (kernel: Kernel): boolean =>
  kernel.reduced.length > 0 && product(kernel.reduced) <= SHORT_REDUCTION && !hasMonoid(kernel);

/** Whether a reduction of a kernel takes up its elements in turn: accumulators of several values do not. */
export const isInTurn = (kernel: Kernel, name: ReductionName): boolean =>
  COMBINING_OPS[name] !== undefined && isShort(kernel);
