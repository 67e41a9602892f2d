/**
 * The operands of two products with a softmax between them, as attention takes them: batches, rows and columns.
 *
 *     bhqd,bhkd->bhqk, then bhqk,bhkd->bhqd   →   batches b h, rows q, columns k
 *     bhqd,bkd->bhqk, then bhqk,bkd->bhqd     →   the same, where h batches of Q share a batch of K and V
 *
 * Called by `fuse-attention.ts`.
 */
import type { Shape } from '../../graph/expr.js';
import { type GraphNodeOf, sizeOfShape } from '../../graph/graph.js';
import type { Editor } from './rewrite.js';

type Contract = GraphNodeOf<'contract'>;
type Labels = readonly number[];

export interface AttentionOperands {
  readonly q: number;
  readonly k: number;
  readonly v: number;
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly inner: number;
  readonly width: number;
  /** Batches of Q for one of K and V. */
  readonly repeats: number;
  /** The result [batch, m, width] as the second product has it. */
  readonly result: (made: number) => number;
}

const isDistinct = (labels: Labels): boolean => new Set(labels).size === labels.length;

/** `at`: which input of the second product the softmax is. Axes of scores stand in their order as labels. */
export function attentionOperands(
  scores: Contract,
  product: Contract,
  at: number,
  editor: Editor,
): AttentionOperands | undefined {
  if (![...scores.labels, ...product.labels, scores.output, product.output].every(isDistinct))
    return undefined;
  const rank = scores.output.length;
  if (rank < 2) return undefined;
  const [row, column] = scores.output.slice(-2) as [number, number];
  const qAt = scores.labels[0]!.includes(column) ? 1 : 0;
  const [ofQ, ofK] = [scores.labels[qAt]!, scores.labels[1 - qAt]!];
  if (!ofQ.includes(row) || ofQ.includes(column) || !ofK.includes(column) || ofK.includes(row))
    return undefined;
  const summed = ofQ.filter((label) => !scores.output.includes(label));
  if (summed.length === 0 || ofK.filter((l) => !scores.output.includes(l)).length !== summed.length)
    return undefined;
  if (!summed.every((label) => ofK.includes(label))) return undefined;
  // Labels of the second product are named as those of the first one.
  const weights = product.labels[at]!;
  const named = new Map(weights.map((label, axis) => [label, scores.output[axis]!]));
  const own = (label: number): number => named.get(label) ?? -1 - label;
  const ofV = product.labels[1 - at]!.map(own);
  const output = product.output.map(own);
  const batches = scores.output.slice(0, -2);
  const widths = output.filter((label) => label < 0);
  const isProduct =
    ofV.includes(column) &&
    !output.includes(column) &&
    !ofV.includes(row) &&
    [...batches, row].every((label) => output.includes(label)) &&
    ofV.every((label) => label === column || batches.includes(label) || widths.includes(label)) &&
    widths.every((label) => ofV.includes(label));
  if (!isProduct) return undefined;
  const sizes = new Map<number, number>();
  const enter = (labels: Labels, shape: Shape): void =>
    labels.forEach((label, axis) => {
      sizes.set(label, shape[axis]!);
    });
  const inputs = [scores.inputs[qAt]!, scores.inputs[1 - qAt]!, product.inputs[1 - at]!] as const;
  [ofQ, ofK, ofV].forEach((labels, k) => {
    enter(labels, editor.node(inputs[k]!).shape);
  });
  const size = (labels: Labels): number => sizeOfShape(labels.map((label) => sizes.get(label)!));
  // The last batches that only Q has are repeats of one batch of K and V.
  let last = batches.length;
  while (last > 0 && !ofK.includes(batches[last - 1]!) && !ofV.includes(batches[last - 1]!)) last--;
  const shared = batches.slice(0, last);
  const stack = (id: number, labels: Labels, groups: readonly Labels[]): number =>
    stacked(id, labels, groups, sizes, editor);
  return {
    q: stack(inputs[0], ofQ, [batches, [row], summed]),
    k: stack(inputs[1], ofK, [shared, [column], summed]),
    v: stack(inputs[2], ofV, [shared, [column], widths]),
    batch: size(batches),
    m: size([row]),
    n: size([column]),
    inner: size(summed),
    width: size(widths),
    repeats: size(batches.slice(last)),
    result: (made) => {
      const labels = [...batches, row, ...widths];
      const whole = editor.reshape(
        made,
        labels.map((label) => sizes.get(label)!),
      );
      return permuted(whole, labels, output, editor);
    },
  };
}

/** An operand with an axis for each group of labels; along labels that it lacks it is broadcast. */
function stacked(
  id: number,
  labels: Labels,
  groups: readonly Labels[],
  sizes: ReadonlyMap<number, number>,
  editor: Editor,
): number {
  const wanted = groups.flat();
  const there = wanted.filter((label) => labels.includes(label));
  const sizeOf = (label: number): number => sizes.get(label)!;
  const ordered = permuted(id, labels, there, editor);
  const thin = editor.reshape(
    ordered,
    wanted.map((label) => (labels.includes(label) ? sizeOf(label) : 1)),
  );
  const whole = editor.broadcast(thin, wanted.map(sizeOf));
  return editor.reshape(
    whole,
    groups.map((group) => sizeOfShape(group.map(sizeOf))),
  );
}

function permuted(id: number, labels: Labels, wanted: Labels, editor: Editor): number {
  if (wanted.every((label, axis) => label === labels[axis])) return id;
  const { shape } = editor.node(id);
  const order = wanted.map((label) => labels.indexOf(label));
  return editor.view(
    id,
    { type: 'permute', order },
    order.map((axis) => shape[axis]!),
  );
}
