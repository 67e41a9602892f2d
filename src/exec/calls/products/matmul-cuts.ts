/**
 * How a matrix product is run in parts: along its batch or its rows, or along its columns, which finishes
 * those of the result, and along the contracted axis, where every part adds to the whole result in order.
 * Called by `sweep-tasks.ts`.
 */

import { rowsIn, type Split, splitInRows } from '../../../codegen/cuts/pitch.js';
import type { Shift } from '../../../codegen/cuts/shift.js';
import { aroundBoth } from '../../../codegen/cuts/work.js';
import { type Box, boxesOfRange, rangeIn } from '../../../fusion/kernel/boxes.js';
import type { Affine } from '../../../fusion/kernel/kernel.js';
import { byteLengthOf, isHalf } from '../../../graph/dtype.js';
import type { BytePitches, Cut, Touch } from '../../tiles/sweep-cuts.js';
import { matmulGranule } from './matmul-parts.js';
import { isCutOuter, isOneBatch, matricesOf } from './matrices.js';
import type { MatmulStep, MatrixOperand } from './product-steps.js';

/**
 * Rows, columns and contracted indices that stay together: a multiple of what libraries and our own kernels
 * block by, so that parts are computed as they are in the whole.
 */
export const ROW_GRANULE = 64;
export const CONTRACTED_GRANULE = 4096;
/** Rows and columns that a panel begins at multiples of: there an operand is as aligned as at its first element. */
export const PANEL_GRANULE = 8;

type Span = readonly [first: number, last: number];
type Name = 'a' | 'b' | 'c';

/** Outer axes, batches, rows and columns of an operand. */
const operandAffine = (operand: MatrixOperand): Affine => ({
  offset: operand.offset,
  strides: [...(operand.outerStrides ?? []), operand.batchStride, operand.rowStride, operand.columnStride],
});

/** An operand at an affine function of the same axes. */
export function operandAt(
  { buffer, outerStrides }: MatrixOperand,
  { offset, strides }: Affine,
): MatrixOperand {
  const [batchStride, rowStride, columnStride] = strides.slice(-3) as [number, number, number];
  const operand = { buffer, offset, batchStride, rowStride, columnStride };
  return outerStrides === undefined ? operand : { ...operand, outerStrides: strides.slice(0, -3) };
}

/** All of an operand. */
function operandBox({ batch, outer = [], m, n, k }: MatmulStep, name: Name): Box {
  const [rows, columns] = name === 'a' ? [m, k] : name === 'b' ? [k, n] : [m, n];
  return [...outer.map((size): Span => [0, size]), [0, batch], [0, rows], [0, columns]];
}

/** An operand as rows of its buffer. */
export const operandInRows = (step: MatmulStep, name: Name, pitch: number): Split | undefined =>
  splitInRows(operandAffine(step[name]), operandBox(step, name), pitch);

interface MatmulCuts {
  /** Along the batch where there is one, else along the rows. */
  readonly rows: Cut | undefined;
  /** Of a single matrix. */
  readonly columns: Cut | undefined;
  readonly contracted: Cut | undefined;
}

/** The granule of parts along the contracted axis; infinite where there are none. */
const granuleOf = (step: MatmulStep): number =>
  matmulGranule(step.dtype, step.m, step.n, step.k, matricesOf(step)) ?? Number.POSITIVE_INFINITY;

export function matmulCuts(step: MatmulStep): MatmulCuts {
  const { m, n, k } = step;
  const batch = isCutOuter(step) ? step.outer![0]! : step.batch;
  const whole = { batch: [0, batch], rows: [0, m], columns: [0, n], contracted: [0, k] } as const;
  const isStack = matricesOf(step) > 1;
  const rows = isStack
    ? cutAlong(step, 'batch', batch, 1, whole)
    : cutAlong(step, 'rows', m, ROW_GRANULE, whole);
  const columns = isStack ? undefined : cutAlong(step, 'columns', n, ROW_GRANULE, whole);
  return {
    rows: rows.units > 1 ? rows : undefined,
    columns: columns !== undefined && columns.units > 1 ? columns : undefined,
    contracted:
      contractedUnits(step) > 1 ? cutAlong(step, 'contracted', k, CONTRACTED_GRANULE, whole) : undefined,
  };
}

/**
 * Parts along the contracted axis of which a product can be the sum, of so many indices each; 1: it cannot, as where an epilogue
 * follows the whole sum. `isOfLibrary`: it is summed in an order that is not known, which parts of any length change.
 */
export const contractedUnits = (
  step: MatmulStep,
  granule = CONTRACTED_GRANULE,
  isOfLibrary = false,
): number => {
  const isCut = isOfLibrary ? !isHalf(step.dtype) : granule % granuleOf(step) === 0;
  return isCut && step.epilogue === undefined ? Math.ceil(step.k / granule) : 1;
};

/** A block of a product: what of its axes. */
interface Block {
  /** Of the batch axis that it is cut along; of others all. */
  readonly batch: Span;
  readonly rows: Span;
  readonly columns: Span;
  readonly contracted: Span;
}

function cutAlong(step: MatmulStep, axis: keyof Block, size: number, granule: number, whole: Block): Cut {
  const block = (first: number, last: number): Block => ({
    ...whole,
    [axis]: [first * granule, Math.min(size, last * granule)],
  });
  return {
    units: Math.ceil(size / granule),
    touches: (first, last, pitches) => {
      const { reads, writes } = touchesOf(step, block(first, last), pitches);
      // Sums along a part of the contracted axis are not finished.
      return { reads, writes: axis === 'contracted' ? [] : writes };
    },
    ranges: (first, last) => {
      const { batch, rows, columns, contracted } = block(first, last);
      const lines = matricesOf(step) > 1 ? [batch[0] * step.m, batch[1] * step.m] : rows;
      return [[...lines, ...columns, ...contracted]];
    },
    pitches: (buffer) => pitchesOf(step, buffer),
    shift: shiftAlong(step, axis, size, granule),
  };
}

/** The footprint of a block. */
function touchesOf(
  step: MatmulStep,
  { batch, rows, columns, contracted }: Block,
  pitches?: BytePitches,
): { readonly reads: readonly Touch[]; readonly writes: readonly Touch[] } {
  const { outer = [], epilogue } = step;
  const around = outer.map((all): Span => [0, all]);
  const boxOf = (down: Span, across: Span): Box =>
    isCutOuter(step)
      ? [batch, ...around.slice(1), [0, step.batch], down, across]
      : [...around, batch, down, across];
  const result = boxOf(rows, columns);
  const { addend, bias } = epilogue ?? {};
  const size = resultBytes(step);
  return {
    reads: [
      touchOf(step, 'a', boxOf(rows, contracted), pitches),
      touchOf(step, 'b', boxOf(contracted, columns), pitches),
      ...(addend === undefined ? [] : [stretchTouch(addend.buffer, operandAffine(addend), result, size)]),
      ...(bias === undefined
        ? []
        : [stretchTouch(bias.buffer, { offset: bias.offset, strides: [1] }, [columns], size)]),
    ],
    writes: [touchOf(step, 'c', result, pitches)],
  };
}

/**
 * The ways to make a result panel by panel, in memory that the next panel uses again: rows, of a stack those of one or
 * of some whole matrices; or columns.
 */
export function panelCuts(step: MatmulStep): readonly Cut[] {
  const { m, n, k, batch } = step;
  const isStack = matricesOf(step) > 1;
  if (isStack) {
    const { rows } = matmulCuts(step);
    const matrices = rows === undefined ? [] : [rows];
    return isOneBatch(step) && m > PANEL_GRANULE ? [rowsOfStack(step), ...matrices] : matrices;
  }
  const whole = { batch: [0, batch], rows: [0, m], columns: [0, n], contracted: [0, k] } as const;
  return [
    cutAlong(step, 'rows', m, PANEL_GRANULE, whole),
    cutAlong(step, 'columns', n, PANEL_GRANULE, whole),
  ].filter(({ units }) => units > 1);
}

/** Granules of rows of all matrices: a part is in one matrix, or is some of them. */
function rowsOfStack(step: MatmulStep): Cut {
  const { batch, m, n, k } = step;
  const period = Math.ceil(m / PANEL_GRANULE);
  const lineAt = (unit: number): number =>
    Math.floor(unit / period) * m + Math.min(m, (unit % period) * PANEL_GRANULE);
  const blocks = (first: number, last: number): Block[] =>
    boxesOfRange(first, last, [batch, period]).map(([matrices, granules]) => ({
      batch: matrices!,
      rows: [granules![0] * PANEL_GRANULE, Math.min(m, granules![1] * PANEL_GRANULE)],
      columns: [0, n],
      contracted: [0, k],
    }));
  return {
    units: batch * period,
    period,
    touches: (first, last) =>
      blocks(first, last)
        .map((block) => touchesOf(step, block))
        .reduce((all, more) => ({
          reads: all.reads.map((touch, i) => aroundBoth(touch, more.reads[i]!)),
          writes: all.writes.map((touch, i) => aroundBoth(touch, more.writes[i]!)),
        })),
    ranges: (first, last) => [[lineAt(first), lineAt(last), 0, n, 0, k]],
    pitches: () => [],
  };
}

/** All units but the last one are as large. */
function shiftAlong(step: MatmulStep, axis: keyof Block, size: number, granule: number): Shift | undefined {
  const along = (operand: MatrixOperand, ofRows: keyof Block, ofColumns: keyof Block): number => {
    if (axis === 'batch') return isCutOuter(step) ? operand.outerStrides![0]! : operand.batchStride;
    return axis === ofRows ? operand.rowStride : axis === ofColumns ? operand.columnStride : 0;
  };
  const by = new Map<number, number>();
  const { addend, bias } = step.epilogue ?? {};
  const moves: readonly (readonly [buffer: number, stride: number, size: number])[] = [
    [step.a.buffer, along(step.a, 'rows', 'contracted'), byteLengthOf(step.dtype)],
    [step.b.buffer, along(step.b, 'contracted', 'columns'), byteLengthOf(step.dtype)],
    [step.c.buffer, along(step.c, 'rows', 'columns'), resultBytes(step)],
    ...(addend === undefined
      ? []
      : [[addend.buffer, along(addend, 'rows', 'columns'), resultBytes(step)] as const]),
    ...(bias === undefined ? [] : [[bias.buffer, axis === 'columns' ? 1 : 0, resultBytes(step)] as const]),
  ];
  for (const [buffer, stride, size] of moves) {
    const moved = stride * granule * size;
    if ((by.get(buffer) ?? moved) !== moved) return undefined;
    by.set(buffer, moved);
  }
  return { period: 1, from: 0, to: Math.floor(size / granule), by };
}

/** The bytes of an operand for a range of its batches, rows and columns. */
function touchOf(step: MatmulStep, name: Name, box: Box, pitches: BytePitches | undefined): Touch {
  const size = name === 'c' ? resultBytes(step) : byteLengthOf(step.dtype);
  const { buffer } = step[name];
  const pitch = pitches?.get(buffer);
  if (pitch !== undefined) {
    const { first, last, rows } = rowsIn(operandInRows(step, name, pitch / size)!, box, pitch / size);
    const inBytes = { pitch, width: rows.width * size };
    return { buffer, first: first * size, last: last * size, rows: inBytes };
  }
  return stretchTouch(buffer, operandAffine(step[name]), box, size);
}

/** Bytes of an element of the result, and of what is added to it. */
const resultBytes = ({ dtype, epilogue }: MatmulStep): number => byteLengthOf(epilogue?.dtype ?? dtype);

function stretchTouch(buffer: number, affine: Affine, box: Box, size: number): Touch {
  const [low, high] = rangeIn(affine, box);
  return { buffer, first: low * size, last: (high + 1) * size };
}

/** The strides, in bytes, by which a buffer's operands are rows. */
function pitchesOf(step: MatmulStep, buffer: number): number[] {
  const names = (['a', 'b', 'c'] as const).filter((name) => step[name].buffer === buffer);
  const strides = names.flatMap((name) => {
    const box = operandBox(step, name);
    return operandAffine(step[name]).strides.filter((stride, k) => Math.abs(stride) > 1 && box[k]![1] > 1);
  });
  return [...new Set(strides.map(Math.abs))]
    .filter((pitch) => names.every((name) => operandInRows(step, name, pitch) !== undefined))
    .map((pitch) => pitch * (names.includes('c') ? resultBytes(step) : byteLengthOf(step.dtype)));
}
