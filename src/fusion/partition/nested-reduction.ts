/**
 * Whether a kernel only reduces what another one gives by the reduction that gave it, so that both would be one reduction
 * over more axes: `x.sum(1).sum()`, or `x.mean(1).mean()`. Called by `merge.ts`.
 */

import { loadOf } from '../kernel/algebra.js';
import { castValueOf, constantOf, opOf, reductionOf } from '../kernel/arithmetic.js';
import { argumentsOf, type Instruction } from '../kernel/kernel.js';
import type { BufferKey } from './buffer-key.js';
import type { MutableKernel } from './mutable-kernel.js';

/** Reductions that give the same over all axes as over some and then over the others. */
const NESTED: ReadonlySet<string> = new Set(['sum', 'prod', 'min', 'max', 'any', 'all']);

type Tape = readonly Instruction[];

/** The instruction that a value is but for casts, and of a sum but for a constant factor. */
function scaledValue(tape: Tape, value: number, isSum: boolean): Instruction {
  let at = value;
  for (;;) {
    const i = tape[at]!;
    const cast = castValueOf(i);
    if (cast !== undefined) {
      at = cast;
      continue;
    }
    const op = opOf(i);
    if (!isSum || (op !== 'multiply' && op !== 'divide')) return i;
    const [a, b] = argumentsOf(i) as readonly [number, number];
    if (constantOf(tape[b]!) !== undefined) at = a;
    else if (op === 'multiply' && constantOf(tape[a]!) !== undefined) at = b;
    else return i;
  }
}

/** `key`: a value of the first that the second reads. */
export function isNested(first: MutableKernel, second: MutableKernel, key: BufferKey): boolean {
  const store = first.storeOf(key);
  if (store === undefined || second.uses.filter(({ loads }) => loads.length > 0).length > 1) return false;
  const name = reductionOf(scaledValue(first.tape, store.value, true));
  if (name === undefined || !NESTED.has(name)) return false;
  const reductions = second.tape.filter((i) => reductionOf(i) !== undefined);
  return reductions.every(
    (i) =>
      reductionOf(i) === name &&
      loadOf(scaledValue(second.tape, argumentsOf(i)[0]!, name === 'sum')) !== undefined,
  );
}
