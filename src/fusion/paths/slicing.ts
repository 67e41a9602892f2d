/**
 * Chooses labels to slice: a sliced label is summed in parts, each a contraction of slices, so that its axis is
 * short in every intermediate.
 *
 *     ab,bc,cd->ad with b in 4 parts   →   Σ over 4 parts of  a(b/4),(b/4)c,cd->ad
 *
 * Pairs below which no operand has a sliced label are computed once. Only summed labels are sliced: with all
 * of them, an intermediate is no larger than the result. Called by `contraction-path.ts`.
 */
import type { Slices } from '../../host/slices.js';
import type { Pair } from './exact-order.js';
import type { Network } from './network.js';
import { operationsOf, type PathStep, pathSteps } from './path-steps.js';
import { searchPairs, searchSteps } from './search.js';

/** A label, and the number of parts that it is summed in; they differ in length by one at most. */
export interface Slice {
  readonly label: number;
  readonly parts: number;
}

/** Parts in all, each a subgraph of its own: of eight labels at most. */
const MOST_PARTS = 256;

/** An intermediate that is so many times as large as it may be is not sliced: other orders gain little of that. */
const MOST_EXCESS = 2 ** 16;
/** Part of the effort of a first search that goes into the one after each slice. */
const SEARCH_SHARE = 0.25;

export interface SlicedPath {
  readonly pairs: readonly Pair[];
  readonly slices: readonly Slice[];
  /** Of all parts. */
  readonly operations: number;
  readonly largest: number;
}

/** The pairs of an order with their steps, which do not depend on sizes. */
interface StepList {
  readonly pairs: readonly Pair[];
  readonly steps: readonly PathStep[];
}

interface SlicedSteps extends SlicedPath {
  readonly steps: readonly PathStep[];
}

/** Slices labels until no intermediate has more than `limit` elements, or there would be too many parts. */
export function* sliceLabels(network: Network, pairs: readonly Pair[], limit: number): Slices<SlicedPath> {
  const orderOf = (found: readonly Pair[]): StepList => ({ pairs: found, steps: pathSteps(network, found) });
  let path = slicedCost(network, orderOf(pairs), []);
  while (path.largest > limit && path.largest <= MOST_EXCESS * limit) {
    const next = bestSlice(network, path, limit);
    if (next === undefined) break;
    // With a label short, another order may be cheaper.
    const effort = SEARCH_SHARE * searchSteps(network.operands.length);
    const order = yield* searchPairs(slicedNetwork(network, next.slices), limit, effort);
    const again = slicedCost(network, orderOf(order), next.slices);
    path = again.largest <= next.largest && again.operations < next.operations ? again : next;
  }
  const { steps: _, ...found } = path;
  return found;
}

/** Of the summed labels of the largest intermediate the one whose parts cost least. */
function bestSlice(network: Network, path: SlicedSteps, limit: number): SlicedSteps | undefined {
  const { steps, slices, largest } = path;
  const done = slices.reduce((product, { parts }) => product * parts, 1);
  const short = slicedNetwork(network, slices);
  const volumeOf = volumeIn(short);
  const labels = steps.slice(0, -1).find(({ result }) => volumeOf(result) === largest)!.result;
  let best: SlicedSteps | undefined;
  for (const label of labels) {
    if (network.output.includes(label) || slices.some((slice) => slice.label === label)) continue;
    const size = network.sizeOf(label);
    const parts = Math.min(size, Math.ceil(size / Math.max(1, Math.floor((size * limit) / largest))));
    if (parts < 2 || done * parts > MOST_PARTS) continue;
    const tried = slicedCost(network, path, [...slices, { label, parts }]);
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

function slicedCost(network: Network, { pairs, steps }: StepList, slices: readonly Slice[]): SlicedSteps {
  const volumeOf = volumeIn(slicedNetwork(network, slices));
  const partsOf = partsBelow(network, steps, slices);
  const operations = steps.reduce((sum, step, k) => sum + operationsOf(step, volumeOf) * partsOf[k]!, 0);
  const largest = steps.slice(0, -1).reduce((most, { result }) => Math.max(most, volumeOf(result)), 0);
  return { pairs, steps, slices, operations, largest };
}

/** How often each pair is computed: once for every part of the sliced labels below it. */
function partsBelow({ operands }: Network, steps: readonly PathStep[], slices: readonly Slice[]): number[] {
  const slicesIn = (labels: readonly number[]): number =>
    slices.reduce((found, { label }, k) => (labels.includes(label) ? found | (1 << k) : found), 0);
  const below = operands.map(slicesIn);
  return steps.map(({ pair: [i, j] }) => {
    const all = below[i]! | below[j]!;
    below.push(all);
    return slices.reduce((product, { parts }, k) => ((all >> k) & 1 ? product * parts : product), 1);
  });
}
