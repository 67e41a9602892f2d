/**
 * A matrix product, of outer batch axes one call, on buffers of its own, each as long as what the product touches, where the measured product's
 * operands lie: the same strides, dtypes and alignments. Called by `product-tuning.ts`.
 */
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type { MatmulStep, MatrixOperand } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { ProductSpec } from '../native/native.js';

export interface ProductTrial {
  readonly product: ProductSpec;
  /** Of its buffers. */
  readonly byteLengths: readonly number[];
}

/** Boundaries that all buffers begin on. */
const BUFFER_ALIGNMENT = 256;

/** The product of a step with an epilogue, as cuBLASLt is given it: one that does nothing where there is none. */
export function withPlainEpilogue(spec: ProductSpec): ProductSpec {
  const { dtype, epilogue } = spec;
  const plain = { dtype, alpha: 1, beta: 0, addend: undefined, bias: undefined, activation: undefined };
  return { ...spec, epilogue: epilogue ?? plain };
}

export function trialOf(step: MatmulStep, workspaceByteLength: number): ProductTrial {
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
  return { product: withPlainEpilogue(callRow(moved).spec(moved) as ProductSpec), byteLengths };
}

export const byteLengthOfTrial = ({ byteLengths }: ProductTrial): number =>
  byteLengths.reduce((sum, bytes) => sum + bytes, 0);
