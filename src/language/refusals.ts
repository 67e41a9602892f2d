/**
 * Errors that functions of scalars and functions of kernels share: names without a meaning, calls with another number
 * of arguments, and values that operators do not take. They name the place of the syntax node.
 */
import { isOwnError } from '../host/errors.js';
import { NoOperator } from './arithmetic.js';
import { NoChoice } from './choice.js';
import { isLibrary, NoArgument } from './library.js';
import type { Names } from './names.js';
import type { Node, Source } from './source.js';
import type { Callable, FunctionNode } from './value.js';

/** Expressions that the language lacks, in words. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  AwaitExpression: 'await',
  ChainExpression: 'optional chaining',
  ClassExpression: 'a class',
  ImportExpression: 'import()',
  MetaProperty: 'import.meta or new.target',
  NewExpression: 'new',
  ObjectExpression: 'an object',
  TaggedTemplateExpression: 'a string',
  TemplateLiteral: 'a string',
  ThisExpression: 'this',
  YieldExpression: 'yield',
};

/** The words for an expression that the language lacks. */
export const wordsFor = (type: string): string => EXPRESSIONS[type] ?? type;

/** Makes a value. */
export function built<Result>(source: Source, node: Node, build: () => Result): Result {
  try {
    return source.located(node, build);
  } catch (error) {
    if (isOwnError(error)) throw error;
    if (error instanceof NoChoice) return source.refuse(node, 'values of one kind', error.message);
    if (error instanceof NoOperator || error instanceof NoArgument || error instanceof TypeError)
      return source.refuse(node, 'numbers', error.message);
    throw error;
  }
}

/** Refuses a name, or `object.name`, that has no meaning. */
export function refuseName(source: Source, names: Names, node: Node, name: string): never {
  const [object, member] = name.split('.');
  if (names.has(name) || (member !== undefined && names.has(object!))) {
    const captures = 'captures that are numbers, lists of them, or functions of Weft’s';
    return source.refuse(node, captures, name, 'functions: from elementwise(), or ops such as exp');
  }
  if (member !== undefined && isLibrary(object!))
    return source.refuse(node, `a function or constant of ${object} that arrays have`, name);
  if (name === source.name) return source.refuse(node, 'a function that does not call itself', name);
  return source.refuse(
    node,
    'names that the function can see',
    name,
    `give it: { captures: { ${member ?? name} } }`,
  );
}

export function checkCount(source: Source, node: Node, { name, least, most }: Callable, count: number): void {
  if (count >= least && count <= most) return;
  const wanted = least === most ? `${least}` : `${least} to ${most}`;
  source.refuse(node, `${wanted} argument${least === 1 && most === 1 ? '' : 's'} of ${name}`, `${count}`);
}

/** A function that is declared in the traced one runs at once, and returns once. */
export function checkInner(source: Source, node: FunctionNode): void {
  if (node.async) source.refuse(node, 'a function that is not async');
  if (node.generator) source.refuse(node, 'a function that is no generator');
}
