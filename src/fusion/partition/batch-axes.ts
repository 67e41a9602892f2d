/**
 * The batch axes of a matrix product as its library is given them: neighbours that run on from each other in all
 * operands are one, the longest that goes forwards is the stride of a call (`inner`), and the others are loops around
 * it.
 *
 *     b, h of (b, q, h, d), (b, k, h, d) and the result (b, h, q, k)   →   outer b, inner h
 *
 * Called by the pass that chooses between copies and calls, and by the row of matrix products.
 */
import { sizeOfShape } from '../../graph/graph.js';

/** A batch axis: its size, and the stride of each operand and of the result along it. */
export interface BatchAxis {
  readonly size: number;
  readonly strides: readonly number[];
}

export interface BatchAxes {
  /** Each of more than one element; those along which the result's matrices are further apart come first. */
  readonly outer: readonly BatchAxis[];
  readonly inner: BatchAxis;
}

/** Of axes with the strides of both factors, the result, and others. */
export function batchAxesOf(axes: readonly BatchAxis[]): BatchAxes {
  const wide = axes.filter(({ size }) => size !== 1);
  if (wide.length === 0) return { outer: [], inner: axes.at(-1)! };
  const none: BatchAxis = { size: 1, strides: axes[0]!.strides.map(() => 0) };
  if (wide.some(({ size }) => size === 0)) return { outer: [], inner: { ...none, size: 0 } };
  const joined: BatchAxis[] = [];
  for (const axis of wide.sort((x, y) => y.strides[RESULT]! - x.strides[RESULT]!)) {
    const before = joined.at(-1);
    const runsOn = before?.strides.every((stride, k) => stride === axis.size * axis.strides[k]!);
    if (runsOn === true)
      joined[joined.length - 1] = { size: before!.size * axis.size, strides: axis.strides };
    else joined.push(axis);
  }
  const forwards = joined.filter(({ strides }) => strides.every((stride) => stride >= 0));
  const most = Math.max(...forwards.map(({ size }) => size));
  const inner = forwards.findLast(({ size }) => size === most);
  return { outer: joined.filter((axis) => axis !== inner), inner: inner ?? none };
}

/** Position of the result's among the strides. */
const RESULT = 2;

/** How often a library is called for the batches. */
export const callsOf = ({ outer }: BatchAxes): number => sizeOfShape(outer.map(({ size }) => size));
