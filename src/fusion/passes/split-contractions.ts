/**
 * Splits long contractions with small results for several devices: each takes some of the contracted axis,
 * and what they make is added in the order of the parts.
 *
 *     contract (1, m, k), (1, k, n) -> (1, m, n)   →   sum over s (contract (s, m, k / s), (s, k / s, n) -> (s, m, n))
 *
 * After `lower-contractions`, for graphs that are sharded. Only the order of sums changes. The parts depend
 * on the shapes alone, not on the devices; what has no suitable number of parts stays as it is.
 */
import { byteLengthOf, isHalf } from '../../graph/dtype.js';
import type { GraphNodeOf, MutableGraph } from '../../graph/graph.js';
import { isPlainProduct } from '../../graph/matrix-product.js';
import type { Slices } from '../../host/slices.js';
import { hasContractions } from './merge-contractions.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';

/** Operands of fewer bytes are not worth several devices. */
const LEAST_BYTES = 4 * 2 ** 20;
/** The contracted axis is so many times longer than rows and columns. */
const LEAST_RATIO = 64;
/**
 * Parts: enough for devices to have equal shares, and not so many that they are short, or their products
 * large.
 */
const LEAST_PARTS = 16;
const MOST_PARTS = 512;
const LEAST_LENGTH = 64;
const MOST_OF_OPERANDS = 1 / 4;

export function* splitContractions(graph: MutableGraph): Slices<void> {
  if (!hasContractions(graph)) return;
  yield* rewrite(graph, { contract: [splitLong] });
}

const splitLong: Rule = (node, editor) => (node.kind === 'contract' ? split(node, editor) : undefined);

function split(node: GraphNodeOf<'contract'>, editor: Editor): number | undefined {
  if (node.library !== undefined || !isPlainProduct(node)) return undefined;
  const [batch, m, n] = node.shape as readonly [number, number, number];
  const [a, b] = node.inputs as readonly [number, number];
  const k = editor.node(a).shape[2]!;
  // Halves would be rounded part by part.
  if (batch !== 1 || isHalf(node.dtype) || k < LEAST_RATIO * Math.max(m, n)) return undefined;
  if ((m + n) * k * byteLengthOf(node.dtype) < LEAST_BYTES) return undefined;
  const most = Math.min(MOST_PARTS, k / LEAST_LENGTH, (MOST_OF_OPERANDS * (m + n) * k) / (m * n));
  const parts = largestDivisor(k, Math.floor(most));
  if (parts < LEAST_PARTS) return undefined;
  const length = k / parts;
  const rows = editor.reshape(a, [m, parts, length]);
  const left = editor.view(rows, { type: 'permute', order: [1, 0, 2] }, [parts, m, length]);
  const right = editor.reshape(b, [parts, length, n]);
  const { dtype, labels, output, precision } = node;
  const products = editor.add({
    kind: 'contract',
    labels,
    output,
    precision,
    memoryLimit: undefined,
    dtype,
    shape: [parts, m, n],
    inputs: [left, right],
  });
  const sum = editor.add({
    kind: 'reduce',
    reduction: 'sum',
    axes: [0],
    dtype,
    shape: [m, n],
    inputs: [products],
  });
  return editor.reshape(sum, [1, m, n]);
}

/** The largest divisor of `n` that is not above `most`. */
function largestDivisor(n: number, most: number): number {
  for (let d = most; d > 1; d--) if (n % d === 0) return d;
  return 1;
}
