/** Traces the expressions of a kernel's function. Statements are traced by `kernel-tracer.ts`. */
import type {
  AnyNode,
  BinaryExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  Identifier,
  LogicalExpression,
  MemberExpression,
  Pattern,
} from 'acorn';
import { isExpr } from '../graph/infer.js';
import { binary, hasBinary, unary } from './arithmetic.js';
import { calleeOf, namedFunction } from './callee.js';
import { choose, conjunction, isCondition, negation } from './choice.js';
import { elementAt } from './elements.js';
import type { KernelArrays } from './kernel-arrays.js';
import { assignment, update } from './kernel-assignments.js';
import {
  ArrayView,
  Context,
  ContextFunction,
  InnerFunction,
  isNumber,
  type KernelValue,
  LocalElements,
  Places,
  Register,
  ShapeView,
  Text,
} from './kernel-values.js';
import type { KernelVariables } from './kernel-variables.js';
import { laneOf, WARP_SIZE } from './kernel-warps.js';
import type { KernelWriter } from './kernel-writer.js';
import { isCallable, type Names } from './names.js';
import { truth } from './operands.js';
import { built, checkCount, checkInner, refuseName, wordsFor } from './refusals.js';
import type { Node, Source } from './source.js';
import { joined, typeOf } from './state-types.js';
import { type Condition, type FunctionNode, LocalArray, type Operand, type Value } from './value.js';
import type { Scope } from './variables.js';

/** Calls an inner function: `kernel-tracer.ts`. */
export type CallInner = (fn: InnerFunction, args: readonly KernelValue[]) => KernelValue | undefined;

const PLACES = ['threadIdx', 'blockIdx', 'blockDim', 'gridDim'] as const;
const AXES = ['x', 'y', 'z'];

export class KernelExpressions {
  constructor(
    readonly source: Source,
    readonly names: Names,
    readonly writer: KernelWriter,
    readonly variables: KernelVariables,
    readonly arrays: KernelArrays,
    readonly callInner: CallInner,
  ) {}

  operand(node: Expression, scope: Scope): Operand {
    return this.#asNumber(node, this.value(node, scope));
  }

  /** A condition; `&&` and `||` compute their right side only where it counts. */
  condition(node: Expression, scope: Scope): Condition {
    if (node.type === 'ParenthesizedExpression') return this.condition(node.expression, scope);
    if (node.type === 'LogicalExpression' && node.operator !== '??') return this.#logical(node, scope);
    if (node.type === 'UnaryExpression' && node.operator === '!')
      return built(this.source, node, () => negation(this.condition(node.argument, scope)));
    const value = this.operand(node, scope);
    return built(this.source, node, () => truth(value));
  }

  value(node: Expression, scope: Scope): KernelValue {
    switch (node.type) {
      case 'Literal':
        if (typeof node.value === 'string') return new Text(node.value);
        if (['number', 'bigint', 'boolean'].includes(typeof node.value)) return node.value as Operand;
        return this.source.refuse(node, 'numbers, conditions, arrays');
      case 'Identifier':
        return this.#identifier(node, scope);
      case 'ParenthesizedExpression':
        return this.value(node.expression, scope);
      case 'SequenceExpression':
        return node.expressions.map((each) => this.value(each, scope)).at(-1)!;
      case 'UnaryExpression': {
        const { operator } = node;
        if (operator === '!') return this.condition(node, scope);
        if (operator !== '+' && operator !== '-' && operator !== '~')
          return this.source.refuse(node, 'an operator of numbers', operator);
        const operand = this.operand(node.argument, scope);
        return built(this.source, node, () => unary(operator, operand));
      }
      case 'BinaryExpression':
        return this.#binary(node, scope);
      case 'LogicalExpression': {
        if (node.operator === '??') return this.source.refuse(node, 'an operator of numbers', '??');
        return this.#logical(node, scope, true);
      }
      case 'ConditionalExpression':
        return this.#conditional(node, scope);
      case 'AssignmentExpression':
        return assignment(this, node, scope);
      case 'UpdateExpression':
        return update(this, node, scope);
      case 'ArrayExpression':
        return new LocalElements(
          node.elements.map((each) => {
            if (each === null || each.type === 'SpreadElement')
              return this.source.refuse(node, 'an array of numbers');
            return this.operand(each, scope);
          }),
        );
      case 'MemberExpression':
        return this.#member(node, scope);
      case 'CallExpression':
        return this.#call(node, scope);
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        return this.inner(node, scope);
      default:
        return this.source.refuse(node, 'numbers, conditions, arrays', wordsFor(node.type));
    }
  }

  /** A function that is declared in the kernel's. */
  inner(node: FunctionNode, scope: Scope): InnerFunction {
    checkInner(this.source, node);
    return new InnerFunction(node, scope);
  }

  // ---------------------------------------------------------------- names

  #identifier(node: Identifier, scope: Scope): KernelValue {
    const variable = scope.find(node.name);
    if (variable === undefined) return this.#meaning(node, this.names.of(node.name), node.name);
    return this.variables.read(node, variable);
  }

  #meaning(node: Node, meaning: Value | ReturnType<Names['of']>, name: string): KernelValue {
    if (meaning instanceof LocalArray) return new LocalElements(meaning.elements);
    if (meaning !== undefined && !isCallable(meaning)) return meaning as Operand;
    if (isCallable(meaning)) return this.source.refuse(node, 'a number', `the function ${name}`);
    return refuseName(this.source, this.names, node, name);
  }

  /** A property of a value. */
  property(node: Node, value: KernelValue, name: string): KernelValue {
    if (value instanceof Context) {
      const place = PLACES.find((each) => each === name);
      if (name === 'warpSize') return WARP_SIZE;
      if (name === 'laneId') return laneOf((number) => this.arrays.number(number));
      return place === undefined ? this.#contextFunction(node, name) : new Places(place);
    }
    if (value instanceof Places && AXES.includes(name))
      return this.arrays.number({ of: value.of, axis: AXES.indexOf(name) as 0 | 1 | 2 });
    if (value instanceof ArrayView) {
      if (name === 'length' || name === 'size') return value.size;
      if (name === 'ndim') return value.shape.length;
      if (name === 'shape') return new ShapeView(value.shape);
      if (name === 'dtype') return new Text(value.dtype);
    }
    if ((value instanceof ShapeView || value instanceof LocalElements) && name === 'length')
      return value instanceof ShapeView ? value.sizes.length : value.elements.length;
    return this.source.refuse(node, 'x, y, z of places, length, shape, dtype of arrays', name);
  }

  #contextFunction(node: Node, name: string): ContextFunction {
    if (!this.arrays.hasFunction(name))
      this.source.refuse(
        node,
        `a function of kernels, ${[...PLACES, 'laneId', 'warpSize', ...this.arrays.functions].join(', ')}`,
        name,
      );
    return new ContextFunction(name);
  }

  #member(node: MemberExpression, scope: Scope): KernelValue {
    const { object, property } = node;
    if (object.type === 'Super') return this.source.refuse(node, 'an array', 'super');
    if (object.type === 'Identifier' && scope.find(object.name) === undefined && !node.computed) {
      const name = (property as Identifier).name;
      const list = this.names.of(object.name);
      if (list instanceof LocalArray && name === 'length') return list.elements.length;
      return this.#meaning(node, this.names.member(object.name, name), `${object.name}.${name}`);
    }
    const value = this.value(object, scope);
    if (!node.computed) return this.property(node, value, (property as Identifier).name);
    return this.element(node, value, this.operand(property as Expression, scope));
  }

  /** An element of an array, of a shape, or of a local array. */
  element(node: Node, value: KernelValue, index: Operand): Operand {
    if (value instanceof ArrayView) return this.arrays.load(node, value, index);
    const list =
      value instanceof ShapeView ? value.sizes : value instanceof LocalElements ? value.elements : undefined;
    if (list === undefined) return this.source.refuse(node, 'an array');
    const numberOf = (each: Register | Operand): Operand => (each instanceof Register ? each.value : each);
    return elementAt(this.source, node, list.map(numberOf), index);
  }

  // ---------------------------------------------------------------- operators

  #binary(node: BinaryExpression, scope: Scope): Operand {
    const { operator, left, right } = node;
    if (!hasBinary(operator)) return this.source.refuse(node, 'an operator of numbers', operator);
    const a = this.kept(this.operand(left as Expression, scope), right);
    const b = this.operand(right, scope);
    return built(this.source, node, () => binary(operator, a, b));
  }

  /** A value as it is now, where what is computed after it may assign variables. */
  kept(value: Operand, next: AnyNode): Operand {
    return isExpr(value) && hasEffects(next) ? this.writer.settled(value, typeOf(value)) : value;
  }

  #logical(node: LogicalExpression, scope: Scope, asValue = false): Condition {
    const { left, right, operator } = node;
    const isAnd = operator === '&&';
    const side = (each: Expression): Condition => {
      if (!asValue) return this.condition(each, scope);
      const value = this.operand(each, scope);
      if (!isCondition(value)) this.source.refuse(each, `conditions beside ${operator}`, 'a number');
      return value;
    };
    const first = side(left);
    if (typeof first === 'boolean') return first === isAnd ? side(right) : first;
    let second: Condition = true;
    const list = this.writer.listOf(() => {
      second = side(right);
    });
    if (list.length === 0) {
      const met = isAnd ? [first, second] : [negation(first), negation(second)];
      return built(this.source, node, () => {
        const both = conjunction(met[0]!, met[1]!);
        return isAnd ? both : negation(both);
      });
    }
    const result = this.variables.temporary(node, { dtype: 'bool', weak: false });
    this.variables.assign(result, first);
    const further = [...list, ...this.writer.listOf(() => this.variables.assign(result, second))];
    const condition = this.writer.register(first, result.type);
    this.writer.emit({ kind: 'if', condition, yes: isAnd ? further : [], no: isAnd ? [] : further });
    return result.value;
  }

  #conditional(node: ConditionalExpression, scope: Scope): Operand {
    const condition = this.condition(node.test, scope);
    if (typeof condition === 'boolean')
      return this.operand(condition ? node.consequent : node.alternate, scope);
    const side = (each: Expression) => {
      let value: Operand = 0;
      const list = this.writer.listOf(() => {
        value = this.operand(each, scope);
      });
      return { list, value };
    };
    const test = this.writer.settled(condition, { dtype: 'bool', weak: false });
    const [yes, no] = [side(node.consequent), side(node.alternate)];
    if (yes.list.length + no.list.length === 0)
      return built(this.source, node, () => choose(test, yes.value, no.value)) as Operand;
    const result = this.variables.temporary(node, joined(typeOf(yes.value), typeOf(no.value)));
    const [first, second] = [yes, no].map(({ list, value }) => [
      ...list,
      ...this.writer.listOf(() => this.variables.assign(result, value)),
    ]) as [typeof yes.list, typeof no.list];
    const tested = this.writer.register(test, typeOf(test));
    this.writer.emit({ kind: 'if', condition: tested, yes: first, no: second });
    return result.value;
  }

  // ---------------------------------------------------------------- patterns

  /** Binds the names of a pattern to a value's parts. */
  bind(
    pattern: Pattern,
    value: KernelValue,
    declare: (target: Identifier, value: KernelValue) => void,
  ): void {
    if (pattern.type === 'Identifier') {
      declare(pattern, value);
      return;
    }
    if (pattern.type === 'ObjectPattern') {
      for (const each of pattern.properties) {
        if (each.type !== 'Property' || each.computed || each.key.type !== 'Identifier')
          this.source.refuse(each, 'properties by name');
        this.bind(each.value as Pattern, this.property(each, value, each.key.name), declare);
      }
      return;
    }
    if (pattern.type !== 'ArrayPattern') this.source.refuse(pattern, 'variables by name');
    for (const [k, each] of pattern.elements.entries())
      if (each !== null) this.bind(each, this.element(each, value, k), declare);
  }

  // ---------------------------------------------------------------- calls

  #call(node: CallExpression, scope: Scope): KernelValue {
    const named = namedFunction(node);
    if (named !== undefined) return this.value(named, scope);
    const callee = calleeOf(node.callee) as Expression;
    const args = (): KernelValue[] =>
      node.arguments.map((each) => {
        if (each.type === 'SpreadElement') return this.source.refuse(each, 'arguments one by one');
        const value = this.value(each, scope);
        return isNumber(value) && isExpr(value) && node.arguments.length > 1
          ? this.kept(value, node.arguments as never)
          : value;
      });
    if (callee.type === 'Identifier') {
      if (scope.find(callee.name) === undefined)
        return this.#callKnown(node, this.names.of(callee.name), callee.name, args());
    }
    if (callee.type === 'MemberExpression' && !callee.computed && callee.object.type !== 'Super') {
      const { object } = callee;
      const name = (callee.property as Identifier).name;
      if (object.type === 'Identifier' && scope.find(object.name) === undefined)
        return this.#callKnown(node, this.names.member(object.name, name), `${object.name}.${name}`, args());
      const value = this.value(object, scope);
      if (value instanceof ArrayView) return this.arrays.method(node, value, name, args());
    }
    const fn = this.value(callee, scope);
    if (fn instanceof ContextFunction) return this.arrays.call(node, fn.name, args());
    if (!(fn instanceof InnerFunction)) return this.source.refuse(callee, 'a function to call');
    return this.callInner(fn, args()) ?? 0;
  }

  #callKnown(
    node: CallExpression,
    meaning: unknown,
    name: string,
    args: readonly KernelValue[],
  ): KernelValue {
    if (!isCallable(meaning)) return this.#meaning(node.callee, meaning as undefined, name);
    const numbers = args.map((arg, k) => this.#asNumber(node.arguments[k]!, arg));
    checkCount(this.source, node, meaning, numbers.length);
    const result = built(this.source, node, () => meaning.apply(numbers, true));
    if (result instanceof LocalArray) return new LocalElements(result.elements);
    return this.#asNumber(node, result as KernelValue);
  }

  #asNumber(node: Node, value: KernelValue): Operand {
    if (isNumber(value)) return value;
    const received =
      value instanceof ArrayView ? `the array ${value.name}` : value instanceof Text ? 'a string' : undefined;
    return this.source.refuse(node, 'a number', received);
  }
}

/** Whether an expression may assign something: it does, or it calls. */
function hasEffects(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasEffects);
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  if (['AssignmentExpression', 'UpdateExpression', 'CallExpression'].includes(value.type as string))
    return true;
  return Object.values(value).some(hasEffects);
}
