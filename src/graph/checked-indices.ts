/** Which indices have to be in range before a graph runs: those of gathers and of bins whose mode says so, of sparse
 * matrices, and all of these in a loop's body. */
import { slice } from './basic-slicing.js';
import { parametersOfBins, parametersOfSums } from './bin-parameters.js';
import type { CheckedIndices, Expr, ExprOf } from './expr.js';
import { withExtent } from './extent.js';
import { cast, map } from './infer.js';
import { isGivenNumbers } from './sparse-routines.js';
import { asGiven } from './taking.js';

const NONE: readonly CheckedIndices[] = [];

/** The indices of a node that are an error out of range. */
export function checkedIndices(x: Expr): readonly CheckedIndices[] {
  const { site } = x;
  if (x.kind === 'loop') return x.loop.checked;
  if (x.kind === 'gather' && x.within !== undefined) {
    const size = x.inputs[0]!.shape[x.axis]!;
    return [{ ...x.within, op: x.asked ?? 'take', axis: x.axis, from: -size, size, site }];
  }
  if (x.kind === 'gather' && x.mode.startsWith('raise')) {
    const [array, indices] = x.inputs as readonly [Expr, Expr];
    const size = array.shape[x.axis]!;
    if (x.mode === 'raiseStarts') return checkedStarts(x.asked ?? 'take', indices, size - 1, site);
    const from = x.mode === 'raise' ? -size : 0;
    return [{ indices: asGiven(indices), op: x.asked ?? 'take', axis: x.axis, from, size, site }];
  }
  if (x.kind !== 'call') return NONE;
  const columns = columnsOfGiven(x);
  if (columns !== undefined) {
    const at = x.routine === 'sparseProduct' ? 1 : 0;
    const [starts, stored] = x.inputs.slice(at) as [Expr, Expr];
    const op = x.asked ?? 'sparse.matmul';
    const indices = upToLastStart(stored, starts);
    return [
      ...checkedStarts(op, starts, stored.shape[0]!, site),
      { indices, op: `${op}: indices`, axis: 1, from: 0, size: columns, isReliedOn: true, site },
    ];
  }
  if (x.routine === 'sparseGather' && isGivenNumbers(x.parameters[0]!)) {
    const size = x.inputs[1]!.shape[0]! - 1;
    const range = { axis: 0, from: -size, size, isReliedOn: true, site };
    return [{ indices: asGiven(x.inputs[0]!), op: x.asked ?? 'take', ...range }];
  }
  if (x.routine !== 'bins' && x.routine !== 'binSums') return NONE;
  const { bins: size, mode } =
    x.routine === 'bins' ? parametersOfBins(x.routine, x.parameters) : parametersOfSums(x.parameters);
  if (mode !== 'raise' && mode !== 'raiseFromEnd') return NONE;
  const from = mode === 'raise' ? 0 : -size;
  return [{ indices: x.inputs[0]!, op: x.asked ?? 'bins', axis: 0, from, size, site }];
}

/** Starts of rows with so many stored elements: from 0 on, and none below the one before. */
function checkedStarts(
  op: string,
  starts: Expr,
  stored: number,
  site: CheckedIndices['site'],
): readonly CheckedIndices[] {
  const range = { axis: 0, from: 0, size: stored + 1, isReliedOn: true, site };
  return [
    { indices: starts, op: `${op}: indptr`, begins: true, ...range },
    { indices: rowLengths(starts), op: `${op}: differences of indptr`, ...range },
  ];
}

const lengthsOf = new WeakMap<Expr, Expr>();

/** Elements of each row: below 0 where starts descend, so that rows overlap, for which results have no room. */
function rowLengths(starts: Expr): Expr {
  const lengths = lengthsOf.get(starts) ?? map('subtract', [slice(starts, [1]), slice(starts, [0, -1])]);
  lengthsOf.set(starts, lengths);
  return lengths;
}

const storedColumns = new WeakMap<Expr, WeakMap<Expr, Expr>>();

/** Columns of stored elements: those behind the last start are no part of a matrix, and may be any numbers. */
function upToLastStart(columns: Expr, starts: Expr): Expr {
  const byStarts = storedColumns.get(columns) ?? new WeakMap<Expr, Expr>();
  storedColumns.set(columns, byStarts);
  const last = (): Expr => cast(slice(starts, starts.shape[0]! - 1), 'int64');
  const stored = byStarts.get(starts) ?? withExtent(columns, 0, last());
  byStarts.set(starts, stored);
  return stored;
}

/** The columns of the sparse matrix that a user gave and a product begins with; undefined: there is none. */
function columnsOfGiven({ routine, parameters, inputs }: ExprOf<'call'>): number | undefined {
  if (routine === 'sparseProduct' && parameters[1] !== 0) return parameters[1];
  if (routine === 'sparseMatmulCounts' && parameters[3] === 1) return inputs[2]!.shape[0]! - 1;
  return undefined;
}
