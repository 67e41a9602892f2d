/**
 * How a matrix product is run in parts: along its batch or its rows, or along its columns, which finishes
 * those of the result, and along the contracted axis, where every part adds to the whole result in order.
 * Called by `sweep-tasks.ts`.
 */

import { rowsIn, type Split, splitInRows } from '../../codegen/cuts/pitch.js';
import type { Shift } from '../../codegen/cuts/shift.js';
import { type Box, rangeIn } from '../../fusion/kernel/boxes.js';
import type { Affine } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { BytePitches, Cut, Touch } from '../tiles/sweep-cuts.js';
import type { MatmulStep, MatrixOperand } from './call.js';
import { matmulGranule } from './matmul-parts.js';
import { isCutOuter, matricesOf } from './matrices.js';

/**
 * Rows, columns and contracted indices that stay together: a multiple of what libraries and our own kernels
 * block by, so that parts are computed as they are in the whole.
 */
export const ROW_GRANULE = 64;
export const CONTRACTED_GRANULE = 4096;

type Span = readonly [first: number, last: number];
type Name = 'a' | 'b' | 'c';

/** Outer axes, batches, rows and columns of an operand. */
export const operandAffine = (operand: MatrixOperand): Affine => ({
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
export function operandBox({ batch, outer = [], m, n, k }: MatmulStep, name: Name): Box {
  const [rows, columns] = name === 'a' ? [m, k] : name === 'b' ? [k, n] : [m, n];
  return [...outer.map((size): Span => [0, size]), [0, batch], [0, rows], [0, columns]];
}

/** An operand as rows of its buffer. */
export const operandInRows = (step: MatmulStep, name: Name, pitch: number): Split | undefined =>
  splitInRows(operandAffine(step[name]), operandBox(step, name), pitch);

export interface MatmulCuts {
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

/** Parts along the contracted axis of which a product can be the sum; 1: it cannot. */
export const contractedUnits = (step: MatmulStep): number =>
  CONTRACTED_GRANULE % granuleOf(step) === 0 ? Math.ceil(step.k / CONTRACTED_GRANULE) : 1;

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
  const { outer = [] } = step;
  const boxOf = (batch: Span, rows: Span, columns: Span): Box => {
    const around = outer.map((all): Span => [0, all]);
    return isCutOuter(step)
      ? [batch, ...around.slice(1), [0, step.batch], rows, columns]
      : [...around, batch, rows, columns];
  };
  return {
    units: Math.ceil(size / granule),
    touches: (first, last, pitches) => {
      const { batch, rows, columns, contracted } = block(first, last);
      return {
        reads: [
          touchOf(step, 'a', boxOf(batch, rows, contracted), pitches),
          touchOf(step, 'b', boxOf(batch, contracted, columns), pitches),
        ],
        // Sums along a part of the contracted axis are not finished.
        writes: axis === 'contracted' ? [] : [touchOf(step, 'c', boxOf(batch, rows, columns), pitches)],
      };
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

/** All units but the last one are as large. */
function shiftAlong(step: MatmulStep, axis: keyof Block, size: number, granule: number): Shift | undefined {
  const along = (operand: MatrixOperand, ofRows: keyof Block, ofColumns: keyof Block): number => {
    if (axis === 'batch') return isCutOuter(step) ? operand.outerStrides![0]! : operand.batchStride;
    return axis === ofRows ? operand.rowStride : axis === ofColumns ? operand.columnStride : 0;
  };
  const by = new Map<number, number>();
  for (const [operand, stride] of [
    [step.a, along(step.a, 'rows', 'contracted')],
    [step.b, along(step.b, 'contracted', 'columns')],
    [step.c, along(step.c, 'rows', 'columns')],
  ] as const) {
    const moved = stride * granule * byteLengthOf(step.dtype);
    if ((by.get(operand.buffer) ?? moved) !== moved) return undefined;
    by.set(operand.buffer, moved);
  }
  return { period: 1, from: 0, to: Math.floor(size / granule), by };
}

/** The bytes of an operand for a range of its batches, rows and columns. */
function touchOf(step: MatmulStep, name: Name, box: Box, pitches: BytePitches | undefined): Touch {
  const size = byteLengthOf(step.dtype);
  const { buffer } = step[name];
  const pitch = pitches?.get(buffer);
  if (pitch !== undefined) {
    const { first, last, rows } = rowsIn(operandInRows(step, name, pitch / size)!, box, pitch / size);
    const inBytes = { pitch, width: rows.width * size };
    return { buffer, first: first * size, last: last * size, rows: inBytes };
  }
  const [low, high] = rangeIn(operandAffine(step[name]), box);
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
    .map((pitch) => pitch * byteLengthOf(step.dtype));
}
