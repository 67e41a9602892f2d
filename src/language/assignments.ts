/** Assignments in a function of scalars: to variables, to elements of local arrays, and to the names of patterns. */
import type {
  AssignmentExpression,
  Expression,
  Identifier,
  MemberExpression,
  Pattern,
  UpdateExpression,
} from 'acorn';
import { binary, hasBinary } from './arithmetic.js';
import { elementAt, withElement } from './elements.js';
import { truth } from './operands.js';
import { built } from './refusals.js';
import type { Node, Source } from './source.js';
import type { State } from './state.js';
import { type Condition, LocalArray, type Operand, type Value } from './value.js';
import type { Scope } from './variables.js';

/** The tracing of the expressions in an assignment: `expressions.ts`. */
interface Expressions {
  readonly source: Source;
  operand(node: Expression, scope: Scope, state: State): Operand;
  value(node: Expression, scope: Scope, state: State): Value;
  scalar(node: Node, value: Value): Operand;
  arrayOf(node: MemberExpression, scope: Scope, state: State): LocalArray;
  branches(
    condition: Condition,
    state: State,
    yes: (state: State) => Value,
    no: (state: State) => Value,
    node: Node,
  ): Value;
}

/** A variable or an element that is assigned; its index is computed once, before the value. */
interface Target {
  readonly get: () => Operand;
  readonly set: (value: Value) => void;
}

export function assignment(
  expressions: Expressions,
  node: AssignmentExpression,
  scope: Scope,
  state: State,
): Value {
  const { left, operator, right } = node;
  const target =
    left.type === 'Identifier' || left.type === 'MemberExpression'
      ? targetOf(expressions, left, scope, state)
      : undefined;
  if (operator === '=') {
    const value = initial(expressions, right, scope, state);
    if (target !== undefined) target.set(value);
    else bind(expressions, left, value, (name, each) => setVariable(expressions, name, each, scope, state));
    return value;
  }
  const value = updated(expressions, node, target!.get(), operator.slice(0, -1), right, scope, state);
  target!.set(value);
  return value;
}

function targetOf(
  expressions: Expressions,
  node: Identifier | MemberExpression,
  scope: Scope,
  state: State,
): Target {
  if (node.type === 'Identifier') {
    return {
      get: () => expressions.operand(node, scope, state),
      set: (value) => setVariable(expressions, node, value, scope, state),
    };
  }
  const { object, property, computed } = node;
  const variable = object.type === 'Identifier' ? scope.find(object.name) : undefined;
  if (variable === undefined || variable.isParameter || !computed)
    return expressions.source.refuse(node, 'an element of a local array to assign');
  const index = expressions.operand(property as Expression, scope, state);
  const elements = (): readonly Operand[] => expressions.arrayOf(node, scope, state).elements;
  return {
    get: () => elementAt(expressions.source, node, elements(), index),
    set: (value) => {
      const element = expressions.scalar(node, value);
      const changed = withElement(expressions.source, node, elements(), index, element);
      state.values.set(variable, new LocalArray(changed));
    },
  };
}

/** The value of `a op= b`. */
function updated(
  expressions: Expressions,
  node: AssignmentExpression,
  before: Operand,
  operator: string,
  right: Expression,
  scope: Scope,
  state: State,
): Value {
  if (operator !== '&&' && operator !== '||') {
    if (!hasBinary(operator)) return expressions.source.refuse(node, 'an operator of numbers', node.operator);
    const operand = expressions.operand(right, scope, state);
    return built(expressions.source, node, () => binary(operator, before, operand));
  }
  const condition = built(expressions.source, node, () => truth(before));
  const further = (path: State): Value => expressions.value(right, scope, path);
  const kept = (): Value => before;
  if (operator === '&&') return expressions.branches(condition, state, further, kept, node);
  return expressions.branches(condition, state, kept, further, node);
}

export function update(expressions: Expressions, node: UpdateExpression, scope: Scope, state: State): Value {
  const { argument, operator, prefix } = node;
  const target = targetOf(expressions, argument as Identifier | MemberExpression, scope, state);
  const before = target.get();
  const after = built(expressions.source, node, () => binary(operator === '++' ? '+' : '-', before, 1));
  target.set(after);
  return prefix ? after : before;
}

/** Assigns a variable. */
export function setVariable(
  expressions: Expressions,
  target: Identifier,
  value: Value,
  scope: Scope,
  state: State,
): void {
  const variable = scope.find(target.name);
  if (variable === undefined) {
    expressions.source.refuse(
      target,
      'a variable of the function to assign',
      target.name,
      'nothing outside of it changes',
    );
  }
  if (variable.isConstant)
    expressions.source.refuse(target, 'a variable that may change', `the constant ${target.name}`);
  state.values.set(variable, value);
}

/** A value that is stored. An array that has a name is refused: it would have two. */
export function initial(expressions: Expressions, node: Expression, scope: Scope, state: State): Value {
  const value = expressions.value(node, scope, state);
  if (node.type === 'Identifier' && value instanceof LocalArray)
    expressions.source.refuse(node, 'an array with one name', undefined, 'copy it: [...a]');
  return value;
}

/** Gives the names of a pattern their values. */
export function bind(
  expressions: Expressions,
  pattern: Pattern,
  value: Value,
  assign: (target: Identifier, value: Value) => void,
): void {
  switch (pattern.type) {
    case 'Identifier':
      assign(pattern, value);
      return;
    case 'ArrayPattern':
      if (!(value instanceof LocalArray)) expressions.source.refuse(pattern, 'an array to take to pieces');
      else
        pattern.elements.forEach((each, k) => {
          if (each === null) return;
          const element = value.elements[k];
          if (element === undefined)
            expressions.source.refuse(
              each,
              `at most ${value.elements.length} elements`,
              expressions.source.textOf(pattern),
            );
          bind(expressions, each, element, assign);
        });
      return;
    default:
      expressions.source.refuse(pattern, 'the name of a variable');
  }
}
