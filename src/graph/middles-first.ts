/**
 * Binary search of many values in a sorted line. The middles that the first halvings look at are gathered in a line of
 * their own, level by level: node k's stretches are those of nodes 2k and 2k + 1, as in a heap (Khuong and Morin, "Array layouts
 * for comparison-based searching", 2017). They stay in the fastest memory as a whole, and those of a level lie side by side: in
 * the sorted line they are a power of two apart, in the same banks of shared memory and the same sets of a cache.
 * Called by `members.ts`.
 *
 *     0 1 2 3 4 5 6 7 8 9   →   middles 5 | 2 7 | 1 3 6 8, then the stretches between them by halves
 */
import { byteLengthOf } from './dtype.js';
import { bitCount } from './elementwise.js';
import type { Expr } from './expr.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, iota, map } from './infer.js';
import { beforeValues, positionsWithin, type Side } from './positions.js';
import { broadcast, gather } from './view-nodes.js';

/** Whether middles are gathered first: for many values, which are many times as many as the line has elements. */
export const hasMiddlesFirst = (sorted: Expr, values: Expr): boolean => {
  const [size, count] = [sizeOfShape(sorted.shape), sizeOfShape(values.shape)];
  return size >= LEAST_LINE && count >= Math.max(LEAST_VALUES, VALUES_BY_ELEMENT * size);
};

const [LEAST_LINE, LEAST_VALUES, VALUES_BY_ELEMENT] = [64, 2 ** 16, 8];
/** Bytes of middles: of 227 KiB of an H200's shared memory, the rest of which has some of the line. */
const MIDDLES_BYTES = 2 ** 17;
/** The product of two numbers below it is an int32. */
const MOST_NODES = 2 ** 15;

/** `positions` by the middles first: stretches begin at ⌊path · size / nodes⌋. */
export function positionsByMiddles(sorted: Expr, values: Expr, side: Side): Expr {
  const size = sorted.shape[0]!;
  const most = Math.min(size, MOST_NODES, MIDDLES_BYTES / byteLengthOf(sorted.dtype));
  const levels = Math.floor(Math.log2(most));
  const nodes = 2 ** levels;
  const isBefore = beforeValues(values, side);
  const middles = gather(sorted, middlesOf(levels, size), 0, 'inRange', [nodes]);
  let node = broadcast(constant(1, 'int32'), values.shape);
  for (let level = 0; level < levels; level++)
    node = map('add', [map('add', [node, node]), cast(isBefore(middles, node), 'int32')]);
  const path = cast(map('subtract', [node, nodes]), size < 2 ** 31 ? 'int32' : 'int64');
  const whole = map('multiply', [path, Math.floor(size / nodes)]);
  const part = map('bitwiseRightShift', [map('multiply', [path, size % nodes]), levels]);
  const first = size % nodes === 0 ? whole : map('add', [whole, part]);
  return positionsWithin({ sorted, first, length: Math.ceil(size / nodes) }, isBefore);
}

/** The place in the line of the middle of each node: ⌊(2k + 1) · size / 2^(level + 1)⌋ - size; node 0 has the first element. */
function middlesOf(levels: number, size: number): Expr {
  const node = iota(2 ** levels);
  // All bits of k from its highest one down.
  let bits: Expr = node;
  for (let by = 1; by < levels; by *= 2)
    bits = map('bitwiseOr', [bits, map('bitwiseRightShift', [bits, by])]);
  const odd = map('add', [map('multiply', [node, 2]), 1]);
  return map('subtract', [map('bitwiseRightShift', [map('multiply', [odd, size]), bitCount(bits)]), size]);
}
