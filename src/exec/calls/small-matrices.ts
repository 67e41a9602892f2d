/**
 * Factors, solutions and decompositions of small matrices as kernels of Weft's own on a GPU
 * (`codegen/cuda/routines/small-*.ts`): a block of one warp for each matrix, where a library would have a call for each.
 */
import {
  printSmallDeterminants,
  SMALL_DETERMINANTS_NAME,
} from '../../codegen/cuda/routines/small-determinants.js';
import {
  pitchOf,
  printSmallCholesky,
  printSmallQ,
  printSmallQr,
  SMALL_CHOLESKY_NAME,
  SMALL_Q_NAME,
  SMALL_QR_NAME,
} from '../../codegen/cuda/routines/small-factors.js';
import {
  printSmallEigh,
  printSmallSvd,
  SMALL_EIGH_NAME,
  SMALL_SVD_NAME,
} from '../../codegen/cuda/routines/small-jacobi.js';
import {
  lanesOf,
  matricesOfBlock,
  printSmallLu,
  printSmallSolve,
  printSmallSystem,
  SMALL_LU_NAME,
  SMALL_SOLVE_NAME,
  SMALL_SYSTEM_NAME,
  type SmallForm,
} from '../../codegen/cuda/routines/small-matrices.js';
import { WARP } from '../../codegen/cuda/routines/small-numbers.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { launchOfMatrices } from './matrix-launch.js';

/** The kernels of `lu`; undefined: a library factors matrices of these sizes. */
export function smallLu(step: RoutineStep): CallKernels | undefined {
  const [count, columns, rows] = step.operands[0]!.shape as readonly [number, number, number];
  if (columns !== rows || rows > WARP) return undefined;
  const together = matricesOfBlock(rows);
  const source = printSmallLu(step.operands[0]!.dtype, rows);
  const threads = together * lanesOf(rows);
  return launched(step, Math.ceil(count / together), SMALL_LU_NAME, source, [count], threads);
}

/** Matrices of a unit of `lu` and `smallDeterminants`. */
export function matricesTogether({ operands: [a] }: RoutineStep): number {
  const [, columns, rows] = a!.shape as readonly [number, number, number];
  return columns === rows && rows <= WARP ? matricesOfBlock(rows) : 1;
}

/** The kernels of `smallDeterminants`. */
export function smallDeterminants(step: RoutineStep): CallKernels {
  const { dtype, shape } = step.operands[0]!;
  const [count, n] = shape as readonly [number, number];
  const [together, source] = [matricesOfBlock(n), printSmallDeterminants(dtype, n)];
  const blocks = Math.ceil(count / together);
  return launched(step, blocks, SMALL_DETERMINANTS_NAME, source, [count], together * lanesOf(n));
}

/** The kernels of `luSolve`. */
export function smallSolve(step: RoutineStep): CallKernels | undefined {
  const [count, sides, n] = step.operands[0]!.shape as readonly [number, number, number];
  if (n > WARP) return undefined;
  const source = printSmallSolve(step.operands[0]!.dtype, n, step.parameters[0] as SmallForm);
  return launched(step, count, SMALL_SOLVE_NAME, source, [sides]);
}

/** The kernels of `solve`. */
export function smallSystem(step: RoutineStep): CallKernels {
  const { dtype, shape } = step.operands[0]!;
  const [count, n] = shape as readonly [number, number];
  const sides = step.operands[1]!.shape[2]!;
  return launched(step, count, SMALL_SYSTEM_NAME, printSmallSystem(dtype, n), [sides]);
}

/** Rows of a matrix of few columns at most, and bytes of its parts in shared memory. */
const MOST_ROWS = 128;
const MOST_SHARED = 40 * 1024;

const fits = (dtype: DType, rows: number, elements: number): boolean =>
  rows <= MOST_ROWS && elements * byteLengthOf(dtype) <= MOST_SHARED;

/** The kernels of `cholesky`. */
export function smallCholesky(step: RoutineStep): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, n] = shape as readonly [number, number];
  if (n > WARP) return undefined;
  return launched(
    step,
    count,
    SMALL_CHOLESKY_NAME,
    printSmallCholesky(dtype, n, step.parameters[0] === 1),
    [],
  );
}

/** The kernels of `qr`. */
export function smallQr(step: RoutineStep): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, columns, rows] = shape as readonly [number, number, number];
  if (columns > WARP || !fits(dtype, rows, columns * pitchOf(rows))) return undefined;
  return launched(step, count, SMALL_QR_NAME, printSmallQr(dtype, columns, rows), []);
}

/** The kernels of `qOfQr`. */
export function smallQ(step: RoutineStep): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, columns, rows] = shape as readonly [number, number, number];
  const [wanted] = step.parameters as readonly [number];
  if (columns > WARP || !fits(dtype, rows, wanted * pitchOf(rows))) return undefined;
  return launched(step, count, SMALL_Q_NAME, printSmallQ(dtype, columns, rows, wanted), []);
}

/** The kernels of `eigh`. */
export function smallEigh(step: RoutineStep): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, n] = shape as readonly [number, number];
  const [isUpper, hasVectors] = step.parameters as readonly [number, number];
  if (n > WARP) return undefined;
  const source = printSmallEigh(dtype, n, isUpper === 1, hasVectors === 1);
  return launched(step, count, SMALL_EIGH_NAME, source, []);
}

/** The kernels of `svd`. */
export function smallSvd(step: RoutineStep): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, n, m] = shape as readonly [number, number, number];
  if (n > WARP || !fits(dtype, m, n * (pitchOf(m) + pitchOf(n)))) return undefined;
  return launched(step, count, SMALL_SVD_NAME, printSmallSvd(dtype, n, m, step.parameters[0] === 1), []);
}

/** The launch of a block for each matrix, or of some threads for several. */
const launched = (
  step: RoutineStep,
  blocks: number,
  name: string,
  source: string,
  sizes: readonly number[],
  threads: number = WARP,
): CallKernels => launchOfMatrices(step, { function: name, source, blocks, threads, sizes });
