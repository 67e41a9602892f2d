/**
 * Places along an axis as indexing computes them, counted from the end where they are negative and clipped to the axis
 * (`fusion/partition/gathers.ts`), which the CPU has one function for: of five instructions each would write its block of
 * int64 to the cache and read that of the one before. Called by `tape-fuse.ts`.
 *
 *     minimum(maximum(where(less(x, 0), add(x, size), x), 0), last)  →  placeWithin(x, size, last)
 */
import { isConstantThat, opOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Kernel } from '../../fusion/kernel/kernel.js';
import type { OpName } from '../../graph/ops.js';
import { isZeroInteger } from '../../graph/runtime-scalar.js';

export const PLACE_WITHIN = 'placeWithin';

export interface PlaceWithin {
  /** The values that the function takes. */
  readonly args: readonly number[];
  /** The instructions that are computed inside it. */
  readonly inner: readonly number[];
}

/** The function in the place of an instruction; undefined: it is no such place. */
export function placeWithin({ tape }: Kernel, outer: number): PlaceWithin | undefined {
  const argsOf = (i: number, op: OpName): readonly number[] =>
    tape[i]!.dtype === 'int64' && opOf(tape[i]!) === op ? argumentsOf(tape[i]!) : [];
  const isZero = (i: number | undefined): boolean =>
    i !== undefined && isConstantThat(tape[i]!, isZeroInteger);
  const [clipped, last] = argsOf(outer, 'minimum');
  if (clipped === undefined || last === undefined) return undefined;
  const [chosen, zero] = argsOf(clipped, 'maximum');
  if (chosen === undefined || !isZero(zero)) return undefined;
  const [isNegative, added, x] = argsOf(chosen, 'where');
  if (isNegative === undefined || added === undefined || x === undefined) return undefined;
  const [before, size] = argsOf(added, 'add');
  const [compared, limit] = opOf(tape[isNegative]!) === 'less' ? argumentsOf(tape[isNegative]!) : [];
  if (before !== x || compared !== x || size === undefined || !isZero(limit)) return undefined;
  return { args: [x, size, last], inner: [isNegative, added, chosen, clipped] };
}
