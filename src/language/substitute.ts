/**
 * Puts arrays into the place of a traced function's parameters:
 *
 *     x, y → sqrt(x * x + y)     of arrays a, b     →     sqrt(a * a + b)
 *
 * Nodes keep the dtypes that tracing found; their shapes are those that the arrays broadcast to.
 */
import { needEnds } from '../graph/element-loop.js';
import type { Expr } from '../graph/expr.js';
import { cast, elementwiseOf } from '../graph/infer.js';

/** The values of some nodes for arguments; constants stay as they are. */
export function substituted(
  op: string,
  results: readonly Expr[],
  parameters: readonly Expr[],
  args: readonly Expr[],
): Expr[] {
  const made = new Map<Expr, Expr>(parameters.map((parameter, k) => [parameter, args[k]!]));
  const stack = [...results].reverse();
  while (stack.length > 0) {
    const node = stack.at(-1)!;
    const missing = node.inputs.filter((input) => !made.has(input));
    if (!made.has(node) && missing.length > 0) {
      stack.push(...missing.reverse());
      continue;
    }
    stack.pop();
    if (!made.has(node)) made.set(node, remade(op, node, made));
  }
  return results.map((result) => made.get(result)!);
}

function remade(op: string, node: Expr, made: ReadonlyMap<Expr, Expr>): Expr {
  const inputs = node.inputs.map((input) => made.get(input)!);
  if (inputs.every((input, k) => input === node.inputs[k])) return node;
  if (node.kind === 'repeat' || node.kind === 'function') needEnds(op, inputs);
  if (node.kind === 'cast') return cast(inputs[0]!, node.dtype);
  return elementwiseOf(op, node, inputs);
}
