/**
 * The diagonal of a product is computed without the rest of it: a row of one operand with a column of the other, for
 * each of its elements. A trace is the sum of that, which `merge-contractions.ts` takes into the contraction.
 *
 *     slice from 0 in steps of c + 1 (reshape (r·c) (contract ik,kj->ij a b))   →   contract ik,ki->i a[:n] b[:, :n]
 */
import { type GraphNode, type GraphNodeOf, sizeOfShape } from '../../graph/graph.js';
import type { Editor, Rule } from './rewrite.js';
import { sliced } from './slice-operands.js';

/** A diagonal of the matrices along the last two axes of an array: `count` elements from (row, column) on. */
interface Diagonal {
  readonly matrices: GraphNode;
  readonly row: number;
  readonly column: number;
  readonly count: number;
}

/** The diagonal that a slice takes of matrices whose rows are joined. */
function diagonalOf(node: GraphNode, editor: Editor): Diagonal | undefined {
  if (node.kind !== 'view' || node.view.type !== 'slice') return undefined;
  const lines = editor.node(node.inputs[0]!);
  if (lines.kind !== 'view' || lines.view.type !== 'reshape') return undefined;
  const matrices = editor.node(lines.inputs[0]!);
  const [rows, columns] = matrices.shape.slice(-2);
  if (rows === undefined || columns === undefined || lines.shape.at(-1) !== rows * columns) return undefined;
  const { starts, steps } = node.view;
  const last = node.shape.length - 1;
  const isWhole = node.shape.every((size, k) => k === last || (starts[k] === 0 && size === lines.shape[k]));
  if (!isWhole || steps.some((step, k) => step !== (k === last ? columns + 1 : 1))) return undefined;
  const [row, column] = [Math.floor(starts[last]! / columns), starts[last]! % columns];
  const count = node.shape[last]!;
  return column + count <= columns ? { matrices, row, column, count } : undefined;
}

export const diagonalOfContract: Rule = (node, editor) => {
  const found = diagonalOf(node, editor);
  if (found?.matrices.kind !== 'contract') return undefined;
  const { id, ...contract } = found.matrices as GraphNodeOf<'contract'>;
  const [i, j] = contract.output.slice(-2) as [number, number];
  if (contract.labels.some((labels) => labels.includes(i) && labels.includes(j))) return undefined;
  const { row, column, count } = found;
  const ranges = [
    { label: i, start: row, size: count },
    { label: j, start: column, size: count },
  ];
  const diagonal = editor.add({
    ...contract,
    labels: contract.labels.map((labels) => labels.map((label) => (label === j ? i : label))),
    output: contract.output.slice(0, -1),
    shape: [...contract.shape.slice(0, -2), count],
    inputs: contract.inputs.map((input, k) => sliced(input, contract.labels[k]!, ranges, editor)),
  });
  return sizeOfShape(node.shape) === 0 ? undefined : editor.reshape(diagonal, [...node.shape]);
};
