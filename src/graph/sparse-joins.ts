/**
 * Sparse matrices made of several: stacked, side by side, and their Kronecker product. Called by `api/sparse.ts`.
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map } from './infer.js';
import { concat } from './joins.js';
import {
  at,
  bounded,
  boundOf,
  checkedLines,
  columnsOf,
  constantLine,
  emptyMatrix,
  indexDType,
  isExact,
  rowBoundOf,
  type SparseParts,
  startsOf,
  startsOfCounts,
} from './sparse.js';
import { elementsInRows, gatheredRows, type RowsOfMatrices } from './sparse-gathered.js';
import { rowLengths } from './sparse-reductions.js';
import { broadcast, reshape } from './view-nodes.js';
import { permuteDims } from './views.js';

/** The matrices one above another, of as many columns. */
export function stacked(op: string, matrices: readonly SparseParts[], columns: number): SparseParts {
  const rows = matrices.reduce((sum, { shape }) => sum + shape[0], 0);
  const shape = [rows, columns] as const;
  const rowBound = Math.max(...matrices.map(rowBoundOf));
  if (matrices.every(isExact)) return { ...above(op, matrices, shape), rowBound };
  return gathered(op, matrices, shape, {
    way: 'above',
    rowBound,
    offsets: matrices.map(() => 0),
    starts: startsOfCounts(concat(matrices.map((each) => rowLengths(op, each)))),
    lineOf: concat,
  });
}

/** The matrices side by side, of as many rows. */
export function sideBySide(op: string, matrices: readonly SparseParts[], rows: number): SparseParts {
  const widths = matrices.map((each) => each.shape[1]);
  const shape = [rows, widths.reduce((sum, width) => sum + width, 0)] as const;
  const count = matrices.length;
  const [first, ...more] = matrices.map((each) => startsOf(each, op)) as [Expr, ...Expr[]];
  return gathered(op, matrices, shape, {
    way: 'beside',
    rowBound: matrices.reduce((sum, each) => sum + rowBoundOf(each), 0),
    offsets: widths.map((_, k) => widths.slice(0, k).reduce((sum, width) => sum + width, 0)),
    starts: more.reduce((sum, starts) => map('add', [sum, starts]), first),
    lineOf: (lines) => reshape(permuteDims(reshape(concat(lines), [count, rows])), [count * rows]),
  });
}

/** Matrices all of whose lines are stored: they follow one another. The CPU copies them in one pass. */
function above(op: string, matrices: readonly SparseParts[], shape: SparseParts['shape']): SparseParts {
  const ends = boundsOf(matrices);
  const stored = ends.at(-1)!;
  const index = indexDType(Math.max(shape[1], stored));
  const starts = matrices.map((each, k) =>
    map('add', [slice(startsOf(each, op), [0, -1]), BigInt(ends[k]!)]),
  );
  const lines = {
    starts: cast(concat([...starts, constantLine(BigInt(stored))]), index),
    places: concat(matrices.map(({ places }) => cast(places, index))),
    values: concat(matrices.map(({ values }) => values)),
  };
  const isGiven = matrices.some((each) => each.isGiven);
  const gathering = {
    way: 'above',
    matrices,
    offsets: matrices.map(() => 0),
    columns: shape[1],
    isFull: true,
    otherWay: lines,
  } as const;
  return {
    shape,
    // Lines of a user are looked at where they are read.
    ...(isGiven || stored === 0 ? lines : gatheredRows(op, gathering)),
    isCanonical: matrices.every(({ isCanonical }) => isCanonical),
    isGiven,
  };
}

/** Where the lines of each matrix begin in those of all, up to their bounds, and the end. */
function boundsOf(matrices: readonly SparseParts[]): readonly number[] {
  let end = 0;
  return [0, ...matrices.map((each) => (end += boundOf(each)))];
}

/** How the rows of several matrices make those of one. */
interface Gathering extends Pick<RowsOfMatrices, 'way' | 'offsets'> {
  /** The int64 starts of the result's rows. */
  readonly starts: Expr;
  readonly rowBound: number;
  /** A line of an element for each row of the matrices, in the order of the result, of those of the matrices. */
  readonly lineOf: (lines: readonly Expr[]) => Expr;
}

/** The matrix of the rows of several. */
function gathered(
  op: string,
  matrices: readonly SparseParts[],
  shape: SparseParts['shape'],
  { rowBound, starts, lineOf, ...gathering }: Gathering,
): SparseParts {
  const ends = boundsOf(matrices);
  const bound = ends.at(-1)!;
  const values = concat(matrices.map((each) => upToBound(each.values)));
  if (bound === 0 || shape[0] === 0) return emptyMatrix(shape, values.dtype);
  const index = indexDType(Math.max(shape[1], bound));
  // Lines lie one behind the other, up to their bounds.
  const columnsIn = (each: SparseParts, k: number): Expr =>
    cast(map('add', [columnsOf(each, op), BigInt(gathering.offsets[k]!)]), index);
  const begins = matrices.map((each, k) =>
    map('add', [slice(startsOf(each, op), [0, -1]), BigInt(ends[k]!)]),
  );
  const rows = gatheredRows(op, {
    ...gathering,
    matrices: matrices.map((each) => checkedLines(each, op)),
    columns: shape[1],
    isFull: matrices.every(isExact),
    otherWay: {
      starts,
      ...elementsInRows(op, {
        begins: lineOf(begins),
        lengths: lineOf(matrices.map((each) => rowLengths(op, each))),
        places: concat(matrices.map(columnsIn)),
        values,
        bound,
      }),
    },
  });
  return {
    shape,
    ...rows,
    isCanonical: matrices.every(({ isCanonical }) => isCanonical),
    isGiven: false,
    rowBound,
  };
}

/**
 * The Kronecker product. Its rows are known without a sort: row i of A and row r of B give one of as many elements as both
 * have together, those of r for each element of i.
 */
export function kronecker(
  op: string,
  a: SparseParts,
  b: SparseParts,
  shape: SparseParts['shape'],
): SparseParts {
  const bound = boundOf(a) * boundOf(b);
  const values = [a, b].map((each) => upToBound(each.values)) as [Expr, Expr];
  const { dtype } = map('multiply', [constant(0, values[0].dtype), constant(0, values[1].dtype)]);
  if (bound * shape[0] * shape[1] === 0) return emptyMatrix(shape, dtype);
  const pair = [a.shape[0], b.shape[0]];
  // A line of an element for each row of the result, of those of the rows of A, or of B.
  const ofA = (line: Expr): Expr => reshape(broadcast(reshape(line, [pair[0]!, 1]), pair), [shape[0]]);
  const ofB = (line: Expr): Expr => reshape(broadcast(reshape(line, [1, pair[1]!]), pair), [shape[0]]);
  const [lengthsA, lengthsB] = [rowLengths(op, a), rowLengths(op, b)];
  const starts = startsOfCounts(map('multiply', [ofA(lengthsA), ofB(lengthsB)]));
  const [found] = call('sparseRows', [bound], [starts], op) as [Expr];
  const row = map('minimum', [found, shape[0] - 1]);
  const inRow = map('subtract', [iota(bound), at(starts, row)]);
  // Behind the last element of all a row may be empty.
  const length = map('maximum', [at(ofB(lengthsB), row), 1n]);
  const first = map('floorDivide', [inRow, length]);
  const second = map('subtract', [inRow, map('multiply', [first, length])]);
  const beginsOf = (each: SparseParts): Expr => slice(startsOf(each, op), [0, -1]);
  const k = map('add', [at(ofA(beginsOf(a)), row), first]);
  const l = map('add', [at(ofB(beginsOf(b)), row), second]);
  const columnOfA = map('multiply', [at(columnsOf(a, op), k), BigInt(b.shape[1])]);
  const index = indexDType(Math.max(shape[1], bound));
  const stored = at(starts, constant(BigInt(shape[0]), 'int64'));
  const line = (each: Expr): Expr => (isExact(a) && isExact(b) ? each : bounded(each, stored));
  return {
    shape,
    starts: cast(starts, index),
    places: line(cast(map('add', [columnOfA, at(columnsOf(b, op), l)]), index)),
    values: line(map('multiply', [at(values[0], k), at(values[1], l)])),
    isCanonical: a.isCanonical && b.isCanonical,
    isGiven: false,
    rowBound: rowBoundOf(a) * rowBoundOf(b),
  };
}
