/**
 * Some eigenvalues of symmetric matrices, and singular values, by the Lanczos method with full orthogonalisation and
 * thick restarts (Wu and Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", 2000), with the
 * arguments of SciPy's `eigsh` and `svds`. A loop of restarts, in it one of steps: both stay on the device.
 */
import { checkOptions, oneOf } from '../graph/arguments.js';
import { formatValue } from '../graph/format.js';
import { expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import { full, zeros } from './creation.js';
import { finfo } from './dtype-info.js';
import type { ArrayLike } from './fluent-types.js';
import { concat } from './joining.js';
import type { Lazy } from './lazy.js';
import { linalg } from './linalg.js';
import { iterate, whileLoop } from './loops.js';
import { random } from './random.js';
import { arange } from './ranges.js';
import {
  type MatrixLike,
  norm,
  type Product,
  productsOf,
  ratio,
  squareOf,
  stepsOf,
  tolerance,
  vectorOf,
} from './sparse-operators.js';

/** The eigenvalues wanted: of largest or smallest magnitude, or the largest or smallest ones. */
export type WhichEigenvalues = 'LM' | 'SM' | 'LA' | 'SA';

/** Options of `sparse.eigsh`. */
export interface EigshOptions {
  /** How many, 6 by default. */
  readonly k?: number | undefined;
  /** `'LM'` by default. */
  readonly which?: WhichEigenvalues | undefined;
  /** Vectors of the basis, the larger of 2 k + 1 and 26 by default. */
  readonly ncv?: number | undefined;
  /** The first vector; random numbers of a fixed key by default. */
  readonly v0?: ArrayLike | undefined;
  /** The relative error of eigenvalues; 0, the default: that of rounding. */
  readonly tol?: number | undefined;
  /** The most restarts, 10 times the size by default. */
  readonly maxiter?: number | undefined;
}

/** The eigenpairs of `sparse.eigsh`: arrays of a graph, to be computed together. */
export interface SparseEigh {
  /** Ascending. */
  readonly eigenvalues: Lazy;
  /** Columns, in the order of the values: (n, k). */
  readonly eigenvectors: Lazy;
  /** Whether the error of all is small enough. */
  readonly converged: Lazy<'bool'>;
  /** Restarts taken, int64. */
  readonly iterations: Lazy;
}

/**
 * k eigenvalues and eigenvectors of a symmetric (Hermitian) matrix, as SciPy's `eigsh`. Eigenvalues near 0 (`'SM'`) take
 * long: without a factorisation there is no shift and inversion. Eigenvalues that occur several times are found once, or
 * as often as rounding shows them. Throws a ShapeError for a matrix that is not square, a RangeArgumentError for k
 * beyond its size.
 *
 * @example
 * const a = sparse.diags([[1, 2, 3, 4, 5, 6, 7, 8]])
 * const { eigenvalues } = sparse.eigsh(a, { k: 2 })
 * await eigenvalues.mul(100).round().compute()
 * //=> [700. 800.]
 */
export function eigsh(a: MatrixLike, options: EigshOptions = {}): SparseEigh {
  return called(eigsh, () => {
    const op = 'sparse.eigsh';
    checkOptions(op, options, ['k', 'which', 'ncv', 'v0', 'tol', 'maxiter']);
    const { shape, times } = squareOf(op, a);
    const { times: product, scale } = sized(times, startOf(op, shape[0], options));
    const { eigenvalues, ...others } = eigenpairs(op, product, shape[0], options);
    return { eigenvalues: eigenvalues.multiply(scale), ...others };
  });
}

/** Options of `sparse.svds`. */
export interface SvdsOptions extends Omit<EigshOptions, 'which' | 'tol'> {
  /**
   * The relative error of singular values; 0, the default: that of rounding. Eigenvalues of the squared matrix have its square,
   * as SciPy's.
   */
  readonly tol?: number | undefined;
  /** The largest (`'LM'`, the default) or the smallest (`'SM'`). */
  readonly which?: 'LM' | 'SM' | undefined;
}

/** The singular triplets of `sparse.svds`: arrays of a graph, to be computed together. */
export interface SparseSvd {
  /** Left vectors, (rows, k). */
  readonly u: Lazy;
  /** Descending, as of `linalg.svd`; SciPy's are ascending. */
  readonly s: Lazy;
  /** Right vectors, (k, columns), conjugated. */
  readonly vh: Lazy;
  readonly converged: Lazy<'bool'>;
  readonly iterations: Lazy;
}

/**
 * k singular values and vectors of a matrix, as SciPy's `svds`, by the eigenvalues of AᴴA, or of AAᴴ where A has more
 * columns than rows, and the decomposition of A times their vectors: those of both sides are orthonormal, of singular values that
 * are 0 too. Of values below √ε of the largest one the order may be another. Errors are those of `sparse.eigsh`.
 *
 * @example
 * const a = sparse.diags([[1, 2, 3, 4, 5, 6, 7, 8]])
 * const { s } = sparse.svds(a, { k: 2 })
 * await s.mul(100).round().compute()
 * //=> [800. 700.]
 */
export function svds(a: MatrixLike, options: SvdsOptions = {}): SparseSvd {
  return called(svds, () => {
    const op = 'sparse.svds';
    checkOptions(op, options, ['k', 'which', 'ncv', 'v0', 'tol', 'maxiter']);
    oneOf(op, 'which', ['LM', 'SM'], options.which ?? 'LM');
    const { shape, times, adjoint } = productsOf(op, a);
    const isTall = shape[0] >= shape[1];
    const size = Math.min(...shape);
    const own = { ...options, tol: tolerance(op, 'tol', options.tol, 0) ** 2 };
    const [there, back] = isTall ? [times, adjoint] : [adjoint, times];
    const start = startOf(op, size, options);
    const first = sized(there, start);
    const second = sized(back, first.times(start));
    const found = eigenpairs(op, (x) => second.times(first.times(x)), size, own);
    const vectors = found.eigenvectors.flip(1);
    // Orthonormal vectors of the other side too, and values that are not roots of rounding.
    const others = linalg.svd(columnwise(vectors, first.times), { fullMatrices: false });
    const s = others.s.multiply(first.scale);
    const turned = vectors.matmul(adjointOf(others.vh));
    const [u, v] = isTall ? [others.u, turned] : [turned, others.u];
    const { converged, iterations } = found;
    return { u, s, vh: adjointOf(v), converged, iterations };
  });
}

function columnwise(x: Lazy, product: Product): Lazy {
  const columns = Array.from({ length: x.shape[1]! }, (_, k) => product(x.slice('...', k)).reshape([-1, 1]));
  return concat(columns, 1);
}

const adjointOf = (x: Lazy): Lazy => (x.dtype.startsWith('complex') ? x.conj().T : x.T);

/** The first vector. */
function startOf(op: string, n: number, { v0 }: Pick<EigshOptions, 'v0'>): Lazy {
  return v0 === undefined ? random.uniform(random.key(1), [n]).sub(0.5) : vectorOf(op, 'v0', v0, n);
}

/** A product without the power of two that its elements have beside those of x, so that squares neither overflow nor vanish. */
function sized(times: Product, x: Lazy): { readonly times: Product; readonly scale: Lazy } {
  const largest = times(x).abs().max();
  const most = Math.log2(Number(finfo(largest.dtype).max)) - 2;
  const exponent = largest.log2().floor();
  const whole = exponent.isfinite().where(exponent, 0).clip(-most, most);
  const inverse = whole.negative().exp2();
  return { times: (y) => times(y).multiply(inverse), scale: whole.exp2() };
}

/** Indices that a sort gives, and numbers of steps, are in range. */
const CLIP = { mode: 'clip' } as const;

/** Vectors of a basis for few eigenvalues: 20 take 734 products for six of the Laplacian of 141², 26 take 546. */
const USUAL_BASIS = 26;

interface Sizes {
  readonly n: number;
  /** Eigenvalues wanted, vectors of the basis, and those that a restart keeps. */
  readonly k: number;
  readonly most: number;
  readonly kept: number;
}

function eigenpairs(op: string, times: Product, n: number, options: EigshOptions): SparseEigh {
  const sizes = sizesOf(op, n, options);
  const { k, most, kept } = sizes;
  const which = oneOf(op, 'which', ['LM', 'SM', 'LA', 'SA'], options.which ?? 'LM');
  const start = startOf(op, n, options);
  const { dtype } = times(start);
  const first = start.astype(dtype);
  const size = norm(first);
  const real = size.dtype;
  const { eps } = finfo(real as 'float64');
  const tol = tolerance(op, 'tol', options.tol, 0) || eps;
  const krylov: Krylov = { times, n, most, eps };
  // Errors below the rounding of A's products are none.
  const isDone = ({ values, errors, scale }: Pick<Restart, 'values' | 'errors' | 'scale'>): Lazy =>
    errors
      .lessEqual(
        values
          .abs()
          .maximum(eps ** (2 / 3))
          .multiply(tol)
          .maximum(scale.multiply(4 * eps)),
      )
      .all();
  const restarted = (projection: Projection, basis: Lazy): Restart => {
    const { eigenvalues, eigenvectors } = linalg.eigh(projected(projection), { uplo: 'U' });
    const order = keyOf(which, eigenvalues).argsort(0).slice([0, kept]);
    const weights = eigenvectors.take(order, 1, CLIP);
    const couplings = weights.slice(most - 1).multiply(projection.beta);
    const chosen = eigenvalues.take(order, 0, CLIP);
    return {
      ritz: weights.T.matmul(basis),
      next: projection.next,
      chosen,
      couplings,
      values: chosen.slice([0, k]),
      errors: couplings.slice([0, k]).abs(),
      scale: eigenvalues.abs().max(),
    };
  };
  const unit = first.multiply(ratio(full([], 1, { dtype: real }), size));
  const scale = zeros([], { dtype: real });
  const whole = expanded(krylov, { next: unit, before: zeros([n], { dtype }), scale });
  const cycles = stepsOf(op, options.maxiter, 10 * n);
  const begun = { ...restarted(whole, whole.basis), cycle: full([], 1, { dtype: 'int64' }) };
  const restarts = (): typeof begun =>
    whileLoop(
      (now) => isDone(now).logicalNot().logicalAnd(now.cycle.less(cycles)),
      ({ ritz, next, chosen, couplings, scale, cycle }) => {
        const before = couplings.matmul(ritz);
        const more = expanded(krylov, { ritz, next, before, scale });
        const basis = concat([ritz, more.basis], 0);
        return { ...restarted({ ...more, chosen, couplings }, basis), cycle: cycle.add(1) };
      },
      begun,
      { max: Math.max(1, cycles - 1) },
    );
  // A basis of the whole space has no room for a restart.
  const { cycle, ...last } = kept === most ? begun : restarts();
  const order = last.values.argsort(0);
  return {
    eigenvalues: last.values.take(order),
    eigenvectors: last.ritz.slice([0, k]).take(order, 0).T,
    converged: isDone(last) as Lazy<'bool'>,
    iterations: cycle,
  };
}

function sizesOf(op: string, n: number, { k = 6, ncv }: EigshOptions): Sizes {
  const whole = (name: string, value: number, least: number, end: number): number => {
    if (Number.isSafeInteger(value) && value >= least && value <= end) return value;
    throw new RangeArgumentError(expected(op, `${name} from ${least} to ${end}`, formatValue(value)));
  };
  whole('k', k, 1, n);
  const usual = Math.min(n, Math.max(2 * k + 1, USUAL_BASIS));
  const most = ncv === undefined ? usual : whole('ncv', ncv, Math.min(n, k + 1), n);
  return { n, k, most, kept: Math.max(k, Math.min(most - 1, k + Math.floor((most - k) / 2))) };
}

/** Numbers whose least ones are of the eigenvalues that are wanted. */
function keyOf(which: WhichEigenvalues, values: Lazy): Lazy {
  switch (which) {
    case 'LM':
      return values.abs().negative();
    case 'SM':
      return values.abs();
    case 'LA':
      return values.negative();
    case 'SA':
      return values;
  }
}

/** A restart: Ritz vectors, a row each, and the vector that the basis goes on with. */
interface Restart {
  readonly ritz: Lazy;
  readonly next: Lazy;
  /** Their Ritz values, and the products of A times each with the next vector. */
  readonly chosen: Lazy;
  readonly couplings: Lazy;
  /** Of the eigenvalues wanted; the errors are norms of residuals. */
  readonly values: Lazy;
  readonly errors: Lazy;
  /** The largest magnitude of a Ritz value. */
  readonly scale: Lazy;
}

/** Parameters of all cycles of steps. */
interface Krylov {
  readonly times: Product;
  readonly n: number;
  readonly most: number;
  readonly eps: number;
}

/** New vectors of the basis, a row each, and the recurrence that gave them. */
interface Expansion {
  readonly basis: Lazy;
  readonly next: Lazy;
  /** The diagonal of the projected matrix, and what is beside it; the last one, of the next vector. */
  readonly alphas: Lazy;
  readonly betas: Lazy;
  readonly beta: Lazy;
}

/** Ritz vectors, the vector after them, its couplings' part of A times it, and the largest size of a product. */
type Beginning = Partial<Pick<Restart, 'ritz'>> & Pick<Restart, 'next' | 'scale'> & { readonly before: Lazy };

type Projection = Omit<Expansion, 'basis'> & Partial<Pick<Restart, 'chosen' | 'couplings'>>;

/**
 * The basis goes on from a vector until it is full. Of A v the parts along v and along `before`, which are known, are
 * subtracted first; what is left meets the basis by rounding alone, so that one pass over all vectors makes it orthogonal, and two
 * more where that leaves little of it.
 * Rows that are not there yet are zeros, so that a step's shapes are those of all steps.
 */
function expanded({ times, n, most, eps }: Krylov, { ritz, next, before, scale }: Beginning): Expansion {
  const { dtype } = next;
  const count = most - (ritz?.shape[0] ?? 0);
  const conj = (x: Lazy): Lazy => (dtype.startsWith('complex') ? x.conj() : x);
  const at = arange(count);
  const rows = at.reshape([count, 1]);
  const none = zeros([count], { dtype: norm(next).dtype });
  const last = iterate(
    count,
    { fresh: zeros([count, n], { dtype }), vector: next, before, alphas: none, betas: none, scale },
    ({ fresh, vector, before, alphas, betas, scale }, step) => {
      const given = times(vector).astype(dtype);
      const along = conj(vector).multiply(given).sum();
      const alpha = dtype.startsWith('complex') ? along.real() : along;
      const rest = given.subtract(vector.multiply(alpha)).subtract(before);
      const bases = ritz === undefined ? [fresh] : [fresh, ritz];
      const orthogonal = (x: Lazy): Lazy =>
        bases
          .map((each) => conj(each).matmul(x).matmul(each))
          .reduce((most, part) => most.subtract(part), x)
          .subtract(vector.multiply(conj(vector).multiply(x).sum()));
      const once = orthogonal(rest);
      const left = norm(once);
      const largest = scale.maximum(norm(given));
      // A space that A maps into itself, but for rounding: it goes on with a random vector.
      const isClosed = left.lessEqual(largest.multiply(8 * eps));
      const { apart, length } = whileLoop(
        ({ isWanted }) => isWanted,
        ({ apart, place }) => {
          const other = random
            .uniform(random.foldIn(random.key(2), place), [n])
            .sub(0.5)
            .astype(dtype);
          const again = orthogonal(orthogonal(isClosed.where(other, apart)));
          return { apart: again, length: norm(again), isWanted: full([], false), place: place.add(1) };
        },
        {
          apart: once,
          length: left,
          // Of a vector of which little is left the rounding is orthogonal to nothing.
          isWanted: isClosed.logicalOr(left.less(norm(rest).multiply(0.5))),
          // The place is a state that changes, so that random numbers are made where they are wanted alone.
          place: step,
        },
        { max: 1 },
      );
      const beta = isClosed.where(0, length);
      return {
        // A row of a state that is set like this is written in its place.
        fresh: rows.equal(step).where(vector.reshape([1, n]), fresh),
        vector: apart.multiply(ratio(full([], 1, { dtype: length.dtype }), length)),
        before: vector.multiply(beta),
        alphas: at.equal(step).where(alpha, alphas),
        betas: at.equal(step).where(beta, betas),
        scale: largest,
      };
    },
  );
  const { fresh, vector, alphas, betas } = last;
  return { basis: fresh, next: vector, alphas, betas, beta: betas.slice(count - 1) };
}

/** The upper triangle of the matrix projected on the basis: two diagonals, and a column of the vector after Ritz vectors. */
function projected({ chosen, couplings, alphas, betas }: Projection): Lazy {
  const diagonal = chosen === undefined ? alphas : concat([chosen, alphas]);
  const [most] = diagonal.shape as [number];
  const kept = couplings?.shape[0] ?? 0;
  const none = (size: number): Lazy => zeros([size], { dtype: diagonal.dtype });
  const at = arange(most);
  const row = at.reshape([most, 1]);
  // Behind the coupling of vectors k and k + 1 its place is k + 1.
  const beside = concat([none(kept + 1), betas]).slice([0, most]);
  const tridiagonal = row.equal(at).where(diagonal, row.equal(at.subtract(1)).where(beside, 0));
  if (couplings === undefined) return tridiagonal;
  const column = concat([couplings, none(most - kept)]).reshape([most, 1]);
  return at.equal(kept).logicalAnd(row.less(kept)).where(column, tridiagonal);
}
