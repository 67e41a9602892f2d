/** Traces the expressions of a kernel's function. Statements are traced by `kernel-tracer.ts`. */
import type {
  AnyNode,
  AssignmentExpression,
  BinaryExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  Identifier,
  LogicalExpression,
  MemberExpression,
  Pattern,
  UpdateExpression,
} from 'acorn';
import { isExpr, map } from '../graph/infer.js';
import { isOwnError } from '../host/errors.js';
import { binary, hasBinary, NoOperator, unary } from './arithmetic.js';
import { choose, conjunction, isCondition, NoChoice, negation } from './choice.js';
import type { KernelArrays } from './kernel-arrays.js';
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
import type { KernelWriter } from './kernel-writer.js';
import { isLibrary, NoArgument } from './library.js';
import { isCallable, type Names } from './names.js';
import { truth } from './operands.js';
import type { Node, Source } from './source.js';
import { joined, typeOf } from './state-types.js';
import { type Condition, LocalArray, type Operand, type Value } from './value.js';
import type { Scope } from './variables.js';

/** Calls an inner function: `kernel-tracer.ts`. */
export type CallInner = (fn: InnerFunction, args: readonly KernelValue[]) => KernelValue | undefined;

const REFUSED: Readonly<Record<string, string>> = {
  AwaitExpression: 'await',
  ChainExpression: 'optional chaining',
  ClassExpression: 'a class',
  NewExpression: 'new',
  ObjectExpression: 'an object',
  TemplateLiteral: 'a string with replacements',
  ThisExpression: 'this',
  YieldExpression: 'yield',
};

const PLACES = ['threadIdx', 'blockIdx', 'blockDim', 'gridDim'] as const;
const AXES = ['x', 'y', 'z'];

/** A variable or an element that is assigned. */
interface Target {
  readonly get: () => Operand;
  readonly set: (value: Operand) => Operand;
}

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
      return this.#built(node, () => negation(this.condition(node.argument, scope)));
    const value = this.operand(node, scope);
    return this.#built(node, () => truth(value));
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
        return this.#built(node, () => unary(operator, operand));
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
        return this.#assignment(node, scope);
      case 'UpdateExpression':
        return this.#update(node, scope);
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
        return new InnerFunction(node, scope);
      default:
        return this.source.refuse(node, 'numbers, conditions, arrays', REFUSED[node.type] ?? node.type);
    }
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
    if (this.names.has(name.split('.')[0]!))
      return this.source.refuse(node, 'captures that are numbers, lists of them, or functions', name);
    const [object, member] = name.split('.');
    if (member !== undefined && isLibrary(object!))
      return this.source.refuse(node, `a function or constant of ${object} that arrays have`, name);
    const short = name.split('.').at(-1)!;
    return this.source.refuse(
      node,
      'names that the kernel can see',
      name,
      `give it: { captures: { ${short} } }`,
    );
  }

  /** A property of a value. */
  property(node: Node, value: KernelValue, name: string): KernelValue {
    if (value instanceof Context) {
      const place = PLACES.find((each) => each === name);
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
        `a function of kernels, ${[...PLACES, ...this.arrays.functions].join(', ')}`,
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
    if (!isExpr(index)) return numberOf(list[this.#place(node, list.length, index)]!);
    return this.#built(node, () =>
      list
        .map(numberOf)
        .reduceRight((chosen, each, k) => choose(map('equal', [index, k]), each, chosen) as Operand),
    );
  }

  #place(node: Node, length: number, index: Operand): number {
    const place = Number(index);
    if (!Number.isInteger(place) || place < 0 || place >= length)
      this.source.refuse(node, `an index from 0 to ${length - 1}`, `${place}`);
    return place;
  }

  // ---------------------------------------------------------------- operators

  #binary(node: BinaryExpression, scope: Scope): Operand {
    const { operator, left, right } = node;
    if (!hasBinary(operator)) return this.source.refuse(node, 'an operator of numbers', operator);
    const a = this.#kept(this.operand(left as Expression, scope), right);
    const b = this.operand(right, scope);
    return this.#built(node, () => binary(operator, a, b));
  }

  /** A value as it is now, where what is computed after it may assign variables. */
  #kept(value: Operand, next: AnyNode): Operand {
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
      return this.#built(node, () => {
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
      return this.#built(node, () => choose(test, yes.value, no.value)) as Operand;
    const result = this.variables.temporary(node, joined(typeOf(yes.value), typeOf(no.value)));
    const [first, second] = [yes, no].map(({ list, value }) => [
      ...list,
      ...this.writer.listOf(() => this.variables.assign(result, value)),
    ]) as [typeof yes.list, typeof no.list];
    const tested = this.writer.register(test, typeOf(test));
    this.writer.emit({ kind: 'if', condition: tested, yes: first, no: second });
    return result.value;
  }

  // ---------------------------------------------------------------- assignments

  #assignment(node: AssignmentExpression, scope: Scope): Operand {
    const { left, operator, right } = node;
    if (left.type !== 'Identifier' && left.type !== 'MemberExpression')
      return this.source.refuse(left, 'a variable or an element to assign');
    const target = this.#target(left, scope);
    if (operator === '=') return target.set(this.operand(right, scope));
    const op = operator.slice(0, -1);
    if (op === '&&' || op === '||') return this.#assignLogical(node, op, target, scope);
    if (!hasBinary(op)) return this.source.refuse(node, 'an operator of numbers', operator);
    const before = this.#kept(target.get(), right);
    const operand = this.operand(right, scope);
    return target.set(this.#built(node, () => binary(op, before, operand)));
  }

  /** `a &&= b`: assigned where it counts. */
  #assignLogical(
    { right }: AssignmentExpression,
    operator: '&&' | '||',
    target: Target,
    scope: Scope,
  ): Operand {
    const type = { dtype: 'bool', weak: false } as const;
    const before = this.writer.settled(truth(target.get()), type);
    const assigned = this.writer.listOf(() => {
      target.set(this.condition(right, scope));
    });
    const isAnd = operator === '&&';
    const condition = this.writer.register(before, type);
    this.writer.emit({ kind: 'if', condition, yes: isAnd ? assigned : [], no: isAnd ? [] : assigned });
    return target.get();
  }

  #update(node: UpdateExpression, scope: Scope): Operand {
    const target = this.#target(node.argument as Identifier | MemberExpression, scope);
    const before = target.get();
    const kept = node.prefix || !isExpr(before) ? before : this.writer.settled(before, typeOf(before));
    const after = target.set(this.#built(node, () => binary(node.operator === '++' ? '+' : '-', kept, 1)));
    return node.prefix ? after : kept;
  }

  /** A variable or an element that is assigned, its index computed once. */
  #target(node: Identifier | MemberExpression, scope: Scope): Target {
    if (node.type === 'Identifier') {
      const register = this.variables.target(node, scope);
      return {
        get: () => register.value,
        set: (value) => {
          this.variables.assign(register, value);
          return register.value;
        },
      };
    }
    if (node.object.type === 'Super' || !node.computed)
      return this.source.refuse(node, 'an element of an output to assign');
    const array = this.value(node.object, scope);
    const given = this.operand(node.property as Expression, scope);
    const index = isExpr(given) ? this.writer.settled(given, typeOf(given)) : given;
    const get = (): Operand => this.element(node, array, index);
    if (array instanceof ArrayView) {
      const set = (value: Operand): Operand => {
        this.arrays.store(node, array, index, value);
        return value;
      };
      return { get, set };
    }
    if (!(array instanceof LocalElements))
      return this.source.refuse(node, 'an element of an output to assign');
    return { get, set: (value) => this.#setLocal(node, array, index, value) };
  }

  #setLocal(node: Node, { elements }: LocalElements, index: Operand, value: Operand): Operand {
    const registerOf = (each: Register | Operand): Register =>
      each instanceof Register ? each : this.source.refuse(node, 'an element of a local array to assign');
    if (!isExpr(index)) {
      this.variables.assign(registerOf(elements[this.#place(node, elements.length, index)]!), value);
      return value;
    }
    for (const [k, each] of elements.entries()) {
      const register = registerOf(each);
      const kept = this.#built(node, () => choose(map('equal', [index, k]), value, register.value));
      this.variables.assign(register, kept as Operand);
    }
    return value;
  }

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
    const callee = calleeOf(node.callee as Expression);
    const args = (): KernelValue[] =>
      node.arguments.map((each) => {
        if (each.type === 'SpreadElement') return this.source.refuse(each, 'arguments one by one');
        const value = this.value(each, scope);
        return isNumber(value) && isExpr(value) && node.arguments.length > 1
          ? this.#kept(value, node.arguments as never)
          : value;
      });
    if (callee.type === 'Identifier') {
      const [wrapped] = node.arguments;
      if (callee.name === '__name' && wrapped !== undefined && wrapped.type !== 'SpreadElement')
        return this.value(wrapped, scope);
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
    const { least, most } = meaning;
    if (numbers.length < least || numbers.length > most)
      this.source.refuse(
        node,
        `${least === most ? least : `${least} to ${most}`} arguments of ${name}`,
        `${numbers.length}`,
      );
    const result = this.#built(node, () => meaning.apply(numbers, true));
    if (result instanceof LocalArray) return new LocalElements(result.elements);
    return this.#asNumber(node, result as KernelValue);
  }

  #asNumber(node: Node, value: KernelValue): Operand {
    if (isNumber(value)) return value;
    const received =
      value instanceof ArrayView ? `the array ${value.name}` : value instanceof Text ? 'a string' : undefined;
    return this.source.refuse(node, 'a number', received);
  }

  /** Makes a value; errors name the place of the node. */
  #built<Result>(node: Node, build: () => Result): Result {
    try {
      return this.source.located(node, build);
    } catch (error) {
      if (isOwnError(error)) throw error;
      if (
        error instanceof NoChoice ||
        error instanceof NoOperator ||
        error instanceof NoArgument ||
        error instanceof TypeError
      )
        return this.source.refuse(node, 'numbers', error.message);
      throw error;
    }
  }
}

/** The function that is called, without `(0, f)`. */
function calleeOf(callee: Expression): Expression {
  if (callee.type !== 'SequenceExpression') return callee;
  const [first, second] = callee.expressions;
  return callee.expressions.length === 2 && first!.type === 'Literal' ? second! : callee;
}

/** Whether an expression may assign something: it does, or it calls. */
function hasEffects(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasEffects);
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  if (['AssignmentExpression', 'UpdateExpression', 'CallExpression'].includes(value.type as string))
    return true;
  return Object.values(value).some(hasEffects);
}
