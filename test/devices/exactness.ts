/**
 * Whether a graph has the same bits on every device of a kind, whatever mathematics library, contraction of products and
 * sums, or order of a library's sums it has. Used for records of devices.
 */
import { isComplex, isFloat } from '../../src/graph/dtype.js';
import type { Expr } from '../../src/graph/expr.js';
import type { OpName } from '../../src/graph/ops.js';
import { opTolerance } from '../support/tolerance.js';

/** The same for equal nodes, which graphs share. */
const known = new WeakMap<Expr, boolean>();

export function isExactGraph(root: Expr): boolean {
  const open = [root];
  while (open.length > 0) {
    const node = open.at(-1)!;
    const waiting = node.inputs.filter((input) => !known.has(input));
    if (known.has(node) || waiting.length === 0) {
      known.set(node, isExactNode(node) && node.inputs.every((input) => known.get(input)));
      open.pop();
    } else {
      open.push(...waiting);
    }
  }
  return known.get(root)!;
}

/** By generated CUDA and by NVRTC's options, though the table allows a unit. */
const CORRECTLY_ROUNDED: readonly OpName[] = ['divide', 'sqrt'];

const inexact = (node: Expr): boolean => isFloat(node.dtype) || isComplex(node.dtype);

/** Whether a node adds no inexactness of its own. Products of floats do: a sum after them may be one operation with them. */
function isExactNode(node: Expr): boolean {
  switch (node.kind) {
    case 'source':
    case 'const':
    case 'view':
    case 'cast':
      return true;
    case 'map': {
      const compute = node.inputs[node.inputs.length - 1]!.dtype;
      const product = node.op === 'multiply' || node.op === 'square';
      if (product && inexact(node)) return false;
      if (isComplex(compute)) return false;
      return CORRECTLY_ROUNDED.includes(node.op) || opTolerance(node.op, compute, node.dtype).ulp === 0;
    }
    case 'reduce':
      return !inexact(node) || ['min', 'max', 'argmin', 'argmax', 'sum'].includes(node.reduction);
    case 'contract':
      return !inexact(node);
  }
}
