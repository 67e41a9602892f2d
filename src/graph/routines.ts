/**
 * The table of routines: work that is neither arithmetic on elements nor a reduction, and that a plan runs as
 * a whole (a call). A row gives the types of its results; `exec/calls` has the row of the same name with
 * everything that planning and running need.
 *
 * Arrays are in C order. Parameters are plain numbers, which each row documents.
 */
import { BIN_OPS, type BinOp, binUnits } from './bin-units.js';
import { byteLengthOf, DTYPE_INFO, type DType } from './dtype.js';
import type { UserKernel } from './user-kernel.js';

export interface ArrayType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

export interface RoutineRow {
  /** The types of the results, in order. */
  readonly results: (
    inputs: readonly ArrayType[],
    parameters: readonly number[],
    kernel?: UserKernel,
  ) => readonly ArrayType[];
}

export const ROUTINES = {
  /**
   * The rows along the last axis in order, NaN last. Parameters: whether descending (0 or 1), and how many rows a unit
   * has at most where that is said. NaNs come out as the quiet NaN, and -0 before 0 (after it where descending).
   */
  sort: { results: ([x]) => [x!] },
  /**
   * The int64 indices that sort the rows along the last axis, those of equal elements ascending; NaN last, -0
   * and 0 are equal. Parameters: whether descending (0 or 1); then, where it is said of whole numbers, how many rows a
   * unit has at most (0: any), and that they are from 0 up to below a number, by which the CPU counts them.
   */
  argsort: { results: ([x]) => [{ dtype: 'int64', shape: x!.shape }] },
  /**
   * The elements at ranks of the rows of two axes, counted from 0 in the order of `sort`; of real dtypes.
   * Parameters: the ranks, at most `SELECTED_RANKS`.
   */
  ranks: { results: ([x], ranks) => [{ dtype: x!.dtype, shape: [x!.shape[0]!, ranks.length] }] },
  /**
   * The first elements of the rows of two axes in the order of `argsort`, and their int64 indices; of real
   * dtypes. Parameters: whether descending (0 or 1), and how many, at most `SELECTED_MOST`.
   */
  top: {
    results: ([x], [, count]) => {
      const shape = [x!.shape[0]!, count!];
      return [
        { dtype: x!.dtype, shape },
        { dtype: 'int64', shape },
      ];
    },
  },
  /**
   * The running values along the middle axis of three. Inputs: the elements, and where the axis is longer
   * than a tile (`scanTile`) the value before each of its tiles, as `scanBefore` gives them. Parameters: the
   * operation's place in `SCAN_OPS`, and whether from the end of the axis (0 or 1).
   */
  scan: { results: ([x]) => [x!] },
  /**
   * The value over each tile of the middle axis, as `scan` combines its elements; parameters as of `scan`.
   */
  scanTotals: {
    results: ([x], [op]) => {
      const [outer, length, inner] = x!.shape as readonly [number, number, number];
      const tiles = Math.ceil(length / scanTile(x!.dtype, inner));
      return [{ dtype: carriedDType(SCAN_OPS[op!]!, x!.dtype), shape: [outer, tiles, inner] }];
    },
  },
  /** The value over all tiles before each, by the totals of the tiles; parameters as of `scan`. */
  scanBefore: { results: ([totals]) => [totals!] },
  /**
   * Elements gathered in bins, a partial result for each unit of rows (`binUnits`), which a reduction along the
   * first axis combines: [units, parts, bins · width]. Row i of the values, `width` elements, goes to bin
   * `keys[i]`. Inputs: the keys (integers, one axis), the values [rows · width] but where rows are counted or
   * placed, and for `fixed` the scales [bins · width] that `scale` gives. Parameters: the operation's place in
   * `BIN_OPS`, bins, width, the place in `BIN_MODES` of which bin a key means, how many numbers a bin has, and their bits
   * of `fixed` and `exact`.
   */
  bins: { results: ([keys, values], parameters) => [binResult(keys!, values, parameters)] },
  /**
   * The sums of floats by bin [bins · width], of float64 or else float32. Inputs: the keys, the values [rows · width] of
   * either, and, up to the passes (`fusion/passes/both-ways.ts`), the sums as results of `bins` make them. Parameters:
   * bins, width, the place in `BIN_MODES`, whether the sums are float64 (1) or not (0); of `fixed-sums.ts` how many
   * numbers a sum has, or 0 for `exact-sums.ts`; their bits; and the zero that nothing, and what cancels
   * out, is: any (0), or as those have it, -0 (1) or 0 (2) of exact ones.
   */
  binSums: {
    results: (_, [bins, width, , isDouble]) => [
      { dtype: isDouble === 1 ? 'float64' : 'float32', shape: [bins! * width!] },
    ],
  },
  /**
   * The same where the keys are real numbers, and edges, of the keys' dtype if it is a float and else float64,
   * stand behind them: bin k has `edges[k] <= key < edges[k + 1]`, the last one its upper edge too, no bin what
   * lies outside, or NaN. The fourth parameter says whether the edges are equally spaced (1) or not (0).
   */
  histogram: { results: ([keys, , values], parameters) => [binResult(keys!, values, parameters)] },
  /**
   * The places, int64, at which a line of booleans is true, in order, or the elements of a second line there; and
   * their number. Behind them are the last place or element of the line. Parameters: whether what is behind them is
   * left undefined (1), which plans say where nothing reads it.
   */
  compact: { results: ([mask, values]) => keptOf(values ?? { dtype: 'int64', shape: mask!.shape }) },
  /**
   * The elements of a line that differ from the one before, the first one among them, and their number; NaN differs
   * from all, -0 not from 0. Behind them, and parameters, as of `compact`.
   */
  distinct: { results: ([values]) => keptOf(values!) },
  /**
   * The least place of the component that each element of a mask belongs to, int32 below 2^31 elements and else int64;
   * -1 where the mask is false. On a GPU alone.
   * Parameters: the offsets along each axis, plus 1, of the neighbours before an element in C order that belong to it.
   */
  components: {
    results: ([mask]) => [
      { dtype: placeDType(mask!.shape.reduce((n, size) => n * size, 1)), shape: mask!.shape },
    ],
  },
  /**
   * The labels of the components of a mask, from 1 in the order of their first elements, and 0 where it is false; and
   * how many there are []: of the dtype of `components`, whose parameters it has. Inputs: the mask, and, up to the
   * passes (`fusion/passes/both-ways.ts`), both results as `components` and a scan make them. On the CPU alone.
   */
  labels: {
    results: ([mask]) => {
      const dtype = placeDType(mask!.shape.reduce((n, size) => n * size, 1));
      return [
        { dtype, shape: mask!.shape },
        { dtype, shape: [] },
      ];
    },
  },
  /**
   * Whether each element of an array of integers is one of a set of the same dtype [count], in ascending order. Inputs:
   * the array, the set, and, up to the passes (`fusion/passes/both-ways.ts`), the result as a search of the set makes
   * it. Parameters: whether those that are not are asked for (1). On the CPU alone.
   */
  members: { results: ([elements]) => [{ dtype: 'bool', shape: elements!.shape }] },
  /**
   * The products of runs of rows [rows, width], in the dtype in which they are multiplied: [runs, width]. Run k is
   * the rows from end k - 1 (0 for the first) up to end k, which int64 numbers [runs] say; 1 where it has none.
   * Parameters: the most rows that a run has.
   */
  runProducts: {
    results: ([rows, ends]) => [
      { dtype: carriedDType('prod', rows!.dtype), shape: [ends!.shape[0]!, rows!.shape[1]!] },
    ],
  },
  /**
   * A sparse matrix times dense columns [inner, width]: [rows, width], of the dtype of both, a float32, float64,
   * complex one or 64-bit integers. Inputs: the dense columns; the stored elements of row i are those from starts[i] up
   * to starts[i + 1] [rows + 1] of two lines, their columns (starts and columns int32 or int64) and their values. Sums
   * of floats are in float64, rounded once. Parameters: how many partial sums an element has, a power of two
   * up to 32; and whether starts and columns are looked at before anything runs (1).
   */
  sparseProduct: {
    results: ([dense, starts, , values]) => [
      { dtype: values!.dtype, shape: [starts!.shape[0]! - 1, dense!.shape[1]!] },
    ],
  },
  /**
   * X of A X = B, A a triangle of a sparse matrix. Inputs: B [1, rows, width], a float32, float64 or complex one; starts,
   * columns and values as of `sparseProduct`; the diagonal [rows]. What is stored beside the triangle is not read, nor
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
   * Columns and values of rows that are those of other sparse matrices, up to a bound, 0 behind the last one. Inputs: the
   * int64 starts of the rows; where they are chosen, their int64 numbers; for each matrix starts and columns, all int32 or
   * all int64, and values of one dtype; and, up to the passes (`fusion/passes/both-ways.ts`), both results as gathers make
   * them. On the CPU alone. Parameters: the place in `GATHER_WAYS`; the bound; whether what is behind the last element may
   * stay undefined (1), which plans say; and for each matrix its first column in the result.
   */
  sparseGather: {
    results: (inputs, [way, bound]) => {
      const [, places, values] = inputs.slice(firstGathered(way!));
      return [
        { dtype: places!.dtype, shape: [bound!] },
        { dtype: values!.dtype, shape: [bound!] },
      ];
    },
  },
  /**
   * Starts, columns and values of the transpose of a sparse matrix, in the order of the matrix's rows. Inputs: starts and
   * columns, all int32 or all int64, which numbers of rows and of elements fit into, values, and, up to the passes
   * (`fusion/passes/both-ways.ts`), the results as a sort makes them. On the CPU alone. Parameters: the matrix's columns,
   * and whether what is behind the last element may stay undefined (1) and not 0, which plans say.
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
   * their number fits into, values of the dtypes of `sparseProduct`, and, up to the passes (`fusion/passes/both-ways.ts`),
   * the results as a sort makes them. On the CPU alone. Parameters: the matrix's rows and columns; and whether what is behind
   * the last element may stay undefined (1) and not 0, which plans say.
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
   * How many elements a mask selects of each row: int64 [rows]. Inputs: starts of rows, and the mask of the elements.
   * Parameters: whether starts out of range are an error (1).
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
  /**
   * The Fourier transform along all axes but the first and the last: complex numbers [outer, one to three axes,
   * inner], no size 0. Parameters: whether with the inverse's sign (0 or 1). Nothing is scaled.
   */
  fft: { results: ([x]) => [x!] },
  /** The first n/2 + 1 elements of the transforms of real rows: [outer, n] of float32 or float64. */
  rfft: {
    results: ([x]) => {
      const [outer, n] = x!.shape as readonly [number, number];
      return [{ dtype: x!.dtype === 'float64' ? 'complex128' : 'complex64', shape: [outer, halfOf(n)] }];
    },
  },
  /**
   * The real rows of n elements, times n, whose transforms begin with these [outer, n/2 + 1]; the imaginary parts of
   * the first element, and of the last one where n is even, are not looked at. Parameters: n.
   */
  irfft: {
    results: ([x], [n]) => [
      { dtype: x!.dtype === 'complex128' ? 'float64' : 'float32', shape: [x!.shape[0]!, n!] },
    ],
  },
  /**
   * The LU factors of matrices [count, columns, rows], each in column-major order, in their place: P A = L U with the
   * largest pivot of each column (partial pivoting), the ones of L left out; and int64 pivots [count, min(rows,
   * columns)]: row k was exchanged with row `pivots[k] - 1`, one after the other, as LAPACK's `getrf` has it. On a GPU alone.
   */
  lu: {
    results: ([a]) => {
      const [count, columns, rows] = a!.shape as readonly [number, number, number];
      return [a!, { dtype: 'int64', shape: [count, Math.min(columns, rows)] }];
    },
  },
  /**
   * The same factors of matrices in C order [count, rows, columns], whole matrices of NaN where one has NaN; the pivots; and
   * int32 statuses [count]: 0, or the number of the first pivot that is 0, counted from 1. On the CPU alone: for a GPU the
   * passes make `lu` of it (`fusion/passes/both-ways.ts`).
   */
  luFactors: {
    results: ([a]) => {
      const [count, rows, columns] = a!.shape as readonly [number, number, number];
      return [
        { dtype: a!.dtype, shape: [count, columns, rows] },
        { dtype: 'int64', shape: [count, Math.min(columns, rows)] },
        statusesOf(a!),
      ];
    },
  },
  /** The rows that exchanges by such pivots [count, k] bring to each place of n: [count, n], int64. Parameters: n. */
  pivotOrder: { results: ([pivots], [n]) => [{ dtype: 'int64', shape: [pivots!.shape[0]!, n!] }] },
  /**
   * X of A X = B by the factors of A. Inputs: B [count, right sides, n] in column-major order, the factors [count, n,
   * n], the pivots. Parameters: 0 for A, 1 for its transpose, 2 for the conjugate of that.
   */
  luSolve: { results: ([b]) => [b!] },
  /**
   * X of A X = B of small matrices in C order: A [count, n, n], n at most `SMALL_ROWS`, and B [count, n, right sides]; and
   * int32 statuses [count]: 0, or the number of the first pivot that is 0, counted from 1.
   */
  solve: { results: ([a, b]) => [b!, statusesOf(a!)] },
  /**
   * The Cholesky factors of Hermitian matrices [count, n, n], whose other triangle is left as it was: in C order L of
   * A = L Lᴴ, or U of A = Uᴴ U. And int32 statuses [count]: 0, or k where the leading minor of order k is not positive;
   * NaN is no failure. Parameters: whether the upper triangle is read and written (0 or 1); and, on the CPU alone, a 1 where
   * the other triangle is cleared instead. Behind the matrices are then, up to the passes (`fusion/passes/both-ways.ts`),
   * the same results as a call and a kernel make them.
   */
  cholesky: { results: ([a]) => [a!, statusesOf(a!)] },
  /**
   * X of A X = B, A a triangle of matrices [count, n, n] in column-major order, of which the other one is not read.
   * Inputs: B [count, right sides, n] in column-major order, A. Parameters: whether A is the upper triangle (0 or 1),
   * as of `luSolve`, and whether the diagonal counts as ones (0 or 1).
   */
  triangularSolve: { results: ([b]) => [b!] },
  /**
   * The QR factors of matrices [count, columns, rows] in column-major order, in their place: R on and above the diagonal,
   * below it vectors v of reflectors 1 - tau v vᴴ, whose first element is 1; and the factors tau [count, min(rows,
   * columns)], as LAPACK's `geqrf` has them.
   */
  qr: {
    results: ([a]) => {
      const [count, columns, rows] = a!.shape as readonly [number, number, number];
      return [a!, { dtype: a!.dtype, shape: [count, Math.min(columns, rows)] }];
    },
  },
  /** The first columns of Q [count, columns, rows] of such factors and their tau. Parameters: how many columns. */
  qOfQr: {
    results: ([factors], [wanted]) => {
      const [count, , rows] = factors!.shape as readonly [number, number, number];
      return [{ dtype: factors!.dtype, shape: [count, wanted!, rows] }];
    },
  },
  /**
   * The eigenvalues of Hermitian matrices [count, n, n] in column-major order, ascending, statuses (0, or it did not
   * converge), and if wanted the eigenvectors, in the order of the matrices. Parameters: whether the upper triangle is
   * read (0 or 1), and whether vectors are wanted.
   */
  eigh: {
    results: ([a], [, vectors]) => [
      { dtype: realOf(a!.dtype), shape: a!.shape.slice(0, 2) },
      statusesOf(a!),
      ...(vectors === 1 ? [a!] : []),
    ],
  },
  /**
   * The exponentials of matrices [count, n, n] in C order; of one with NaN or infinities NaN. On the CPU alone: for a GPU the
   * passes make products of it (`fusion/passes/both-ways.ts`).
   */
  expm: { results: ([a]) => [a!] },
  /**
   * The complex eigenvalues of matrices [count, n, n] in column-major order, in the order of their Schur form, statuses
   * (0, or it did not converge), and if wanted the right eigenvectors of length 1 in the order of the matrices, their
   * largest elements real, as LAPACK's `geev` has them: of a real matrix's complex pair the real parts, then the imaginary
   * parts of the first. Parameters: whether vectors are wanted (0 or 1).
   */
  eig: {
    results: ([a], [vectors]) => [
      { dtype: complexOf(a!.dtype), shape: a!.shape.slice(0, 2) },
      statusesOf(a!),
      ...(vectors === 1 ? [a!] : []),
    ],
  },
  /**
   * The singular values of matrices [count, n, m] in column-major order, m >= n, largest first, statuses (0, or it did
   * not converge), and if wanted the first n columns of U [count, n, m], and V [count, n, n], of A = U S Vᴴ in the order of
   * the matrices. Of single precision there may be, up to the passes (`fusion/passes/both-ways.ts`), the same results behind
   * the matrices, as a decomposition in double precision makes them. Parameters: whether vectors are wanted (0 or 1).
   */
  svd: {
    results: ([a], [vectors]) => {
      const [count, n] = a!.shape as readonly [number, number, number];
      const values = [{ dtype: realOf(a!.dtype), shape: [count, n] }, statusesOf(a!)];
      return vectors === 1 ? [...values, a!, { dtype: a!.dtype, shape: [count, n, n] }] : values;
    },
  },
  /**
   * Least squares with matrices A [count, n, m] in column-major order: their singular values, largest first, [count,
   * min(m, n)]; int32 statuses as of `svd`; how many values are larger than a part of the largest one, int64 [count]; and of
   * all X with the least |A X - B| that of the least norm, where others count as 0, [count, right sides, n] in column-major
   * order. Inputs: A, B [count, right sides, m] in column-major order, and, up to the passes
   * (`fusion/passes/both-ways.ts`), these results as `svd` and products make them. Parameters: that part. On the CPU alone.
   */
  leastSquares: {
    results: ([a, b]) => {
      const [count, n, m] = a!.shape as readonly [number, number, number];
      return [
        { dtype: realOf(a!.dtype), shape: [count, Math.min(m, n)] },
        statusesOf(a!),
        { dtype: 'int64', shape: [count] },
        { dtype: a!.dtype, shape: [count, b!.shape[1]!, n] },
      ];
    },
  },
  /**
   * softmax(f(Q Kᵀ)) V without the matrix of scores (`fusion/passes/fuse-attention.ts`): [batch, m, width] of float32 or
   * halves. Inputs: Q [batch, m, inner], K [batches of it, n, inner], V [those, n, width]; then the inputs of the node's
   * map, which is f. Parameters: the scale of scores, which is f without a map; whether row i has only columns up to
   * i + offset (0 or 1); that offset; how many batches of Q one of K and V has.
   */
  attention: {
    results: ([q, , v]) => [{ dtype: q!.dtype, shape: [q!.shape[0]!, q!.shape[1]!, v!.shape[2]!] }],
  },
  /** A kernel of the user's own, which says what its results are. Without parameters. */
  kernel: { results: (_inputs, _parameters, kernel) => kernel!.outputs },
} as const satisfies Readonly<Record<string, RoutineRow>>;

/** Rows of matrices that routines of stacks have in C order, and that a warp of a GPU has. */
export const SMALL_ROWS = 32;

/** Integers that hold places of so many elements. */
export const placeDType = (size: number): DType => (size < 2 ** 31 ? 'int32' : 'int64');

const realOf = (dtype: DType): DType => DTYPE_INFO[dtype].component;
const complexOf = (dtype: DType): DType => (realOf(dtype) === 'float32' ? 'complex64' : 'complex128');

/** A status for each matrix of a stack. */
const statusesOf = ({ shape }: ArrayType): ArrayType => ({ dtype: 'int32', shape: [shape[0]!] });

/** The kept part of a line, up to all of it, and its length. */
const keptOf = (line: ArrayType): readonly ArrayType[] => [line, { dtype: 'int64', shape: [] }];

/** Elements of the transform of n real numbers that say the others. */
export const halfOf = (n: number): number => Math.floor(n / 2) + 1;

/** Partial results of bins: [units, parts, bins · width]. */
function binResult(
  keys: ArrayType,
  values: ArrayType | undefined,
  [place, bins, width, , parts]: readonly number[],
): ArrayType {
  const op: BinOp = BIN_OPS[place!]!;
  const rows = keys.shape[0]!;
  const { units } = binUnits(rows, bins!, width!, op);
  const shape = [units, parts!, bins! * width!];
  switch (op) {
    case 'count':
      return { dtype: 'uint32', shape };
    case 'last':
      return { dtype: rows < 2 ** 31 ? 'int32' : 'int64', shape };
    case 'scale':
      return { dtype: 'int32', shape };
    case 'fixed':
    case 'exact':
      return { dtype: 'int64', shape };
    case 'sum':
      return { dtype: values!.dtype.startsWith('u') ? 'uint64' : 'int64', shape };
    case 'min':
    case 'max':
      return { dtype: values!.dtype, shape };
  }
}

/** Ranks of a row that are looked for at a time, elements that are sorted after they were selected. */
export const SELECTED_RANKS = 4;
export const SELECTED_MOST = 2048;

/** The ways in which rows are those of other matrices: chosen by their numbers, or of matrices above one another or side by side. */
export const GATHER_WAYS = ['chosen', 'above', 'beside'] as const;
export type GatherWay = (typeof GATHER_WAYS)[number];

/** The first input of the first matrix of `sparseGather`. */
export const firstGathered = (way: number): number => (GATHER_WAYS[way] === 'chosen' ? 2 : 1);

/** The orders of `sparseOrder`: as they are, of least degree, and by breadth, reversed. */
export const SPARSE_ORDERS = ['natural', 'amd', 'rcm'] as const;

/** The operations of scans. */
export const SCAN_OPS = ['sum', 'prod', 'min', 'max', 'logsumexp'] as const;
export type ScanOp = (typeof SCAN_OPS)[number];

/**
 * Elements of a tile along the axis of a scan: with one line of elements as much as a GPU's block holds in
 * shared memory, of columns as much as its threads hold in registers.
 */
export function scanTile(dtype: DType, inner: number): number {
  const size = byteLengthOf(dtype);
  return inner === 1 ? Math.min(8192, 32768 / size) : Math.min(256, 1024 / size);
}

/**
 * The dtype in which values pass from tile to tile: wide enough that a result is rounded once. Sums of
 * exponentials are two float64: the largest exponent, and the sum of the others' exponentials relative to it.
 */
export function carriedDType(op: ScanOp, dtype: DType): DType {
  if (op === 'logsumexp') return 'complex128';
  if (op === 'min' || op === 'max') return dtype;
  return dtype === 'float32' ? 'float64' : dtype === 'complex64' ? 'complex128' : dtype;
}

export type RoutineName = keyof typeof ROUTINES;

/** A row as the interface says. */
export const routineRow = (name: RoutineName): RoutineRow => ROUTINES[name];
