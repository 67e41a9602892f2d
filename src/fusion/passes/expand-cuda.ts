/**
 * Functions in CUDA C as the versions that users gave for the CPU. Exact as far as those are the same functions.
 *
 *     function %0 %1, result 0      →     %2 = subtract %0 %1   %3 = multiply %2 %2
 *     a loop, or a monoid, that calls one     →     the same with the values of its version
 */
import { cpuVersionOf, loopWithoutCuda, withoutCuda } from '../../graph/cuda-function.js';
import type { GraphNode, MutableGraph } from '../../graph/graph.js';
import type { StepValue } from '../../graph/loop-step.js';
import { broadcastShapes } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';

export function* expandCuda(graph: MutableGraph): Slices<void> {
  if (!graph.nodes.some(mayCall)) return;
  yield* rewrite(graph, { function: [expandFunction], repeat: [expandLoop], reduce: [expandMonoid] });
}

/** Whether a node may call a user's function. */
const mayCall = (node: GraphNode | undefined): boolean =>
  node?.kind === 'function' ||
  node?.kind === 'repeat' ||
  (node?.kind === 'reduce' && node.monoid !== undefined);

const expandFunction: Rule = (node, editor) => {
  if (node.kind !== 'function') return undefined;
  const version = cpuVersionOf(node.function);
  const ids = [...node.inputs];
  for (const value of version.values) ids.push(valueNode(value, ids, editor));
  return editor.broadcast(ids[version.next[node.result]!]!, node.shape);
};

/** A value of a step as a node, in the shape that its arguments have. */
function valueNode(value: StepValue, ids: readonly number[], editor: Editor): number {
  const { dtype } = value;
  if (value.kind === 'const') return editor.constant(value.value, dtype);
  const inputs = value.args.map((arg) => ids[arg]!);
  const shape = broadcastShapes(
    'elementwiseCuda',
    inputs.map((id) => editor.node(id).shape),
  );
  switch (value.kind) {
    case 'map':
      return editor.add({ kind: 'map', op: value.op, dtype, shape, inputs });
    case 'cast':
      return editor.add({ kind: 'cast', dtype, shape, inputs });
    case 'repeat':
      return editor.add({ kind: 'repeat', loop: value.loop, result: value.result, dtype, shape, inputs });
    case 'function':
      return editor.add({
        kind: 'function',
        function: value.function,
        result: value.result,
        dtype,
        shape,
        inputs,
      });
  }
}

const expandLoop: Rule = (node, editor) => {
  if (node.kind !== 'repeat') return undefined;
  const loop = loopWithoutCuda(node.loop);
  return loop === node.loop ? undefined : editor.add({ ...node, loop });
};

const expandMonoid: Rule = (node, editor) => {
  if (node.kind !== 'reduce' || node.monoid === undefined) return undefined;
  const { of: monoid, part } = node.monoid;
  const combine = withoutCuda(monoid.combine);
  if (combine === monoid.combine) return undefined;
  const expanded = { ...monoid, combine, key: `${monoid.key} as ${combine.key}` };
  return editor.add({ ...node, monoid: { of: expanded, part } });
};
