/**
 * Short reductions inside other kernels, as `passes/unroll-reductions.ts` marks them: the index map of each of their
 * elements, and the ops that combine them. Called by `emit-kernel.ts`.
 */
import { isComplex, isFloat } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import type { GraphNodeOf } from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import { accumulatorOf, COMBINING_OPS } from '../../graph/reductions.js';
import { opOf } from '../kernel/arithmetic.js';
import { create } from '../kernel/instruction.js';
import { argumentsOf } from '../kernel/kernel.js';
import type { TapeBuilder } from '../kernel/tape-builder.js';
import { constantAffine, type IndexMap, indexMap } from './index-map.js';

/** The index map of each element that is reduced, in C order, given the map of the result. */
export function elementMaps(
  map: IndexMap,
  shape: Shape,
  reduced: readonly number[],
  axes: number,
): IndexMap[] {
  let indices: number[][] = [[]];
  for (const axis of reduced) {
    indices = indices.flatMap((index) => Array.from({ length: shape[axis]! }, (_, k) => [...index, k]));
  }
  return indices.map((index) => {
    let kept = 0;
    const coordinates = shape.map((_, axis) => {
      const at = reduced.indexOf(axis);
      return at < 0 ? map.coordinates[kept++]! : constantAffine(index[at]!, axes);
    });
    return indexMap(coordinates, map.bounds);
  });
}

/** Ops that never give -0 of a float. */
export const NEVER_NEGATIVE_ZERO: ReadonlySet<OpName | undefined> = new Set(['square', 'abs', 'exp']);

/**
 * Writes an unrolled reduction of these elements, one after the other, as a kernel of its own combines so few. Halves are
 * summed in float32, as every reduction does. A sum begins with 0, which tells where all elements are -0.
 */
export function writeUnrolled(
  tape: TapeBuilder,
  node: GraphNodeOf<'reduce'>,
  values: readonly number[],
): number {
  if (node.reduction === 'argmin' || node.reduction === 'argmax')
    return placeOf(tape, node.reduction === 'argmin' ? 'less' : 'greater', values);
  const op = COMBINING_OPS[node.reduction]!;
  const wide = values.map((value) => tape.cast(value, accumulatorOf(tape.instructions[value]!.dtype)));
  const first = tape.instructions[wide[0]!]!;
  const isFromZero =
    node.reduction === 'sum' &&
    (isComplex(first.dtype) || (isFloat(first.dtype) && !NEVER_NEGATIVE_ZERO.has(opOf(first))));
  const zero = isComplex(first.dtype) ? { re: 0, im: 0 } : 0;
  const terms = isFromZero ? [tape.add(create.constant(first.dtype, zero)), ...wide] : wide;
  return tape.cast(
    terms.reduce((sum, term) => joined(tape, op, sum, term)),
    node.dtype,
  );
}

/** A value with one more element: of a sum's products that are not rounded, by a multiply-add. */
function joined(tape: TapeBuilder, op: OpName, sum: number, term: number): number {
  const i = tape.instructions[term]!;
  return opOf(i) === 'termProduct'
    ? tape.map('multiplyAdd', [...argumentsOf(i), sum])
    : tape.map(op, [sum, term]);
}

/** The place of the first of the extremes, or of the first NaN. */
function placeOf(tape: TapeBuilder, comparison: 'less' | 'greater', values: readonly number[]): number {
  const placed = (k: number): number => tape.add(create.constant('int64', BigInt(k)));
  let best = values[0]!;
  let place = placed(0);
  for (const [k, value] of values.entries()) {
    if (k === 0) continue;
    const isBetter = writeBetter(tape, comparison, value, best);
    place = tape.map('where', [isBetter, placed(k), place], 'int64');
    if (k < values.length - 1) best = tape.map('where', [isBetter, value, best]);
  }
  return place;
}

function writeBetter(tape: TapeBuilder, comparison: 'less' | 'greater', value: number, best: number): number {
  const isBeyond = tape.map(comparison, [value, best]);
  const { dtype } = tape.instructions[value]!;
  if (!isFloat(dtype)) return isBeyond;
  const isNumber = tape.map('logicalNot', [tape.map('isnan', [best])]);
  return tape.map('logicalOr', [isBeyond, tape.map('logicalAnd', [tape.map('isnan', [value]), isNumber])]);
}
