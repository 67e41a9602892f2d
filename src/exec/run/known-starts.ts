/**
 * Starts of blocks of sparse rows (`row-stretches.ts`) of arrays that devices hold. Nothing changes such an array, so that
 * those of a matrix that is used again are computed once.
 */
import type { DeviceBuffer, Expr } from '../../graph/expr.js';
import { blockStarts, startLines } from '../../graph/row-stretches.js';

/** Computes the numbers of int64 lines before a job that needs them, and keeps those of one compute. */
export interface NumbersAhead {
  readonly compute: (lines: readonly Expr[]) => Promise<readonly (readonly number[])[]>;
  readonly found: FoundNumbers;
}

/** Numbers of a compute, by line: what is computed before a job has such lines itself, which are computed once. */
export type FoundNumbers = Map<Expr, readonly number[]>;

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

/** Finds the starts of the blocks of each line of starts: those that are not known are computed, and kept. */
export async function findStarts(lines: readonly Expr[], ahead: NumbersAhead): Promise<void> {
  const { found } = ahead;
  for (const line of lines) {
    const held = heldStarts(line);
    const numbers = held && known.get(held.memory)?.get(held.type);
    if (numbers !== undefined) found.set(blockStarts(line), numbers);
  }
  await findNumbers(lines.map(blockStarts), ahead);
  for (const line of lines) {
    const held = heldStarts(line);
    if (held !== undefined) keep(held, found.get(blockStarts(line))!);
  }
}

/**
 * Finds the numbers of lines. Rows of a matrix that others are computed from are counted first, so that a chain of matrices,
 * of which each is computed from the one before, is not counted again for each of them.
 */
export async function findNumbers(lines: readonly Expr[], { compute, found }: NumbersAhead): Promise<void> {
  for (;;) {
    const others = [...new Set(lines)].filter((line) => !found.has(line));
    if (others.length === 0) return;
    const unknown = new Set(others);
    const first = others.filter((line) => !startLines(line).some((own) => own !== line && unknown.has(own)));
    const computed = await compute(first);
    for (const [k, line] of first.entries()) found.set(line, computed[k]!);
  }
}
