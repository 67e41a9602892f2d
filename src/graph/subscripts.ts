/**
 * Reads the subscripts of an einsum: a label for every axis of each operand and of the result. Says nothing
 * of sizes.
 *
 *     '...ij,jk' of (2, 3, 4) and (4, 5)   →   [...0 i j] [j k]   →   [...0 i k]
 *
 * Called by `einsum.ts`.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { Shape } from './expr.js';
import { formatShape, formatValue } from './format.js';

/** A letter, or the name of an axis that an ellipsis stands for: the last of them is `...0`. */
export type Label = string;

export interface Subscripts {
  /** For each operand the labels of its axes. */
  readonly inputs: readonly (readonly Label[])[];
  readonly output: readonly Label[];
}

/** Letters with at most one ellipsis among them. */
const TERM = /^([a-zA-Z]*)(\.\.\.)?([a-zA-Z]*)$/;

interface Term {
  readonly before: readonly string[];
  readonly hasEllipsis: boolean;
  readonly after: readonly string[];
}

const ellipsis = (axes: number): Label[] => Array.from({ length: axes }, (_, k) => `...${axes - 1 - k}`);

const labelsOf = ({ before, after }: Term, axes: number): Label[] => [...before, ...ellipsis(axes), ...after];

/**
 * The labels of operands of these shapes. Throws an ArgumentError for subscripts that cannot be read, a
 * ShapeError for an operand with another number of axes.
 */
export function parseSubscripts(subscripts: unknown, shapes: readonly Shape[]): Subscripts {
  const refuse = (what: string): never => {
    throw new ArgumentError(expected('einsum', what, formatValue(subscripts)));
  };
  const readTerm = (text: string): Term => {
    const match = TERM.exec(text);
    if (match === null) return refuse("letters, '...', commas and one arrow, as in 'ij,jk->ik'");
    return { before: [...match[1]!], hasEllipsis: match[2] !== undefined, after: [...match[3]!] };
  };
  if (typeof subscripts !== 'string') return refuse("subscripts such as 'ij,jk->ik'");
  const [left, right, more] = subscripts.replaceAll(' ', '').split('->');
  if (more !== undefined) return refuse('one arrow');
  const texts = left!.split(',');
  const terms = texts.map(readTerm);
  if (terms.length !== shapes.length) {
    throw new ArgumentError(
      expected('einsum', `${terms.length} arrays for '${subscripts}'`, `${shapes.length}`),
    );
  }
  const axes = terms.map((term, k) => axesOfEllipsis(term, texts[k]!, shapes[k]!));
  const inputs = terms.map((term, k) => labelsOf(term, axes[k]!));
  const widest = Math.max(0, ...axes);
  const letters = terms.flatMap(({ before, after }) => [...before, ...after]);
  if (right === undefined) return { inputs, output: [...ellipsis(widest), ...onceIn(letters)] };
  const result = readTerm(right);
  if (widest > 0 && !result.hasEllipsis) return refuse("'...' in the result for the axes that it stands for");
  const own = [...result.before, ...result.after];
  if (new Set(own).size < own.length || own.some((letter) => !letters.includes(letter)))
    return refuse('each letter of the result once, from the operands');
  return { inputs, output: labelsOf(result, widest) };
}

/** How many axes of an operand its ellipsis stands for. */
function axesOfEllipsis({ before, hasEllipsis, after }: Term, text: string, shape: Shape): number {
  const named = before.length + after.length;
  if (shape.length === named || (hasEllipsis && shape.length > named)) return shape.length - named;
  const least = hasEllipsis ? `${named} or more axes` : `${named} axes`;
  throw new ShapeError(expected('einsum', `${least} for '${text}'`, formatShape(shape)));
}

/** The letters that occur once, in alphabetical order. */
const onceIn = (letters: readonly string[]): string[] =>
  letters.filter((letter) => letters.indexOf(letter) === letters.lastIndexOf(letter)).sort();
