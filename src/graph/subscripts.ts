/**
 * Reads the subscripts of an einsum: a label for every axis of each operand and of the result. Says nothing
 * of sizes.
 *
 *     '...ij,jk' of (2, 3, 4) and (4, 5)   →   [...0 i j] [j k]   →   [...0 i k]
 *
 * Errors show the expression with carets under the labels that they are about. Called by `einsum.ts`.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { Shape } from './expr.js';
import { formatShape, formatValue } from './format.js';

/** A letter, a number, or the name of an axis that an ellipsis stands for: the last of them is `...0`. */
export type Label = string;

/** A stretch of the expression as it is printed. */
interface Span {
  readonly at: number;
  readonly length: number;
}

interface Token extends Span {
  readonly text: string;
}

/** The labels of one operand, or of the result. */
interface Term extends Span {
  readonly tokens: readonly Token[];
}

/** Subscripts as written: terms, and where each label stands. */
export class Expression {
  readonly text: string;
  readonly inputs: readonly Term[];
  readonly result: Term | undefined;

  constructor(text: string, inputs: readonly Term[], result: Term | undefined) {
    this.text = text;
    this.inputs = inputs;
    this.result = result;
  }

  /** The expression with carets under operands. */
  markedOperands(operands: readonly number[]): string {
    return withCarets(
      this.text,
      operands.map((k) => this.inputs[k]!),
    );
  }

  /** The expression with carets under every place of a label. */
  marked(label: Label): string {
    const name = label.startsWith(ELLIPSIS) ? ELLIPSIS : label;
    const terms = [...this.inputs, ...(this.result === undefined ? [] : [this.result])];
    return withCarets(
      this.text,
      terms.flatMap(({ tokens }) => tokens.filter(({ text }) => text === name)),
    );
  }
}

const ELLIPSIS = '...';

/** A text with a line of carets under stretches of it; under its end where those are empty. */
function withCarets(text: string, spans: readonly Span[]): string {
  const line = new Array<string>(text.length + 1).fill(' ');
  for (const { at, length } of spans) line.fill('^', at, at + Math.max(1, length));
  return `\n    ${text}\n    ${line.join('').trimEnd()}`;
}

const refusal = (what: string, text: string, spans: readonly Span[]): ArgumentError =>
  new ArgumentError(`${expected('einsum', what, formatValue(text))}${withCarets(text, spans)}`);

/** Reads `'ij,jk->ik'`. Throws an ArgumentError that marks what cannot be read. */
export function readSubscripts(subscripts: unknown): Expression {
  if (typeof subscripts !== 'string')
    throw new ArgumentError(expected('einsum', "subscripts such as 'ij,jk->ik'", formatValue(subscripts)));
  const arrow = subscripts.indexOf('->');
  const second = arrow < 0 ? -1 : subscripts.indexOf('->', arrow + 2);
  if (second >= 0) throw refusal('one arrow', subscripts, [{ at: second, length: 2 }]);
  const end = arrow < 0 ? subscripts.length : arrow;
  const inputs: Term[] = [];
  for (let at = 0; ; ) {
    const comma = subscripts.indexOf(',', at);
    const last = comma < 0 || comma >= end;
    inputs.push(readTerm(subscripts, at, last ? end : comma));
    if (last) break;
    at = comma + 1;
  }
  return new Expression(
    subscripts,
    inputs,
    arrow < 0 ? undefined : readTerm(subscripts, arrow + 2, subscripts.length),
  );
}

/** The labels of a stretch of the subscripts; blanks mean nothing. */
function readTerm(text: string, begin: number, end: number): Term {
  const tokens: Token[] = [];
  for (let at = begin; at < end; at++) {
    if (text[at] === ' ') continue;
    const token = text.startsWith(ELLIPSIS, at) ? ELLIPSIS : text[at]!;
    if (token !== ELLIPSIS && !/[a-zA-Z]/.test(token))
      throw refusal("letters, '...', commas and one arrow, as in 'ij,jk->ik'", text, [{ at, length: 1 }]);
    tokens.push({ text: token, at, length: token.length });
    at += token.length - 1;
  }
  const ellipses = tokens.filter((token) => token.text === ELLIPSIS);
  if (ellipses.length > 1) throw refusal("one '...' in each term", text, ellipses);
  return { tokens, at: begin, length: end - begin };
}

/**
 * Reads the axes of `einsum(a, [0, 1], b, [1, 2], [0, 2])`: integers from 0, or '...'. The expression is
 * printed as `[0, 1], [1, 2] -> [0, 2]`.
 */
export function readLists(inputs: readonly unknown[], result: unknown): Expression {
  let text = '';
  const readList = (list: unknown): Term => {
    if (!Array.isArray(list)) throw new ArgumentError(expected('einsum', LISTS, formatValue(list)));
    const begin = text.length;
    text += '[';
    const tokens = list.map((label: unknown, k): Token => {
      const isLabel = label === ELLIPSIS || (Number.isSafeInteger(label) && (label as number) >= 0);
      if (!isLabel) throw new ArgumentError(expected('einsum', LISTS, formatValue(label)));
      if (k > 0) text += ', ';
      const name = String(label);
      text += name;
      return { text: name, at: text.length - name.length, length: name.length };
    });
    text += ']';
    const ellipses = tokens.filter((token) => token.text === ELLIPSIS);
    if (ellipses.length > 1) throw refusal("one '...' in each list", text, ellipses);
    return { tokens, at: begin, length: text.length - begin };
  };
  const terms = inputs.map((list, k) => {
    if (k > 0) text += ', ';
    return readList(list);
  });
  if (result === undefined) return new Expression(text, terms, undefined);
  text += ' -> ';
  const last = readList(result);
  return new Expression(text, terms, last);
}

const LISTS = "an array and the list of its axes by turns, of integers from 0 or '...', as in a, [0, 1]";

export interface Subscripts {
  /** For each operand the labels of its axes. */
  readonly inputs: readonly (readonly Label[])[];
  readonly output: readonly Label[];
}

/**
 * The labels of operands of these shapes. Throws an ArgumentError where the number of operands, or a label of
 * the result, is not that of the subscripts; a ShapeError for an operand with another number of axes.
 */
export function labelAxes(expression: Expression, shapes: readonly Shape[]): Subscripts {
  const { text, inputs: terms, result } = expression;
  if (terms.length !== shapes.length) {
    const spare = terms.slice(shapes.length);
    const wanted = terms.length === 1 ? 'one array' : `${terms.length} arrays`;
    const problem = expected('einsum', `${wanted} for '${text}'`, `${shapes.length}`);
    throw new ArgumentError(spare.length === 0 ? problem : `${problem}${withCarets(text, spare)}`);
  }
  const axes = terms.map((term, k) => axesOfEllipsis(term, text, shapes[k]!));
  const inputs = terms.map((term, k) => labelsOf(term, axes[k]!));
  const widest = Math.max(0, ...axes);
  const letters = terms.flatMap(({ tokens }) => namesOf(tokens));
  if (result === undefined) return { inputs, output: [...ellipsis(widest), ...onceIn(letters)] };
  checkResult(result, letters, text);
  if (widest > 0 && namesOf(result.tokens).length === result.tokens.length)
    throw refusal("'...' in the result for the axes that it stands for", text, [result]);
  return { inputs, output: labelsOf(result, widest) };
}

/** The labels among tokens. */
const namesOf = (tokens: readonly Token[]): string[] =>
  tokens.flatMap(({ text }) => (text === ELLIPSIS ? [] : [text]));

function checkResult({ tokens }: Term, letters: readonly string[], text: string): void {
  const names = tokens.filter((token) => token.text !== ELLIPSIS);
  const unknown = names.filter((token) => !letters.includes(token.text));
  if (unknown.length > 0) throw refusal('labels of the result to be those of operands', text, unknown);
  const repeated = names.filter((token) => names.some((each) => each !== token && each.text === token.text));
  if (repeated.length > 0) throw refusal('each label of the result once', text, repeated);
}

const ellipsis = (axes: number): Label[] =>
  Array.from({ length: axes }, (_, k) => `${ELLIPSIS}${axes - 1 - k}`);

const labelsOf = ({ tokens }: Term, axes: number): Label[] =>
  tokens.flatMap(({ text }) => (text === ELLIPSIS ? ellipsis(axes) : [text]));

/** How many axes of an operand its ellipsis stands for. */
function axesOfEllipsis(term: Term, text: string, shape: Shape): number {
  const named = namesOf(term.tokens).length;
  const hasEllipsis = named < term.tokens.length;
  if (shape.length === named || (hasEllipsis && shape.length > named)) return shape.length - named;
  const least = hasEllipsis ? `${named} or more axes` : `${named} axes`;
  const own = text.slice(term.at, term.at + term.length).trim();
  throw new ShapeError(
    `${expected('einsum', `${least} for '${own}'`, formatShape(shape))}${withCarets(text, [term])}`,
  );
}

/** The labels that occur once, letters in alphabetical order, numbers in ascending order. */
const onceIn = (letters: readonly string[]): string[] =>
  letters
    .filter((letter) => letters.indexOf(letter) === letters.lastIndexOf(letter))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
