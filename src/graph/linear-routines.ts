/** Rows of the table of routines: linear algebra of stacks of matrices. */
import { DTYPE_INFO, type DType } from './dtype.js';
import type { ArrayType, RoutineRow } from './routine-row.js';

export const LINEAR_ROUTINES = {
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
  /**
   * P, L and U of A = P L U in C order, of `luFactors` of matrices of m rows and n columns: P [count, m, m], of real numbers,
   * or int64 [count, m], the places of the ones of its rows; L [count, m, min(m, n)]; U [count, min(m, n), n]. Inputs: the
   * factors and the pivots. Parameters: whether P is places (0 or 1). On the CPU alone, as `luFactors`.
   */
  luParts: {
    results: ([lu, pivots], [hasPlaces]) => {
      const [count, n, m] = lu!.shape as readonly [number, number, number];
      const least = pivots!.shape[1]!;
      return [
        hasPlaces === 1
          ? { dtype: 'int64', shape: [count, m] }
          : { dtype: realOf(lu!.dtype), shape: [count, m, m] },
        { dtype: lu!.dtype, shape: [count, m, least] },
        { dtype: lu!.dtype, shape: [count, least, n] },
      ];
    },
  },
  /**
   * The inverses of matrices [count, n, n] in C order, of their `luFactors`: the factors and the pivots. On the CPU alone, as
   * those.
   */
  inverse: { results: ([lu]) => [lu!] },
  /**
   * The determinants of matrices [count, n, n], of their `luFactors`: the factors and the pivots; their signs, of complex ones
   * numbers of modulus 1, 0 of a singular matrix; and the logarithms of their moduli: [count] each. On the CPU alone, as those.
   */
  determinants: { results: ([lu]) => determinantsOf(lu!) },
  /**
   * The same of matrices [count, n, n] themselves, n at most `SMALL_ROWS`, without factors that others could use. On a GPU alone.
   */
  smallDeterminants: { results: ([a]) => determinantsOf(a!) },
  /**
   * The rows that exchanges by such pivots [count, k] bring to each place of n: [count, n], int64; or the place to which they
   * bring each row. Parameters: n, and whether it is places (0 or 1). On a GPU alone.
   */
  pivotOrder: { results: ([pivots], [n]) => [{ dtype: 'int64', shape: [pivots!.shape[0]!, n!] }] },
  /**
   * X of A X = B by the factors of A. Inputs: B [count, right sides, n] in column-major order, the factors [count, n,
   * n], the pivots. Parameters: 0 for A, 1 for its transpose, 2 for the conjugate of that. On a GPU for at most `SMALL_ROWS`
   * rows: for others the passes make solutions by both triangles of it (`fusion/passes/both-ways.ts`).
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
   * NaN is no failure. Parameters: whether the upper triangle is read and written (0 or 1); and a 1 where the
   * other triangle is cleared instead, on the CPU alone: for a GPU the passes make a call without it and a kernel
   * (`fusion/passes/both-ways.ts`).
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
   * columns)], as LAPACK's `geqrf` has them. On a GPU alone, as `qOfQr`.
   */
  qr: {
    results: ([a]) => {
      const [count, columns, rows] = a!.shape as readonly [number, number, number];
      return [a!, { dtype: a!.dtype, shape: [count, Math.min(columns, rows)] }];
    },
  },
  /**
   * R [count, kept, n], and if wanted Q [count, m, kept], of matrices [count, m, n], all in C order. Parameters: `kept`, all
   * rows or as many as R has that are not 0, and whether Q is wanted (0 or 1). On the CPU alone: for a GPU the passes make
   * `qr` and `qOfQr` of it (`fusion/passes/both-ways.ts`).
   */
  qrParts: {
    results: ([a], [kept, hasQ]) => {
      const [count, m, n] = a!.shape as readonly [number, number, number];
      const r = { dtype: a!.dtype, shape: [count, kept!, n] };
      return hasQ === 1 ? [r, { dtype: a!.dtype, shape: [count, m, kept!] }] : [r];
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
   * parts of the first. Parameters: whether vectors are wanted (0 or 1); and a 1 where matrices and vectors are in C order,
   * vectors complex numbers, and statuses not 0 where values are NaN, on the CPU alone: for a GPU the passes make a call
   * without it and what makes this of its results (`fusion/passes/both-ways.ts`).
   */
  eig: {
    results: ([a], [vectors, isWhole]) => {
      const { dtype, shape } = a!;
      const columns: ArrayType = isWhole === 1 ? { dtype: complexOf(dtype), shape } : a!;
      const values: ArrayType = { dtype: complexOf(dtype), shape: shape.slice(0, 2) };
      return [values, statusesOf(a!), ...(vectors === 1 ? [columns] : [])];
    },
  },
  /**
   * The singular values of matrices [count, n, m] in column-major order, m >= n, largest first, statuses (0, or it did
   * not converge), and if wanted the first n columns of U [count, n, m], and V [count, n, n], of A = U S Vᴴ in the order of
   * the matrices. Of single precision there may be, up to the passes (`fusion/passes/both-ways.ts`), the same results behind
   * the matrices, as a decomposition in double precision makes them. Parameters: whether vectors are wanted (0 or 1); and a 1
   * where Vᴴ is in the place of V, and statuses are not 0 where values are NaN, on the CPU alone, as of `eig`.
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
   * order. Inputs: A, B [count, right sides, m] in column-major order. Parameters: that part. On the CPU alone: for a GPU the
   * passes make `svd` and products of it (`fusion/passes/both-ways.ts`).
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
} as const satisfies Readonly<Record<string, RoutineRow>>;

/** Rows of matrices that routines of stacks have in C order, and that a warp of a GPU has. */
export const SMALL_ROWS = 32;

const realOf = (dtype: DType): DType => DTYPE_INFO[dtype].component;
const complexOf = (dtype: DType): DType => (realOf(dtype) === 'float32' ? 'complex64' : 'complex128');

/** Determinants of a stack, their signs, and the logarithms of their moduli. */
function determinantsOf({ dtype, shape: [count] }: ArrayType): ArrayType[] {
  const each = { dtype, shape: [count!] };
  return [each, each, { dtype: realOf(dtype), shape: [count!] }];
}

/** A status for each matrix of a stack. */
const statusesOf = ({ shape }: ArrayType): ArrayType => ({ dtype: 'int32', shape: [shape[0]!] });
