/** Systems that are not symmetric: GMRES with restarts. */
import { formatValue } from '../graph/format.js';
import { expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import { eye, full, zeros } from './creation.js';
import type { ArrayLike } from './fluent-types.js';
import type { Lazy } from './lazy.js';
import { linalg } from './linalg.js';
import { whileLoop } from './loops.js';
import { arange } from './ranges.js';
import { type MatrixLike, norm, ratio } from './sparse-operators.js';
import {
  firstStep,
  type Solution,
  type SolverOptions,
  type System,
  solutionOf,
  solved,
  systemOf,
} from './sparse-systems.js';

/** Numbers of steps are in range. */
const CLIP = { mode: 'clip' } as const;

/** Options of `sparse.gmres`. */
export interface GmresOptions extends SolverOptions {
  /** Steps until it begins again from where it is, 20 by default. They take memory of as many vectors. */
  readonly restart?: number | undefined;
}

/**
 * Solves A x = b by generalised minimal residuals (Saad and Schultz, 1986) with restarts, as SciPy's `gmres`: M is
 * applied from the right, so that residuals are those of the system; vectors are made orthogonal twice, by classical
 * Gram-Schmidt. `maxiter` and `history` count restarts, as in SciPy, `iterations` the steps. Errors are those of
 * `sparse.cg`, and a RangeArgumentError for a restart below 1.
 *
 * @example
 * const a = sparse.diags([-1, 4, -2], [-1, 0, 1], [3, 3])
 * const { x } = sparse.gmres(a, [0, 1, 10])
 * await x.mul(100).round().compute()
 * //=> [100. 200. 300.]
 */
export function gmres(a: MatrixLike, b: ArrayLike, options?: GmresOptions): Solution {
  return called(gmres, () => {
    const op = 'sparse.gmres';
    const system = systemOf(op, a, b, options, ['restart']);
    const { a: matrix, x, r } = system;
    const restart = options?.restart ?? 20;
    if (!(Number.isSafeInteger(restart) && restart >= 1))
      throw new RangeArgumentError(
        expected(op, 'restart to be a whole number from 1 on', formatValue(restart)),
      );
    const steps = Math.max(1, Math.min(restart, matrix.shape[0]));
    const states = { x, r, size: norm(r), step: firstStep(), steps: firstStep() };
    const found = solved(system, states, (now) => {
      const { correction, taken } = cycle(system, now.r, now.size, steps);
      const after = now.x.add(correction);
      const rest = system.b.subtract(matrix.times(after));
      return { x: after, r: rest, size: norm(rest), step: now.step.add(1), steps: now.steps.add(taken) };
    });
    return { ...solutionOf(found), iterations: found.last.steps };
  });
}

/**
 * The steps from one restart to the next: an orthonormal basis, a row a vector, and the projected matrix made upper
 * triangular by rotations, whose product is a small matrix. Numbers of rows and columns are compared with the step's, so
 * that its shapes are those of all steps.
 */
function cycle(
  { a, m, limit }: System,
  r: Lazy,
  size: Lazy,
  steps: number,
): { readonly correction: Lazy; readonly taken: Lazy } {
  const { dtype } = r;
  const [n] = r.shape as [number];
  const rows = arange(steps + 1);
  const columns = arange(steps);
  const column = rows.reshape([steps + 1, 1]);
  const isReal = !dtype.startsWith('complex');
  const conj = (x: Lazy): Lazy => (isReal ? x : x.conj());
  const first = r.multiply(ratio(full([], 1, { dtype: size.dtype }), size));
  const basis = column.equal(0).where(first.reshape([1, n]), zeros([steps + 1, n], { dtype }));
  const last = whileLoop(
    ({ rest, step }) => rest.greater(limit).logicalAnd(step.less(steps)),
    ({ basis, triangle, turns, right, step }) => {
      const given = a.times(m(basis.take(step, 0, CLIP))).astype(dtype);
      const once = conj(basis).matmul(given);
      const most = given.subtract(once.matmul(basis));
      const again = conj(basis).matmul(most);
      const next = most.subtract(again.matmul(basis));
      const length = norm(next);
      const projected = rows
        .lessEqual(step)
        .where(once.add(again), rows.equal(step.add(1)).where(length.astype(dtype), 0));
      const turned = turns.matmul(projected);
      const [upper, lower] = [turned.take(step, 0, CLIP), turned.take(step.add(1), 0, CLIP)];
      const whole = norm(upper.reshape([1])).hypot(norm(lower.reshape([1])));
      const [c, s] = [ratio(upper, whole.astype(dtype)), ratio(lower, whole.astype(dtype))];
      // Rows step and step + 1 become conj(c), conj(s) and -s, c times them.
      const rotated = (x: Lazy): Lazy => {
        const [own, below] = [x.take(step, 0, CLIP), x.take(step.add(1), 0, CLIP)];
        const up = conj(c).multiply(own).add(conj(s).multiply(below));
        const down = c.multiply(below).subtract(s.multiply(own));
        const at = x.ndim === 1 ? rows : column;
        return at.equal(step).where(up, at.equal(step.add(1)).where(down, x));
      };
      const moved = rotated(right);
      return {
        basis: column
          .equal(step.add(1))
          .where(next.multiply(ratio(full([], 1, { dtype: length.dtype }), length)).reshape([1, n]), basis),
        triangle: columns.equal(step).where(rotated(turned).reshape([steps + 1, 1]), triangle),
        turns: rotated(turns),
        right: moved,
        rest: norm(moved.take(step.add(1), 0, CLIP).reshape([1])),
        step: step.add(1),
      };
    },
    {
      basis,
      // Ones for columns of steps that are not taken.
      triangle: eye(steps + 1, steps, { dtype }),
      turns: eye(steps + 1, steps + 1, { dtype }),
      right: rows.equal(0).where(size.astype(dtype), zeros([steps + 1], { dtype })),
      rest: size,
      step: firstStep(),
    },
    { max: steps },
  );
  const known = columns.less(last.step).where(last.right.slice([0, steps]), 0);
  const square = last.triangle.slice([0, steps]);
  // A column of zeros, of a singular matrix, adds nothing.
  const isZero = square.abs().sum(0).equal(0);
  const safe = isZero.logicalAnd(columns.reshape([steps, 1]).equal(columns)).where(1, square);
  const weights = linalg.solveTriangular(safe, known, { lower: false });
  const sum = weights.matmul(last.basis.slice([0, steps]));
  return { correction: m(sum).astype(dtype), taken: last.step };
}
