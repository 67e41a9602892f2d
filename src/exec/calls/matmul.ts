/**
 * The matrix product as a call: cuBLAS on a GPU, a BLAS library or Weft's own blocked product on the CPU.
 * Operands are read by their strides; parts along the batch, rows, columns and the contracted axis have the
 * bits of the whole (`matmul-cuts.ts`).
 */

import { byteLengthOf, type DType, dtypeCode, isHalf } from '../../graph/dtype.js';
import { type Epilogue, formatEpilogue } from '../../graph/epilogue.js';
import type { Precision } from '../../graph/expr.js';
import { InternalError } from '../../host/errors.js';
import { cpuInfo, productWorkspace } from '../native/native.js';
import type { ProductSpec } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { TargetKind } from '../targets/device.js';
import type { MatmulEpilogue, MatmulStep, MatrixOperand, WorkspaceNeed } from './call.js';
import type { CallForm, CallRow, CallText, StridedOperand } from './call-row.js';
import { productCost } from './matmul-cost.js';
import { matmulCuts } from './matmul-cuts.js';
import { canRunByPanels, inSlots, panelSizer } from './matmul-panels.js';
import { stretchOf } from './matmul-stretches.js';

export const MATMUL: CallRow<MatmulStep> = {
  lower: ([node], [left, right, ...further], [result]) => {
    if (node?.kind !== 'contract' || left === undefined || right === undefined || result === undefined)
      throw new InternalError('a product of less than two');
    const [batch, m, n] = node.shape as readonly [number, number, number];
    const a = matrixOf(left.at);
    const b = matrixOf(right.at);
    const c = { buffer: result.buffer, offset: 0, batchStride: m * n, rowStride: n, columnStride: 1 };
    const k = left.shape[2]!;
    const { precision } = node;
    const places = further.map((o) => o.at);
    const epilogue = node.epilogue && epilogueOf(node.epilogue, node.dtype, places);
    const { dtype } = left;
    const ownKernels = node.library === 'weft';
    return {
      kind: 'call',
      call: 'matmul',
      dtype,
      precision,
      m,
      n,
      k,
      batch,
      a,
      b,
      c,
      epilogue,
      ownKernels,
      nodes: [node.id],
    };
  },
  buffersOf: ({ a, b, c, epilogue }) => ({
    reads: [a, b, epilogue?.addend, epilogue?.bias].flatMap((each) => each?.buffer ?? []),
    writes: [c.buffer],
  }),
  withBuffers: (step, moved) => {
    const at = <Operand extends { readonly buffer: number }>(o: Operand): Operand => ({
      ...o,
      buffer: moved(o.buffer),
    });
    const { a, b, c, epilogue } = step;
    const { addend, bias } = epilogue ?? {};
    return {
      ...step,
      a: at(a),
      b: at(b),
      c: at(c),
      epilogue: epilogue && { ...epilogue, addend: addend && at(addend), bias: bias && at(bias) },
    };
  },
  keyOf: ({ dtype, precision, batch, m, n, k, a, b, c, epilogue, ownKernels }) => {
    const places = [a, b, c, ...(epilogue?.addend === undefined ? [] : [epilogue.addend])].map(
      (o) => `${o.offset} ${o.batchStride} ${o.rowStride} ${o.columnStride}`,
    );
    const { dtype: result, alpha, beta, bias, activation } = epilogue ?? {};
    const after = epilogue === undefined ? [] : [result, alpha, beta, bias?.offset, activation];
    return [dtype, precision, ownKernels, batch, m, n, k, ...places, ...after].join(' ');
  },
  isEmpty: ({ m, n, batch }) => m * n * batch === 0,
  workspace: { cpu: (step) => productWorkspace(specOf(step)), cuda: cublasWorkspace },
  costOf: productCost,
  forms: (step) => {
    const { rows, columns, contracted } = matmulCuts(step);
    const forms: CallForm[] = [];
    if (rows !== undefined) forms.push({ cut: rows, repeats: true });
    if (columns !== undefined) forms.push({ cut: columns, repeats: true });
    if (contracted !== undefined) forms.push({ cut: contracted, repeats: false });
    return forms;
  },
  blocks: { canRun: canRunByPanels, sizer: panelSizer },
  inSlots,
  spec: specOf,
  print: (step) => {
    const { dtype, precision, batch, m, n, k } = step;
    const within = precision === undefined ? '' : ` in ${precision}`;
    return `matmul ${dtype}${within} ${batch} x (${m}, ${k}) @ (${k}, ${n})${printEpilogue(step)}`;
  },
  explain,
};

function matrixOf({ buffer, offset, strides }: StridedOperand): MatrixOperand {
  const [batchStride, rowStride, columnStride] = strides as [number, number, number];
  return { buffer, offset, batchStride, rowStride, columnStride };
}

function epilogueOf(epilogue: Epilogue, dtype: DType, further: readonly StridedOperand[]): MatmulEpilogue {
  const { alpha, beta, hasBias, activation } = epilogue;
  const row = hasBias ? further.at(-1) : undefined;
  return {
    dtype,
    alpha,
    beta,
    addend: beta === 0 ? undefined : matrixOf(further[0]!),
    bias: row && { buffer: row.buffer, offset: row.offset },
    activation,
  };
}

/** `, + bias, relu to float32`; empty without an epilogue. */
function printEpilogue({ dtype, epilogue }: MatmulStep): string {
  if (epilogue === undefined) return '';
  const after = formatEpilogue({ ...epilogue, hasBias: epilogue.bias !== undefined });
  return `${after === '' ? '' : `, ${after}`}${epilogue.dtype === dtype ? '' : ` to ${epilogue.dtype}`}`;
}

function specOf(step: MatmulStep): ProductSpec {
  const { dtype, precision, m, n, k, batch, a, b, c, epilogue, workspace, ownKernels } = step;
  const allowsTf32 = precision !== undefined && precision !== 'tf32x3';
  const stretch = precision === 'tf32-stretched' ? stretchOf(k) : undefined;
  const after = epilogue && { ...epilogue, dtype: dtypeCode(epilogue.dtype) };
  return {
    kind: 'matmul',
    dtype: dtypeCode(dtype),
    allowsTf32,
    ownKernels,
    stretch,
    m,
    n,
    k,
    batch,
    a,
    b,
    c,
    epilogue: after,
    workspace,
  };
}

/**
 * cuBLAS is given this much workspace at most, as NVIDIA recommends for Hopper, and at least, below which it
 * may fail.
 */
const MOST_WORKSPACE = 32 * 2 ** 20;
const LEAST_WORKSPACE = 64 * 2 ** 10;
/**
 * At most for a float32 product whose result is larger than all that: measured on an H200, where more made it
 * a ninth slower.
 */
const WIDE_WORKSPACE = 4 * 2 ** 20;

/**
 * No more than the product's operands and result take: sums that are split need a part of that. It depends on
 * the product alone, for with it cuBLAS chooses the order of sums.
 */
function cublasWorkspace({ dtype, m, n, k, batch }: MatmulStep): WorkspaceNeed {
  const touched = batch * (m * k + k * n + m * n) * byteLengthOf(dtype);
  const isWide = dtype === 'float32' && m * n * byteLengthOf(dtype) > MOST_WORKSPACE;
  const most = Math.min(
    isWide ? WIDE_WORKSPACE : MOST_WORKSPACE,
    Math.max(LEAST_WORKSPACE, aligned(touched)),
  );
  return { most, least: LEAST_WORKSPACE };
}

/** The rest of its sentence: in which order the terms are summed. */
const SUMMED: Readonly<Record<TargetKind, (dtype: DType) => string>> = {
  cpu: computedBy,
  cuda: () => "; the order of sums is the library's",
};

function explain(step: MatmulStep, kind: TargetKind): CallText {
  const { batch, m, n, k, dtype, epilogue } = step;
  const element = byteLengthOf(dtype);
  const resultByteLength = batch * m * n * byteLengthOf(epilogue?.dtype ?? dtype);
  const addend = epilogue?.addend === undefined ? 0 : resultByteLength;
  const bias = epilogue?.bias === undefined ? 0 : n * byteLengthOf(epilogue.dtype);
  const library = epilogue === undefined ? '' : ' by cuBLASLt, one call with its epilogue';
  return {
    bytesRead: batch * (m * k + k * n) * element + addend + bias,
    bytesWritten: resultByteLength,
    text: `matmul of ${batch} x (${m}, ${k}) @ (${k}, ${n}) ${dtype}${printEpilogue(step)}, computed in ${computedIn(step, kind)}${library}${SUMMED[kind](dtype)}\n`,
  };
}

/**
 * The routine behind a product on the CPU: a library orders its sums as it likes, Weft's kernels by the
 * shapes alone.
 */
function computedBy(dtype: DType): string {
  const { blas } = cpuInfo();
  if (blas === null || isHalf(dtype)) return " by Weft's own kernels";
  return ` by ${blas.name} (${blas.path}), unless it is small or strided; the order of sums is the library's`;
}

/** The arithmetic of a product: less than the dtype's own only where the user allows it. */
function computedIn({ dtype, precision, k }: MatmulStep, kind: TargetKind): string {
  if (isHalf(dtype)) return 'float32 sums of exact products';
  if (precision === undefined) return `full ${dtype}`;
  const stretch =
    precision === 'tf32-stretched' && stretchOf(k) < k ? ` in stretches of ${stretchOf(k)}` : '';
  return `${REDUCED[kind](dtype, precision)}${stretch}`;
}

/** The arithmetic of a product that may have less. */
const REDUCED: Readonly<Record<TargetKind, (dtype: DType, precision: Precision) => string>> = {
  cpu: (dtype, precision) => `full ${dtype}, which has more than the ${precision} that is allowed`,
  cuda: () => 'tf32 (factors of 10 bits, float32 sums), as allowed',
};
