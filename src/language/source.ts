/**
 * The text of a function, its syntax tree, and errors with a place in it: line and column within the
 * function, and in the user's file where that holds the same text.
 */
import { type AnyNode, parseExpressionAt } from 'acorn';
import type { Site } from '../graph/expr.js';
import { ArgumentError, expected, isOwnError } from '../host/errors.js';
import { lineAt, pointedAt } from '../host/source-place.js';
import type { FunctionNode } from './value.js';

/** A syntax node: the range of the text that it stands for. */
export type Node = Pick<AnyNode, 'start' | 'end'>;

/** Errors that name their place already. */
const placed = new WeakSet<object>();

export class Source {
  readonly node: FunctionNode;
  readonly #op: string;
  /** The text that was parsed: the function's, behind a prefix that makes it an expression. */
  readonly #text: string;
  readonly #prefix: number;
  readonly #site: Site | undefined;

  /** Throws an ArgumentError for what is no function, or has no source that can be read. */
  constructor(op: string, fn: unknown, site: Site | undefined) {
    this.#op = op;
    this.#site = site;
    if (typeof fn !== 'function')
      throw new ArgumentError(expected(op, 'a function of scalars', `a ${fn === null ? 'null' : typeof fn}`));
    const text = Function.prototype.toString.call(fn);
    if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
      const hint = 'bound and native functions have none: give the function itself';
      throw new ArgumentError(
        expected(op, 'a function whose source can be read', `${fn.name || 'one'} without`, hint),
      );
    }
    // A method is no expression by itself.
    const isMethod = !/^(async\b|function\b|\(|[\w$]+\s*=>|class\b)/.test(text);
    this.#text = isMethod ? `function ${text}` : text;
    this.#prefix = this.#text.length - text.length;
    this.node = this.#parsed();
  }

  /** The function's name, where it has one. */
  get name(): string | undefined {
    return this.node.type === 'ArrowFunctionExpression' ? undefined : this.node.id?.name;
  }

  textOf({ start, end }: Node): string {
    const text = this.#text.slice(start, end);
    return text.length > 40 ? `${text.slice(0, 37)}...` : text;
  }

  /** Line and column in the function, counted from 1. */
  placeOf({ start }: Node): { readonly line: number; readonly column: number } {
    const { line, column } = lineAt(this.#text.slice(this.#prefix), Math.max(0, start - this.#prefix));
    return { line, column };
  }

  /** Refuses a part of the function. */
  refuse(node: Node, what: string, received = this.textOf(node), hint?: string): never {
    throw this.#at(node.start, new ArgumentError(expected(this.#op, what, received, hint)));
  }

  /** Runs a part of the work for a node; errors of Weft's name its place. */
  located<Result>(node: Node, run: () => Result): Result {
    try {
      return run();
    } catch (error) {
      if (isOwnError(error) && !placed.has(error)) this.#at(node.start, error);
      throw error; // node-do-not-add-exception-line
    }
  }

  #parsed(): FunctionNode {
    const node = this.#syntax();
    switch (node.type) {
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        if (node.async) this.refuse(node, 'a function that is not async', 'an async one');
        if (node.generator) this.refuse(node, 'a function that is no generator', 'a generator');
        return node;
      default:
        return this.refuse(
          node,
          'a function of scalars',
          node.type === 'ClassExpression' ? 'a class' : undefined,
        );
    }
  }

  #syntax() {
    try {
      return parseExpressionAt(this.#text, 0, { ecmaVersion: 'latest' });
    } catch (error) {
      const { message, pos = 0 } = error as Error & { pos?: number };
      throw this.#at(pos, new ArgumentError(expected(this.#op, 'a function that can be parsed', message)));
    }
  }

  /** Adds the place to an error's message, and the line with a mark under it. */
  #at<E extends Error>(offset: number, error: E): E {
    const given = { noun: 'the function', text: this.#text.slice(this.#prefix), site: this.#site };
    placed.add(error);
    return pointedAt(error, given, Math.max(0, offset - this.#prefix));
  }
}
