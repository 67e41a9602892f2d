/**
 * The contraction of two arrays as a call: cuTENSOR, which reads operands of any number of axes at any strides,
 * in whatever order labels stand. A pass makes it of a product that cuBLAS would need copies for
 * (`passes/tensor-products.ts`).
 *
 * It is cut along labels of its result (`contraction-cuts.ts`), into contractions of their own; as with cuBLAS, the order
 * of sums is the library's, for each size its own.
 */
import { byteLengthOf, dtypeCode, isHalf } from '../../../graph/dtype.js';
import { PLAIN } from '../../../graph/epilogue.js';
import { formatNumber } from '../../../graph/format.js';
import { denseStrides } from '../../../graph/graph.js';
import { labelName } from '../../../graph/print.js';
import { InternalError } from '../../../host/errors.js';
import { aligned } from '../../plan/memory.js';
import type { WorkspaceNeed } from '../call.js';
import type { CallRow, CallText, StridedOperand } from '../call-row.js';
import { UNIFORM } from '../call-samples.js';
import { contractionCuts, contractionInSlots } from './contraction-cuts.js';
import { productCost } from './product-cost.js';
import type { ContractionStep, TensorOperand } from './product-steps.js';

export const CONTRACTION: CallRow<ContractionStep> = {
  lower: ([node], [left, right, addend], [result]) => {
    if (node?.kind !== 'contract' || left === undefined || right === undefined || result === undefined)
      throw new InternalError('a contraction of less than two');
    const [leftLabels, rightLabels] = node.labels as readonly [readonly number[], readonly number[]];
    const { sizes, numberOf } = labelled([
      [leftLabels, left.shape],
      [rightLabels, right.shape],
    ]);
    const place = (labels: readonly number[], { buffer, offset, strides }: StridedOperand): TensorOperand => {
      const axes = labels.flatMap((label, axis) => (numberOf.has(label) ? [axis] : []));
      return {
        buffer,
        offset,
        labels: axes.map((axis) => numberOf.get(labels[axis]!)!),
        strides: axes.map((axis) => strides[axis]!),
      };
    };
    const conjugated = node.conjugated ?? [];
    const whole = (buffer: number): StridedOperand => ({
      buffer,
      offset: 0,
      strides: denseStrides(node.shape),
    });
    const { alpha, beta } = node.epilogue ?? PLAIN;
    return {
      kind: 'call',
      call: 'contraction',
      dtype: node.dtype,
      precision: node.precision,
      sizes,
      left: { ...place(leftLabels, left.at), conjugated: conjugated.includes(0) },
      right: { ...place(rightLabels, right.at), conjugated: conjugated.includes(1) },
      result: place(node.output, whole(result.buffer)),
      alpha,
      beta,
      addend:
        addend === undefined
          ? undefined
          : { ...place(node.output, whole(addend.at.buffer)), offset: addend.at.offset },
      nodes: [node.id],
    };
  },
  buffersOf: ({ left, right, addend, result }) => ({
    reads: [left, right, addend].flatMap((each) => each?.buffer ?? []),
    writes: [result.buffer],
  }),
  withBuffers: (step, moved) => {
    const at = (operand: TensorOperand): TensorOperand => ({ ...operand, buffer: moved(operand.buffer) });
    const { left, right, addend, result } = step;
    return {
      ...step,
      left: at(left),
      right: at(right),
      addend: addend && at(addend),
      result: at(result),
    };
  },
  keyOf: (step) => {
    const { left, right, result, addend } = step;
    const places = [left, right, result].map(
      ({ offset, strides, conjugated }) => `${offset} ${strides.join(' ')} ${conjugated === true}`,
    );
    return [print(step), step.alpha, step.beta, addend?.offset, ...places].join(', ');
  },
  // A product of nothing is a kernel: every size is above 1.
  isEmpty: () => false,
  workspace: {
    cpu: () => {
      throw new InternalError('a contraction by cuTENSOR on the CPU');
    },
    cuda: cutensorWorkspace,
  },
  costOf: (step, multiprocessors) => productCost(productOf(step), multiprocessors),
  work: (step) => {
    const { batch, m, n, k, dtype } = productOf(step);
    const elements = batch * (m * k + k * n + m * n);
    const operations = batch * m * n * k;
    return { way: '', isSmall: false, isStack: false, dtype, rows: batch, steps: k, elements, operations };
  },
  samples: ({ left, right, addend, dtype }) => ({
    operands: [left, right, addend].flatMap((one) =>
      one === undefined ? [] : [{ buffer: one.buffer, dtype, sample: UNIFORM }],
    ),
  }),
  forms: (step) => contractionCuts(step).map((cut) => ({ cut, repeats: true })),
  inSlots: contractionInSlots,
  spec: (step) => {
    const { dtype, precision, sizes, left, right, result, addend, alpha, beta, workspace } = step;
    const operands = { left, right, result, addend };
    const code = dtypeCode(dtype);
    return { kind: 'contraction', dtype: code, precision, sizes, ...operands, alpha, beta, workspace };
  },
  print,
  explain,
};

/** The sizes of the labels that have more than one element, and their numbers. */
function labelled(operands: readonly (readonly [labels: readonly number[], shape: readonly number[]])[]): {
  readonly sizes: readonly number[];
  readonly numberOf: ReadonlyMap<number, number>;
} {
  const sizes: number[] = [];
  const numberOf = new Map<number, number>();
  for (const [labels, shape] of operands) {
    for (const [axis, label] of labels.entries()) {
      if (shape[axis] === 1 || numberOf.has(label)) continue;
      numberOf.set(label, sizes.length);
      sizes.push(shape[axis]!);
    }
  }
  return { sizes, numberOf };
}

/** The contraction as a product of stacks of matrices. */
function productOf({ dtype, precision, sizes, left, right, result }: ContractionStep) {
  const volume = (isOne: (label: number) => boolean): number =>
    sizes.reduce((product, size, label) => (isOne(label) ? product * size : product), 1);
  const [isLeft, isRight, isKept] = [left, right, result].map(
    ({ labels }) =>
      (label: number): boolean =>
        labels.includes(label),
  ) as [(l: number) => boolean, (l: number) => boolean, (l: number) => boolean];
  return {
    dtype,
    precision,
    batch: volume((l) => isLeft(l) && isRight(l) && isKept(l)),
    m: volume((l) => isKept(l) && !isRight(l)),
    n: volume((l) => isKept(l) && !isLeft(l)),
    k: volume((l) => !isKept(l)),
  };
}

const volumeOf = ({ sizes }: ContractionStep, { labels }: TensorOperand): number =>
  labels.reduce((product, label) => product * sizes[label]!, 1);

/** cuTENSOR is given this much at most, and no less; it needs none for most contractions. */
const MOST_WORKSPACE = 32 * 2 ** 20;
const LEAST_WORKSPACE = 64 * 2 ** 10;

/** No more than the operands and the result take: a copy of one in another order, or the parts of split sums. */
function cutensorWorkspace(step: ContractionStep): WorkspaceNeed {
  const { left, right, result, dtype } = step;
  const elements = [left, right, result].reduce((sum, operand) => sum + volumeOf(step, operand), 0);
  const most = Math.min(MOST_WORKSPACE, Math.max(LEAST_WORKSPACE, aligned(elements * byteLengthOf(dtype))));
  return { most, least: LEAST_WORKSPACE };
}

const text = ({ labels }: TensorOperand): string => labels.map(labelName).join('');

function print(step: ContractionStep): string {
  const { dtype, precision, sizes, left, right, result, alpha, beta } = step;
  const conj = ({ conjugated }: TensorOperand): string => (conjugated === true ? 'conj ' : '');
  const within = precision === undefined ? '' : ` in ${precision}`;
  const after = [
    ...(alpha === 1 ? [] : [`alpha ${formatNumber(alpha)}`]),
    ...(beta === 0 ? [] : [`+ ${beta === 1 ? '' : `${formatNumber(beta)} `}addend`]),
  ].join(', ');
  const of = sizes.map((size, label) => `${labelName(label)} ${size}`).join(', ');
  return `contraction ${dtype}${within} ${conj(left)}${text(left)},${conj(right)}${text(right)}->${text(result)} of ${of}${after === '' ? '' : `, ${after}`}`;
}

function explain(step: ContractionStep): CallText {
  const { dtype, precision, left, right, result, addend } = step;
  const bytes = (operand: TensorOperand): number => volumeOf(step, operand) * byteLengthOf(dtype);
  const full = isHalf(dtype) ? 'float32 sums of exact products' : `full ${dtype}`;
  const within = precision === undefined ? full : `${precision}, as allowed`;
  return {
    bytesRead: bytes(left) + bytes(right) + (addend === undefined ? 0 : bytes(result)),
    bytesWritten: bytes(result),
    text: `${print(step)}, by cuTENSOR where the operands lie, computed in ${within}; the order of sums is the library's\n`,
  };
}
