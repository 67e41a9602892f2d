/**
 * Einsum, and the contraction that all products share: labels name axes, labels missing from the result are summed. An
 * axis of size 1 that broadcasts is dropped before its operand enters the node, where every label has one size.
 *
 * Called by the free function of the same name and by `products.ts`.
 */
import { ArgumentError, expected, ShapeError } from '../errors.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { cast, contract, reshape } from './infer.js';
import { reduceAlong } from './reducing.js';
import { permuteDims } from './views.js';

/**
 * The contract node for operands whose axes of size 1 may broadcast: such axes are dropped from the operand, and a label
 * that only ever has size 1 stays on one operand.
 */
export function sumOfProducts(
  op: string,
  labels: readonly (readonly number[])[],
  output: readonly number[],
  operands: readonly Expr[],
): Expr {
  const sizes = new Map<number, number>();
  labels.forEach((list, k) => {
    list.forEach((label, axis) => {
      const size = operands[k]!.shape[axis]!;
      const known = sizes.get(label) ?? 1;
      if (known !== size && known !== 1 && size !== 1) {
        const received = operands.map((operand) => formatShape(operand.shape)).join(' and ');
        throw new ShapeError(
          expected(op, 'shapes that agree or broadcast', received, `${known} against ${size}`),
        );
      }
      if (known === 1) sizes.set(label, size);
    });
  });
  const kept = labels.map((list, k) =>
    list.map((label, axis) => operands[k]!.shape[axis] === sizes.get(label)!),
  );
  const reshaped = operands.map((operand, k) =>
    reshape(
      operand,
      operand.shape.filter((_, axis) => kept[k]![axis]),
    ),
  );
  return contract(
    op,
    labels.map((list, k) => list.filter((_, axis) => kept[k]![axis])),
    output,
    reshaped,
  );
}

/**
 * Einstein summation: `einsum('ij,jk->ik', a, b)`. Letters name axes; those missing after the arrow are summed. Without
 * an arrow the result has the letters that occur once, in alphabetical order. Axes of size 1 broadcast. A letter twice
 * in one operand (a diagonal) and '...' are not supported.
 */
export function einsum(subscripts: string, ...operands: readonly Expr[]): Expr {
  const { inputs, output } = parseSubscripts(subscripts);
  if (inputs.length !== operands.length || operands.length === 0) {
    throw new ArgumentError(
      expected('einsum', `${inputs.length} arrays for '${subscripts}'`, `${operands.length}`),
    );
  }
  inputs.forEach((letters, k) => {
    const { shape } = operands[k]!;
    if (letters.length !== shape.length) {
      throw new ShapeError(expected('einsum', `${letters.length} axes for '${letters}'`, formatShape(shape)));
    }
  });
  const alphabet = [...new Set([...output, ...inputs.join('')])];
  const number = (letters: string): number[] => [...letters].map((letter) => alphabet.indexOf(letter));
  if (operands.length > 1) return sumOfProducts('einsum', inputs.map(number), number(output), operands);
  const [letters, x] = [inputs[0]!, operands[0]!];
  const summed = [...letters].flatMap((letter, axis) => (output.includes(letter) ? [] : [axis]));
  const left = [...letters].filter((letter) => output.includes(letter));
  const order = [...output].map((letter) => left.indexOf(letter));
  const sum = summed.length === 0 ? x : cast(reduceAlong('einsum', 'sum', x, summed), x.dtype);
  return permuteDims(sum, order);
}

function parseSubscripts(subscripts: unknown): { inputs: string[]; output: string } {
  const refuse = (what: string): never => {
    throw new ArgumentError(expected('einsum', what, String(subscripts)));
  };
  if (typeof subscripts !== 'string') return refuse("subscripts such as 'ij,jk->ik'");
  const match = /^([a-zA-Z,]*)(?:->([a-zA-Z]*))?$/.exec(subscripts.replaceAll(' ', ''));
  if (match === null) return refuse("letters, commas and one arrow, as in 'ij,jk->ik'");
  const inputs = match[1]!.split(',');
  const letters = inputs.join('');
  if (inputs.some((input) => new Set(input).size < input.length))
    return refuse('each letter once in an operand');
  const once = [...new Set(letters)].filter(
    (letter) => letters.indexOf(letter) === letters.lastIndexOf(letter),
  );
  const output = match[2] ?? once.sort().join('');
  if (new Set(output).size < output.length || [...output].some((letter) => !letters.includes(letter))) {
    return refuse('each letter of the result once, from the operands');
  }
  return { inputs, output };
}
