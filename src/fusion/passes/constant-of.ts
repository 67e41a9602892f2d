/** The value of a constant, seen through broadcasts. Called by rules that look for one. */
import type { Scalar } from '../../graph/dtype.js';
import type { Editor } from './rewrite.js';

export function constantOf(id: number, editor: Editor): Scalar | undefined {
  let node = editor.node(id);
  while (node.kind === 'view' && (node.view.type === 'broadcast' || node.view.type === 'reshape')) {
    node = editor.node(node.inputs[0]!);
  }
  return node.kind === 'const' ? node.value : undefined;
}
