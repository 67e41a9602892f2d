/**
 * How a matrix product is run in parts: along its batch or its rows, which finishes rows of the result, and along the
 * contracted axis, where every part adds to the whole result in order. Called by `sweep-tasks.ts`.
 */
import { byteLengthOf } from '../graph/dtype.js';
import { matmulGranule } from './matmul-parts.js';
import type { MatmulStep, MatrixOperand } from './plan.js';
import type { Cut, Touch } from './sweep-tasks.js';

/**
 * Rows, and contracted indices, that stay together: a multiple of what libraries and our own kernels block by, so that
 * parts are computed as they are in the whole.
 */
export const ROW_GRANULE = 64;
export const CONTRACTED_GRANULE = 4096;

type Span = readonly [first: number, last: number];

/** The bytes of an operand for a range of its batches, rows and columns; the smallest range that holds them all. */
function touchOf(step: MatmulStep, operand: MatrixOperand, batch: Span, rows: Span, columns: Span): Touch {
  const size = byteLengthOf(step.dtype);
  const { buffer, offset, batchStride, rowStride, columnStride } = operand;
  const at = (b: number, i: number, j: number): number =>
    offset + b * batchStride + i * rowStride + j * columnStride;
  return {
    buffer,
    first: at(batch[0], rows[0], columns[0]) * size,
    last: (at(batch[1] - 1, rows[1] - 1, columns[1] - 1) + 1) * size,
  };
}

export interface MatmulCuts {
  /** Along the batch where there is one, else along the rows. */
  readonly rows: Cut | undefined;
  readonly contracted: Cut | undefined;
}

/** What parts along the contracted axis are multiples of; more than there is where there are none. */
const granuleOf = ({ dtype, m, n, k, batch }: MatmulStep): number =>
  matmulGranule(dtype, m, n, k, batch) ?? Number.POSITIVE_INFINITY;

export function matmulCuts(step: MatmulStep): MatmulCuts {
  const { batch, m, n, k, a, b, c } = step;
  const granule = batch > 1 ? 1 : ROW_GRANULE;
  const size = batch > 1 ? batch : m;
  const rows: Cut = {
    units: Math.ceil(size / granule),
    touches: (first, last) => {
      const span: Span = [first * granule, Math.min(size, last * granule)];
      const batches: Span = batch > 1 ? span : [0, 1];
      const some: Span = batch > 1 ? [0, m] : span;
      return {
        reads: [touchOf(step, a, batches, some, [0, k]), touchOf(step, b, batches, [0, k], [0, n])],
        writes: [touchOf(step, c, batches, some, [0, n])],
      };
    },
    ranges: (first, last) => {
      const span: Span = [first * granule, Math.min(size, last * granule)];
      const scale = batch > 1 ? m : 1;
      return [[span[0] * scale, span[1] * scale, 0, n, 0, k]];
    },
  };
  const contracted: Cut = {
    units: Math.ceil(k / CONTRACTED_GRANULE),
    touches: (first, last) => {
      const span: Span = [first * CONTRACTED_GRANULE, Math.min(k, last * CONTRACTED_GRANULE)];
      return {
        reads: [touchOf(step, a, [0, batch], [0, m], span), touchOf(step, b, [0, batch], span, [0, n])],
        writes: [],
      };
    },
    ranges: (first, last) => [
      [0, batch * m, 0, n, first * CONTRACTED_GRANULE, Math.min(k, last * CONTRACTED_GRANULE)],
    ],
  };
  return {
    rows: rows.units > 1 ? rows : undefined,
    contracted: contracted.units > 1 && CONTRACTED_GRANULE % granuleOf(step) === 0 ? contracted : undefined,
  };
}
