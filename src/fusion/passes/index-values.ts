/**
 * Gathers from the numbers 0 … n - 1 are the indices themselves, in range: arithmetic, which needs no table in
 * memory. `slice` and `takeAlongAxis` count indices from the beginning of an axis by them. A rule of `simplify.ts`.
 *
 *     gather along 0 raise (iota n) at i   →   minimum(maximum(where(i < 0, i + n, i), 0), n - 1)
 */
import type { DType } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import type { Rule } from './rewrite.js';

export const indexValues: Rule = (node, editor) => {
  if (node.kind !== 'gather') return undefined;
  let base = editor.node(node.inputs[0]!);
  const size = base.shape[node.axis]!;
  if (size === 0 || size !== sizeOfShape(base.shape)) return undefined;
  while (base.kind === 'view' && base.view.type === 'reshape') base = editor.node(base.inputs[0]!);
  if (base.kind !== 'iota') return undefined;
  const index = editor.node(node.inputs[1]!);
  if (node.mode === 'inRange') return editor.reshape(index.id, node.shape);
  const map = (op: OpName, inputs: readonly number[], dtype: DType = 'int64'): number =>
    editor.add({ kind: 'map', op, dtype, shape: index.shape, inputs });
  const int64 = (value: number): number => editor.constant(BigInt(value), 'int64');
  if (node.mode === 'wrap') return editor.reshape(map('remainder', [index.id, int64(size)]), node.shape);
  const fromEnd = (): number => map('add', [index.id, int64(size)]);
  const isNegative = (): number => map('less', [index.id, int64(0)], 'bool');
  const counted = node.mode === 'raise' ? map('where', [isNegative(), fromEnd(), index.id]) : index.id;
  const above = map('maximum', [counted, int64(0)]);
  return editor.reshape(map('minimum', [above, int64(size - 1)]), node.shape);
};
