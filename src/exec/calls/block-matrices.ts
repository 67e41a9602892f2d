/**
 * Factors of matrices that are too large for a warp, and fit the shared memory of a block (`codegen/cuda/routines/block-*.ts`): a
 * stack is one launch, where a library would have a call for each matrix. They have them however many there are, so that a
 * matrix has the same bits alone, in a stack and in a tile of it.
 */
import {
  BLOCK_CHOLESKY_NAME,
  BLOCK_Q_NAME,
  BLOCK_QR_NAME,
  type BlockColumns,
  printBlockCholesky,
  printBlockQ,
  printBlockQr,
} from '../../codegen/cuda/routines/block-factors.js';
import {
  BLOCK_LU_NAME,
  BLOCK_TRIANGLE_NAME,
  printBlockLu,
  printBlockTriangle,
} from '../../codegen/cuda/routines/block-matrices.js';
import { pitchOf } from '../../codegen/cuda/routines/small-factors.js';
import type { SmallForm } from '../../codegen/cuda/routines/small-matrices.js';
import { WARP } from '../../codegen/cuda/routines/small-numbers.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { int64 } from './launch-arguments.js';

/** Shared memory of a block's matrix at most, and of what kernels have beside it. */
const MOST_SHARED = 64 * 1024;
const SHARED_BESIDE = 64;
/** Rows of a matrix at most: of more, a block alone takes longer than a library. */
const MOST_ROWS = 128;
/** Rows of a column of QR at most: each lane has eight of them in registers. */
const MOST_ROWS_OF_COLUMN = 256;
/** Right sides of a warp, which share the copy of a matrix into shared memory. */
const SIDES_OF_WARP = 4;

/** Columns lie so far apart that lanes with a row each meet different banks, where there is memory for it. */
function columnsOf(
  dtype: DType,
  columns: number,
  rows: number,
  { sharedByteLength }: DeviceLimits,
): BlockColumns | undefined {
  const most = Math.min(MOST_SHARED, sharedByteLength - SHARED_BESIDE);
  const fits = (pitch: number): boolean => sharedBytes(dtype, columns, pitch) <= most;
  const pitch = [pitchOf(rows), rows].find(fits);
  if (pitch === undefined || rows > MOST_ROWS_OF_COLUMN) return undefined;
  return { columns, rows, pitch, threads: rows > 2 * WARP ? 256 : 128 };
}

const squareOf = (dtype: DType, n: number, limits: DeviceLimits) => {
  const columns = n <= MOST_ROWS ? columnsOf(dtype, n, n, limits) : undefined;
  return columns && { n, pitch: columns.pitch, threads: columns.threads };
};

/** The kernels of `lu`; undefined: a library factors matrices of these sizes. */
export function blockLu(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, columns, rows] = shape as readonly [number, number, number];
  const square = columns === rows ? squareOf(dtype, rows, limits) : undefined;
  if (square === undefined) return undefined;
  const [bytes, source] = [sharedBytes(dtype, rows, square.pitch), printBlockLu(dtype, square)];
  return launched(step, count, square.threads, bytes, BLOCK_LU_NAME, source);
}

/** The kernels of `triangularSolve`. */
export function blockTriangle(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, sides, n] = shape as readonly [number, number, number];
  const [isUpper, form, hasUnitDiagonal] = step.parameters as readonly [number, SmallForm, number];
  const square = squareOf(dtype, n, limits);
  if (square === undefined) return undefined;
  const triangle = { isUpper: isUpper === 1, form, hasUnitDiagonal: hasUnitDiagonal === 1 };
  const source = printBlockTriangle(dtype, square, triangle);
  const parts = Math.ceil((sides * WARP) / (square.threads * SIDES_OF_WARP));
  const bytes = sharedBytes(dtype, n, square.pitch);
  return launched(step, count * parts, square.threads, bytes, BLOCK_TRIANGLE_NAME, source, [sides, parts]);
}

/** The kernels of `cholesky`. */
export function blockCholesky(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, n] = shape as readonly [number, number];
  const square = squareOf(dtype, n, limits);
  if (square === undefined) return undefined;
  const source = printBlockCholesky(dtype, square, step.parameters[0] === 1);
  return launched(
    step,
    count,
    square.threads,
    sharedBytes(dtype, n, square.pitch),
    BLOCK_CHOLESKY_NAME,
    source,
  );
}

/** The kernels of `qr`. */
export function blockQr(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, columns, rows] = shape as readonly [number, number, number];
  const form = columns <= MOST_ROWS ? columnsOf(dtype, columns, rows, limits) : undefined;
  if (form === undefined) return undefined;
  const [bytes, source] = [sharedBytes(dtype, columns, form.pitch), printBlockQr(dtype, form)];
  return launched(step, count, form.threads, bytes, BLOCK_QR_NAME, source);
}

/** The kernels of `qOfQr`. */
export function blockQ(step: RoutineStep, limits: DeviceLimits): CallKernels | undefined {
  const { dtype, shape } = step.operands[0]!;
  const [count, columns, rows] = shape as readonly [number, number, number];
  const [wanted] = step.parameters as readonly [number];
  const form = columns <= MOST_ROWS ? columnsOf(dtype, columns, rows, limits) : undefined;
  if (form === undefined) return undefined;
  const [bytes, source] = [sharedBytes(dtype, columns, form.pitch), printBlockQ(dtype, form, wanted)];
  return launched(step, count, form.threads, bytes, BLOCK_Q_NAME, source);
}

const sharedBytes = (dtype: DType, columns: number, pitch: number): number =>
  columns * pitch * byteLengthOf(dtype);

const launched = (
  { operands, results }: RoutineStep,
  blocks: number,
  threads: number,
  sharedByteLength: number,
  name: string,
  source: string,
  sizes: readonly number[] = [],
): CallKernels => ({
  source,
  launches: [
    {
      function: name,
      blocks,
      threads,
      sharedByteLength,
      args: [
        { block: 'x' },
        ...[...operands, ...results].map(({ buffer }) => ({ buffer })),
        ...sizes.map(int64),
      ],
    },
  ],
});
