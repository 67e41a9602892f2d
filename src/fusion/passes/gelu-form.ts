/**
 * Recognizes the form of `gelu` with tanh, as `composites.ts` builds it:
 *
 *     x·0.5 · (tanh((x + x²·(x·0.044715)) · √(2/π)) + 1)   →   x
 *
 * The form with erf is another function and is left alone. Called by `fuse-epilogues.ts`.
 */
import type { GraphNode } from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import { convertScalar } from '../../graph/scalar.js';
import { isConstantThat, isOneOf } from './constant-of.js';
import type { Editor } from './rewrite.js';

export interface GeluForm {
  /** x. */
  readonly argument: number;
  /** x·0.5 and x·0.044715. */
  readonly scaled: readonly number[];
}

/** The form whose last node is `root`. */
export function geluForm(root: GraphNode, editor: Pick<Editor, 'node'>): GeluForm | undefined {
  const { dtype } = root;
  /** Both inputs of an op, in both orders. */
  const inputsOf = (id: number, op: OpName): readonly (readonly [number, number])[] => {
    const node = editor.node(id);
    if (node.kind !== 'map' || node.op !== op) return [];
    const [a, b] = node.inputs as readonly [number, number];
    return [
      [a, b],
      [b, a],
    ];
  };
  const isConstant = (id: number, value: number): boolean =>
    isConstantThat(id, editor, isOneOf(value, convertScalar(value, dtype)));
  /** The other input of an op with a constant. */
  const beside = (id: number, op: OpName, value: number): number | undefined =>
    inputsOf(id, op).find(([, constant]) => isConstant(constant, value))?.[0];
  const unary = (id: number | undefined, op: OpName): number | undefined => {
    if (id === undefined) return undefined;
    const node = editor.node(id);
    return node.kind === 'map' && node.op === op ? node.inputs[0] : undefined;
  };
  for (const [half, factor] of inputsOf(root.id, 'multiply')) {
    const x = beside(half, 'multiply', 0.5);
    const tanh = unary(beside(factor, 'add', 1), 'tanh');
    const inner = tanh === undefined ? undefined : beside(tanh, 'multiply', Math.sqrt(2 / Math.PI));
    if (x === undefined || inner === undefined) continue;
    const cubed = inputsOf(inner, 'add').find(([first]) => first === x)?.[1];
    if (cubed === undefined) continue;
    for (const [square, scaled] of inputsOf(cubed, 'multiply'))
      if (unary(square, 'square') === x && beside(scaled, 'multiply', 0.044715) === x)
        return { argument: x, scaled: [half, scaled] };
  }
  return undefined;
}
