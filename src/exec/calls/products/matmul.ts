/**
 * The matrix product as a call: cuBLAS on a GPU, a BLAS library or Weft's own blocked product on the CPU.
 * Operands are read by their strides; parts along the batch, rows, columns and the contracted axis have the
 * bits of the whole (`matmul-cuts.ts`).
 */

import { batchAxesOf } from '../../../fusion/partition/batch-axes.js';
import { byteLengthOf, type DType, isComplex, isHalf } from '../../../graph/dtype.js';
import { type Epilogue, formatEpilogue } from '../../../graph/epilogue.js';
import type { Precision } from '../../../graph/expr.js';
import { denseStrides, sizeOfShape } from '../../../graph/graph.js';
import { type MatrixProduct, matrixProductOf } from '../../../graph/matrix-product.js';
import { InternalError } from '../../../host/errors.js';
import { cpuInfo, productWorkspace } from '../../native/native.js';
import { aligned } from '../../plan/memory.js';
import type { TargetKind } from '../../targets/device.js';
import type { WorkspaceNeed } from '../call.js';
import type { CallForm, CallRow, CallText, StridedOperand } from '../call-row.js';
import { UNIFORM } from '../call-samples.js';
import { matmulCuts, panelCuts } from './matmul-cuts.js';
import { canRunByPanels, factorsApart, inSlots, panelSizer } from './matmul-panels.js';
import { stretchOf } from './matmul-stretches.js';
import { isInLines, matricesOf } from './matrices.js';
import { stepCost } from './product-cost.js';
import { specOf, specWithAlgorithm } from './product-specs.js';
import type { MatmulEpilogue, MatmulStep, MatrixOperand } from './product-steps.js';
import { trialOf } from './product-trial.js';

/** Sides of matrices of which a product is hardly more than its beginning. */
const SMALL_SIDE = 32;

/** Rows, columns and terms of the blocks that a GPU's library computes, at least: those of small matrices are filled up. */
const BLOCK_SIDE = 32;
const BLOCK_TERMS = 16;
/** Multiply-adds of the single float32 products with a transposed factor for which cuBLAS has a kernel of one block's sums. */
const LEAST_OF_SUMS = 2 ** 12;
const MOST_OF_SUMS = 2 ** 21;
/** Elements of 2 bytes in the 16 of which tensor cores are fed. */
const ALIGNED_HALVES = 8;
/** From so many small matrices on those that are not take as long as few: cuBLAS has another kernel. */
const MANY_MATRICES = 512;

export const MATMUL: CallRow<MatmulStep> = {
  lower: ([node], [left, right, ...further], [result]) => {
    if (node?.kind !== 'contract' || left === undefined || right === undefined || result === undefined)
      throw new InternalError('a product of less than two');
    const product = matrixProductOf(node, left.shape);
    const { m, n, k } = product;
    const { epilogue: after, precision } = node;
    const whole = { buffer: result.buffer, offset: 0, strides: denseStrides(node.shape) };
    const addend = after === undefined || after.beta === 0 ? undefined : further[0]?.at;
    const { batch, outer, operands } = batched(product, left.at, right.at, whole, addend);
    const [a, b, c] = operands as [MatrixOperand, MatrixOperand, MatrixOperand];
    const row = after?.hasBias === true ? further.at(-1)?.at : undefined;
    const epilogue = after && epilogueOf(after, node.dtype, operands[3], row);
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
      ...(outer.length === 0 ? {} : { outer }),
      a,
      b,
      c,
      epilogue,
      ownKernels,
      nodes: [node.id],
    };
  },
  buffersOf: ({ a, b, c, epilogue }) => {
    const reads = [a.buffer, b.buffer];
    if (epilogue?.addend !== undefined) reads.push(epilogue.addend.buffer);
    if (epilogue?.bias !== undefined) reads.push(epilogue.bias.buffer);
    return { reads, writes: [c.buffer] };
  },
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
  keyOf: ({ dtype, precision, batch, outer = [], m, n, k, a, b, c, epilogue, ownKernels }) => {
    const places = [a, b, c, ...(epilogue?.addend === undefined ? [] : [epilogue.addend])].map((o) =>
      [o.offset, o.batchStride, o.rowStride, o.columnStride, ...(o.outerStrides ?? [])].join(' '),
    );
    const { dtype: result, alpha, beta, bias, activation } = epilogue ?? {};
    const after = epilogue === undefined ? [] : [result, alpha, beta, bias?.offset, activation];
    return [dtype, precision, ownKernels, batch, outer.join('x'), m, n, k, ...places, ...after].join(' ');
  },
  isEmpty: (step) => step.m * step.n * matricesOf(step) === 0,
  workspace: { cpu: (step) => productWorkspace(specOf(step)), cuda: cublasWorkspace },
  costOf: stepCost,
  operations: (step) => {
    const { m, n, k, dtype } = step;
    // An element is moved in the time of a few multiply-adds, and a product begun in that of some hundred.
    const each = (m * n * k + 4 * (m * n + m * k + k * n)) * (isComplex(dtype) ? 4 : 1) + 200;
    return matricesOf(step) * each;
  },
  work: (step) => {
    const { m, n, k, dtype } = step;
    const longest = Math.max(m, n, k);
    const isSmall = longest <= SMALL_SIDE;
    const way = step.precision ?? (!isSmall && Math.min(m, n) === 1 ? 'vector' : '');
    const rows = matricesOf(step);
    const ofBlocks = filledUp(m, BLOCK_SIDE) * filledUp(n, BLOCK_SIDE) * filledUp(k, BLOCK_TERMS);
    return {
      way,
      cudaWay: cudaWayOf(step),
      isSmall,
      isStack: false,
      dtype,
      rows,
      steps: k,
      elements: rows * (m * k + k * n + m * n),
      operations: rows * m * n * k,
      cudaOperations: rows * ofBlocks,
    };
  },
  samples: ({ a, b, dtype, epilogue }) => {
    const { addend, bias, dtype: after = dtype } = epilogue ?? {};
    const added = [addend, bias].flatMap((one) => (one === undefined ? [] : [one.buffer]));
    return {
      operands: [
        ...[a, b].map(({ buffer }) => ({ buffer, dtype, sample: UNIFORM })),
        ...added.map((buffer) => ({ buffer, dtype: after, sample: UNIFORM })),
      ],
    };
  },
  forms: (step) => {
    const { rows, columns, contracted } = matmulCuts(step);
    const forms: CallForm[] = [];
    if (rows !== undefined) forms.push({ cut: rows, repeats: true });
    if (columns !== undefined) forms.push({ cut: columns, repeats: true });
    if (contracted !== undefined) forms.push({ cut: contracted, repeats: false });
    return forms;
  },
  panels: panelCuts,
  blocks: { canRun: canRunByPanels, sizer: panelSizer, twice: factorsApart },
  inSlots,
  panelBytes: packedPanelBytes,
  spec: specOf,
  tuning: { trial: trialOf, spec: specWithAlgorithm },
  print: (step) => {
    const { dtype, precision, m, n, k } = step;
    const within = precision === undefined ? '' : ` in ${precision}`;
    return `matmul ${dtype}${within} ${printBatches(step)} x (${m}, ${k}) @ (${k}, ${n})${printEpilogue(step)}`;
  },
  explain,
};

const filledUp = (size: number, block: number): number => Math.ceil(size / block) * block;

/** Products for which cuBLAS has slower kernels: halves whose lines begin anywhere, and small ones of float32 with a transposed factor. */
function cudaWayOf(step: MatmulStep): string {
  const { dtype, m, n, k, a, b, c } = step;
  if (isHalf(dtype)) {
    const lines = [a, b, c].map(({ rowStride, columnStride }) => Math.max(rowStride, columnStride));
    if (lines.every((line) => line % ALIGNED_HALVES === 0)) return '';
    return matricesOf(step) < MANY_MATRICES ? 'unaligned' : 'many unaligned';
  }
  const operations = m * n * k;
  const isTurned = [a, b].some(({ columnStride }) => columnStride !== 1);
  const isOfSums = operations >= LEAST_OF_SUMS && operations <= MOST_OF_SUMS;
  return dtype === 'float32' && matricesOf(step) === 1 && isTurned && isOfSums ? 'of sums' : '';
}

/** Operands of a product with the batch axes that its library is given, in the order given: factors, then results. */
function batched(
  { batch, batchAxes, rowAxis, columnAxis }: MatrixProduct,
  left: StridedOperand,
  right: StridedOperand,
  result: StridedOperand,
  addend: StridedOperand | undefined,
): { batch: number; outer: readonly number[]; operands: readonly MatrixOperand[] } {
  const placed = addend === undefined ? [left, right, result] : [left, right, result, addend];
  const { outer, inner } = batchAxesOf(
    batch.map((size, axis) => ({
      size,
      strides: placed.map(({ strides }, k) => strides[k < 2 ? axis : batchAxes[axis]!]!),
    })),
  );
  const operands = placed.map(({ buffer, offset, strides }, k): MatrixOperand => {
    const rowStride = strides[k < 2 ? batch.length : rowAxis]!;
    const columnStride = strides[k < 2 ? batch.length + 1 : columnAxis]!;
    const operand = { buffer, offset, batchStride: inner.strides[k]!, rowStride, columnStride };
    return outer.length === 0 ? operand : { ...operand, outerStrides: outer.map((axis) => axis.strides[k]!) };
  });
  return { batch: inner.size, outer: outer.map(({ size }) => size), operands };
}

function epilogueOf(
  epilogue: Epilogue,
  dtype: DType,
  addend: MatrixOperand | undefined,
  row: StridedOperand | undefined,
): MatmulEpilogue {
  const { alpha, beta, activation } = epilogue;
  return {
    dtype,
    alpha,
    beta,
    addend,
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
 * No more than the operands and the result of a call take, of several each: sums that are split need a part of that. It depends on
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

/**
 * An operand is packed again for each panel: of half as many rows as it has itself, that moves as many bytes as
 * storing the product and reading it would.
 */
function packedPanelBytes({ m, n, k, dtype }: MatmulStep, leastPanels: number): number {
  return Math.min((k / 2) * Math.max(m, n), (m * n) / leastPanels) * byteLengthOf(dtype);
}

/** The rest of its sentence: in which order the terms are summed. */
const SUMMED: Readonly<Record<TargetKind, (dtype: DType) => string>> = {
  cpu: computedBy,
  cuda: () => "; the order of sums is the library's",
};

/** `256`, or `16 x 16` where the outer axes are 16 calls, or tasks, of 16 matrices. */
const printBatches = ({ batch, outer = [] }: MatmulStep): string => [...outer, batch].join(' x ');

/** How operands that are no plain stacks of matrices are read. */
const READ: Readonly<Record<TargetKind, (step: MatmulStep) => string>> = {
  cpu: (step) =>
    [step.a, step.b].every((operand) => isInLines(operand)) && (step.outer ?? []).length === 0
      ? ''
      : ', packed from where its operands lie',
  cuda: ({ outer = [] }) => (outer.length === 0 ? '' : `, in ${sizeOfShape(outer)} calls`),
};

function explain(step: MatmulStep, kind: TargetKind): CallText {
  const { m, n, k, dtype, epilogue } = step;
  const batch = matricesOf(step);
  const element = byteLengthOf(dtype);
  const resultByteLength = batch * m * n * byteLengthOf(epilogue?.dtype ?? dtype);
  const addend = epilogue?.addend === undefined ? 0 : resultByteLength;
  const bias = epilogue?.bias === undefined ? 0 : n * byteLengthOf(epilogue.dtype);
  const library = epilogue === undefined ? '' : ' by cuBLASLt, one call with its epilogue';
  return {
    bytesRead: batch * (m * k + k * n) * element + addend + bias,
    bytesWritten: resultByteLength,
    text: `matmul of ${printBatches(step)} x (${m}, ${k}) @ (${k}, ${n}) ${dtype}${printEpilogue(step)}, computed in ${computedIn(step, kind)}${READ[kind](step)}${library}${SUMMED[kind](dtype)}\n`,
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
