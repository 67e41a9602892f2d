/**
 * Where a graph has the same bits, whatever mathematics library, contraction of products and sums, or order
 * of a library's sums a device has. Used for records of devices.
 */
import { isComplex, isFloat } from '../../src/graph/dtype.js';
import type { Expr } from '../../src/graph/expr.js';
import type { OpName } from '../../src/graph/ops.js';
import { opTolerance } from '../support/tolerance.js';

/**
 * Equal to the bit on every device; on every device of a kind, since a kind has one order of sums; or nowhere
 * for sure.
 */
export type Exactness = 'everywhere' | 'on a kind' | 'nowhere';

const LEVELS: readonly Exactness[] = ['everywhere', 'on a kind', 'nowhere'];
const worst = (all: readonly Exactness[]): Exactness =>
  LEVELS[Math.max(...all.map((one) => LEVELS.indexOf(one)))]!;

/** The same for equal nodes, which graphs share. */
const known = new WeakMap<Expr, Exactness>();

export function exactnessOf(root: Expr): Exactness {
  const open = [root];
  while (open.length > 0) {
    const node = open.at(-1)!;
    const waiting = node.inputs.filter((input) => !known.has(input));
    if (known.has(node) || waiting.length === 0) {
      known.set(node, worst([ownExactness(node), ...node.inputs.map((input) => known.get(input)!)]));
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

const exactIf = (condition: boolean): Exactness => (condition ? 'everywhere' : 'nowhere');

/**
 * The inexactness that a node adds of its own. Products of floats add some: a sum after them may be one
 * operation with them.
 */
function ownExactness(node: Expr): Exactness {
  switch (node.kind) {
    case 'source':
    case 'const':
    case 'view':
    case 'cast':
    case 'join':
    case 'gather':
    case 'call':
      return 'everywhere';
    case 'map': {
      const compute = node.inputs[node.inputs.length - 1]!.dtype;
      const product = node.op === 'multiply' || node.op === 'square';
      if ((product && inexact(node)) || isComplex(compute)) return 'nowhere';
      return exactIf(
        CORRECTLY_ROUNDED.includes(node.op) || opTolerance(node.op, compute, node.dtype).ulp === 0,
      );
    }
    case 'reduce':
      if (inexact(node) && node.reduction === 'sum') return 'on a kind';
      return exactIf(!inexact(node) || ['min', 'max', 'argmin', 'argmax'].includes(node.reduction));
    case 'repeat':
    case 'function':
      return 'nowhere';
    case 'contract':
      return exactIf(!inexact(node));
    case 'loop':
      return worst(node.loop.next.map(exactnessOf));
  }
}
