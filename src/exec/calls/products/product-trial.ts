/**
 * A matrix product, of outer batch axes one call, on buffers of its own, each as long as what the product touches,
 * where the measured product's operands lie: the same strides, dtypes and alignments. Called by `matmul.ts`.
 */
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import type { CallTrial } from '../call-row.js';
import { matricesOf } from './matrices.js';
import { specOf, withPlainEpilogue } from './product-specs.js';
import type { MatmulStep, MatrixOperand } from './product-steps.js';

/** Boundaries that all buffers begin on. */
const BUFFER_ALIGNMENT = 256;

/** The sizes of products that cuBLASLt takes. */
const MOST_MATRICES = 65535;
const MOST_SIDE = 2 ** 31 - 1;

/** Undefined: cuBLASLt has no form of the product. */
export function trialOf(step: MatmulStep, workspaceByteLength: number): CallTrial | undefined {
  if (!isOffered(step)) return undefined;
  const byteLengths: number[] = [];
  const buffer = (byteLength: number): number => byteLengths.push(byteLength) - 1;
  const { m, n, k, batch, dtype } = step;
  const after = step.epilogue?.dtype ?? dtype;
  const place = (operand: MatrixOperand, rows: number, columns: number, of: DType): MatrixOperand => {
    const offset = operand.offset % (BUFFER_ALIGNMENT / byteLengthOf(of));
    const { batchStride, rowStride, columnStride } = operand;
    const inner = { batchStride, rowStride, columnStride };
    const last = offset + (batch - 1) * batchStride + (rows - 1) * rowStride + (columns - 1) * columnStride;
    return { ...inner, offset, buffer: buffer((last + 1) * byteLengthOf(of)) };
  };
  const c = place(step.c, m, n, after);
  const { addend, bias } = step.epilogue ?? {};
  const moved: MatmulStep = {
    ...step,
    outer: undefined,
    a: place(step.a, m, k, dtype),
    b: place(step.b, k, n, dtype),
    c,
    epilogue: step.epilogue && {
      ...step.epilogue,
      addend: addend && (addend.buffer === step.c.buffer ? c : place(addend, m, n, after)),
      bias: bias && {
        offset: bias.offset % (BUFFER_ALIGNMENT / byteLengthOf(after)),
        buffer: buffer((n + (bias.offset % (BUFFER_ALIGNMENT / byteLengthOf(after)))) * byteLengthOf(after)),
      },
    },
    ...(workspaceByteLength === 0 ? {} : { workspace: buffer(workspaceByteLength) }),
  };
  return { product: withPlainEpilogue(specOf(moved)), byteLengths };
}

const isOffered = ({ m, n, k, batch, outer, precision }: MatmulStep): boolean =>
  precision !== 'tf32-stretched' &&
  m * n * k * matricesOf({ batch, outer }) > 0 &&
  batch <= MOST_MATRICES &&
  Math.max(m, n, k) <= MOST_SIDE;
