/**
 * Einsum, and the contraction that all products share: labels name axes, labels missing from the result are
 * summed. An axis of size 1 that broadcasts is dropped before its operand enters the node, where every label
 * has one size.
 *
 * Called by the free function of the same name and by `products.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import type { Expr, Precision } from './expr.js';
import { formatShape } from './format.js';
import { cast, contract } from './infer.js';
import { reduceAlong } from './reducing.js';
import { type Label, parseSubscripts } from './subscripts.js';
import { reshape, view } from './view-nodes.js';
import { permuteDims } from './views.js';

/**
 * The contract node for operands whose axes of size 1 may broadcast: such axes are dropped from the operand,
 * and a label that only ever has size 1 stays on one operand. `names` are those of the labels, for errors.
 */
export function sumOfProducts(
  op: string,
  labels: readonly (readonly number[])[],
  output: readonly number[],
  operands: readonly Expr[],
  names?: readonly string[],
  precision?: Precision,
): Expr {
  const sizes = new Map<number, number>();
  for (const [k, list] of labels.entries()) {
    for (const [axis, label] of list.entries()) {
      const size = operands[k]!.shape[axis]!;
      const known = sizes.get(label) ?? 1;
      if (known !== size && known !== 1 && size !== 1) {
        const received = operands.map((operand) => formatShape(operand.shape)).join(' and ');
        const wanted =
          names === undefined ? 'shapes that agree or broadcast' : `one size, or 1, for '${names[label]}'`;
        throw new ShapeError(expected(op, wanted, received, `${known} against ${size}`));
      }
      if (known === 1) sizes.set(label, size);
    }
  }
  const kept = labels.map((list, k) => {
    const { shape } = operands[k]!;
    return list.every((label, axis) => shape[axis] === sizes.get(label))
      ? list
      : list.filter((label, axis) => shape[axis] === sizes.get(label));
  });
  const reshaped = operands.map((operand, k) =>
    kept[k] === labels[k]
      ? operand
      : reshape(
          operand,
          kept[k]!.map((label) => sizes.get(label)!),
        ),
  );
  return contract(op, kept, output, reshaped, precision);
}

/**
 * Einstein summation: `einsum('ij,jk->ik', a, b)`. Letters name axes; those missing after the arrow are
 * summed. A letter twice in one operand takes its diagonal; '...' stands for the axes without a letter, which
 * broadcast. Without an arrow the result has the axes of '...', then the letters that occur once, in
 * alphabetical order. Axes of size 1 broadcast.
 */
export function einsum(subscripts: string, ...arrays: readonly Expr[]): Expr {
  const parsed = parseSubscripts(
    subscripts,
    arrays.map(({ shape }) => shape),
  );
  const operands = arrays.map((x, k) => diagonal(x, parsed.inputs[k]!));
  const { output } = parsed;
  if (operands.length > 1) {
    const alphabet = [...new Set([...output, ...parsed.inputs.flat()])];
    const number = (labels: readonly Label[]): number[] => labels.map((label) => alphabet.indexOf(label));
    return sumOfProducts(
      'einsum',
      operands.map(({ labels }) => number(labels)),
      number(output),
      operands.map(({ x }) => x),
      alphabet,
    );
  }
  const { x, labels } = operands[0]!;
  const summed = labels.flatMap((label, axis) => (output.includes(label) ? [] : [axis]));
  const left = labels.filter((label) => output.includes(label));
  const order = output.map((label) => left.indexOf(label));
  const sum = summed.length === 0 ? x : cast(reduceAlong('einsum', 'sum', x, summed), x.dtype);
  return permuteDims(sum, order);
}

interface Labelled {
  readonly x: Expr;
  readonly labels: readonly Label[];
}

/** An operand whose labels all differ: the diagonals of axes that share one. */
function diagonal(x: Expr, labels: readonly Label[]): Labelled {
  const second = labels.findIndex((label, axis) => labels.indexOf(label) < axis);
  if (second < 0) return { x, labels };
  const label = labels[second]!;
  const first = labels.indexOf(label);
  const size = x.shape[first]!;
  if (x.shape[second] !== size)
    throw new ShapeError(expected('einsum', `axes of one size for '${label}'`, formatShape(x.shape)));
  const rest = x.shape.flatMap((_, axis) => (axis === first || axis === second ? [] : [axis]));
  const sizes = rest.map((axis) => x.shape[axis]!);
  // Every (size + 1)-th element of the two axes as one.
  const line = reshape(permuteDims(x, [...rest, first, second]), [...sizes, size * size]);
  const starts = [...sizes.map(() => 0), 0];
  const steps = [...sizes.map(() => 1), size + 1];
  const taken = view(line, { type: 'slice', starts, steps }, [...sizes, size]);
  return diagonal(taken, [...rest.map((axis) => labels[axis]!), label]);
}
