/**
 * Constants, seen through broadcasts, for rules that look for one. A rule that asks for the value of one that is given with
 * each run makes it a part of the program; a question with few answers leaves it free (`graph/runtime-scalar.ts`).
 */
import type { Scalar } from '../../graph/dtype.js';
import type { GraphNodeOf } from '../../graph/graph.js';
import { type ScalarTest, satisfies, specialized } from '../../graph/runtime-scalar.js';
import type { Editor } from './rewrite.js';

type Nodes = Pick<Editor, 'node'>;

function constantAt(id: number, editor: Nodes): GraphNodeOf<'const'> | undefined {
  let node = editor.node(id);
  while (node.kind === 'view' && (node.view.type === 'broadcast' || node.view.type === 'reshape')) {
    node = editor.node(node.inputs[0]!);
  }
  return node.kind === 'const' ? node : undefined;
}

export const isConstant = (id: number, editor: Nodes): boolean => constantAt(id, editor) !== undefined;

/** The value of a constant, on which the program then depends. */
export function constantOf(id: number, editor: Nodes): Scalar | undefined {
  const node = constantAt(id, editor);
  return node && specialized(node.value);
}

/** Whether a node is a constant that passes a test. */
export function isConstantThat(id: number, editor: Nodes, test: ScalarTest): boolean {
  const node = constantAt(id, editor);
  return node !== undefined && satisfies(node.value, node.dtype, test);
}

/** The test for one of some values. */
export const isOneOf =
  (...values: readonly Scalar[]): ScalarTest =>
  (value) =>
    values.includes(value);
