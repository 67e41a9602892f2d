/**
 * Folds of rows as device functions, for routines of which a warp has a row: each lane folds its elements four by four, then
 * lanes exchange, in the order of `printers/reduce-kernel.ts`, so that bits do not say which of them reduced.
 */
import type { Kernel } from '../../../fusion/kernel/kernel.js';
import { isComplex } from '../../../graph/dtype.js';
import { type RowFold, rowFoldOf } from '../../cuts/row-fold.js';
import type { CudaArgument } from '../launch.js';
import { monoidOf } from '../monoids.js';
import { WARP } from '../schedules/limits.js';
import { scheduleOf } from '../schedules/schedule.js';
import { type ElementFunction, elementFunction } from './element-function.js';

/** Elements that a lane folds side by side. */
const WIDTH = 4;

export interface FoldFunction {
  /** With `weft_fold` of two accumulators and `weft_fold_lanes` of a warp's. */
  readonly element: ElementFunction;
  readonly result: ElementFunction;
  /** Of accumulators. */
  readonly type: string;
  readonly identity: string;
}

/** The fold that a kernel is of rows that a warp has, in the order in which it would reduce by itself. */
export function warpFoldOf(kernel: Kernel, given: number): RowFold | undefined {
  const schedule = scheduleOf(kernel);
  if (schedule.kind !== 'reduce' || schedule.mapping !== 'rows' || schedule.slots > 1) return undefined;
  if (schedule.threadsR !== WARP || schedule.width !== WIDTH || schedule.staged) return undefined;
  const fold = rowFoldOf(kernel, given);
  return fold === undefined || isComplex(fold.dtype) ? undefined : fold;
}

export function foldFunction(kernel: Kernel, given: number): FoldFunction {
  const fold = warpFoldOf(kernel, given)!;
  const { type, identity, combine } = monoidOf(fold.name, fold.dtype, false);
  const element = elementFunction(fold.element, 'weft_folded', given);
  const folds = `
__device__ __forceinline__ ${type} weft_fold(${type} a, ${type} b) { return ${combine('a', 'b')}; }
__device__ __forceinline__ ${type} weft_fold_lanes(${type} a) {
  #pragma unroll
  for (int other = ${WARP / 2}; other >= 1; other >>= 1) a = weft_fold(a, weft_exchange(a, other));
  return a;
}
`;
  return {
    element: { ...element, text: element.text + folds },
    result: elementFunction(fold.result, 'weft_of_row', fold.reduced),
    type,
    identity,
  };
}

export const foldArguments = ({ element, result }: FoldFunction): readonly CudaArgument[] => [
  ...element.args,
  ...result.args,
];

/** The accumulators of a lane. */
export const printFoldBegin = ({ type, identity }: FoldFunction): string => `  ${type} folded[${WIDTH}];
  #pragma unroll
  for (int e = 0; e < ${WIDTH}; ++e) folded[e] = ${identity};
`;

/** Element e of four at a place joins its accumulator. */
export const printFoldElement = ({ element }: FoldFunction, at: string, value: string): string =>
  `folded[e] = weft_fold(folded[e], ${element.call(at, value)})`;

/** The lanes' accumulators as one, whose result the first lane writes. */
export const printFoldEnd = ({ result }: FoldFunction, row: string): string => `  #pragma unroll
  for (int e = 1; e < ${WIDTH}; ++e) folded[0] = weft_fold(folded[0], folded[e]);
  folded[0] = weft_fold_lanes(folded[0]);
  if (lane == 0) out[${row}] = ${result.call(row, 'folded[0]')};
`;
