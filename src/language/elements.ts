/** Elements of lists of fixed length by their index, which may be known only where the function runs. */
import { isExpr, map } from '../graph/infer.js';
import { choose } from './choice.js';
import { built } from './refusals.js';
import type { Node, Source } from './source.js';
import type { Operand } from './value.js';

/** The position that a known index means. */
export function knownIndex(source: Source, node: Node, length: number, index: Operand): number {
  const position = Number(index);
  if (!Number.isInteger(position) || position < 0 || position >= length)
    source.refuse(node, `an index from 0 to ${length - 1}`, `${position}`);
  return position;
}

/**
 * The element at an index. JavaScript gives undefined where it is out of range; an index that is not known gives the
 * last element there.
 */
export function elementAt(source: Source, node: Node, elements: readonly Operand[], index: Operand): Operand {
  if (!isExpr(index)) return elements[knownIndex(source, node, elements.length, index)]!;
  return built(source, node, () =>
    elements.reduceRight((chosen, each, k) => choose(map('equal', [index, k]), each, chosen) as Operand),
  );
}

/** An element after an assignment at an index that is not known: the value where the index is its position. */
export const assignedAt = (
  source: Source,
  node: Node,
  { index, position }: { readonly index: Operand; readonly position: number },
  value: Operand,
  before: Operand,
): Operand => built(source, node, () => choose(map('equal', [index, position]), value, before)) as Operand;

/** The elements after an assignment at an index. */
export function withElement(
  source: Source,
  node: Node,
  elements: readonly Operand[],
  index: Operand,
  value: Operand,
): Operand[] {
  if (!isExpr(index)) return elements.with(knownIndex(source, node, elements.length, index), value);
  return elements.map((before, position) => assignedAt(source, node, { index, position }, value, before));
}
