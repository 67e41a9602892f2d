/**
 * Calls that read, or fill, the rows of sparse matrices: their lines of starts, and the parameters that `row-stretches.ts`
 * adds.
 */
import type { RoutineName } from './routines.js';

/** The inputs that are starts of rows, and how many parameters a call has of its own. */
interface RowLines {
  readonly starts: readonly number[];
  readonly parameters: number;
  /** Of a call that fills a matrix, whose starts are the last ones: the parameter that is the bound of its elements. */
  readonly bound?: number;
}

/** The second matrix of a product is held as a whole: its rows are read wherever the first one's columns say. */
export const ROW_LINES: Partial<Record<RoutineName, RowLines>> = {
  sparseProduct: { starts: [1], parameters: 2 },
  sparseMatmulCounts: { starts: [0], parameters: 4 },
  sparseMatmul: { starts: [0, 6], parameters: 5, bound: 3 },
  sparseMergeCounts: { starts: [0, 2], parameters: 1 },
  sparseMerge: { starts: [0, 3, 6], parameters: 3, bound: 2 },
};

export interface Call {
  readonly call: RoutineName;
  readonly parameters: readonly number[];
}

/** The parameters of a call that are its own, and the blocks of rows whose starts the others are. */
export function ownParameters({ call, parameters }: Call): readonly [own: readonly number[], blocks: number] {
  const known = ROW_LINES[call];
  if (known === undefined || parameters.length === known.parameters) return [parameters, 0];
  const further = parameters.length - known.parameters - 1;
  return [parameters.slice(0, known.parameters), further / known.starts.length - 1];
}
