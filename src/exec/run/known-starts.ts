/**
 * Starts of blocks of sparse rows (`row-stretches.ts`) of arrays that devices hold. Nothing changes such an array, so that
 * those of a matrix that is used again are computed once.
 */
import type { DeviceBuffer, Expr } from '../../graph/expr.js';
import { blockStarts } from '../../graph/row-stretches.js';

/** The numbers of lines, each an int64 one of starts. */
export type StartsOf = (lines: readonly Expr[]) => Promise<readonly (readonly number[])[]>;

/** By memory, then by the dtype and the length of the array that it is. */
const known = new WeakMap<DeviceBuffer, Map<string, readonly number[]>>();

/** Starts that are an array of a device as it is, or in another dtype. */
interface HeldStarts {
  readonly memory: DeviceBuffer;
  readonly type: string;
}

/** Undefined: the starts are computed, or others may change them. */
export function heldStarts(starts: Expr): HeldStarts | undefined {
  let x = starts;
  while (x.kind === 'cast') x = x.inputs[0]!;
  if (x.kind !== 'source' || x.source.type !== 'device') return undefined;
  return { memory: x.source.buffer, type: `${x.dtype} ${x.shape[0]}` };
}

function keep({ memory, type }: HeldStarts, numbers: readonly number[]): void {
  const own = known.get(memory) ?? new Map<string, readonly number[]>();
  known.set(memory, own.set(type, numbers));
}

/** The starts of the blocks of each line of starts: those that are not known are computed, together, and kept. */
export async function startsOfLines(
  lines: readonly Expr[],
  startsOf: StartsOf,
): Promise<ReadonlyMap<Expr, readonly number[]>> {
  const found = new Map<Expr, readonly number[]>();
  for (const line of lines) {
    const held = heldStarts(line);
    const numbers = held && known.get(held.memory)?.get(held.type);
    if (numbers !== undefined) found.set(line, numbers);
  }
  const others = lines.filter((line) => !found.has(line));
  if (others.length === 0) return found;
  const computed = await startsOf(others.map(blockStarts));
  for (const [k, line] of others.entries()) {
    const held = heldStarts(line);
    if (held !== undefined) keep(held, computed[k]!);
    found.set(line, computed[k]!);
  }
  return found;
}
