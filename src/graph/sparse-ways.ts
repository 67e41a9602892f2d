/**
 * Routines of the CPU over sparse matrices as nodes that other targets, and blocks of rows, have instead: made of the
 * inputs of a call where they are needed (`other-ways.ts`).
 *
 *     sparseCombine A B       →   counts of merged rows, their running sum, the merge, a map; of comparisons a selection
 *     sparseKept A mask       →   counts of rows, their running sum, the selection
 *     sparseGather A B …      →   lengths of rows, their running sum, each element from its place
 *     sparseTranspose A       →   a stable sort of the columns, running sums of their counts
 *     sparseKron A B          →   lengths of rows, multiplied, their running sum, the elements of both at each place
 *     sparseElements i j x    →   a sort of keys i · columns + j, runs of equal ones, their sums
 *
 * Their calls take the parameters of known blocks of rows from the call that they stand for (`row-stretches.ts`).
 */
import { slice } from './basic-slicing.js';
import { countsIn } from './binning.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, iota, map } from './infer.js';
import { concat } from './joins.js';
import type { OpName } from './ops.js';
import { blocksOfLines, type RowLine, splitParameters } from './row-lines.js';
import { at, constantLine, indexDType, startsOfCounts, summedByKeys } from './sparse.js';
import { COMBINED_OPS, firstGathered, GATHER_WAYS, isComparison, isGivenNumbers } from './sparse-routines.js';
import { broadcast, reshape } from './view-nodes.js';
import { permuteDims } from './views.js';

/** The results of a call, and the lines of starts of rows in what gives them. */
export interface Way {
  readonly results: readonly Expr[];
  readonly lines: readonly RowLine[];
}

/** By the inputs of a call, and its parameters. */
export type WayOf = (inputs: readonly Expr[], parameters: readonly number[]) => Way;

/** Elements of lines as they are selected, or merged. */
const int64 = (x: Expr): Expr => cast(x, 'int64');

export function combined(inputs: readonly Expr[], parameters: readonly number[]): Way {
  const [own, blocks] = splitParameters({ call: 'sparseCombine', parameters });
  const [isOfBoth, columns, bound, place] = own as [number, number, number, number];
  const [startsA, placesA, , startsB, placesB] = inputs as [Expr, Expr, Expr, Expr, Expr];
  const op = COMBINED_OPS[place]! as OpName;
  const pattern = [startsA, placesA, startsB, placesB];
  const countBlocks = blocksOfLines(blocks, [0, 1]);
  const [counts] = call('sparseMergeCounts', [isOfBoth, ...countBlocks], pattern) as [Expr];
  const begins = startsOfCounts(counts);
  const sizes = [isOfBoth, columns, bound, ...blocksOfLines(blocks, [0, 1, 2])];
  const [places, a, b] = call('sparseMerge', sizes, [...inputs, begins]) as [Expr, Expr, Expr];
  const values = map(op, [a, b]);
  const starts = cast(begins, places.dtype);
  const lines = [
    { starts: startsA, stored: placesA.shape[0]! },
    { starts: startsB, stored: placesB.shape[0]! },
    { starts: begins, stored: bound },
  ];
  if (!isComparison(op)) return { results: [starts, places, values], lines };
  const chosen = selected([starts, places, values, values], bound, [
    blocksOfLines(blocks, [2]),
    blocksOfLines(blocks, [2, 3]),
  ]);
  return { results: chosen, lines: [...lines, { starts: chosen[0]!, stored: bound }] };
}

/** The elements that a mask keeps: starts, columns and values. `blocks`: parameters of the counts, and of what is written. */
function selected(
  [starts, places, values, mask]: readonly [Expr, Expr, Expr, Expr],
  bound: number,
  [countBlocks, blocks]: readonly [readonly number[], readonly number[]],
): readonly Expr[] {
  const [counts] = call('sparseSelectCounts', countBlocks, [starts, mask]) as [Expr];
  const begins = startsOfCounts(counts);
  return [
    cast(begins, starts.dtype),
    ...call('sparseSelect', [bound, ...blocks], [starts, places, values, mask, begins]),
  ];
}

export function kept(inputs: readonly Expr[], parameters: readonly number[]): Way {
  const [own, blocks] = splitParameters({ call: 'sparseKept', parameters });
  const [hasMask, first, count] = own as [number, number, number];
  const [starts, places, values] = inputs as [Expr, Expr, Expr];
  const bound = places.shape[0]!;
  const column = int64(places);
  const mask =
    hasMask === 1
      ? inputs[3]!
      : map('logicalAnd', [
          map('greaterEqual', [column, BigInt(first)]),
          map('less', [column, BigInt(first + count)]),
        ]);
  const [begins, columns, elements] = selected([starts, places, values, mask], bound, [
    blocksOfLines(blocks, [0]),
    blocksOfLines(blocks, [0, 1]),
  ]) as [Expr, Expr, Expr];
  const moved = first === 0 ? columns : cast(map('subtract', [columns, BigInt(first)]), columns.dtype);
  return {
    results: [begins, moved, elements],
    lines: [
      { starts, stored: bound },
      { starts: begins, stored: bound },
    ],
  };
}

/** A matrix whose rows are those of the result. */
interface Gathered {
  /** int64. */
  readonly starts: Expr;
  readonly places: Expr;
  readonly values: Expr;
}

const beginsOf = ({ starts }: Gathered): Expr => slice(starts, [0, -1]);
const lengthsOf = ({ starts }: Gathered): Expr =>
  map('subtract', [slice(starts, [1]), slice(starts, [0, -1])]);

export function gathered(inputs: readonly Expr[], parameters: readonly number[]): Way {
  const [place, bound, , isFull, ...offsets] = parameters as [number, number, number, number, ...number[]];
  const first = firstGathered(place);
  const matrices = offsets.map((offset, k): Gathered => {
    const [starts, places, values] = inputs.slice(first + 3 * k, first + 3 * k + 3) as [Expr, Expr, Expr];
    const columns = offset === 0 ? places : cast(map('add', [places, BigInt(offset)]), places.dtype);
    return { starts: int64(starts), places: columns, values };
  });
  const own = matrices[0]!;
  const index = own.places.dtype;
  const linesOf = (starts: Expr, places: Expr, values: Expr): Way => ({
    results: [cast(starts, inputs[first]!.dtype), cast(places, index), values],
    lines: [],
  });
  let end = 0;
  const ends = [0, ...matrices.map(({ places }) => (end += places.shape[0]!))];
  // Lines lie one behind the other, up to their bounds.
  const begins = (): Expr[] => matrices.map((each, k) => map('add', [beginsOf(each), BigInt(ends[k]!)]));
  // `rowsOf`: the starts of the result's rows, of those of a row of each matrix.
  const inRows = (lineOf: (lines: readonly Expr[]) => Expr, rowsOf: (starts: Expr) => Expr): Way => {
    const starts = startsOfCounts(lineOf(matrices.map(lengthsOf)));
    const found = elementsInRows({
      begins: lineOf(begins()),
      starts,
      places: concat(matrices.map(({ places }) => places)),
      values: concat(matrices.map(({ values }) => values)),
      bound,
    });
    return linesOf(rowsOf(starts), found.places, found.values);
  };
  switch (GATHER_WAYS[place]!) {
    case 'chosen':
    case 'given': {
      const given = int64(inputs[0]!);
      const rows = BigInt(own.starts.shape[0]! - 1);
      const numbers = isGivenNumbers(place)
        ? map('where', [map('less', [given, 0n]), map('add', [given, rows]), given])
        : given;
      const from = at(own.starts, numbers);
      const lengths = map('subtract', [at(own.starts, map('add', [numbers, 1n])), from]);
      const starts = startsOfCounts(lengths);
      const { places, values } = elementsInRows({ ...own, begins: from, starts, bound });
      return linesOf(starts, places, values);
    }
    case 'stretch': {
      const from = slice(own.starts, 0);
      const moved = (line: Expr): Expr => at(line, map('add', [iota(bound), from]));
      return linesOf(map('subtract', [own.starts, from]), moved(own.places), moved(own.values));
    }
    case 'above': {
      if (isFull !== 1) return inRows(concat, (starts) => starts);
      return linesOf(
        concat([...begins(), constantLine(BigInt(end))]),
        concat(matrices.map(({ places }) => places)),
        concat(matrices.map(({ values }) => values)),
      );
    }
    case 'beside': {
      const [count, rows] = [matrices.length, own.starts.shape[0]! - 1];
      return inRows(
        (lines) => reshape(permuteDims(reshape(concat(lines), [count, rows])), [count * rows]),
        () => matrices.map((each) => each.starts).reduce((sum, each) => map('add', [sum, each])),
      );
    }
  }
}

/** Rows of lines: where each begins there, and the starts of the result's rows. */
interface RowsInLines extends Gathered {
  readonly begins: Expr;
  readonly bound: number;
}

/** The elements of the rows one after the other: begins 4 0 0, starts 0 1 3 5 → elements 4 0 1 0 1. */
function elementsInRows({ begins, starts, places, values, bound }: RowsInLines): Omit<Gathered, 'starts'> {
  const count = begins.shape[0]!;
  const [row] = call('sparseRows', [bound], [starts]) as [Expr];
  const moves = map('subtract', [begins, slice(starts, [0, -1])]);
  const from = map('add', [iota(bound), at(moves, map('minimum', [row, count - 1]))]);
  return { places: at(places, from), values: at(values, from) };
}

export function transposed(inputs: readonly Expr[], [columns, , isExact]: readonly number[]): Way {
  const [starts, places, values] = inputs as [Expr, Expr, Expr];
  const rows = starts.shape[0]! - 1;
  const [found] = call('sparseRows', [places.shape[0]!], [starts]) as [Expr];
  const row = int64(found);
  const column = int64(places);
  const isStored = (): Expr => map('less', [row, BigInt(rows)]);
  const keys = isExact === 1 ? column : map('where', [isStored(), column, BigInt(columns!)]);
  const key = cast(keys, indexDType(columns! + 1));
  const [order] = call('argsort', [0, 0, columns! + 1], [key]) as [Expr];
  const counts = countsIn({ asked: 'sparse.T', count: columns!, keys: key, by: 'within' });
  const moved = map('minimum', [at(row, order), BigInt(Math.max(rows - 1, 0))]);
  return {
    results: [cast(startsOfCounts(counts), starts.dtype), cast(moved, places.dtype), at(values, order)],
    lines: [],
  };
}

/** The matrix of elements in any order. */
export function collected(inputs: readonly Expr[], [rows, columns]: readonly number[]): Way {
  const [row, column, values] = inputs as [Expr, Expr, Expr];
  const keys = map('add', [map('multiply', [int64(row), BigInt(columns!)]), int64(column)]);
  const found = summedByKeys([rows!, columns!], keys, values);
  const [starts, places] = [found.starts, upToBound(found.places)].map((line) => cast(line, row.dtype)) as [
    Expr,
    Expr,
  ];
  return { results: [starts, places, upToBound(found.values)], lines: [] };
}

/** Of the Kronecker product. */
export function multiplied(inputs: readonly Expr[], [columns]: readonly number[]): Way {
  const [startsA, placesA, valuesA, startsB, placesB, valuesB] = inputs as [
    Expr,
    Expr,
    Expr,
    Expr,
    Expr,
    Expr,
  ];
  const [a, b] = [
    { starts: int64(startsA), places: placesA, values: valuesA },
    { starts: int64(startsB), places: placesB, values: valuesB },
  ];
  const pair = [a.starts.shape[0]! - 1, b.starts.shape[0]! - 1] as const;
  const rows = pair[0] * pair[1];
  const bound = placesA.shape[0]! * placesB.shape[0]!;
  // A line of an element for each row of the result, of those of the rows of A, or of B.
  const ofA = (line: Expr): Expr => reshape(broadcast(reshape(line, [pair[0], 1]), pair), [rows]);
  const ofB = (line: Expr): Expr => reshape(broadcast(reshape(line, [1, pair[1]]), pair), [rows]);
  const lengthsB = ofB(lengthsOf(b));
  const starts = startsOfCounts(map('multiply', [ofA(lengthsOf(a)), lengthsB]));
  const [found] = call('sparseRows', [bound], [starts]) as [Expr];
  const row = map('minimum', [found, rows - 1]);
  const inRow = map('subtract', [iota(bound), at(starts, row)]);
  // Behind the last element of all a row may be empty.
  const length = map('maximum', [at(lengthsB, row), 1n]);
  const first = map('floorDivide', [inRow, length]);
  const second = map('subtract', [inRow, map('multiply', [first, length])]);
  const k = map('add', [at(ofA(beginsOf(a)), row), first]);
  const l = map('add', [at(ofB(beginsOf(b)), row), second]);
  const columnOfA = map('multiply', [at(int64(placesA), k), BigInt(columns!)]);
  return {
    results: [
      cast(starts, startsA.dtype),
      cast(map('add', [columnOfA, at(int64(placesB), l)]), placesA.dtype),
      map('multiply', [at(valuesA, k), at(valuesB, l)]),
    ],
    lines: [],
  };
}
