/**
 * Direct solves of sparse systems: LU factors, which the CPU makes, and solves with them, which run anywhere; for solves
 * alone on a GPU those of cuDSS (`sparse-factors.ts`).
 */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { isComplex } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { checkedLines, emptyMatrix } from '../graph/sparse.js';
import { eliminationOrder, luFactors, type MatrixLines, type SparseOrder } from '../graph/sparse-lu.js';
import { SPARSE_ORDERS } from '../graph/sparse-routines.js';
import { ArgumentError, expected, LinalgError, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called, calledAsync } from '../host/site.js';
import { compute } from './compute.js';
import { COMPUTE_OPTIONS } from './computing.js';
import { lazy } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import type { NDArray } from './ndarray.js';
import { partsOf } from './sparse-arguments.js';
import { type DirectSolve, factorDType, gpuFactors } from './sparse-factors.js';
import { SparseMatrix } from './sparse-matrix.js';
import { solveTriangular } from './sparse-triangular.js';

/**
 * Options of `sparse.splu`, `sparse.factorized` and `sparse.spsolve`, with those of `compute`: `signal` stops the
 * factorization, too; `memory` is of the other steps, not of the factorization on the CPU.
 */
export interface SparseLuOptions extends ComputeOptions {
  /**
   * The order of the columns: of least approximate degree in the pattern of A + Aᵀ (`'amd'`, by default), by breadth,
   * reversed, which keeps a narrow band (`'rcm'`, Cuthill and McKee), or as they are (`'natural'`).
   */
  readonly order?: SparseOrder | undefined;
  /**
   * A pivot is the element of the diagonal where that is so large beside the largest one of its column, 0.1 by default;
   * 1: always the largest one, as in SciPy.
   */
  readonly pivotThreshold?: number | undefined;
}

/** Which system a solve with factors is of: A, its transpose, or the conjugate of that. */
export type SparseTranspose = 'N' | 'T' | 'H';

interface Factors {
  readonly L: SparseMatrix;
  readonly U: SparseMatrix;
  /** The row and the column of each pivot. */
  readonly rows: Lazy<'int64'>;
  readonly columns: Lazy<'int64'>;
}

/**
 * The LU factors of a sparse matrix, as SciPy's `SuperLU`: rows and columns of A in another order are L U. Made by
 * `sparse.splu`; solves with them are nodes of a graph, two triangles, so that they are planned, run on any device, and
 * stand in loops.
 */
export class SparseLU {
  readonly #factors: Factors;

  /** Factors are made by `sparse.splu`. */
  constructor(factors: Factors) {
    this.#factors = factors;
  }

  /**
   * Rows and columns.
   *
   * @example
   * (await sparse.splu(sparse.eye(3))).shape
   * //=> [ 3, 3 ]
   */
  get shape(): readonly [rows: number, columns: number] {
    return this.#factors.L.shape;
  }

  /**
   * The lower factor, with ones on its diagonal.
   *
   * @example
   * await (await sparse.splu(sparse.fromDense([[2, 0], [1, 4]]), { order: 'natural' })).L.toDense().compute()
   * //=> [[1.  0. ]
   * //=>  [0.5 1. ]]
   */
  get L(): SparseMatrix {
    return this.#factors.L;
  }

  /**
   * The upper factor.
   *
   * @example
   * await (await sparse.splu(sparse.fromDense([[2, 0], [1, 4]]), { order: 'natural' })).U.toDense().compute()
   * //=> [[2. 0.]
   * //=>  [0. 4.]]
   */
  get U(): SparseMatrix {
    return this.#factors.U;
  }

  /**
   * Row i of A is row `permR[i]` of L U: int64.
   *
   * @example
   * await (await sparse.splu(sparse.fromDense([[0, 2], [1, 4]]), { order: 'natural' })).permR.compute()
   * //=> [1 0]
   */
  get permR(): Lazy<'int64'> {
    return this.#factors.rows.argsort() as Lazy<'int64'>;
  }

  /**
   * Column j of A is column `permC[j]` of L U: int64.
   *
   * @example
   * await (await sparse.splu(sparse.eye(2), { order: 'natural' })).permC.compute()
   * //=> [0 1]
   */
  get permC(): Lazy<'int64'> {
    return this.#factors.columns.argsort() as Lazy<'int64'>;
  }

  /**
   * The number of elements of both factors.
   *
   * @example
   * (await sparse.splu(sparse.eye(3))).nnz
   * //=> 6
   */
  get nnz(): number {
    const { L, U } = this.#factors;
    return L.data.shape[0]! + U.data.shape[0]!;
  }

  /**
   * X of A X = B, B of shape (n) or (n, k); with 'T' of Aᵀ X = B, with 'H' of its conjugate. Sums are in float64, in the order
   * of rows. Throws a ShapeError for other shapes.
   *
   * @example
   * const lu = await sparse.splu(sparse.fromDense([[2, 1], [0, 4]]))
   * await lu.solve([4, 8]).compute()
   * //=> [1. 2.]
   * await lu.solve([4, 9], 'T').compute()
   * //=> [2.   1.75]
   */
  solve(b: ArrayLike, transpose: SparseTranspose = 'N'): Lazy {
    return called(this.solve, () => {
      const op = 'sparse.splu.solve';
      if (!['N', 'T', 'H'].includes(transpose))
        throw new ArgumentError(expected(op, "'N', 'T' or 'H'", formatValue(transpose)));
      const right = rightSides(op, b, this.shape[0]);
      const { L, U, rows, columns } = this.#factors;
      if (transpose === 'N') {
        const y = solveTriangular(L, right.take(rows, 0), { unitDiagonal: true });
        return solveTriangular(U, y, { lower: false }).take(this.permC, 0);
      }
      const [first, second] = [U, L].map((each) => (transpose === 'H' ? each.T.conj() : each.T));
      const y = solveTriangular(first!, right.take(columns, 0));
      return solveTriangular(second!, y, { lower: false, unitDiagonal: true }).take(this.permR, 0);
    });
  }
}

/**
 * The LU factors of a square sparse matrix, as SciPy's `splu`: the CPU makes them now, whatever the device, since how many
 * elements they have depends on data, and leaves them on the device that the options say. Columns are in an order that
 * keeps factors sparse (Amestoy, Davis and Duff, 1996), eliminated in dense fronts (Duff and Reid, 1984); the pivot of a
 * column is that of the diagonal where it is not much less than the largest element, else a large one. Factors are computed in float64 or complex128, and have the
 * dtype of the matrix, float64 for integers. Rejects with a ShapeError for a matrix that is not square, with a LinalgError
 * for one that is singular, or has a pivot of NaN.
 *
 * @example
 * const lu = await sparse.splu(sparse.diags([-1, 2, -1], [-1, 0, 1], [4, 4]))
 * await lu.solve([0, 0, 0, 5]).compute()
 * //=> [1. 2. 3. 4.]
 */
export function splu(
  a: SparseMatrix,
  options: SparseLuOptions = {},
  ...more: readonly unknown[]
): Promise<SparseLU> {
  return calledAsync(splu, async () => {
    refuseMore('sparse.splu', 2, [a, options, ...more]);
    return factorsOf('sparse.splu', a, options);
  });
}

/**
 * The solve with the factors of a matrix, as SciPy's `factorized`: a function of right-hand sides (n) or (n, k). As
 * `splu`, whose options it has; on a GPU cuDSS makes the factors there, where it is found (`weft doctor`) and neither
 * `order` nor `pivotThreshold` is given: then `memory` bounds them, too, and solves are computed on that GPU alone.
 *
 * @example
 * const solve = await sparse.factorized(sparse.fromDense([[2, 0], [1, 4]]))
 * await solve([2, 9]).compute()
 * //=> [1. 2.]
 */
export function factorized(
  a: SparseMatrix,
  options: SparseLuOptions = {},
  ...more: readonly unknown[]
): Promise<(b: ArrayLike) => Lazy> {
  return calledAsync(factorized, async () => {
    refuseMore('sparse.factorized', 2, [a, options, ...more]);
    const op = 'sparse.factorized';
    const solve = await solverOf(op, a, options);
    return (b: ArrayLike) => called(factorized, () => solve(rightSides(op, b, a.shape[0])));
  });
}

/**
 * X of A X = B, B of shape (n) or (n, k), by the LU factors of A (`factorized`, whose options it has), as SciPy's `spsolve`,
 * which warns of a singular matrix and gives NaN where this rejects with a LinalgError. Factors are made now, X when it is
 * computed.
 *
 * @example
 * const x = await sparse.spsolve(sparse.fromDense([[2, 0], [1, 4]]), [2, 9])
 * await x.compute()
 * //=> [1. 2.]
 */
export function spsolve(
  a: SparseMatrix,
  b: ArrayLike,
  options: SparseLuOptions = {},
  ...more: readonly unknown[]
): Promise<Lazy> {
  return calledAsync(spsolve, async () => {
    const op = 'sparse.spsolve';
    refuseMore(op, 3, [a, b, options, ...more]);
    const right = rightSides(op, b, partsOf(op, [a])[0]!.shape[0]);
    return (await solverOf(op, a, options))(right);
  });
}

/** Solves with the factors of a matrix: those of cuDSS on a GPU, or those that the CPU makes. */
async function solverOf(op: string, a: SparseMatrix, options: SparseLuOptions): Promise<DirectSolve> {
  const { running, isChosen } = settingsOf(op, a, options);
  if (!isChosen) {
    const { solve } = await gpuFactors(op, a, { isPositive: false, options: running });
    if (solve !== undefined) return solve;
  }
  const lu = await factorsOf(op, a, options);
  return (right) => lu.solve(right);
}

/** Right-hand sides of n equations. */
export function rightSides(op: string, b: ArrayLike, n: number): Lazy {
  const right = new Lazy(exprOf(op, b));
  const { shape } = right;
  if (shape.length >= 1 && shape.length <= 2 && shape[0] === n) return right;
  throw new ShapeError(expected(op, `right-hand sides of shape (${n}) or (${n}, k)`, formatShape(shape)));
}

const OPTIONS: readonly string[] = ['order', 'pivotThreshold', ...COMPUTE_OPTIONS];

interface Settings extends Pick<Factoring, 'order' | 'pivotThreshold'> {
  readonly running: ComputeOptions;
  /** Whether the user says something of the order or of pivots, which are the CPU's. */
  readonly isChosen: boolean;
}

/** Checked options, for a matrix that is checked as well. */
function settingsOf(op: string, a: SparseMatrix, options: SparseLuOptions): Settings {
  checkOptions(op, options, OPTIONS);
  const { order = 'amd', pivotThreshold = 0.1, ...running } = options;
  if (!SPARSE_ORDERS.includes(order)) {
    const wanted = `an order, ${SPARSE_ORDERS.map((each) => `'${each}'`).join(', ')}`;
    throw new ArgumentError(expected(op, wanted, formatValue(order)));
  }
  if (!(pivotThreshold >= 0 && pivotThreshold <= 1))
    throw new RangeArgumentError(expected(op, 'a pivotThreshold from 0 to 1', formatValue(pivotThreshold)));
  const { shape } = partsOf(op, [a])[0]!;
  if (shape[0] !== shape[1]) throw new ShapeError(expected(op, 'a square matrix', formatShape(shape)));
  const isChosen = options.order !== undefined || options.pivotThreshold !== undefined;
  return { order, pivotThreshold, running, isChosen };
}

/** Factors that the CPU makes. */
export async function factorsOf(op: string, a: SparseMatrix, options: SparseLuOptions): Promise<SparseLU> {
  const { order, pivotThreshold, running } = settingsOf(op, a, options);
  const [n] = a.shape;
  const own = factorDType(a.dtype);
  const columns = new SparseMatrix(checkedLines(a.T.parts, op));
  const stored = await columns.astype(isComplex(own) ? 'complex128' : 'float64').compute(running);
  if (n === 0) {
    const none = new SparseMatrix(emptyMatrix([0, 0], own));
    const rows = lazy(new BigInt64Array(0)) as Lazy<'int64'>;
    return new SparseLU({ L: none, U: none, rows, columns: rows });
  }
  const given = { starts: stored.indptr, places: stored.indices, values: stored.data };
  const { lower, upper, ...places } = await factors(
    op,
    linesOf(given, (each) => exprOf(op, each)),
    { order, pivotThreshold, signal: running.signal },
  );
  const [L, U] = await Promise.all([lower, upper].map((factor) => factor.astype(own).persist(running)));
  return new SparseLU({ L: L!, U: U!, ...places });
}

type Lines<Line> = { readonly [Name in keyof MatrixLines]: Line };

const linesOf = <From, To>(
  { starts, places, values }: Lines<From>,
  change: (line: From) => To,
): Lines<To> => ({
  starts: change(starts),
  places: change(places),
  values: change(values),
});

interface Factoring {
  readonly order: SparseOrder;
  readonly pivotThreshold: number;
  readonly signal: AbortSignal | undefined;
}

/** Factors, and the order of rows and columns, in host memory. */
async function factors(op: string, matrix: MatrixLines, { order, pivotThreshold, signal }: Factoring) {
  const onCpu = { device: 'cpu', signal } as const;
  const n = matrix.starts.shape[0]! - 1;
  const stored = matrix.values.shape[0]!;
  if (stored === 0) throw singular(op, 1);
  const found = eliminationOrder(op, matrix, order).map((each) => new Lazy(each));
  const [ordered, size] = await compute([found[0]!, found[1]!], onCpu);
  const pivoting = { threshold: pivotThreshold, keepsOrder: order === 'natural' };
  // Pivots beside the diagonal fill more than the pattern says; a column is begun where all that it may fill has room.
  const most = (n * (n + 1)) / 2 + n;
  let bound = Math.min(most, Math.ceil(1.25 * Number(size!.item())) + stored + n);
  for (;;) {
    const lines = luFactors(op, matrix, exprOf(op, ordered), bound, pivoting);
    const line = (each: Expr): Lazy => new Lazy(each);
    const { lower, upper, status, ...places } = await compute(
      {
        lower: linesOf(lines.lower, line),
        upper: linesOf(lines.upper, line),
        rows: line(lines.rows),
        columns: line(lines.columns),
        status: line(lines.status),
      },
      onCpu,
    );
    const code = Number(status.item());
    if (code > 0) throw singular(op, code);
    if (code === 0) {
      const [rows, columns] = [places.rows, places.columns].map((each) => lazy(each) as Lazy<'int64'>);
      return { lower: factorOf(lower, n), upper: factorOf(upper, n), rows: rows!, columns: columns! };
    }
    bound = Math.min(most, 2 * bound);
  }
}

const singular = (op: string, column: number): LinalgError =>
  new LinalgError(expected(op, 'a matrix that is not singular', `pivot ${column} is 0 or NaN`), 0);

/** The matrix of a factor's lines. */
function factorOf({ starts, places, values }: Lines<NDArray>, n: number): SparseMatrix {
  const count = Number(starts.data[n]);
  const stored = (line: NDArray): Expr => lazy(line).slice([0, count]).expr;
  return new SparseMatrix({
    shape: [n, n],
    starts: lazy(starts).expr,
    places: stored(places),
    values: stored(values),
    isCanonical: true,
    isGiven: false,
  });
}
