/**
 * Factors of matrices that are too large for a warp, and fit the shared memory of a block (`codegen/cuda/routines/block-*.ts`): a
 * stack is one launch, where a library would have a call for each matrix. They have them however many there are, so that a
 * matrix has the same bits alone, in a stack and in a tile of it.
 */
import {
  BLOCK_CHOLESKY_NAME,
  choleskyBytes,
  choleskyPitches,
  printBlockCholesky,
} from '../../codegen/cuda/routines/block-cholesky.js';
import {
  BLOCK_LU_NAME,
  BLOCK_TRIANGLE_NAME,
  type BlockMatrix,
  blocksOfSides,
  printBlockLu,
  printBlockTriangle,
  type SharedMatrix,
  threadsOf,
} from '../../codegen/cuda/routines/block-matrices.js';
import {
  BLOCK_Q_NAME,
  BLOCK_QR_NAME,
  printBlockQ,
  printBlockQr,
} from '../../codegen/cuda/routines/block-qr.js';
import { pitchOf } from '../../codegen/cuda/routines/small-factors.js';
import type { SmallForm } from '../../codegen/cuda/routines/small-matrices.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { launchOfMatrices } from './matrix-launch.js';

/** Shared memory of a block's matrix at most, and of what kernels have beside it. */
const MOST_SHARED = 64 * 1024;
const SHARED_BESIDE = 64;
/** Rows of a matrix at most: of more, a block alone takes longer than a library. */
const MOST_ROWS = 128;
/** Rows of a column of QR at most. */
const MOST_ROWS_OF_COLUMN = 256;

const mostShared = ({ sharedByteLength }: DeviceLimits): number =>
  Math.min(MOST_SHARED, sharedByteLength - SHARED_BESIDE);

/** Columns lie so far apart that lanes with a row each meet different banks, where there is memory for it. */
function squareOf(dtype: DType, n: number, limits: DeviceLimits): SharedMatrix | undefined {
  const pitch = [pitchOf(n), n].find((each) => sharedBytes(dtype, n, each) <= mostShared(limits));
  return n <= MOST_ROWS && pitch !== undefined ? squareBy(n, pitch) : undefined;
}

const squareBy = (n: number, pitch: number): SharedMatrix => ({
  columns: n,
  rows: n,
  pitch,
  threads: threadsOf(n),
});

/** Columns for QR, in the registers of a block: as many as fit the shared memory in which Q's reflectors are. */
function columnsOf(step: RoutineStep, limits: DeviceLimits): BlockMatrix | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [, columns, rows] = shape as readonly [number, number, number];
  const bytes = sharedBytes(dtype, columns, rows);
  if (columns > MOST_ROWS || rows > MOST_ROWS_OF_COLUMN || bytes > mostShared(limits)) return undefined;
  // Of wide numbers a thread of twice as many has registers for one block alone: 1,024 of 90² float64 took 1.19 ms for 0.71.
  return { columns, rows, threads: byteLengthOf(dtype) > 4 ? 128 : threadsOf(rows) };
}

/** The kernels of `lu`; undefined: a library factors matrices of these sizes. */
export function blockLu(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, columns, rows] = shape as readonly [number, number, number];
  const square = columns === rows ? squareOf(dtype, rows, limits) : undefined;
  if (square === undefined) return undefined;
  return launchOfMatrices(step, {
    function: BLOCK_LU_NAME,
    source: printBlockLu(dtype, square),
    blocks: count,
    threads: square.threads,
    sharedByteLength: sharedBytes(dtype, rows, square.pitch),
  });
}

/** The kernels of `triangularSolve`. */
export function blockTriangle(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, sides, n] = shape as readonly [number, number, number];
  const [isUpper, form, hasUnitDiagonal] = step.parameters as readonly [number, SmallForm, number];
  const square = squareOf(dtype, n, limits);
  if (square === undefined) return undefined;
  const triangle = { isUpper: isUpper === 1, form, hasUnitDiagonal: hasUnitDiagonal === 1 };
  const parts = blocksOfSides(n, sides);
  return launchOfMatrices(step, {
    function: BLOCK_TRIANGLE_NAME,
    source: printBlockTriangle(dtype, square, triangle),
    blocks: count * parts,
    threads: square.threads,
    sharedByteLength: sharedBytes(dtype, n, square.pitch),
    sizes: [sides, parts],
  });
}

/** The kernels of `cholesky`. */
export function blockCholesky(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, n] = shape as readonly [number, number];
  const pitch = choleskyPitches(dtype, n).find((each) => choleskyBytes(dtype, n, each) <= mostShared(limits));
  if (n > MOST_ROWS || pitch === undefined) return undefined;
  const square = squareBy(n, pitch);
  return launchOfMatrices(step, {
    function: BLOCK_CHOLESKY_NAME,
    source: printBlockCholesky(dtype, square, step.parameters[0] === 1),
    blocks: count,
    threads: square.threads,
    sharedByteLength: choleskyBytes(dtype, n, pitch),
  });
}

/** The kernels of `qr`. */
export function blockQr(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const form = columnsOf(step, limits);
  if (form === undefined) return undefined;
  return launchOfMatrices(step, {
    function: BLOCK_QR_NAME,
    source: printBlockQr(dtype, form),
    blocks: shape[0]!,
    threads: form.threads,
  });
}

/** The kernels of `qOfQr`. */
export function blockQ(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const form = columnsOf(step, limits);
  if (form === undefined) return undefined;
  return launchOfMatrices(step, {
    function: BLOCK_Q_NAME,
    source: printBlockQ(dtype, form, step.parameters[0]!),
    blocks: shape[0]!,
    threads: form.threads,
    sharedByteLength: sharedBytes(dtype, form.columns, form.rows),
  });
}

const sharedBytes = (dtype: DType, columns: number, pitch: number): number =>
  columns * pitch * byteLengthOf(dtype);
