/**
 * Calls that read, or fill, the rows of sparse matrices: their lines of starts, and the parameters that `row-stretches.ts`
 * adds.
 */
import type { Expr } from './expr.js';
import type { RoutineName } from './routines.js';

/** The starts of rows, and how many elements they are of, at most. */
export interface RowLine {
  readonly starts: Expr;
  readonly stored: number;
}

/** The inputs that are starts of rows, and how many parameters a call has of its own. */
interface RowLines {
  /** None of a call that stands for others, whose lines they are (`sparse-ways.ts`). */
  readonly starts?: readonly number[];
  readonly parameters: number;
  /** Of a call that fills a matrix, whose starts are the last ones: the parameter that is the bound of its elements. */
  readonly bound?: number;
  /** Of a product: the input that is the starts of the second matrix, of which it reads rows that the first one's columns say. */
  readonly second?: number;
}

export const ROW_LINES: Partial<Record<RoutineName, RowLines>> = {
  sparseProduct: { starts: [1], parameters: 2 },
  sparseDense: { starts: [0], parameters: 1 },
  sparseMatmulCounts: { starts: [0], parameters: 4, second: 2 },
  sparseMatmul: { starts: [0, 6], parameters: 5, bound: 3, second: 3 },
  sparseSelectCounts: { starts: [0], parameters: 0 },
  sparseSelect: { starts: [0, 4], parameters: 1, bound: 0 },
  sparseMergeCounts: { starts: [0, 2], parameters: 1 },
  sparseMerge: { starts: [0, 3, 6], parameters: 3, bound: 2 },
  sparseCombine: { parameters: 5 },
  sparseKept: { parameters: 4 },
};

export interface Call {
  readonly call: RoutineName;
  readonly parameters: readonly number[];
}

/** Parameters of known blocks of rows. */
export interface BlockParameters {
  /** Of each block, the last one fewer. */
  readonly rows: number;
  readonly count: number;
  /** For each line of starts the start of each block, and the last end. */
  readonly starts: readonly number[];
  /** The rows of a second matrix that each block reads (`row-reach.ts`); none: any of them. */
  readonly reach: readonly number[];
}

/** The parameters that a call has behind its own. */
export const blockParameters = (
  rows: number,
  starts: readonly (readonly number[])[],
  reach: readonly number[],
): number[] => [rows, starts[0]!.length - 1, ...starts.flat(), ...reach];

/** The parameters of known blocks that a call has of which some of the lines are. */
export const blocksOfLines = (
  blocks: BlockParameters | undefined,
  lines: readonly number[],
): readonly number[] => {
  if (blocks === undefined) return [];
  const { rows, count, starts } = blocks;
  const lineAt = (k: number): readonly number[] => starts.slice(k * (count + 1), (k + 1) * (count + 1));
  return blockParameters(rows, lines.map(lineAt), []);
};

/** The parameters of a call that are its own, and of the blocks of rows whose starts are known. */
export function splitParameters({ call, parameters }: Call): readonly [readonly number[], BlockParameters?] {
  const known = ROW_LINES[call];
  if (known === undefined || parameters.length === known.parameters) return [parameters];
  const [rows, count, ...numbers] = parameters.slice(known.parameters) as [number, number, ...number[]];
  const lines = known.starts === undefined ? numbers.length : known.starts.length * (count + 1);
  const blocks = { rows, count, starts: numbers.slice(0, lines), reach: numbers.slice(lines) };
  return [parameters.slice(0, known.parameters), blocks];
}
