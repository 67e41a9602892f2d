/**
 * A softmax of a product, multiplied by a third matrix, as one call that stores no scores:
 *
 *     contract (softmax (contract q k · c)) v                          →   attention q k v, by c
 *     contract (softmax (where rows >= columns (contract q k) -inf)) v →   attention q k v, causal
 *     contract (softmax (contract q k + bias)) v                       →   attention q k v bias, of add
 *
 * Before formulas and contractions are rewritten, for targets that say when it takes less time (`AttentionTraits`). Values change by
 * rounding, and where not all numbers are finite: columns that a causal mask leaves out are not read, so that an
 * infinity or NaN of V there makes no NaN; and of halves, what is between the products is in float32. Scores that
 * others read are computed for those besides, so that the call has the bits that it has alone.
 */
import { isHalf } from '../../graph/dtype.js';
import { type GraphNodeOf, type MutableGraph, sizeOfShape } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { valueMapKernel } from '../partition/value-map.js';
import { type AttentionOperands, attentionOperands } from './attention-labels.js';
import type { AttentionTraits } from './attention-traits.js';
import type { ContractionReport } from './contraction-report.js';
import { hasContractions } from './merge-contractions.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';
import { type MappedProduct, mappedProduct } from './score-map.js';
import { simplify } from './simplify.js';
import { softmaxArgument } from './softmax-form.js';

type Contract = GraphNodeOf<'contract'>;

export const fuseAttention = (traits: AttentionTraits | undefined) =>
  function* (graph: MutableGraph, report?: ContractionReport): Slices<void> {
    if (traits === undefined || !hasContractions(graph)) return;
    const { length } = graph.nodes;
    let isFused = false;
    const rule: Rule = (node, editor) => {
      if (node.kind !== 'contract' || node.id >= length) return undefined;
      const made = attentionOf(node, { traits, editor, report });
      isFused ||= made !== undefined;
      return made;
    };
    yield* rewriteInOneWalk(graph, { contract: [rule] });
    if (isFused) yield* simplify(graph); // views of views
  };

interface Context {
  readonly traits: AttentionTraits;
  readonly editor: Editor;
  readonly report: ContractionReport | undefined;
}

/** A product of two factors of its own dtype, which no library is to compute. */
const isPlain = ({ labels, dtype, inputs, library }: Contract, { node }: Pick<Editor, 'node'>): boolean =>
  labels.length === 2 &&
  library === undefined &&
  (dtype === 'float32' || isHalf(dtype)) &&
  inputs.every((id) => node(id).dtype === dtype);

function attentionOf(product: Contract, context: Context): number | undefined {
  const { editor } = context;
  if (!isPlain(product, { node: (id) => editor.node(id) })) return undefined;
  for (const at of [0, 1]) {
    const root = softmaxArgument(product.inputs[at]!, editor);
    const mapped = root === undefined ? undefined : mappedProduct(root, editor);
    const scores = mapped?.product;
    if (mapped === undefined || scores === undefined || scores.dtype !== product.dtype) continue;
    if (!isPlain(scores, { node: (id) => editor.node(id) })) continue;
    const operands = attentionOperands(scores, product, at, editor);
    if (operands === undefined || sizeOfShape([...scores.shape, ...product.shape]) === 0) continue;
    if (!isChosen(operands, mapped, product, context)) continue;
    return attentionNode(operands, mapped, product, editor);
  }
  return undefined;
}

/** Whether a target computes it, and sooner than as products with scores in memory. */
function isChosen(
  { batch, m, n, inner, width }: AttentionOperands,
  { map, causal }: MappedProduct,
  { dtype }: Contract,
  { traits, report }: Context,
): boolean {
  if (map !== undefined) {
    const found = valueMapKernel(map.value);
    if (found === undefined || !traits.canMap(found.kernel, batch * m * n, found.given)) return false;
  }
  const sizes = {
    dtype,
    batch,
    m,
    n,
    inner,
    width,
    isCausal: causal !== undefined,
    isMapped: map !== undefined,
  };
  const { isOwn, reason } = traits.choose(sizes);
  report?.choice({
    subscripts: `attention (${batch}, ${m}, ${n}), rows of ${inner} and ${width},`,
    library: isOwn ? 'weft' : 'cublas',
    reason,
    copiedBytes: 0,
    sparedBytes: 0,
  });
  return isOwn;
}

function attentionNode(
  { q, k, v, batch, m, n, width, repeats, result }: AttentionOperands,
  { scale, causal, map }: MappedProduct,
  { dtype }: Contract,
  editor: Editor,
): number {
  // Beyond these, rows have no columns, or all.
  const offset = Math.max(-m, Math.min(n, causal ?? 0));
  const made = editor.add({
    kind: 'call',
    routine: 'attention',
    parameters: [scale, causal === undefined ? 0 : 1, offset, repeats],
    result: 0,
    valueMap: map?.value,
    dtype,
    shape: [batch, m, width],
    inputs: [q, k, v, ...(map?.inputs ?? [])],
  });
  return result(made);
}
