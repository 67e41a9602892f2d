/**
 * QR factors as nodes. A matrix of very many rows is cut into blocks of rows, whose factors are factored again, so that what
 * does not fit on a device passes through it block by block:
 *
 *     qr of A = Q R   →   qr of each block: Qₖ Rₖ;   qr of all Rₖ, one below the other: Q' R;   Q: Qₖ Q'ₖ
 *
 * Called by `decompositions.ts` and `api/linalg-decompositions.ts`.
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { sizeOfShape } from './graph.js';
import { padTo } from './joins.js';
import { triu } from './masks.js';
import {
  identities,
  isEmpty,
  leadOf,
  matrices,
  stacked,
  transposed,
  unstacked,
  zerosOf,
} from './matrices.js';
import { matmul } from './products.js';
import { reshape } from './view-nodes.js';

export const QR_MODES = ['reduced', 'complete', 'r'] as const;
export type QrMode = (typeof QR_MODES)[number];

/** Q and R of A = Q R; no Q for mode `'r'`. */
export function qrOf(op: string, x: Expr, mode: QrMode): { readonly q: Expr | undefined; readonly r: Expr } {
  const a = matrices(op, x);
  const [lead, m, n] = [leadOf(a), a.shape.at(-2)!, a.shape.at(-1)!];
  const least = Math.min(m, n);
  const kept = mode === 'complete' ? m : least;
  if (isEmpty(a)) {
    const q = sizeOfShape(lead) === 0 ? zerosOf(a.dtype, [...lead, m, kept]) : emptyQ(a, kept);
    return { q: mode === 'r' ? undefined : q, r: zerosOf(a.dtype, [...lead, kept, n]) };
  }
  const rows = blockRows(a);
  if (rows !== undefined && mode !== 'complete') return qrByBlocks(op, a, rows, mode);
  const [r, q] = call('qrParts', [kept, mode === 'r' ? 0 : 1], [stacked(a)]);
  return { q: q && unstacked(lead, q), r: unstacked(lead, r!) };
}

/** The results of `qrParts` as a GPU has them. */
export function qrByLibrary(a: Expr, [kept, hasQ]: readonly number[]): readonly Expr[] {
  const [factors, taus] = call('qr', [], [transposed(a)]) as [Expr, Expr];
  const r = triu(slice(transposed(factors), '...', [0, kept!], null));
  return hasQ === 1 ? [r, transposed(call('qOfQr', [kept!], [factors, taus])[0]!)] : [r];
}

/** Q of matrices without rows or columns: of the complete one the identity. */
const emptyQ = (a: Expr, kept: number): Expr =>
  kept === a.shape.at(-2)
    ? identities(a.dtype, leadOf(a), kept)
    : zerosOf(a.dtype, [...leadOf(a), a.shape.at(-2)!, kept]);

/** Elements of a block of rows. */
const BLOCK_ELEMENTS = 2 ** 24;
/** Blocks from which on a matrix is cut. */
const LEAST_BLOCKS = 4;

/** The rows of each block, by the shape alone; undefined: a matrix is factored as a whole. */
function blockRows({ shape }: Expr): number | undefined {
  const [m, n] = [shape.at(-2)!, shape.at(-1)!];
  const rows = Math.max(4 * n, Math.floor(BLOCK_ELEMENTS / n));
  return shape.length === 2 && m >= LEAST_BLOCKS * rows ? rows : undefined;
}

/** Whether a matrix, or its adjoint, is so. */
export const isByBlocks = (a: Expr): boolean =>
  blockRows(a) !== undefined || blockRows(transposed(a)) !== undefined;

/** The factors of one matrix by blocks of so many rows, the last of which is filled up with zeros. */
export function qrByBlocks(
  op: string,
  a: Expr,
  rows: number,
  mode: QrMode,
): { readonly q: Expr | undefined; readonly r: Expr } {
  const [m, n] = a.shape as readonly [number, number];
  const count = Math.ceil(m / rows);
  const blocks = reshape(padTo(a, [0, 0], [count * rows, n]), [count, rows, n]);
  const own = qrOf(op, blocks, mode);
  const all = qrOf(op, reshape(own.r, [count * n, n]), mode);
  if (own.q === undefined || all.q === undefined) return all;
  const q = matmul(own.q, reshape(all.q, [count, n, n]));
  return { q: slice(reshape(q, [count * rows, n]), [0, m]), r: all.r };
}
