/** Rows of the table of routines: sparse matrices, by rows of stored elements. */
import { placeDType, type RoutineRow } from './routine-row.js';

export const SPARSE_ROUTINES = {
  /**
   * A sparse matrix times dense columns [inner, width]: [rows, width], of the dtype of both, a float32, float64,
   * complex one or 64-bit integers. Inputs: the dense columns; the stored elements of row i are those from starts[i] up
   * to starts[i + 1] [rows + 1] of two lines, their columns (starts and columns int32 or int64) and their values. Sums
   * of floats are in float64, rounded once. One dense row [1, width] is that of every column: columns are not read.
   * Parameters: how many partial sums an element has, a power of two up to 32; and how many columns there are where
   * starts and columns are looked at before anything runs, else 0.
   */
  sparseProduct: {
    results: ([dense, starts, , values]) => [
      { dtype: values!.dtype, shape: [starts!.shape[0]! - 1, dense!.shape[1]!] },
    ],
  },
  /**
   * X of A X = B, A a triangle of a sparse matrix. Inputs: B [1, rows, width], a float32, float64 or complex one; starts,
   * columns and values as of `sparseProduct`; the diagonal [rows]. Elements beside the triangle are not read, nor
   * a diagonal. Parameters: partial sums, as of `sparseProduct`, and whether A is the upper triangle (0 or 1).
   */
  sparseTriangularSolve: { results: ([b]) => [b!] },
  /**
   * X of A X = B by factors of A that cuDSS made on a GPU: columns of B one after the other, [k, n], a float32, float64 or
   * complex one. Inputs: B, and the memory that stands for the factors. Parameters: the factors' number. On a GPU alone.
   */
  sparseSolve: { results: ([b]) => [b!] },
  /**
   * The row of each stored element, by the starts of rows [rows + 1]: int32, or int64 from 2^31 rows on; the number of
   * rows behind the last one. Parameters: how many elements there are up to the bound.
   */
  sparseRows: {
    results: ([starts], [bound]) => [{ dtype: placeDType(starts!.shape[0]!), shape: [bound!] }],
  },
  /**
   * The dense array of a sparse matrix: [rows, columns], 0 where nothing is stored. Inputs: starts and columns, all int32 or
   * all int64, and values, of rows in the order of their columns without any twice. Parameter: how many columns there are.
   */
  sparseDense: {
    results: ([starts, , values], [columns]) => [
      { dtype: values!.dtype, shape: [starts!.shape[0]! - 1, columns!] },
    ],
  },
  /**
   * Starts, columns and values of rows that are those of other sparse matrices, up to a bound, 0 behind the last one.
   * Inputs: where rows are chosen, their int64 numbers, or int32 or int64 ones as a user gave them; for each matrix starts, of a stretch of its rows theirs, and columns,
   * all int32 or all int64, which the bound fits into, and values of one dtype. On the CPU alone (`sparse-ways.ts`).
   * Parameters: the place in `GATHER_WAYS`; the bound; whether what is behind the last element may stay undefined (1), which
   * plans say; whether all up to the bound is stored (1); and for each matrix its first column in the result.
   */
  sparseGather: {
    results: (inputs, [way, bound, , , ...offsets]) => {
      const first = firstGathered(way!);
      const [, places, values] = inputs.slice(first);
      const [rows, ...more] = offsets.map((_, k) => inputs[first + 3 * k]!.shape[0]! - 1);
      const counts = {
        chosen: inputs[0]!.shape[0]!,
        given: inputs[0]!.shape[0]!,
        above: more.reduce((sum, count) => sum + count, rows!),
        beside: rows!,
        stretch: rows!,
      };
      return [
        { dtype: places!.dtype, shape: [counts[GATHER_WAYS[way!]!] + 1] },
        { dtype: places!.dtype, shape: [bound!] },
        { dtype: values!.dtype, shape: [bound!] },
      ];
    },
  },
  /**
   * Starts, columns and values of the transpose of a sparse matrix, in the order of the matrix's rows. Inputs: starts and
   * columns, all int32 or all int64, which numbers of rows and of elements fit into, and values. On the CPU alone
   * (`sparse-ways.ts`). Parameters: the matrix's columns; whether what is behind the last element may stay undefined (1) and
   * not 0, which plans say; and whether all elements are stored (1).
   */
  sparseTranspose: {
    results: ([starts, places, values], [columns]) => [
      { dtype: starts!.dtype, shape: [columns! + 1] },
      places!,
      values!,
    ],
  },
  /**
   * Starts, columns and values of the sparse matrix of elements in any order, those at one place added up in the order in
   * which they are given, floats in float64, rounded once. Inputs: rows and columns in range, all int32 or all int64, which
   * their number fits into, and values of the dtypes of `sparseProduct`. On the CPU alone (`sparse-ways.ts`). Parameters: the
   * matrix's rows and columns; and whether what is behind the last element may stay undefined (1) and not 0, which plans say.
   */
  sparseElements: {
    results: ([row, , values], [rows]) => [{ dtype: row!.dtype, shape: [rows! + 1] }, row!, values!],
  },
  /**
   * An order of the unknowns of a square sparse matrix that keeps its factors sparse, int64 [n], and how many elements the
   * Cholesky factor of the pattern of A + Aᵀ has in it. Inputs: starts and places of A, by rows or by columns. On the CPU
   * alone. Parameters: the order's place in `SPARSE_ORDERS`.
   */
  sparseOrder: {
    results: ([starts]) => [
      { dtype: 'int64', shape: [starts!.shape[0]! - 1] },
      { dtype: 'int64', shape: [] },
    ],
  },
  /**
   * The LU factors of a square sparse matrix of float64 or complex128: the row and the column of each pivot, int64 [n];
   * starts [n + 1], places and values of L by rows, then of U, up to a bound, rows in the order of their columns, starts
   * and places int32 where all fit; and a status: 0, the number of a column without a pivot from 1 on, or -1 where the
   * bound is too small. Inputs: starts, places and values by columns, and an int64 order of these [n]. On the CPU alone.
   * Parameters: the bound; by millionths how large the element of the diagonal is beside the largest one of its column so
   * that it is the pivot; and whether columns stay in that order (1), or come in another one that fills as little.
   */
  sparseLu: {
    results: ([starts, , values], [bound]) => {
      const n = starts!.shape[0]! - 1;
      const dtype = placeDType(Math.max(n, bound!));
      const factor = [
        { dtype, shape: [n + 1] },
        { dtype, shape: [bound!] },
        { dtype: values!.dtype, shape: [bound!] },
      ] as const;
      const line = { dtype: 'int64', shape: [n] } as const;
      return [line, line, ...factor, ...factor, { dtype: 'int64', shape: [] }];
    },
  },
  /**
   * How many elements the rows of a product of two sparse matrices have: int64 [rows]. Inputs: starts and columns of A,
   * and of B, whose rows are in the order of their columns without any twice; all int32, or all int64. Parameters:
   * columns of B; products of a row at most; stored elements that a row of B has at most; and whether starts and columns
   * of A are looked at before anything runs (1).
   */
  sparseMatmulCounts: { results: ([starts]) => [{ dtype: 'int64', shape: [starts!.shape[0]! - 1] }] },
  /**
   * Columns, int32 or int64, and values of that product, up to a bound. Inputs: starts, columns and values of A and of B,
   * and the int64 starts of the product's rows. An element is summed in the order of A's row, floats in float64, rounded
   * once; behind the last one are zeros. Parameters: columns of B, products and stored elements of a row as before,
   * the bound; and, which plans say, whether what is behind the last element may stay undefined (1).
   */
  sparseMatmul: {
    results: ([, , values], [columns, , , bound]) => [
      { dtype: placeDType(Math.max(columns!, bound!)), shape: [bound!] },
      { dtype: values!.dtype, shape: [bound!] },
    ],
  },
  /**
   * How many elements the rows of two sparse matrices have together, or both: int64 [rows]. Inputs: starts and columns of
   * A, and of B, rows in the order of their columns without any twice; all int32, or all int64. Parameters: whether of
   * both (1).
   */
  sparseMergeCounts: { results: ([starts]) => [{ dtype: 'int64', shape: [starts!.shape[0]! - 1] }] },
  /**
   * The columns of those elements, int32 or int64, and the elements of A and of B there, 0 where a matrix has none, up to a
   * bound, 0 behind the last one. Inputs: starts, columns and values of A and of B, whose values have one dtype, and the
   * int64 starts of the result's rows. Parameters: whether of both (1), columns of the matrices, the bound.
   */
  sparseMerge: {
    results: ([, , values], [, columns, bound]) => [
      { dtype: placeDType(Math.max(columns!, bound!)), shape: [bound!] },
      { dtype: values!.dtype, shape: [bound!] },
      { dtype: values!.dtype, shape: [bound!] },
    ],
  },
  /**
   * Starts, columns and elements of the sum, difference or product, element by element, of two sparse matrices, or of what is
   * true of a comparison, up to a bound, 0 behind the last one. Inputs: those of `sparseMerge` without starts, of float32 or
   * float64. On the CPU alone (`sparse-ways.ts`). Parameters: whether of both (1), columns of the matrices, the bound, the
   * place of the op in `COMBINED_OPS`; and whether what is behind the last element may stay undefined (1), which plans say.
   */
  sparseCombine: {
    results: ([starts, , values], [, columns, bound, op]) => {
      const dtype = placeDType(Math.max(columns!, bound!));
      return [
        { dtype, shape: starts!.shape },
        { dtype, shape: [bound!] },
        { dtype: isComparison(COMBINED_OPS[op!]!) ? 'bool' : values!.dtype, shape: [bound!] },
      ];
    },
  },
  /**
   * Starts, columns and values of the elements of a sparse matrix that are kept, up to a bound, 0 behind the last one. Inputs:
   * starts and columns, all int32 or all int64, values, and the mask of the elements where there is one. On the CPU alone
   * (`sparse-ways.ts`). Parameters: whether there is a mask (1), else columns are kept; the first column, which is 0 in the
   * result, and how many there are; and whether what is behind the last element may stay undefined (1), which plans say.
   */
  sparseKept: { results: ([starts, places, values]) => [starts!, places!, values!] },
  /**
   * Starts, columns and values of the Kronecker product of two sparse matrices, A and B, 0 behind the last element. Inputs:
   * starts and columns, which those of the result fit into, and values of A, then of B, all of float32 or float64. On the
   * CPU alone (`sparse-ways.ts`). Parameters: columns of B; and whether what is behind the last element may stay undefined
   * (1), which plans say.
   */
  sparseKron: {
    results: ([startsA, placesA, valuesA, startsB, placesB]) => {
      const bound = placesA!.shape[0]! * placesB!.shape[0]!;
      return [
        { dtype: startsA!.dtype, shape: [(startsA!.shape[0]! - 1) * (startsB!.shape[0]! - 1) + 1] },
        { dtype: placesA!.dtype, shape: [bound] },
        { dtype: valuesA!.dtype, shape: [bound] },
      ];
    },
  },
  /**
   * How many elements a mask selects of each row: int64 [rows]. Inputs: starts of rows, and the mask of the elements.
   */
  sparseSelectCounts: { results: ([starts]) => [{ dtype: 'int64', shape: [starts!.shape[0]! - 1] }] },
  /**
   * Those elements, their columns and values, up to a bound, 0 behind the last one. Inputs: starts and columns, all int32 or
   * all int64, values and mask of the elements, and the int64 starts of the result's rows. Parameter: the bound.
   */
  sparseSelect: {
    results: ([, places, values], [bound]) => [
      { dtype: places!.dtype, shape: [bound!] },
      { dtype: values!.dtype, shape: [bound!] },
    ],
  },
} as const satisfies Readonly<Record<string, RoutineRow>>;

/** The orders of `sparseOrder`: as they are, of least degree, and by breadth, reversed. */
export const SPARSE_ORDERS = ['natural', 'amd', 'rcm'] as const;

/** The ops of `sparseCombine`. */
export const COMBINED_OPS: readonly string[] = ['add', 'subtract', 'multiply', 'notEqual', 'less', 'greater'];

/** Of those, whether the op is a comparison, of which elements are kept where it is true. */
export const isComparison = (op: string): boolean => COMBINED_OPS.indexOf(op) > 2;

/**
 * The ways in which rows are those of other matrices: chosen by their numbers, of matrices above one another or side by side,
 * by numbers that a user gave, from the end where negative and an error out of range, or a stretch of one.
 */
export const GATHER_WAYS = ['chosen', 'above', 'beside', 'given', 'stretch'] as const;
export type GatherWay = (typeof GATHER_WAYS)[number];

/** The first input of the first matrix of `sparseGather`. */
export const firstGathered = (way: number): number => (hasNumbers(way) ? 1 : 0);

const hasNumbers = (way: number): boolean => GATHER_WAYS[way] === 'chosen' || isGivenNumbers(way);

/** Whether the numbers of rows are looked at. */
export const isGivenNumbers = (way: number): boolean => GATHER_WAYS[way] === 'given';
