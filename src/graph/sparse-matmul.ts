/**
 * The product of two sparse matrices by expansion, sorting and compression (Bell, Dalton and Olson, "Exposing
 * fine-grained parallelism in algebraic multigrid methods", 2012), of nodes that are there: an expansion, a stable
 * sort, and sums of runs in the order of the first matrix's row, so that the bits are the same everywhere.
 *
 *     row i of A (k, a) (l, b)   →   a · row k of B, b · row l of B   →   sorted by column, equal ones added
 */
import { expected, RangeArgumentError } from '../host/errors.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map, meetingDType } from './infer.js';
import { argsort } from './sorting.js';
import {
  at,
  boundOf,
  columnsOf,
  emptyMatrix,
  inRows,
  product,
  rowBoundOf,
  rowsOf,
  runsOf,
  type SparseParts,
  startsOf,
} from './sparse.js';
import { expansion } from './sparse-expansion.js';
import { reshape, view } from './view-nodes.js';

/** Products that are sorted at most: more than any device holds, and than a plan would be tried for. */
const MOST_PRODUCTS = 2 ** 36;

/** The product of matrices whose sizes fit, of the dtype in which both meet. */
export function matrixProduct(op: string, a: SparseParts, b: SparseParts): SparseParts {
  const [rows, columns] = [a.shape[0], b.shape[1]];
  const dtype = meetingDType(op, [a.values, b.values]);
  const bound = boundOf(a) * rowBoundOf(b);
  if (bound === 0 || rows * columns === 0) return emptyMatrix([rows, columns], dtype);
  if (bound > MOST_PRODUCTS) {
    const received = `up to ${boundOf(a)} · ${rowBoundOf(b)}`;
    const hint = 'await b.persist() first: the length of its longest row is known then';
    throw new RangeArgumentError(
      expected(op, `at most ${MOST_PRODUCTS} products of elements`, received, hint),
    );
  }
  const row = rowsOf(a, op);
  const isThere = map('less', [row, BigInt(rows)]);
  const { starts, from, places } = expansion(startsOf(b, op), columnsOf(a, op), bound, isThere);
  const total = at(starts, constant(BigInt(boundOf(a)), 'int64'));
  const key = map('add', [map('multiply', [at(row, from), BigInt(columns)]), at(columnsOf(b, op), places)]);
  const keys = map('where', [map('less', [iota(bound), total]), key, BigInt(rows * columns)]);
  const order = argsort(keys, 0);
  const sorted = at(keys, order);
  const runs = runsOf(sorted);
  const sums = product(
    op,
    {
      shape: [bound, boundOf(b)],
      starts: runs.starts,
      places: at(places, order),
      values: cast(at(upToBound(a.values), at(from, order)), dtype),
      isCanonical: false,
      isGiven: false,
    },
    reshape(upToBound(b.values), [boundOf(b), 1]),
  );
  // Keys of no products are one more run.
  const rowBound = Math.min(columns, rowBoundOf(a) * rowBoundOf(b));
  const most = Math.min(bound, rows * rowBound);
  const first = (line: typeof sorted): typeof sorted =>
    line.shape[0] === most ? line : view(line, { type: 'slice', starts: [0], steps: [1] }, [most]);
  const parts = inRows(
    [rows, columns],
    first(at(sorted, runs.places)),
    first(reshape(sums, [bound])),
    true,
    runs.runs,
  );
  return { ...parts, rowBound };
}
