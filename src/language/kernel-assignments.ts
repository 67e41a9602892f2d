/** Assignments in a kernel's function: to variables, and to elements of outputs, shared memory and local arrays. */
import type {
  AnyNode,
  AssignmentExpression,
  Expression,
  Identifier,
  MemberExpression,
  UpdateExpression,
} from 'acorn';
import { isExpr } from '../graph/infer.js';
import { binary, hasBinary } from './arithmetic.js';
import { assignedAt, knownIndex } from './elements.js';
import type { KernelArrays } from './kernel-arrays.js';
import { ArrayView, type KernelValue, LocalElements, Register } from './kernel-values.js';
import type { KernelVariables } from './kernel-variables.js';
import type { KernelWriter } from './kernel-writer.js';
import { truth } from './operands.js';
import { built } from './refusals.js';
import type { Node, Source } from './source.js';
import { typeOf } from './state-types.js';
import type { Condition, Operand } from './value.js';
import type { Scope } from './variables.js';

/** The tracing of the expressions in an assignment: `kernel-expressions.ts`. */
interface Expressions {
  readonly source: Source;
  readonly writer: KernelWriter;
  readonly variables: KernelVariables;
  readonly arrays: KernelArrays;
  operand(node: Expression, scope: Scope): Operand;
  condition(node: Expression, scope: Scope): Condition;
  value(node: Expression, scope: Scope): KernelValue;
  element(node: Node, value: KernelValue, index: Operand): Operand;
  kept(value: Operand, next: AnyNode): Operand;
}

/** A variable or an element that is assigned. */
interface Target {
  readonly get: () => Operand;
  readonly set: (value: Operand) => Operand;
}

export function assignment(expressions: Expressions, node: AssignmentExpression, scope: Scope): Operand {
  const { left, operator, right } = node;
  if (left.type !== 'Identifier' && left.type !== 'MemberExpression')
    return expressions.source.refuse(left, 'a variable or an element to assign');
  const target = targetOf(expressions, left, scope);
  if (operator === '=') return target.set(expressions.operand(right, scope));
  const op = operator.slice(0, -1);
  if (op === '&&' || op === '||') return assignLogical(expressions, node, op, target, scope);
  if (!hasBinary(op)) return expressions.source.refuse(node, 'an operator of numbers', operator);
  const before = expressions.kept(target.get(), right);
  const operand = expressions.operand(right, scope);
  return target.set(built(expressions.source, node, () => binary(op, before, operand)));
}

/** `a &&= b`: assigned where it counts. */
function assignLogical(
  expressions: Expressions,
  { right }: AssignmentExpression,
  operator: '&&' | '||',
  target: Target,
  scope: Scope,
): Operand {
  const type = { dtype: 'bool', weak: false } as const;
  const before = expressions.writer.settled(truth(target.get()), type);
  const assigned = expressions.writer.listOf(() => {
    target.set(expressions.condition(right, scope));
  });
  const isAnd = operator === '&&';
  const condition = expressions.writer.register(before, type);
  expressions.writer.emit({ kind: 'if', condition, yes: isAnd ? assigned : [], no: isAnd ? [] : assigned });
  return target.get();
}

export function update(expressions: Expressions, node: UpdateExpression, scope: Scope): Operand {
  const target = targetOf(expressions, node.argument as Identifier | MemberExpression, scope);
  const before = target.get();
  const kept = node.prefix || !isExpr(before) ? before : expressions.writer.settled(before, typeOf(before));
  const after = target.set(
    built(expressions.source, node, () => binary(node.operator === '++' ? '+' : '-', kept, 1)),
  );
  return node.prefix ? after : kept;
}

/** A variable or an element that is assigned, its index computed once. */
function targetOf(expressions: Expressions, node: Identifier | MemberExpression, scope: Scope): Target {
  if (node.type === 'Identifier') {
    const register = expressions.variables.target(node, scope);
    return {
      get: () => register.value,
      set: (value) => {
        expressions.variables.assign(register, value);
        return register.value;
      },
    };
  }
  if (node.object.type === 'Super' || !node.computed)
    return expressions.source.refuse(node, 'an element of an output to assign');
  const array = expressions.value(node.object, scope);
  const given = expressions.operand(node.property as Expression, scope);
  const index = isExpr(given) ? expressions.writer.settled(given, typeOf(given)) : given;
  const get = (): Operand => expressions.element(node, array, index);
  if (array instanceof ArrayView) {
    const set = (value: Operand): Operand => {
      expressions.arrays.store(node, array, index, value);
      return value;
    };
    return { get, set };
  }
  if (!(array instanceof LocalElements))
    return expressions.source.refuse(node, 'an element of an output to assign');
  return { get, set: (value) => setLocal(expressions, node, array, index, value) };
}

function setLocal(
  expressions: Expressions,
  node: Node,
  { elements }: LocalElements,
  index: Operand,
  value: Operand,
): Operand {
  const registerOf = (each: Register | Operand): Register =>
    each instanceof Register
      ? each
      : expressions.source.refuse(node, 'an element of a local array to assign');
  if (!isExpr(index)) {
    expressions.variables.assign(
      registerOf(elements[knownIndex(expressions.source, node, elements.length, index)]!),
      value,
    );
    return value;
  }
  for (const [k, each] of elements.entries()) {
    const register = registerOf(each);
    const kept = assignedAt(expressions.source, node, { index, position: k }, value, register.value);
    expressions.variables.assign(register, kept);
  }
  return value;
}
