/**
 * Chooses labels to slice: a sliced label is summed in parts, each a contraction of slices, so that its axis is
 * short in every intermediate.
 *
 *     ab,bc,cd->ad with b in 4 parts   →   Σ over 4 parts of  a(b/4),(b/4)c,cd->ad
 *
 * Pairs below which no operand has a sliced label are computed once. Only summed labels are sliced: with all
 * of them, an intermediate is no larger than the result. Called by `contraction-path.ts`.
 */
import type { Pair } from './exact-order.js';
import type { Network } from './network.js';
import { operationsOf, type PathStep, pathSteps } from './path-steps.js';
import { searchPairs } from './search.js';

/** A label, and the number of parts that it is summed in; they differ in length by one at most. */
export interface Slice {
  readonly label: number;
  readonly parts: number;
}

/** Parts in all: each is a subgraph of its own. */
const MOST_PARTS = 256;

export interface SlicedPath {
  readonly pairs: readonly Pair[];
  readonly slices: readonly Slice[];
  /** Of all parts. */
  readonly operations: number;
  readonly largest: number;
}

/** Slices labels until no intermediate has more than `limit` elements, or there would be too many parts. */
export function sliceLabels(network: Network, pairs: readonly Pair[], limit: number): SlicedPath {
  let path = slicedCost(network, pairs, []);
  while (path.largest > limit) {
    const next = bestSlice(network, path, limit);
    if (next === undefined) return path;
    // With a label short, another order may be cheaper.
    const order = searchPairs(slicedNetwork(network, next.slices), limit);
    const again = slicedCost(network, order, next.slices);
    path = again.largest <= next.largest && again.operations < next.operations ? again : next;
  }
  return path;
}

/** Of the summed labels of the largest intermediate the one whose parts cost least. */
function bestSlice(
  network: Network,
  { pairs, slices, largest }: SlicedPath,
  limit: number,
): SlicedPath | undefined {
  const done = slices.reduce((product, { parts }) => product * parts, 1);
  const short = slicedNetwork(network, slices);
  const volumeOf = volumeIn(short);
  const steps = pathSteps(short, pairs).slice(0, -1);
  const labels = steps.filter(({ result }) => volumeOf(result) === largest)[0]!.result;
  let best: SlicedPath | undefined;
  for (const label of labels) {
    if (network.output.includes(label) || slices.some((slice) => slice.label === label)) continue;
    const size = network.sizeOf(label);
    const parts = Math.min(size, Math.ceil(size / Math.max(1, Math.floor((size * limit) / largest))));
    if (parts < 2 || done * parts > MOST_PARTS) continue;
    const tried = slicedCost(network, pairs, [...slices, { label, parts }]);
    if (best === undefined || tried.operations < best.operations) best = tried;
  }
  return best;
}

const volumeIn =
  ({ sizeOf }: Network) =>
  (labels: readonly number[]): number =>
    labels.reduce((volume, label) => volume * sizeOf(label), 1);

/** The network of one part, the longest. */
function slicedNetwork(network: Network, slices: readonly Slice[]): Network {
  const parts = new Map(slices.map((slice) => [slice.label, slice.parts]));
  const sizeOf = (label: number): number => Math.ceil(network.sizeOf(label) / (parts.get(label) ?? 1));
  return { ...network, sizeOf };
}

function slicedCost(network: Network, pairs: readonly Pair[], slices: readonly Slice[]): SlicedPath {
  const short = slicedNetwork(network, slices);
  const volumeOf = volumeIn(short);
  const steps = pathSteps(short, pairs);
  const partsOf = partsBelow(network, steps, slices);
  const operations = steps.reduce((sum, step, k) => sum + operationsOf(step, volumeOf) * partsOf[k]!, 0);
  const largest = steps.slice(0, -1).reduce((most, { result }) => Math.max(most, volumeOf(result)), 0);
  return { pairs, slices, operations, largest };
}

/** How often each pair is computed: once for every part of the sliced labels below it. */
function partsBelow({ operands }: Network, steps: readonly PathStep[], slices: readonly Slice[]): number[] {
  const below = operands.map((labels) => new Set(labels));
  return steps.map(({ pair: [i, j] }) => {
    const all = new Set([...below[i]!, ...below[j]!]);
    below.push(all);
    return slices.reduce((product, { label, parts }) => (all.has(label) ? product * parts : product), 1);
  });
}
