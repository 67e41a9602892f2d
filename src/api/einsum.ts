/** Einstein summation and its path: `einsum`, `einsumPath`. */
import { contractionPath, elementLimit } from '../fusion/paths/contraction-path.js';
import type { Network } from '../fusion/paths/network.js';
import { type PathReport, printPath, reportPath } from '../fusion/paths/path-report.js';
import { byteLengthOf } from '../graph/dtype.js';
import type { Joined } from '../graph/dtype-types.js';
import {
  type EinsumOptions,
  type EinsumTerms,
  einsumArguments,
  einsum as einsumOf,
  einsumTerms,
} from '../graph/einsum.js';
import type { Expr } from '../graph/expr.js';
import { called } from '../host/site.js';
import { completed } from '../host/slices.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** The axes of an operand of `einsum(a, [0, 1], …)`: a number for each label, or '...'. */
export type EinsumAxes = readonly (number | '...')[];

/**
 * Einstein summation: `einsum('ij,jk->ik', a, b)`. Letters name axes; those missing after the arrow are
 * summed. A letter twice in one operand takes its diagonal; '...' stands for the axes without a letter, which
 * broadcast. Without an arrow the result has the axes of '...', then the letters that occur once, in
 * alphabetical order. Axes of size 1 broadcast. `einsum(a, [0, 1], b, [1, 2], [0, 2])` is the same with
 * numbers for letters, without the last list as without an arrow.
 *
 * Of all orders of the operands the one with the least work is taken (`einsumPath`). The last argument may be
 * options: `{ precision: 'tf32' }` as of `matmul`, `{ memoryLimit }` for the bytes of intermediates. Integers
 * are summed in their own dtype, as in NumPy. Throws an ArgumentError for subscripts that cannot be read, a
 * ShapeError for shapes that they do not fit, both with the labels marked, and a DTypeError for a precision
 * that the dtype lacks.
 *
 * @example
 * const a = lazy([[1, 2], [3, 4]])
 * await einsum('ij,jk->ik', a, a).compute()
 * //=> [[ 7. 10.]
 * //=>  [15. 22.]]
 * await einsum('ii->', a).compute()
 * //=> 5.0
 */
export function einsum<T extends ArrayLike>(
  subscripts: string,
  ...operands: readonly T[]
): Lazy<Joined<DTypeOf<T>>>;
export function einsum(subscripts: string, ...operands: readonly (ArrayLike | EinsumOptions)[]): Lazy;
export function einsum(...operandsAndAxes: readonly (ArrayLike | EinsumAxes | EinsumOptions)[]): Lazy;
export function einsum(...given: readonly unknown[]): Lazy {
  return called(einsum, () => new Lazy(build('einsum', given).expr));
}

/** The node of an einsum, and its terms. */
function build(op: string, given: readonly unknown[]): { readonly expr: Expr; readonly terms: EinsumTerms } {
  const { expression, arrays, options } = einsumArguments(op, given);
  const exprs = arrays.map((array) => exprOf(op, array));
  return { expr: einsumOf(expression, exprs, options), terms: einsumTerms(expression, exprs) };
}

/** The order in which an einsum is computed, and what it costs; prints as text. */
export class EinsumPath implements PathReport {
  /** Positions of operands, whose results are appended to those that are left, as NumPy's `einsum_path` has. */
  readonly path!: readonly (readonly number[])[];
  readonly subscripts!: string;
  readonly operands!: number;
  readonly pairs!: PathReport['pairs'];
  readonly operations!: number;
  readonly naiveOperations!: number;
  readonly largestElements!: number;
  readonly largestBytes!: number;
  readonly slices!: PathReport['slices'];

  constructor(report: PathReport) {
    const pairs = report.pairs.map(({ positions }) => positions);
    Object.assign(this, { path: pairs.length === 0 ? [[0]] : pairs, ...report });
  }

  toString(): string {
    return printPath(this);
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * The path that `einsum` of the same arguments takes, without computing anything: the pairs in order, the
 * multiplications and additions, the largest intermediate, and labels that are summed in parts where the
 * `memoryLimit` wants it. `placeholder(shape, dtype)` stands for arrays that do not exist yet. NumPy's
 * `einsum_path` gives `path` behind a word, and counts operations in the same way. Throws as `einsum` does.
 *
 * @example
 * const [a, b, c] = [ones([10, 100]), ones([100, 5]), ones([5, 50])]
 * einsumPath('ij,jk,kl->il', a, b, c).operations
 * //=> 15000
 */
export function einsumPath(
  ...subscriptsAndOperands: readonly (string | ArrayLike | EinsumAxes | EinsumOptions)[]
): EinsumPath {
  return called(einsumPath, () => {
    const { expr, terms } = build('einsumPath', subscriptsAndOperands);
    const nameOf = (label: number): string => {
      const name = terms.names[label]!;
      return name.length === 1 ? name : `<${name}>`;
    };
    const network = networkOf(expr, terms);
    const limit = expr.kind === 'contract' ? expr.memoryLimit : undefined;
    const bytes = byteLengthOf(expr.dtype);
    const path = completed(contractionPath(network, elementLimit(bytes, limit)));
    return new EinsumPath(reportPath(network, path, bytes, nameOf));
  });
}

/** The operands of a contraction: axes that broadcast are gone from the operands of a contraction's node. */
function networkOf(expr: Expr, terms: EinsumTerms): Network {
  const { labels, output, arrays } =
    expr.kind === 'contract'
      ? { labels: expr.labels, output: expr.output, arrays: expr.inputs }
      : { labels: terms.labels, output: terms.output, arrays: terms.operands };
  const sizes = new Map<number, number>();
  for (const [k, list] of labels.entries())
    for (const [axis, label] of list.entries()) sizes.set(label, arrays[k]!.shape[axis]!);
  return { operands: labels, output, sizeOf: (label) => sizes.get(label)! };
}
