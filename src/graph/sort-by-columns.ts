/**
 * Sorting long rows by sorting parts of them (Leighton, "Tight bounds on the complexity of parallel sorting", 1985:
 * columnsort): four sorts of columns with fixed permutations between, whatever the data. So each of them can be cut
 * into tiles and shared among devices. Put in the place of the routines `sort`, `argsort` and `distinct` where a row
 * does not fit (`fusion/passes/cut-routines.ts`), with the same results.
 *
 *     s columns of r elements, r ≥ 2 (s - 1)²
 *     sort each   →   spread each over all, element by element  →  sort each
 *                 →   move the k-th part of each to column k   →   sort each   →   sort from middle to middle
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { firsts } from './compaction.js';
import { fromFiniteParts } from './complex-parts.js';
import { DTYPE_INFO, isComplex, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, iota, map, reduce } from './infer.js';
import { concat } from './joins.js';
import { lastInOrder, paddedRows } from './sort-order.js';
import { reshape } from './view-nodes.js';
import { permuteDims } from './views.js';

/** Columns of a row at most, and the shortest row that is cut. */
const MOST_COLUMNS = 128;
const LEAST_LENGTH = 2 ** 12;
/** Columns of a unit: its windows are as small as they can be. */
const UNIT_COLUMNS = 1;

const columnsOf = (length: number): number =>
  length < LEAST_LENGTH ? 1 : Math.min(MOST_COLUMNS, Math.floor(Math.cbrt(length / 2)));

/** Whether rows of a length are sorted by columns. */
export const hasColumns = (length: number): boolean => columnsOf(length) > 1;

/** Rows up to which each is sorted by itself: tiles of columns of all rows would have to hold all that lies between. */
const MOST_BY_ITSELF = 16;

/** The results of rows along the last axis, a function of a row: row by row where they are few. */
function rowByRow(x: Expr, result: (rows: Expr) => Expr): Expr {
  const length = x.shape.at(-1)!;
  const outer = sizeOfShape(x.shape.slice(0, -1));
  if (outer <= 1 || outer > MOST_BY_ITSELF) return result(x);
  const rows = reshape(x, [outer, length]);
  const all = Array.from({ length: outer }, (_, k) => result(slice(rows, [k, k + 1])));
  return reshape(concat(all as [Expr, ...Expr[]], 0), x.shape);
}

/** As the result of the routine `sort` of the rows along the last axis. */
export const sortByColumns = (x: Expr, descending: boolean): Expr =>
  rowByRow(x, (rows) => columnsSorted(rows, descending));

function columnsSorted(x: Expr, descending: boolean): Expr {
  const length = x.shape.at(-1)!;
  const outer = sizeOfShape(x.shape.slice(0, -1));
  const columns = columnsOf(length);
  // A column is spread over as many, and cut in the middle.
  const size = 2 * columns * Math.ceil(length / (2 * columns * columns));
  const [part, half, all] = [size / columns, size / 2, columns * size];
  const sorted = (of: Expr, count = columns): Expr =>
    call('sort', [descending ? 1 : 0, UNIT_COLUMNS], [reshape(of, [outer * count, size])])[0]!;
  const first = sorted(paddedRows(reshape(x, [outer, length]), all, descending));
  const spread = permuteDims(reshape(first, [outer, columns, part, columns]), [0, 3, 1, 2]);
  const second = reshape(sorted(spread), [outer, columns, columns, part]);
  const third = reshape(sorted(permuteDims(second, [0, 2, 1, 3])), [outer, all]);
  const middle = sorted(slice(third, '...', [half, all - half]), columns - 1);
  const ends = [slice(third, '...', [0, half]), slice(third, '...', [all - half, all])] as const;
  const whole = concat([ends[0], reshape(middle, [outer, all - size]), ends[1]], 1);
  return reshape(slice(whole, '...', [0, length]), x.shape);
}

/** Bits of a position in one number with an element of up to 32 bits, or with the low bits of one of 64. */
const POSITION_BITS = 32;
/** Low bits of a 64-bit integer: those above them are exact in a float64, and they are with a position beside them. */
export const LOW_BITS = 11;
const LOW_POSITION_BITS = 42;

/** Whether rows are put in order by columns with positions, or other places, beside their elements. */
export const hasPositionKeys = ({ dtype, shape }: Pick<Expr, 'dtype' | 'shape'>): boolean =>
  hasColumns(shape.at(-1)!) && !isComplex(dtype) && shape.at(-1)! <= 2 ** LOW_POSITION_BITS;

/** The positions of a sort's elements, and the elements themselves. */
interface SortedRows {
  readonly positions: Expr;
  readonly elements: Expr;
}

/** As the result of the routine `argsort` of rows with position keys. */
export const argsortByColumns = (x: Expr, descending: boolean): Expr =>
  rowByRow(x, (rows) => orderByColumns(rows, descending).positions);

/**
 * The stable order of rows with position keys, by sorting numbers that an element and its position are parts of: int64
 * where that has room for both, else complex128. Equal elements are in the order of their positions, -0 and 0, too.
 */
export function orderByColumns(x: Expr, descending: boolean): SortedRows {
  const position = iota(x.shape.at(-1)!);
  const reversed = (value: Expr): Expr => (descending ? map('negative', [value]) : value);
  if (isFloat(x.dtype)) return orderOfFloats(x, position, reversed);
  if (DTYPE_INFO[x.dtype].byteLength < 8 && x.shape.at(-1)! <= 2 ** POSITION_BITS) {
    const offset = x.dtype === 'uint32' ? 2 ** 31 : 0;
    const element = map('subtract', [cast(x, 'int64'), offset]);
    const flipped = (of: Expr): Expr => (descending ? map('subtract', [-1, of]) : of);
    const key = map('add', [map('multiply', [flipped(element), 2 ** POSITION_BITS]), position]);
    const sorted = sortByColumns(key, false);
    const high = flipped(map('bitwiseRightShift', [sorted, constant(POSITION_BITS, 'int64')]));
    return {
      positions: map('bitwiseAnd', [sorted, 2 ** POSITION_BITS - 1]),
      elements: cast(map('add', [high, offset]), x.dtype),
    };
  }
  const wide = DTYPE_INFO[x.dtype].byteLength < 8 ? cast(x, 'int64') : x;
  const [high, low] = splitInteger(wide).map((part) => cast(part, 'int64')) as [Expr, Expr];
  const rest = map('add', [map('multiply', [reversed(low), 2 ** LOW_POSITION_BITS]), position]);
  const sorted = sortByColumns(fromFiniteParts(reversed(high), rest, 'complex128'), false);
  const found = cast(map('imag', [sorted]), 'int64');
  const above = cast(reversed(cast(map('real', [sorted]), 'int64')), wide.dtype);
  const below = cast(
    reversed(map('bitwiseRightShift', [found, constant(LOW_POSITION_BITS, 'int64')])),
    wide.dtype,
  );
  return {
    positions: map('bitwiseAnd', [found, 2 ** LOW_POSITION_BITS - 1]),
    elements: cast(joinedInteger(above, below), x.dtype),
  };
}

/** The bits of a 64-bit integer above its low ones, and those. */
export const splitInteger = (x: Expr): readonly [high: Expr, low: Expr] => [
  map('bitwiseRightShift', [x, constant(LOW_BITS, x.dtype)]),
  map('bitwiseAnd', [x, constant(2 ** LOW_BITS - 1, x.dtype)]),
];

/** The integer of such parts. */
export const joinedInteger = (high: Expr, low: Expr): Expr =>
  map('bitwiseOr', [map('bitwiseLeftShift', [high, constant(LOW_BITS, high.dtype)]), low]);

/**
 * Numbers of an element, a NaN last whatever its sign, and of twice its position and whether it has a sign that the order
 * does not see: that of -0, or of NaN.
 */
function orderOfFloats(x: Expr, position: Expr, reversed: (value: Expr) => Expr): SortedRows {
  const isMinus = map('logicalAnd', [map('signbit', [x]), map('logicalNot', [map('less', [x, 0])])]);
  const rest = map('add', [map('multiply', [position, 2]), cast(isMinus, 'int64')]);
  const element = map('add', [cast(x, 'float64'), 0]);
  const sorted = sortByColumns(fromFiniteParts(reversed(element), rest, 'complex128'), false);
  const found = cast(map('imag', [sorted]), 'int64');
  const value = map('add', [reversed(map('real', [sorted])), 0]);
  const hasSign = map('equal', [map('bitwiseAnd', [found, 1]), 1]);
  return {
    positions: map('bitwiseRightShift', [found, constant(1, 'int64')]),
    elements: cast(map('where', [hasSign, map('negative', [value]), value]), x.dtype),
  };
}

/**
 * As the results of the routine `distinct` of a sorted line: the elements that differ from the one before, by sorting
 * again with others behind them.
 */
export function distinctByColumns(line: Expr): readonly [values: Expr, length: Expr] {
  const size = line.shape[0]!;
  const isFirst = firsts(line);
  const last = constant(lastInOrder(line.dtype, false), line.dtype);
  const values = sortByColumns(map('where', [isFirst, line, last]), false);
  const length = reduce('sum', cast(isFirst, 'int64'), [0], 'uniqueValues');
  const isKept = map('less', [iota(size), length]);
  return [map('where', [isKept, values, slice(line, [size - 1, size])]), length];
}
