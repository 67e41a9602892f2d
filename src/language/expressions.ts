/**
 * Traces the expressions of a function: computes what is known, and makes nodes of a graph of scalars of the
 * rest. Statements are traced by `statements.ts`, which calls this and is called for local functions.
 */
import type {
  CallExpression,
  ConditionalExpression,
  Expression,
  Identifier,
  Literal,
  LogicalExpression,
  MemberExpression,
  SpreadElement,
} from 'acorn';
import { binary, hasBinary, unary } from './arithmetic.js';
import { assignment, update } from './assignments.js';
import { calleeOf, namedFunction } from './callee.js';
import { choose, negation } from './choice.js';
import { elementAt } from './elements.js';
import { isCallable, type Meaning, type Names } from './names.js';
import { truth } from './operands.js';
import { built, checkCount, checkInner, refuseName, wordsFor } from './refusals.js';
import type { Node, Source } from './source.js';
import type { State } from './state.js';
import {
  type Condition,
  type FunctionNode,
  isOperand,
  LocalArray,
  LocalFunction,
  type Operand,
  Unset,
  type Value,
} from './value.js';
import type { Scope, Variable } from './variables.js';

/** Calls a local function: `statements.ts`. */
export type CallLocal = (fn: LocalFunction, args: readonly Value[], state: State) => Value;

/** Arrays longer than this are refused: an index that is not known takes a choice for each element. */
const MOST_ELEMENTS = 64;

export class Expressions {
  readonly source: Source;
  readonly #names: Names;
  readonly #callLocal: CallLocal;

  constructor(source: Source, names: Names, callLocal: CallLocal) {
    this.source = source;
    this.#names = names;
    this.#callLocal = callLocal;
  }

  /** A condition. */
  condition(node: Expression, scope: Scope, state: State): Condition {
    const value = this.operand(node, scope, state);
    return built(this.source, node, () => truth(value));
  }

  /** Whether an expression is `===` a value. */
  isStrictlyEqual(node: Expression, value: Operand, scope: Scope, state: State): Condition {
    const other = this.operand(node, scope, state);
    return built(this.source, node, () => truth(binary('===', value, other)));
  }

  /** A scalar. */
  operand(node: Expression, scope: Scope, state: State): Operand {
    return this.scalar(node, this.value(node, scope, state));
  }

  value(node: Expression, scope: Scope, state: State): Value {
    switch (node.type) {
      case 'Literal':
        return this.#literal(node);
      case 'Identifier':
        return this.#identifier(node, scope, state);
      case 'ParenthesizedExpression':
        return this.value(node.expression, scope, state);
      case 'SequenceExpression':
        return node.expressions.map((each) => this.value(each, scope, state)).at(-1)!;
      case 'UnaryExpression': {
        const { operator } = node;
        if (operator !== '+' && operator !== '-' && operator !== '!' && operator !== '~')
          return this.source.refuse(node, 'an operator of numbers', operator);
        const operand = this.operand(node.argument, scope, state);
        return built(this.source, node, () => unary(operator, operand));
      }
      case 'BinaryExpression': {
        const { operator, left } = node;
        if (!hasBinary(operator)) return this.source.refuse(node, 'an operator of numbers', operator);
        const a = this.operand(left as Expression, scope, state);
        const b = this.operand(node.right, scope, state);
        return built(this.source, node, () => binary(operator, a, b));
      }
      case 'LogicalExpression':
        return this.#logical(node, scope, state);
      case 'ConditionalExpression':
        return this.#conditional(node, scope, state);
      case 'AssignmentExpression':
        return assignment(this, node, scope, state);
      case 'UpdateExpression':
        return update(this, node, scope, state);
      case 'ArrayExpression':
        return this.#array(node, node.elements, scope, state);
      case 'MemberExpression':
        return this.#member(node, scope, state);
      case 'CallExpression':
        return this.#call(node, scope, state);
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        return this.local(node, scope);
      default:
        return this.source.refuse(node, 'numbers, conditions, arrays of numbers', wordsFor(node.type));
    }
  }

  /** A function that is declared in the traced one. */
  local(node: FunctionNode, scope: Scope): LocalFunction {
    checkInner(this.source, node);
    return new LocalFunction(node, scope);
  }

  // ---------------------------------------------------------------- leaves

  #literal(node: Literal): Operand {
    const { value } = node;
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return value;
    const received =
      value === null && node.regex === undefined
        ? 'null'
        : typeof value === 'string'
          ? 'a string'
          : 'a regular expression';
    return this.source.refuse(node, 'numbers, conditions, arrays of numbers', received);
  }

  #identifier(node: Identifier, scope: Scope, state: State): Value {
    const variable = scope.find(node.name);
    if (variable === undefined) {
      if (node.name === 'undefined') return new Unset(true);
      return this.#constant(node, this.#names.of(node.name), node.name);
    }
    return this.#read(node, variable, state);
  }

  #read(node: Node, variable: Variable, state: State): Value {
    const value = state.values.get(variable) ?? new Unset(true);
    if (!(value instanceof Unset)) return value;
    const problem = value.isAlways ? 'has none here' : 'has none on some paths';
    return this.source.refuse(node, 'a variable with a value', `${variable.name} ${problem}`);
  }

  #constant(node: Node, meaning: Meaning, name: string): Value {
    if (meaning === undefined) return refuseName(this.source, this.#names, node, name);
    if (isCallable(meaning)) return this.source.refuse(node, 'a number', `the function ${name}`);
    return meaning;
  }

  // ---------------------------------------------------------------- choices

  /** Both sides are traced; one that is not known to run only under its condition, which its loops keep to. */
  branches(
    condition: Condition,
    state: State,
    yes: (state: State) => Value,
    no: (state: State) => Value,
    node: Node,
  ): Value {
    if (typeof condition === 'boolean') return condition ? yes(state) : no(state);
    const [first, second] = [state.fork(condition), state.fork(negation(condition))];
    const [a, b] = [yes(first), no(second)];
    return built(this.source, node, () => {
      state.merge(condition, first, second);
      return choose(condition, a, b);
    });
  }

  #logical(node: LogicalExpression, scope: Scope, state: State): Value {
    const { operator, left, right } = node;
    if (operator === '??') return this.source.refuse(node, 'an operator of numbers', '??');
    const value = this.operand(left, scope, state);
    const condition = built(this.source, left, () => truth(value));
    const further = (path: State): Value => this.value(right, scope, path);
    const kept = (): Value => value;
    if (operator === '&&') return this.branches(condition, state, further, kept, node);
    return this.branches(condition, state, kept, further, node);
  }

  #conditional(node: ConditionalExpression, scope: Scope, state: State): Value {
    const condition = this.condition(node.test, scope, state);
    const yes = (path: State): Value => this.value(node.consequent, scope, path);
    const no = (path: State): Value => this.value(node.alternate, scope, path);
    return this.branches(condition, state, yes, no, node);
  }

  // ---------------------------------------------------------------- arrays

  #array(
    node: Node,
    elements: readonly (Expression | SpreadElement | null)[],
    scope: Scope,
    state: State,
  ): LocalArray {
    const values = elements.flatMap((each): readonly Operand[] => {
      if (each === null) return this.source.refuse(node, 'arrays without holes');
      if (each.type !== 'SpreadElement') return [this.operand(each, scope, state)];
      const spread = this.value(each.argument, scope, state);
      return spread instanceof LocalArray ? spread.elements : this.source.refuse(each, 'an array to spread');
    });
    if (values.length === 0) this.source.refuse(node, 'an array with elements');
    if (values.length > MOST_ELEMENTS)
      this.source.refuse(
        node,
        `at most ${MOST_ELEMENTS} elements`,
        `${values.length}`,
        'use take() for tables',
      );
    return new LocalArray(values);
  }

  #member(node: MemberExpression, scope: Scope, state: State): Value {
    const { object, property } = node;
    if (object.type === 'Identifier' && scope.find(object.name) === undefined && !node.computed) {
      const name = (property as Identifier).name;
      const list = this.#names.of(object.name);
      if (list instanceof LocalArray && name === 'length') return list.elements.length;
      return this.#constant(node, this.#names.member(object.name, name), `${object.name}.${name}`);
    }
    const array = this.arrayOf(node, scope, state);
    if (!node.computed) {
      if ((property as Identifier).name === 'length') return array.elements.length;
      return this.source.refuse(node, 'an element or the length of an array');
    }
    const index = this.operand(property as Expression, scope, state);
    return elementAt(this.source, node, array.elements, index);
  }

  arrayOf({ object }: MemberExpression, scope: Scope, state: State): LocalArray {
    if (object.type === 'Super') return this.source.refuse(object, 'an array', 'super');
    const array = this.value(object, scope, state);
    if (!(array instanceof LocalArray)) return this.source.refuse(object, 'an array', 'a number');
    return array;
  }

  // ---------------------------------------------------------------- calls

  #call(node: CallExpression, scope: Scope, state: State): Value {
    const named = namedFunction(node);
    if (named !== undefined) return this.value(named, scope, state);
    const callee = calleeOf(node.callee);
    if (node.optional) return this.source.refuse(node, 'a call', 'optional chaining');
    const values = (): Value[] =>
      node.arguments.flatMap((each): readonly Value[] =>
        each.type === 'SpreadElement'
          ? this.#array(each, [each], scope, state).elements
          : [this.value(each, scope, state)],
      );
    if (callee.type === 'Identifier') {
      const variable = scope.find(callee.name);
      if (variable !== undefined) {
        const fn = this.#read(callee, variable, state);
        if (!(fn instanceof LocalFunction)) return this.source.refuse(callee, 'a function to call');
        return this.#callLocal(fn, values(), state);
      }
      return this.#callKnown(node, this.#names.of(callee.name), callee.name, values, state);
    }
    if (callee.type === 'MemberExpression' && callee.object.type === 'Identifier' && !callee.computed) {
      const [object, name] = [callee.object.name, (callee.property as Identifier).name];
      if (scope.find(object) !== undefined)
        return this.source.refuse(callee, 'functions, not methods', undefined, 'arrays have none here');
      return this.#callKnown(node, this.#names.member(object, name), `${object}.${name}`, values, state);
    }
    const fn = callee.type === 'Super' ? undefined : this.value(callee, scope, state);
    if (fn instanceof LocalFunction) return this.#callLocal(fn, values(), state);
    return this.source.refuse(callee, 'a function to call');
  }

  #callKnown(
    node: CallExpression,
    meaning: Meaning,
    name: string,
    values: () => Value[],
    state: State,
  ): Value {
    if (name === 'Math.random')
      return this.source.refuse(node, 'a pure function', name, 'give random.uniform(…) as an argument');
    if (meaning === undefined) return refuseName(this.source, this.#names, node.callee, name);
    if (!isCallable(meaning)) return this.source.refuse(node.callee, 'a function to call', name);
    const args = values();
    checkCount(this.source, node, meaning, args.length);
    return built(this.source, node, () => meaning.apply(args, state.path));
  }

  // ---------------------------------------------------------------- errors

  scalar(node: Node, value: Value): Operand {
    if (isOperand(value)) return value;
    const received =
      value instanceof LocalArray ? 'an array' : value instanceof Unset ? 'undefined' : 'a function';
    return this.source.refuse(node, 'a number', received);
  }
}
