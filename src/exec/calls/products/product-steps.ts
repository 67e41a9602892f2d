/**
 * Steps of a plan that multiply: matrix products and contractions, with their operands as they lie in the plan's
 * buffers. `matmul.ts` and `contraction.ts` are their rows.
 */
import type { DType } from '../../../graph/dtype.js';
import type { Activation } from '../../../graph/epilogue.js';
import type { Precision } from '../../../graph/expr.js';
import type { CallBase } from '../call-base.js';

/**
 * A matrix operand of a plan's buffer, in elements: element (b, i, j) is at `offset + b * batchStride + i *
 * rowStride + j * columnStride`.
 */
export interface MatrixOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly batchStride: number;
  readonly rowStride: number;
  readonly columnStride: number;
  /** Along the outer batch axes of its product. */
  readonly outerStrides?: readonly number[] | undefined;
}

/** The epilogue of a product, with the places of what it reads; see `graph/epilogue.ts`. */
export interface MatmulEpilogue {
  /** Of the result, the addend and the bias. */
  readonly dtype: DType;
  readonly alpha: number;
  readonly beta: number;
  /** As `c`, which it may be. Absent where `beta` is 0. */
  readonly addend: MatrixOperand | undefined;
  /** A row: its elements follow each other. */
  readonly bias: { readonly buffer: number; readonly offset: number } | undefined;
  readonly activation: Activation | undefined;
}

/**
 * c = a · b for each of `batch` matrices and each index of the outer axes: (m, k) · (k, n). On a GPU one stride of a, b
 * and c's (row, column) is 1; the CPU reads a and b at any strides.
 */
export interface MatmulStep extends CallBase {
  readonly call: 'matmul';
  readonly dtype: DType;
  readonly precision: Precision | undefined;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** Sizes of further batch axes, where no single stride describes the batches (`partition/batch-axes.ts`). */
  readonly outer?: readonly number[] | undefined;
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly c: MatrixOperand;
  /** Whether a BLAS is left out on the CPU. */
  readonly ownKernels?: boolean | undefined;
  /** On a GPU, of a step that is not cut. */
  readonly epilogue?: MatmulEpilogue | undefined;
}

/** An operand of a contraction: where its elements lie, in elements, along its labels. */
export interface TensorOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly labels: readonly number[];
  /** From 1 on. */
  readonly strides: readonly number[];
  /** Whether its complex conjugates are multiplied. */
  readonly conjugated?: boolean | undefined;
}

/**
 * result = alpha · Σ left · right + beta · addend over the labels that the result lacks, on a GPU by cuTENSOR.
 * Labels are positions in `sizes`, which are above 1.
 */
export interface ContractionStep extends CallBase {
  readonly call: 'contraction';
  readonly dtype: DType;
  readonly precision: Precision | undefined;
  readonly sizes: readonly number[];
  readonly left: TensorOperand;
  readonly right: TensorOperand;
  /** In C order, as the addend. */
  readonly result: TensorOperand;
  readonly alpha: number;
  /** 0: there is no addend. */
  readonly beta: number;
  readonly addend: TensorOperand | undefined;
}

export type LibraryStep = MatmulStep | ContractionStep;
