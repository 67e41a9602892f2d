/**
 * Units of routines that count or fill the rows of a sparse result. Where a row's elements go depends on all before it, so
 * that all rows are one unit, unless the starts of blocks of rows are known (`graph/row-stretches.ts`): then a unit is a
 * block of rows, and behind those a stretch of the zeros behind the last element.
 *
 *     starts of blocks 0 40 90 100, bound 180, zeros by 50   →   units [0, 40) [40, 90) [90, 100) [100, 150) [150, 180)
 */
import {
  SPARSE_TAIL,
  SPARSE_TAIL_NAME,
  SPARSE_TAIL_THREADS,
} from '../../codegen/cuda/routines/sparse-units.js';
import { knownBlocks } from '../../graph/row-stretches.js';
import type { BufferArray, RoutineStep } from './call.js';
import type { CallLaunch } from './call-row.js';
import { int64 } from './launch-arguments.js';
import type { StretchOfUnits } from './routine.js';

export interface SparseUnits {
  readonly units: number;
  /** Rows of a unit. */
  readonly unitRows: number;
  /** Units of rows: 0 where all is one unit. */
  readonly rowUnits: number;
  /** Elements of a unit behind the last one. */
  readonly unitTail: number;
}

/** Stretches of zeros at most. */
const MOST_TAILS = 1024;

const unitsOf = new WeakMap<RoutineStep, SparseUnits>();

/** The units of `rows` rows, whose elements go up to a bound (0: they are only counted) by line number `line` of starts. */
export function sparseUnits(step: RoutineStep, rows: number, bound: number, line: number): SparseUnits {
  const known = unitsOf.get(step);
  if (known !== undefined) return known;
  const found = findUnits(step, rows, bound, line);
  unitsOf.set(step, found);
  return found;
}

function findUnits(step: RoutineStep, rows: number, bound: number, line: number): SparseUnits {
  const blocks = knownBlocks(step);
  if (blocks === undefined) return { units: 1, unitRows: rows, rowUnits: 0, unitTail: Math.max(1, bound) };
  const { count, rows: unitRows, startOf } = blocks;
  if (bound === 0) return { units: count, unitRows, rowUnits: count, unitTail: 1 };
  // Windows of zeros are about as large as those of the longest block.
  const lengths = Array.from({ length: count }, (_, k) => startOf(line, k + 1) - startOf(line, k));
  const rest = Math.max(0, bound - startOf(line, count));
  const longest = lengths.reduce((a, b) => Math.max(a, b), SPARSE_TAIL);
  const unitTail = Math.max(longest, Math.ceil(rest / MOST_TAILS));
  return { units: count + Math.ceil(rest / unitTail), unitRows, rowUnits: count, unitTail };
}

/**
 * The stored elements that units of so many rows read by the first line of starts, where the starts of blocks of rows are
 * known: for routines whose units are none of those blocks.
 */
export function stretchOfRows(
  step: RoutineStep,
  { rows, unitRows }: { readonly rows: number; readonly unitRows: number },
): StretchOfUnits | undefined {
  const blocks = knownBlocks(step);
  if (blocks === undefined) return undefined;
  const blockAt = (unit: number): number => Math.min(rows, unit * unitRows) / blocks.rows;
  return (first, last) => [
    blocks.startOf(0, Math.floor(blockAt(first))),
    blocks.startOf(0, Math.ceil(blockAt(last))),
  ];
}

/** Arrays by line of starts: those that have an element for each row or start, and those that have the rows' elements. */
export interface SparseLine {
  readonly line: number;
  readonly starts: BufferArray | undefined;
  readonly elements: readonly (BufferArray | undefined)[];
  /** Of the result: a bound of its elements. */
  readonly bound?: number;
}

/** The arrays of a product's second matrix, whose rows blocks reach. */
export interface SecondMatrix {
  readonly starts: BufferArray | undefined;
  readonly elements: readonly (BufferArray | undefined)[];
}

/** The elements of an array that ranges of units touch; undefined: all of it. */
export function sparseStretch(
  step: RoutineStep,
  array: BufferArray,
  {
    rows,
    lines,
    units,
    second,
  }: { rows: number; lines: readonly SparseLine[]; units: SparseUnits; second?: SecondMatrix },
): StretchOfUnits | undefined {
  const blocks = knownBlocks(step);
  if (blocks === undefined) return undefined;
  const isOfSecond = second !== undefined && (second.starts === array || second.elements.includes(array));
  if (isOfSecond) {
    const { reached } = blocks;
    if (reached === undefined || second.starts !== array)
      return reached && ((...units) => reached(...units).elements);
    return (first, last) => {
      const [from, to] = reached(first, last).rows;
      return [from, to > from ? to + 1 : to];
    };
  }
  const rowAt = (unit: number): number => Math.min(rows, unit * units.unitRows);
  const own = lines.find(({ starts, elements }) => starts === array || elements.includes(array));
  // Counts have an element for each row.
  if (own === undefined) return (first, last) => [rowAt(first), rowAt(last)];
  // The end of a unit's last row is the start of the next one; zeros begin at the last start.
  if (own.starts === array) return (first, last) => [rowAt(first), rowAt(last) + 1];
  const { line, bound } = own;
  if (bound === undefined) return (first, last) => [blocks.startOf(line, first), blocks.startOf(line, last)];
  const endOf = (unit: number): number =>
    Math.min(bound, blocks.startOf(line, unit) + Math.max(0, unit - blocks.count) * units.unitTail);
  return (first, last) => [endOf(first), endOf(last)];
}

/** The launch that writes zeros behind the last element, as `printSparseTail` prints it: the last operand is the starts. */
export const tailLaunch = (
  { operands, results }: RoutineStep,
  { units, rowUnits, unitTail }: SparseUnits,
  rows: number,
  bound: number,
): CallLaunch => {
  const unitBlocks = Math.ceil(unitTail / SPARSE_TAIL);
  const arrays = [operands.at(-1)!, ...results].map(({ buffer }) => ({ buffer }));
  const sizes = [rows, bound, rowUnits, unitTail, unitBlocks].map(int64);
  const args = [{ block: 'x' } as const, ...arrays, ...sizes];
  return { function: SPARSE_TAIL_NAME, blocks: units * unitBlocks, threads: SPARSE_TAIL_THREADS, args };
};

/** A kernel some lanes of which count or fill a row each. */
interface RowKernel {
  readonly function: string;
  readonly threads: number;
  readonly lanes: number;
  /** Its sizes before those of units. */
  readonly sizes: readonly number[];
  readonly units: SparseUnits;
}

/** Its launch: blocks of threads for the rows of each unit. */
export function rowLaunch(
  { operands, results }: RoutineStep,
  { function: name, threads, lanes, sizes, units }: RowKernel,
): CallLaunch {
  const unitBlocks = Math.ceil((units.unitRows * lanes) / threads);
  const arrays = [...operands, ...results].map(({ buffer }) => ({ buffer }));
  const args = [{ block: 'x' } as const, ...arrays, ...[...sizes, units.unitRows, unitBlocks].map(int64)];
  return { function: name, blocks: units.units * unitBlocks, threads, args };
}
