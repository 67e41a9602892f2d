/**
 * Quotients of bfloat16, which a kernel computes in float32 and rounds: an approximate reciprocal is enough for the same
 * bits (`prelude-fast-paths.ts`), in half the instructions of a correctly rounded division.
 */
import { castValueOf, opOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Kernel } from '../../fusion/kernel/kernel.js';

/** The positions of divisions of numbers of bfloat16 whose quotients are rounded to it, and read by nothing else. */
export function bfloatQuotients({ tape, stores }: Kernel): ReadonlySet<number> {
  const found = new Set<number>();
  const isOf = (argument: number): boolean => {
    const of = castValueOf(tape[argument]!);
    return of !== undefined && tape[of]!.dtype === 'bfloat16';
  };
  tape.forEach((i, position) => {
    if (opOf(i) === 'divide' && i.dtype === 'float32' && argumentsOf(i).every(isOf)) found.add(position);
    if (castValueOf(i) !== undefined && i.dtype === 'bfloat16') return;
    for (const argument of argumentsOf(i)) found.delete(argument);
  });
  for (const { value } of stores) found.delete(value);
  return found;
}
