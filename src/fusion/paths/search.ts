/**
 * Searches the order of the pairs of a network: exactly for a few operands, by many greedy orders and their
 * improvement beyond, as many as a bound on the work allows. The result depends on the network alone, not on time.
 */
import type { Slices } from '../../host/slices.js';
import { exactOrder, type Pair } from './exact-order.js';
import { greedyPairs, randomFrom } from './greedy-order.js';
import { type Effort, OrderTree } from './improve-order.js';
import { type IndexSets, indexSets, type Network } from './network.js';

/** Operands of an exact search. */
const MAX_EXACT = 14;
/** Fewer are searched without a first guess that bounds the search. */
const FEW = 8;
/** Leaves of the subtrees that are improved, and those of the best tree in the end. */
const LEAVES = 7;
const LAST_LEAVES = 8;
const MOST_ROUNDS = 24;
/** Of a greedy order, for each word of an operand. */
const GREEDY_STEPS = 15;
/** Greedy orders, and the noise of each by turns. */
const ORDERS = 12;
const TEMPERATURES = [0, 0.5, 1, 2];
/** Pairs of subsets that a search beyond the exact ones looks at, of a few nanoseconds each: some 20 ms for 40 operands. */
export const searchSteps = (operands: number): number => 2 ** 21 + 2 ** 13 * operands;
/** Of the effort: for the first order, and for the best one in the end. */
const FIRST_SHARE = 0.4;
const LAST_SHARE = 0.15;

/**
 * The pairs of the order with the least work in which no intermediate has more than `limit` elements, if any.
 * `steps`: the bound on the work of finding it, where that is not exact.
 */
export function* searchPairs(
  network: Network,
  limit = Number.POSITIVE_INFINITY,
  steps = searchSteps(network.operands.length),
): Slices<Pair[]> {
  const count = network.operands.length;
  if (count < 2) return [];
  if (count === 2) return [[0, 1]];
  if (count <= MAX_EXACT) return yield* exactPairs(indexSets(network), limit, count);
  const components = componentsOf(network);
  return components.length === 1
    ? yield* improvedPairs(indexSets(network), limit, steps)
    : yield* byComponent(network, components, limit, steps);
}

function* exactPairs(sets: IndexSets, limit: number, count: number): Slices<Pair[]> {
  if (count <= FEW) return [...(yield* exactOrder(sets, limit))!.pairs];
  const guess = yield* improved(sets, limit, 0, { left: searchSteps(count) });
  return [...((yield* exactOrder(sets, limit, guess.cost))?.pairs ?? guess.pairs())];
}

/** A greedy order with its subtrees improved; number 0 is without noise. */
function* improved(sets: IndexSets, limit: number, number: number, effort: Effort): Slices<OrderTree> {
  const temperature = TEMPERATURES[number % TEMPERATURES.length]!;
  const tree = new OrderTree(sets, greedyPairs(sets, randomFrom(number), temperature), limit);
  effort.left -= GREEDY_STEPS * sets.operands.length;
  yield* tree.improve(LEAVES, MOST_ROUNDS, effort);
  return tree;
}

function* improvedPairs(sets: IndexSets, limit: number, steps: number): Slices<Pair[]> {
  const first = { left: steps * FIRST_SHARE };
  let best = yield* improved(sets, limit, 0, first);
  const others = { left: first.left + steps * (1 - FIRST_SHARE - LAST_SHARE) };
  for (let k = 1; k < ORDERS && others.left > 0; k++) {
    const tree = yield* improved(sets, limit, k, others);
    if (tree.cost < best.cost) best = tree;
  }
  yield* best.improve(LAST_LEAVES, 2, { left: others.left + steps * LAST_SHARE });
  return best.pairs();
}

/** The operands that share labels, directly or through others. */
function componentsOf({ operands }: Network): number[][] {
  const root = operands.map((_, k) => k);
  const find = (k: number): number => {
    let at = k;
    while (root[at] !== at) at = root[at] = root[root[at]!]!;
    return at;
  };
  const first = new Map<number, number>();
  for (const [k, labels] of operands.entries()) {
    for (const label of labels) {
      const other = first.get(label);
      if (other === undefined) first.set(label, k);
      else root[find(k)] = find(other);
    }
  }
  const found = new Map<number, number[]>();
  for (const k of operands.keys()) found.set(find(k), [...(found.get(find(k)) ?? []), k]);
  return [...found.values()];
}

/** Each component by itself, then their results, which share nothing. */
function* byComponent(
  network: Network,
  components: readonly (readonly number[])[],
  limit: number,
  steps: number,
): Slices<Pair[]> {
  const { operands, output, sizeOf } = network;
  const share = steps / components.length;
  const pairs: Pair[] = [];
  const results: { readonly at: number; readonly labels: readonly number[] }[] = [];
  for (const members of components) {
    const labels = members.map((k) => operands[k]!);
    const own = new Set(labels.flat());
    const kept = output.filter((label) => own.has(label));
    const order = yield* searchPairs({ operands: labels, output: kept, sizeOf }, limit, share);
    results.push({ at: append(pairs, operands.length, members, order), labels: kept });
  }
  const last: Network = { operands: results.map(({ labels }) => labels), output, sizeOf };
  const order =
    results.length <= MAX_EXACT
      ? yield* searchPairs(last, limit)
      : greedyPairs(indexSets(last), randomFrom(0), 0);
  append(
    pairs,
    operands.length,
    results.map(({ at }) => at),
    order,
  );
  return pairs;
}

/** Appends the pairs of a part of a network; `places`: of its operands in the whole. Returns the result's place. */
function append(pairs: Pair[], count: number, places: readonly number[], more: readonly Pair[]): number {
  const all = [...places];
  for (const [i, j] of more) {
    all.push(count + pairs.length);
    const [a, b] = [all[i]!, all[j]!];
    pairs.push([Math.min(a, b), Math.max(a, b)]);
  }
  return all[all.length - 1]!;
}
