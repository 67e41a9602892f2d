/**
 * Labels along which reversing both operands of a product, and the result where it has the label, spares copies: a
 * library reads nothing backwards.
 *
 *     a[:, ::-1] @ b[::-1]   →   a @ b
 *     a[:, ::-1] @ b         →   a @ b[::-1], where b is the smaller copy
 *     a[::-1] @ b            →   (a @ b)[::-1], where the result is the smaller copy, or is read by a kernel
 *
 * Called by `product-ways.ts`.
 */
import type { Graph } from '../../graph/graph.js';
import { asStrided, operandThroughViews } from '../partition/operands.js';
import { isComputed } from './kernel-contractions.js';
import type { Operand, PairProduct } from './product-labels.js';
import type { Editor } from './rewrite.js';

/** The sets of labels to try, beginning with those that cost nothing. */
export function reversalsOf(graph: Graph, { a, b, groups }: PairProduct): number[][] {
  const [ofA, ofB] = [backwards(graph, a), backwards(graph, b)];
  const isBack = (label: number): boolean => ofA.has(label) || ofB.has(label);
  const both = groups.k.filter((label) => ofA.has(label) && ofB.has(label));
  const choices = [
    groups.m.filter(isBack),
    groups.n.filter(isBack),
    groups.k.filter((label) => isBack(label) && !both.includes(label)),
    groups.batch.filter((label) => ofA.has(label) && ofB.has(label)),
  ].filter((labels) => labels.length > 0);
  const sets = [both];
  for (const labels of choices) sets.push(...sets.map((set) => [...set, ...labels]));
  return sets;
}

/** The labels along which an operand runs backwards in memory. */
function backwards(graph: Graph, { id, labels }: Operand): ReadonlySet<number> {
  const found = isComputed(graph, id) ? undefined : operandThroughViews(graph, id, undefined, asStrided);
  return new Set(labels.filter((_, axis) => (found?.strides[axis] ?? 0) < 0));
}

/** An operand read backwards along those of its labels that are named. */
export function reversed(operand: Operand, along: readonly number[], editor: Editor): Operand {
  const { id, labels } = operand;
  const isBack = labels.map((label) => along.includes(label));
  if (!isBack.includes(true)) return operand;
  const { shape } = editor.node(id);
  const starts = isBack.map((back, axis) => (back ? shape[axis]! - 1 : 0));
  const steps = isBack.map((back) => (back ? -1 : 1));
  return { id: editor.view(id, { type: 'slice', starts, steps }, shape), labels };
}
