import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contractionPath } from '../../src/fusion/passes/contraction-path.js';

type Operands = readonly (readonly number[])[];

/** Least multiplications over all orders, by trying them all. */
function bruteForce(
  operands: Operands,
  output: readonly number[],
  sizeOf: (label: number) => number,
): number {
  if (operands.length === 1) return 0;
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < operands.length; i++) {
    for (let j = i + 1; j < operands.length; j++) {
      const rest = operands.filter((_, k) => k !== i && k !== j);
      const union = [...new Set([...operands[i]!, ...operands[j]!])];
      const needed = new Set([...output, ...rest.flat()]);
      const kept = union.filter((label) => needed.has(label));
      const cost = union.reduce((n, label) => n * sizeOf(label), 1);
      best = Math.min(best, cost + bruteForce([...rest, kept], output, sizeOf));
    }
  }
  return best;
}

describe('the contraction path', () => {
  it('multiplies a chain of matrices from its narrow end', () => {
    const sizes = [1000, 1000, 1000, 2];
    const chain = [
      [0, 1],
      [1, 2],
      [2, 3],
    ];
    const path = contractionPath(chain, [0, 3], (label) => sizes[label]!);
    expect(path.pairs[0]).toEqual([1, 2]);
    expect(path.cost).toBe(2 * 1000 * 1000 * 2);
  });

  it('costs as little as any order does', () => {
    const labels = fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(labels, { minLength: 2, maxLength: 4 }),
        fc.array(fc.integer({ min: 2, max: 9 }), { minLength: 6, maxLength: 6 }),
        fc.nat(63),
        (operands, sizes, kept) => {
          const shared = (label: number): number => operands.filter((o) => o.includes(label)).length;
          const output = [0, 1, 2, 3, 4, 5].filter((label) => shared(label) > 0 && (kept >> label) & 1);
          // Labels of one operand alone are summed before any pair is formed.
          const summed = operands.map((o) =>
            o.filter((label) => shared(label) > 1 || output.includes(label)),
          );
          const sizeOf = (label: number): number => sizes[label]!;
          expect(contractionPath(summed, output, sizeOf).cost).toBe(bruteForce(summed, output, sizeOf));
        },
      ),
    );
  });

  it('orders many operands greedily, each pair once', () => {
    const chain = Array.from({ length: 20 }, (_, k) => [k, k + 1]);
    const { pairs } = contractionPath(chain, [0, 20], () => 4);
    expect(new Set(pairs.flat()).size).toBe(38);
  });
});
