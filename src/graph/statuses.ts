/**
 * Calls that may fail for the values that they are given: how a failure is found in their results, and its words.
 * The statuses of a node are read when its graph has run (`fusion/passes/status-check.ts`), so that nothing waits in
 * between. A call that nobody asked by name (`asked`) fails silently: its results say enough.
 */
import { expected, LinalgError, RangeArgumentError } from '../host/errors.js';
import { diagonal } from './diagonals.js';
import type { Expr, ExprOf, Site, StepCheck } from './expr.js';
import { cast, iota, map, reduce } from './infer.js';
import type { RoutineName } from './routines.js';
import { noElements, outOfRange } from './shape.js';
import { stateInEnd } from './step-checks.js';
import { reshape } from './view-nodes.js';

type Call = ExprOf<'call'>;

interface Failing {
  /** For each matrix of a stack 0, or a number from 1 on that says where it failed. */
  readonly statuses: (call: Call) => Expr;
  readonly wanted: string;
  readonly reason: (status: number) => string;
}

const SOLVABLE = 'matrices that are not singular';
const zeroPivot = (status: number): string => `pivot ${status} is 0`;

const FAILING: Readonly<Partial<Record<RoutineName, Failing>>> = {
  luSolve: {
    statuses: ({ inputs: [, factors] }) =>
      factors!.kind === 'call' && factors!.routine === 'luFactors'
        ? resultOf(factors!, 2)
        : firstZero(diagonal(factors!)),
    wanted: SOLVABLE,
    reason: zeroPivot,
  },
  inverse: {
    statuses: ({ inputs: [factors] }) => resultOf(factors as Call, 2),
    wanted: SOLVABLE,
    reason: zeroPivot,
  },
  solve: {
    statuses: (call) => resultOf(call, 1),
    wanted: SOLVABLE,
    reason: zeroPivot,
  },
  triangularSolve: {
    statuses: ({ inputs }) => firstZero(diagonal(inputs[1]!)),
    wanted: SOLVABLE,
    reason: zeroPivot,
  },
  sparseTriangularSolve: {
    statuses: ({ inputs }) => firstZero(reshape(inputs[4]!, [1, inputs[4]!.shape[0]!])),
    wanted: SOLVABLE,
    reason: zeroPivot,
  },
  cholesky: {
    statuses: (call) => resultOf(call, 1),
    wanted: 'positive definite matrices',
    reason: (status) => `the leading minor of order ${status} is not positive`,
  },
  eigh: {
    statuses: (call) => resultOf(call, 1),
    wanted: 'matrices whose eigenvalues converge',
    reason: () => 'they do not converge',
  },
  eig: {
    statuses: (call) => resultOf(call, 1),
    wanted: 'finite matrices, whose eigenvalues converge',
    reason: () => 'they do not converge',
  },
  svd: {
    statuses: (call) => resultOf(call, 1),
    wanted: 'finite matrices, whose singular values converge',
    reason: () => 'they do not converge',
  },
  leastSquares: {
    statuses: (call) => resultOf(call, 1),
    wanted: 'finite matrices, whose singular values converge',
    reason: () => 'they do not converge',
  },
};

/** Another int32 result of a call over matrices, one for each. One literal, as in `calls.ts`. */
const resultOf = (
  { routine, parameters, asked, kernel, inputs, site, depth, weak }: Call,
  result: number,
): Expr => ({
  kind: 'call',
  routine,
  parameters,
  result,
  asked,
  kernel,
  dtype: 'int32',
  shape: [inputs[0]!.shape[0]!],
  inputs,
  site,
  depth,
  weak,
});

/** The statuses of a library's call, and 1 where its values [count, n] have NaN: libraries differ in their status of NaN. */
export const statusOrNaN = (values: Expr, statuses: Expr): Expr =>
  map('where', [reduce('any', map('isnan', [values]), [1]), 1, statuses]);

/** Whether two nodes are results of one call, which fails once. */
export const isSameCall = (a: Expr, b: Expr): boolean =>
  a.kind === 'call' &&
  b.kind === 'call' &&
  a.inputs === b.inputs &&
  a.parameters === b.parameters &&
  a.routine === b.routine &&
  a.asked === b.asked;

/** For each row the number of its first zero, counted from 1; 0 where it has none. */
export function firstZero(rows: Expr): Expr {
  const length = rows.shape[1]!;
  const places = map('where', [map('equal', [rows, 0]), iota(length), BigInt(length)]);
  const first = reduce('min', places, [1]);
  return map('where', [map('less', [first, BigInt(length)]), map('add', [first, 1]), 0]);
}

/** A call whose failure is an error, or indices that a loop's steps look at. */
export interface CheckedStatus {
  /**
   * The error of a code that is not 0; `made` is a line with its place, `size` the code behind it. Undefined: the code is
   * such a size.
   */
  readonly error: ((code: bigint, made: string, size: bigint | undefined) => Error) | undefined;
  /**
   * A scalar: 0, or of the first matrix that failed its distance from the end · 2^32, and its status, int64; of one matrix
   * its status, int32 or int64, as the call gives it: a cast would be a kernel of its own. Of indices the first one out of
   * range, int64.
   */
  readonly code: Expr;
  readonly site: Site | undefined;
}

const STATUS_BITS = 32n;

/** The failures of a node that are an error. */
export function checkedStatuses(x: Expr): readonly CheckedStatus[] {
  if (x.kind === 'loop') return x.loop.stepChecks.flatMap((check) => wrongIndices(x, check));
  if (x.kind !== 'call' || x.asked === undefined) return NONE;
  const { asked, site } = x;
  const failing = FAILING[x.routine];
  if (failing === undefined) return NONE;
  const count = x.inputs[0]!.shape[0]!;
  const statuses = failing.statuses(x);
  const code = count === 1 ? reshape(statuses, []) : firstFailed(cast(statuses, 'int64'), count);
  const error = (found: bigint, made: string): LinalgError => {
    const { matrix, status } = statusIn(found, count);
    const which = count === 1 ? '' : `matrix ${matrix} of ${count}: `;
    const message = expected(asked, failing.wanted, `${which}${failing.reason(status)}`);
    return new LinalgError(message + made, matrix);
  };
  return [{ error, code, site }];
}

const NONE: readonly CheckedStatus[] = [];

function wrongIndices(x: ExprOf<'loop'>, check: StepCheck): CheckedStatus[] {
  const { op, axis, size, from, isUnsigned, state, lengthState, site } = check;
  const message = (found: bigint, length: bigint | undefined): string => {
    if (length === 0n) return noElements(op, axis);
    const index = isUnsigned ? BigInt.asUintN(64, found) : found;
    return length === undefined
      ? outOfRange(op, index, axis, size, from)
      : outOfRange(op, index, axis, Number(length), -Number(length));
  };
  const error = (found: bigint, made: string, length: bigint | undefined): RangeArgumentError =>
    new RangeArgumentError(message(found, lengthState === undefined ? undefined : length) + made);
  const wrong = { error, code: stateInEnd(x, state), site };
  if (lengthState === undefined) return [wrong];
  return [wrong, { error: undefined, code: stateInEnd(x, lengthState), site }];
}

function firstFailed(statuses: Expr, count: number): Expr {
  const fromEnd = map('multiply', [map('subtract', [BigInt(count), iota(count)]), 1n << STATUS_BITS]);
  const codes = map('where', [map('equal', [statuses, 0]), 0, map('add', [fromEnd, statuses])]);
  return reduce('max', codes, [0]);
}

/** The first matrix that failed, and its status. */
const statusIn = (code: bigint, count: number): { readonly matrix: number; readonly status: number } => ({
  matrix: count === 1 ? 0 : count - Number(code >> STATUS_BITS),
  status: Number(code & ((1n << STATUS_BITS) - 1n)),
});
