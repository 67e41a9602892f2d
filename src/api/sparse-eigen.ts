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
import { whileLoop } from './loops.js';
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
  /** Vectors of the basis, the larger of 2 k + 1 and 20 by default. */
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
    return eigenpairs(op, times, shape[0], options);
  });
}

/** Options of `sparse.svds`. */
export interface SvdsOptions extends Omit<EigshOptions, 'which'> {
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
 * columns than rows: singular values below √ε of the largest one are rounding. Errors are those of `sparse.eigsh`.
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
    const squared: Product = isTall ? (x) => adjoint(times(x)) : (x) => times(adjoint(x));
    const found = eigenpairs(op, squared, Math.min(...shape), options);
    const s = found.eigenvalues.flip(0).maximum(0).sqrt();
    const own = found.eigenvectors.flip(1);
    // The vectors of the other side, a column each.
    const others = columnwise(own, isTall ? times : adjoint);
    const scaled = others.multiply(ratio(full([], 1, { dtype: s.dtype }), s));
    const [u, v] = isTall ? [scaled, own] : [own, scaled];
    const { converged, iterations } = found;
    return { u, s, vh: v.dtype.startsWith('complex') ? v.conj().T : v.T, converged, iterations };
  });
}

function columnwise(x: Lazy, product: Product): Lazy {
  const columns = Array.from({ length: x.shape[1]! }, (_, k) => product(x.slice('...', k)).reshape([-1, 1]));
  return concat(columns, 1);
}

/** Indices that a sort gives, and numbers of steps, are in range. */
const CLIP = { mode: 'clip' } as const;

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
  const given = options.v0 === undefined ? undefined : vectorOf(op, 'v0', options.v0, n);
  const start = given ?? random.uniform(random.key(1), [n]).sub(0.5);
  const { dtype } = times(start);
  const first = start.astype(dtype);
  const size = norm(first);
  const real = size.dtype;
  const { eps } = finfo(real as 'float64');
  const tol = tolerance(op, 'tol', options.tol, 0) || eps;
  const rows = arange(most + 1).reshape([most + 1, 1]);
  const unit = first.multiply(ratio(full([], 1, { dtype: real }), size)).reshape([1, n]);
  const states = {
    basis: rows.equal(0).where(unit, zeros([most + 1, n], { dtype })),
    projected: zeros([most, most], { dtype }),
    from: zeros([], { dtype: 'int64' }),
    values: zeros([k], { dtype: real }),
    errors: full([k], Number.POSITIVE_INFINITY, { dtype: real }),
    scale: zeros([], { dtype: real }),
    cycle: zeros([], { dtype: 'int64' }),
  };
  // Errors below the rounding of A's products are none.
  const isDone = ({ values, errors, scale }: Pick<typeof states, 'values' | 'errors' | 'scale'>): Lazy =>
    errors
      .lessEqual(
        values
          .abs()
          .maximum(eps ** (2 / 3))
          .multiply(tol)
          .maximum(scale.multiply(4 * eps)),
      )
      .all();
  const last = whileLoop(
    (now) => isDone(now).logicalNot(),
    (now) => {
      const { basis, projected, beta } = expanded(times, now, sizes, eps);
      const { eigenvalues, eigenvectors } = linalg.eigh(projected, { uplo: 'U' });
      const order = keyOf(which, eigenvalues).argsort(0).slice([0, kept]);
      const [chosen, weights] = [eigenvalues.take(order, 0, CLIP), eigenvectors.take(order, 1, CLIP)];
      const ritz = weights.T.matmul(basis.slice([0, most]));
      const next = concat([ritz, basis.slice([most]), zeros([most - kept, n], { dtype })], 0);
      const at = arange(most);
      const diagonal = concat([chosen.astype(dtype), zeros([most - kept], { dtype })]);
      return {
        basis: next,
        projected: at
          .reshape([most, 1])
          .equal(at)
          .where(diagonal, zeros([most, most], { dtype })),
        from: now.from.multiply(0).add(kept),
        values: chosen.slice([0, k]),
        errors: weights
          .slice(most - 1, [0, k])
          .abs()
          .multiply(beta),
        scale: eigenvalues.abs().max(),
        cycle: now.cycle.add(1),
      };
    },
    states,
    { max: Math.max(1, stepsOf(op, options.maxiter, 10 * n)) },
  );
  const order = last.values.argsort(0);
  return {
    eigenvalues: last.values.take(order),
    eigenvectors: last.basis.slice([0, k]).take(order, 0).T,
    converged: isDone(last) as Lazy<'bool'>,
    iterations: last.cycle,
  };
}

function sizesOf(op: string, n: number, { k = 6, ncv }: EigshOptions): Sizes {
  const whole = (name: string, value: number, least: number, end: number): number => {
    if (Number.isSafeInteger(value) && value >= least && value <= end) return value;
    throw new RangeArgumentError(expected(op, `${name} from ${least} to ${end}`, formatValue(value)));
  };
  whole('k', k, 1, n);
  const usual = Math.min(n, Math.max(2 * k + 1, 20));
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

/**
 * The basis, a row a vector, up to its last one, and the matrix projected on it, whose upper triangle is filled column by
 * column. Rows that are not there yet are zeros, so that a step's shapes are those of all steps.
 */
function expanded(
  times: Product,
  begin: { readonly basis: Lazy; readonly projected: Lazy; readonly from: Lazy },
  { n, most }: Sizes,
  eps: number,
): { readonly basis: Lazy; readonly projected: Lazy; readonly beta: Lazy } {
  const { dtype } = begin.basis;
  const conj = (x: Lazy): Lazy => (dtype.startsWith('complex') ? x.conj() : x);
  const rows = arange(most + 1);
  const beta = norm(begin.basis.slice(0)).multiply(0);
  return whileLoop(
    ({ step }) => step.less(most),
    ({ basis, projected, step }) => {
      const given = times(basis.take(step, 0, CLIP)).astype(dtype);
      const once = conj(basis).matmul(given);
      const rest = given.subtract(once.matmul(basis));
      // A space that A maps into itself: it goes on with a random vector, which does not meet the others.
      const isClosed = norm(rest).lessEqual(norm(given).multiply(8 * eps));
      const other = random
        .uniform(random.foldIn(random.key(2), step), [n])
        .sub(0.5)
        .astype(dtype);
      const open = isClosed.where(other, rest);
      const again = conj(basis).matmul(open);
      const next = open.subtract(again.matmul(basis));
      const length = norm(next);
      const column = once.add(isClosed.where(0, again)).slice([0, most]);
      const at = arange(most);
      const isOwn = at.equal(step).logicalAnd(at.reshape([most, 1]).lessEqual(step));
      const unit = next.multiply(ratio(full([], 1, { dtype: length.dtype }), length)).reshape([1, n]);
      return {
        basis: rows
          .reshape([most + 1, 1])
          .equal(step.add(1))
          .where(unit, basis),
        projected: isOwn.where(column.reshape([most, 1]), projected),
        step: step.add(1),
        beta: isClosed.where(0, length),
      };
    },
    { basis: begin.basis, projected: begin.projected, step: begin.from, beta },
    { max: most },
  );
}
