/**
 * The pairs of a path one by one, with the labels that each spans and keeps, and its work.
 */
import type { Pair } from './exact-order.js';
import type { Network } from './network.js';

/** A pair of a path: the labels that it spans, and those of its result. */
export interface PathStep {
  readonly pair: Pair;
  readonly labels: readonly (readonly number[])[];
  readonly spanned: readonly number[];
  readonly result: readonly number[];
}

/** The pairs of a path with their labels. */
export function pathSteps({ operands, output }: Network, pairs: readonly Pair[]): PathStep[] {
  const list = operands.map((labels): readonly number[] | undefined => labels);
  const uses = new Map<number, number>();
  for (const labels of [...operands, output])
    for (const label of labels) uses.set(label, (uses.get(label) ?? 0) + 1);
  return pairs.map((pair): PathStep => {
    const labels = pair.map((k) => list[k]!);
    for (const k of pair) list[k] = undefined;
    const spanned = [...new Set(labels.flat())];
    const result = spanned.filter((label) => {
      const used = labels.filter((own) => own.includes(label)).length;
      uses.set(label, uses.get(label)! - used + 1);
      return uses.get(label)! > 1;
    });
    list.push(result);
    return { pair, labels, spanned, result };
  });
}

/** Multiplications of a pair, and its additions where it sums. */
export const operationsOf = (
  { spanned, result }: PathStep,
  volumeOf: (labels: readonly number[]) => number,
): number => volumeOf(spanned) * (result.length < spanned.length ? 2 : 1);

/** The work of a path, and the elements of its largest intermediate. */
export function pathCost(
  network: Network,
  pairs: readonly Pair[],
): { readonly operations: number; readonly largest: number } {
  const volumeOf = (labels: readonly number[]): number =>
    labels.reduce((volume, label) => volume * network.sizeOf(label), 1);
  const steps = pathSteps(network, pairs);
  const operations = steps.reduce((sum, step) => sum + operationsOf(step, volumeOf), 0);
  const largest = steps.slice(0, -1).reduce((most, { result }) => Math.max(most, volumeOf(result)), 0);
  return { operations, largest };
}
