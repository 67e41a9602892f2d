/** The matrices of a product and of its operands: how many, and how they lie. */
import { sizeOfShape } from '../../../graph/graph.js';
import type { MatmulStep, MatrixOperand } from './product-steps.js';

type Batches = Pick<MatmulStep, 'batch' | 'outer'>;

/** Products in all. */
export const matricesOf = ({ batch, outer = [] }: Batches): number => batch * sizeOfShape(outer);

/** Whether one stride describes the batches. */
export const isOneBatch = ({ outer = [] }: Batches): boolean => outer.length === 0;

/**
 * Whether parts are ranges of the first outer axis, else of `batch`: of the axis along which the result's matrices are
 * furthest apart, so that parts of the result do not overlap (`native/runtime/product-batches.h`).
 */
export const isCutOuter = (step: MatmulStep): boolean =>
  !isOneBatch(step) && step.c.outerStrides![0]! > step.c.batchStride;

/** Whether an operand's rows or its columns are contiguous. */
export const isInLines = ({ rowStride, columnStride }: MatrixOperand): boolean =>
  (columnStride === 1 && rowStride > 0) || (rowStride === 1 && columnStride > 0);
