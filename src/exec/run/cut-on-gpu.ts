/**
 * Results with lengths that are wanted on the host, and may be a small part of their bounds: those that are large up to these
 * are computed, and cut, on a GPU that has room for them. Called by `evaluate.ts` and `compiled-graph.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Expr } from '../../graph/expr.js';
import { sizeOfShape } from '../../graph/graph.js';
import { MemoryError } from '../../host/errors.js';
import type { ChosenDevices } from '../targets/devices.js';
import { LEAST_CUT_BYTES } from './true-sizes.js';

/** Whether results, the last `lengths` of them the others' lengths, are cut where one GPU computes them. */
export const isForCuts = (exprs: readonly Expr[], lengths: number): boolean =>
  lengths > 0 &&
  exprs.reduce((sum, { dtype, shape }) => sum + sizeOfShape(shape) * byteLengthOf(dtype), 0) >=
    LEAST_CUT_BYTES;

export const isOneGpu = ({ devices, isSharded }: ChosenDevices): boolean => !isSharded && !devices[0]!.isHost;

/** The result of a run. Undefined: it had no room, which there may be for another way. */
export async function ifThereIsRoom<T>(run: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MemoryError) return undefined;
    throw error;
  }
}
