/**
 * Gathers from the numbers 0 … n - 1 are the indices themselves, in range: arithmetic, which needs no table in
 * memory. `slice` and `takeAlongAxis` count indices from the beginning of an axis by them. A rule of `simplify.ts`.
 *
 *     gather along 0 raise (iota n) at i   →   minimum(maximum(where(i < 0, i + n, i), 0), n - 1)
 */
import type { DType } from '../../graph/dtype.js';
import type { GatherMode } from '../../graph/expr.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import type { Editor, Rule } from './rewrite.js';

export const indexValues: Rule = (node, editor) => {
  if (node.kind !== 'gather') return undefined;
  let base = editor.node(node.inputs[0]!);
  const size = base.shape[node.axis]!;
  if (size === 0 || size !== sizeOfShape(base.shape)) return undefined;
  while (base.kind === 'view' && base.view.type === 'reshape') base = editor.node(base.inputs[0]!);
  if (base.kind !== 'iota') return undefined;
  return editor.reshape(inRange(node.inputs[1]!, size, node.mode, editor), node.shape);
};

/** An index of an axis of `size` elements, counted from its beginning: in range. */
export function inRange(id: number, size: number, mode: GatherMode, editor: Editor): number {
  if (mode === 'inRange') return id;
  const { shape } = editor.node(id);
  const map = (op: OpName, inputs: readonly number[], dtype: DType = 'int64'): number =>
    editor.add({ kind: 'map', op, dtype, shape, inputs });
  const int64 = (value: number): number => editor.constant(BigInt(value), 'int64');
  if (mode === 'wrap') return map('remainder', [id, int64(size)]);
  const fromEnd = (): number => map('add', [id, int64(size)]);
  const isNegative = (): number => map('less', [id, int64(0)], 'bool');
  const counted = mode === 'raise' ? map('where', [isNegative(), fromEnd(), id]) : id;
  const above = map('maximum', [counted, int64(0)]);
  return map('minimum', [above, int64(size - 1)]);
}
