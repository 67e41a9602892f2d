/**
 * Factors of matrices and what they solve: on a GPU by kernels of Weft's own (`small-matrices.ts`, `block-matrices.ts`), and of
 * larger matrices by cuSOLVER and cuBLAS (`native/cuda/solver.cpp`), on the CPU by Weft's own (`native/cpu/linear-*.cpp`). A unit is a matrix, whose bits do not depend on those beside it.
 */
import { DEFAULT_LIMITS, type DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import { byteLengthOf, dtypeCode, isComplex } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { blockCholesky, blockLu, blockQ, blockQr, blockTriangle } from './block-matrices.js';
import type { BufferArray, RoutineStep, WorkspaceNeed } from './call.js';
import type { CallKernels } from './call-row.js';
import { wordsOf } from './number-words.js';
import { type Routine, routineCall } from './routine.js';
import {
  matricesTogether,
  smallCholesky,
  smallDeterminants,
  smallEigh,
  smallLu,
  smallQ,
  smallQr,
  smallSolve,
  smallSvd,
  smallSystem,
} from './small-matrices.js';

const bytesOf = ({ dtype, shape }: BufferArray): number => sizeOfShape(shape) * byteLengthOf(dtype);

/** Elements of an array in a matrix. */
const eachOf = ({ shape: [, ...rest] }: BufferArray): number => sizeOfShape(rest);

/**
 * The workspace of cuSOLVER's factors in bytes, beside so many elements: more than 12.0.4 asks for on an H100 (1 to 8,192
 * rows). It is asked for the size once there is a device, and a run is refused that was planned with less.
 */
const CUDA_BASE = 2 ** 18;
const panelOf = (n: number): number => 64 * n;

interface Form {
  /** Behind the dtype and the count. */
  readonly numbers: (step: RoutineStep) => readonly number[];
  /** Elements that a GPU's library works in. */
  readonly workspace: (step: RoutineStep) => number;
  /** Multiply-adds of a matrix. */
  readonly operations: (step: RoutineStep) => number;
  readonly method: string;
  readonly overwrites?: boolean;
  /** Matrices of a unit; without it, one. */
  readonly together?: (step: RoutineStep) => number;
  /** Kernels of Weft's own for some sizes on a GPU. */
  readonly kernels?: (step: RoutineStep, limits: DeviceLimits) => CallKernels | undefined;
}

/** Multiply-adds in the time that a call of a library takes for the smallest matrix. */
const CALL_OPERATIONS = 20_000;
/** The same of a product of the smallest matrices: 0.12 µs of float64, 0.9 of complex128. */
const PRODUCT_OPERATIONS = 1000;
/**
 * Matrices of more rows or columns are computed by all threads (`kOneThreadSize` in `native/cpu/linear.h`), on whose number
 * the bits of a library may depend.
 */
const ONE_THREAD_SIZE = 192;

/** Of the GPUs whose blocks have least: on them a library may need its workspace. */
const LEAST_LIMITS: DeviceLimits = { sharedByteLength: 64 * 1024 };

/** Multiply-adds a second on a GPU, for the choice of streams and shares. */
const RATE = 1e12;
const MEMORY_RATE = 3e12;

function routineOf(form: Form): Routine {
  const { numbers, workspace, operations, method, overwrites = true, together = () => 1, kernels } = form;
  const count = ({ operands }: RoutineStep): number => operands[0]!.shape[0]!;
  const cudaWorkspace = (step: RoutineStep): WorkspaceNeed => {
    if (kernels?.(step, LEAST_LIMITS) !== undefined) return { most: 0, least: 0 };
    const { dtype } = step.operands[0]!;
    const bytes = CUDA_BASE + workspace(step) * byteLengthOf(dtype);
    return { most: bytes, least: bytes };
  };
  return {
    units: (step) => Math.ceil(count(step) / together(step)),
    unitSize: (step, array) => together(step) * eachOf(array),
    numbers: (step) => [dtypeCode(step.operands[0]!.dtype), count(step), ...numbers(step)],
    cudaWorkspace,
    work: (step) => {
      const arrays = [...step.operands, ...step.results];
      const moved = arrays.reduce((sum, array) => sum + bytesOf(array), 0);
      // As bytes that take as long.
      const computed = (count(step) * operations(step) * MEMORY_RATE) / RATE;
      const launches = kernels?.(step, DEFAULT_LIMITS) === undefined ? 4 * count(step) : 1;
      return { bytes: moved + computed, launches };
    },
    overwrites: { cpu: overwrites },
    operations: (step) => {
      const sizes = [...step.operands, ...step.results].flatMap(({ shape }) => shape.slice(1));
      if (sizes.some((size) => size > ONE_THREAD_SIZE)) return Number.POSITIVE_INFINITY;
      const factor = isComplex(step.operands[0]!.dtype) ? 4 : 1;
      return count(step) * (operations(step) * factor + CALL_OPERATIONS);
    },
    ...(kernels === undefined ? {} : { kernels }),
    method: () => method,
  };
}

const sizeAt =
  (operand: number, axis: number) =>
  (step: RoutineStep): number =>
    step.operands[operand]!.shape[axis]!;
const [columns, rows] = [sizeAt(0, 1), sizeAt(0, 2)];

export const LU = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step)],
    workspace: (step) => panelOf(Math.max(columns(step), rows(step))),
    operations: (step) => columns(step) * rows(step) * Math.min(columns(step), rows(step)),
    method: 'by partial pivoting',
    together: matricesTogether,
    kernels: (step, limits) => smallLu(step) ?? blockLu(step, limits),
  }),
);

/** A GPU has `lu` instead (`fusion/passes/both-ways.ts`). */
export const LU_FACTORS = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step)],
    workspace: () => 0,
    operations: (step) => columns(step) * rows(step) * Math.min(columns(step), rows(step)),
    method: 'by partial pivoting',
    overwrites: false,
  }),
);

/** A GPU has kernels instead (`fusion/passes/both-ways.ts`). */
export const LU_PARTS = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step), ...step.parameters],
    workspace: () => 0,
    operations: (step) => 4 * Math.max(columns(step), rows(step)) ** 2,
    method: 'by blocks',
    overwrites: false,
  }),
);

/** A GPU has `luSolve` instead (`fusion/passes/both-ways.ts`). */
export const INVERSE = routineCall(
  routineOf({
    numbers: (step) => [columns(step)],
    workspace: () => 0,
    operations: (step) => columns(step) ** 3,
    method: 'by LU factors',
    overwrites: false,
  }),
);

/** A GPU has kernels instead (`fusion/passes/both-ways.ts`). */
export const DETERMINANTS = routineCall(
  routineOf({
    numbers: (step) => [columns(step)],
    workspace: () => 0,
    operations: (step) => columns(step),
    method: 'by LU factors',
    overwrites: false,
  }),
);

export const SMALL_DETERMINANTS = routineCall(
  routineOf({
    numbers: (step) => [columns(step)],
    workspace: () => 0,
    operations: (step) => columns(step) ** 3 / 3,
    method: 'by elimination with partial pivoting',
    overwrites: false,
    together: matricesTogether,
    kernels: smallDeterminants,
  }),
);

export const LU_SOLVE = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step), ...step.parameters],
    workspace: () => 0,
    operations: (step) => columns(step) * rows(step) ** 2,
    method: 'by LU factors',
    kernels: smallSolve,
  }),
);

/** Matrices are small enough for the kernels of a GPU. */
export const SOLVE = routineCall(
  routineOf({
    numbers: (step) => [columns(step), sizeAt(1, 2)(step)],
    workspace: () => 0,
    operations: (step) => columns(step) ** 2 * (columns(step) + 2 * sizeAt(1, 2)(step)),
    method: 'by elimination with partial pivoting',
    overwrites: false,
    kernels: smallSystem,
  }),
);

export const CHOLESKY = routineCall(
  routineOf({
    numbers: (step) => [columns(step), ...step.parameters],
    workspace: (step) => panelOf(columns(step)),
    operations: (step) => columns(step) ** 3 / 3,
    method: 'by blocks of columns',
    kernels: (step, limits) => smallCholesky(step) ?? blockCholesky(step, limits),
  }),
);

export const TRIANGULAR_SOLVE = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step), ...step.parameters],
    workspace: () => 0,
    operations: (step) => (columns(step) * rows(step) ** 2) / 2,
    method: 'by substitution',
    kernels: blockTriangle,
  }),
);

export const QR = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step)],
    workspace: (step) => 2 ** 19 + 1024 * Math.max(256, columns(step), rows(step)),
    operations: (step) => 2 * columns(step) * rows(step) * Math.min(columns(step), rows(step)),
    method: 'by Householder reflectors',
    kernels: (step, limits) => smallQr(step) ?? blockQr(step, limits),
  }),
);

/** A GPU has `qr` and `qOfQr` instead (`fusion/passes/both-ways.ts`). */
export const QR_PARTS = routineCall(
  routineOf({
    numbers: (step) => [rows(step), columns(step), ...step.parameters],
    workspace: () => 0,
    operations: (step) => 4 * columns(step) * rows(step) * Math.min(columns(step), rows(step)),
    method: 'by Householder reflectors',
    overwrites: false,
  }),
);

export const Q_OF_QR = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step), ...step.parameters],
    workspace: (step) => {
      const [wanted] = step.parameters as readonly [number];
      return 2 ** 17 + rows(step) * Math.min(wanted, 384);
    },
    operations: (step) => 2 * columns(step) * rows(step) * step.parameters[0]!,
    method: 'by Householder reflectors',
    kernels: (step, limits) => smallQ(step) ?? blockQ(step, limits),
    overwrites: false,
  }),
);

export const EIGH = routineCall(
  routineOf({
    numbers: (step) => [columns(step), ...step.parameters],
    // The matrix itself, where no vectors are wanted.
    workspace: (step) => 2 ** 18 + 160 * columns(step) + 5 * columns(step) ** 2,
    operations: (step) => 9 * columns(step) ** 3,
    method: 'in tridiagonal form',
    kernels: smallEigh,
    overwrites: false,
  }),
);

export const EIG = routineCall(
  routineOf({
    numbers: (step) => [columns(step), step.parameters[0]!],
    // The matrix itself among them, which is written over.
    workspace: (step) => 2 ** 17 + 1024 * columns(step) + 2 * columns(step) ** 2,
    operations: (step) => 25 * columns(step) ** 3,
    method: 'in Schur form',
    overwrites: false,
  }),
);

export const SVD = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step), step.parameters[0]!],
    // The matrix itself among them, which is written over, and U and V, which are computed also where values alone
    // are wanted.
    workspace: (step) => {
      const [n, m] = [columns(step), rows(step)];
      return 2 ** 20 + 512 * n + 5 * m * n + 4 * n * n;
    },
    operations: (step) => 12 * rows(step) * columns(step) ** 2,
    method: 'in bidiagonal form',
    kernels: smallSvd,
    overwrites: false,
  }),
);

/** A GPU has products and solutions instead (`fusion/passes/both-ways.ts`). */
export const EXPM = routineCall(
  routineOf({
    numbers: (step) => [columns(step)],
    workspace: () => 0,
    // Some seven products, a solution, and squarings: a quarter of as many as the largest norm has halvings, so that up to 19
    // rows, or seven matrices of two, are computed by the call that asks for them, which takes a millisecond at most, and
    // mostly 10 us.
    operations: (step) => {
      const { dtype } = step.operands[0]!;
      const squarings = dtype === 'float32' || dtype === 'complex64' ? 32 : 256;
      return (8 + squarings) * (columns(step) ** 3 + PRODUCT_OPERATIONS);
    },
    method: 'by scaling and squaring',
    overwrites: false,
  }),
);

export const LEAST_SQUARES = routineCall(
  routineOf({
    numbers: (step) => [columns(step), rows(step), sizeAt(1, 1)(step), ...wordsOf(step.parameters[0]!)],
    // A GPU has its decomposition instead (`fusion/passes/both-ways.ts`).
    workspace: () => 0,
    operations: (step) =>
      4 * columns(step) * rows(step) * Math.min(columns(step), rows(step)) +
      4 * columns(step) * rows(step) * sizeAt(1, 1)(step),
    method: 'by singular values of the bidiagonal form',
    overwrites: false,
  }),
);
