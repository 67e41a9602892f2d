/**
 * The path of a contraction: the order of its pairs, what that costs, and the labels that are sliced where an
 * intermediate would be too large. Called by the pass that lowers contractions, and by `einsumPath`.
 */
import type { Slices } from '../../host/slices.js';
import type { Pair } from './exact-order.js';
import { type Network, ownLabels } from './network.js';
import { pathCost } from './path-steps.js';
import { searchPairs } from './search.js';
import { type Slice, sliceLabels } from './slicing.js';

export interface ContractionPath {
  /** Positions of operands; the result of a pair is appended to the list. */
  readonly pairs: readonly Pair[];
  /** Multiplications and additions in all. */
  readonly operations: number;
  /** Elements of the largest intermediate, the result not among them. */
  readonly largest: number;
  /** Labels that are summed in parts, one after the other. */
  readonly slices: readonly Slice[];
}

/** The most bytes of an intermediate before labels are sliced, where the user says nothing else. */
const MOST_BYTES = 8 * 2 ** 30;

/** The most elements of an intermediate, for elements of so many bytes. */
export const elementLimit = (elementBytes: number, memoryLimit = MOST_BYTES): number =>
  memoryLimit / elementBytes;

/** Paths that are kept, of the networks that take longest: a compute asks for the same one several times. */
const KEPT_PATHS = 32;
const MANY_OPERANDS = 9;
const kept = new Map<string, ContractionPath>();

/**
 * `limit`: the most elements of an intermediate, but no fewer than of the largest operand and the result. Of
 * all orders that keep to it, that with the least work; where none does, labels are sliced.
 */
export function* contractionPath(
  network: Network,
  limit = Number.POSITIVE_INFINITY,
): Slices<ContractionPath> {
  if (network.operands.length < MANY_OPERANDS) return yield* searchedPath(network, limit);
  const { operands, output, sizeOf } = network;
  const sizes = new Map(operands.flat().map((label) => [label, sizeOf(label)]));
  const key = JSON.stringify([operands, output, [...sizes], String(limit)]);
  const path = kept.get(key) ?? (yield* searchedPath(network, limit));
  kept.delete(key); // the one that was asked for last is the last one to go
  kept.set(key, path);
  for (const oldest of kept.keys()) if (kept.size > KEPT_PATHS) kept.delete(oldest);
  return path;
}

function* searchedPath(network: Network, limit: number): Slices<ContractionPath> {
  const own = ownLabels(network);
  const operands = network.operands.map((labels, k) => labels.filter((label) => !own[k]!.includes(label)));
  const summed: Network = { ...network, operands };
  const volumeOf = (labels: readonly number[]): number =>
    labels.reduce((volume, label) => volume * network.sizeOf(label), 1);
  const most = Math.max(limit, volumeOf(network.output), ...network.operands.map(volumeOf));
  const additions = network.operands.reduce(
    (sum, labels, k) => (own[k]!.length > 0 ? sum + volumeOf(labels) : sum),
    0,
  );
  const within = yield* searchPairs(summed, most);
  const cost = pathCost(summed, within);
  if (cost.largest <= most)
    return { pairs: within, slices: [], ...cost, operations: cost.operations + additions };
  const unlimited = yield* searchPairs(summed);
  const { pairs, slices, ...sliced } = yield* sliceLabels(summed, unlimited, most);
  return { pairs, slices, ...sliced, operations: sliced.operations + additions };
}

/** The cost of one operand after the other: multiplications of all, for each element of the whole space. */
export function naiveOperations({ operands, output, sizeOf }: Network): number {
  const labels = new Set(operands.flat());
  const sums = [...labels].some((label) => !output.includes(label)) ? 1 : 0;
  const volume = [...labels].reduce((product, label) => product * sizeOf(label), 1);
  return volume * (Math.max(1, operands.length - 1) + sums);
}
