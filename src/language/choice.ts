/**
 * Choices between values by a condition, and logic of conditions. Values that are known while tracing are never nodes.
 */
import type { Scalar } from '../graph/dtype.js';
import { isExpr, map } from '../graph/infer.js';
import { isWeak, numeric, weakened } from './operands.js';
import { type Condition, isOperand, LocalArray, type Operand, type Value } from './value.js';

export function negation(condition: Condition): Condition {
  if (typeof condition === 'boolean') return !condition;
  const [inner] = condition.inputs;
  if (condition.kind === 'map' && condition.op === 'logicalNot' && inner !== undefined) return inner;
  return map('logicalNot', [condition]);
}

export function conjunction(a: Condition, b: Condition): Condition {
  if (a === false || b === false) return false;
  if (a === true || a === b) return b;
  return b === true ? a : map('logicalAnd', [a, b]);
}

export function disjunction(a: Condition, b: Condition): Condition {
  if (a === true || b === true) return true;
  if (a === false || a === b) return b;
  return b === false ? a : map('logicalOr', [a, b]);
}

/** `condition ? a : b` of conditions. */
export function chooseCondition(condition: Condition, a: Condition, b: Condition): Condition {
  if (typeof condition === 'boolean') return condition ? a : b;
  if (a === b) return a;
  if (a === true || a === condition) return disjunction(condition, b);
  if (a === false) return conjunction(negation(condition), b);
  if (b === true) return disjunction(negation(condition), a);
  if (b === false || b === condition) return conjunction(condition, a);
  return map('where', [condition, a, b]);
}

/** Values that no choice is made between: an error that the caller gives a place. */
export class NoChoice extends Error {}

/** `condition ? a : b`. */
export function choose(condition: Condition, a: Value, b: Value): Value {
  if (typeof condition === 'boolean') return condition ? a : b;
  if (isOperand(a) && isOperand(b)) return chooseOperand(condition, a, b);
  if (a === b) return a;
  if (a instanceof LocalArray && b instanceof LocalArray) {
    if (a.elements.length !== b.elements.length)
      throw new NoChoice(`arrays of ${a.elements.length} and of ${b.elements.length} elements`);
    return new LocalArray(a.elements.map((each, k) => chooseOperand(condition, each, b.elements[k]!)));
  }
  throw new NoChoice('an array on one path only, or functions');
}

function chooseOperand(condition: Condition, a: Operand, b: Operand): Operand {
  if (typeof condition === 'boolean') return condition ? a : b;
  if (a === b || (!isExpr(a) && !isExpr(b) && Object.is(a, b))) return a;
  if (isCondition(a) && isCondition(b)) return chooseCondition(condition, a, b);
  const [yes, no] = isCondition(a) || isCondition(b) ? [numeric(a), numeric(b)] : [a, b];
  const chosen = map('where', [condition, yes, no]);
  return isWeak(yes) && isWeak(no) ? weakened(chosen) : chosen;
}

/** Whether a value is a boolean, which arithmetic takes for 0 or 1. */
export const isCondition = (value: Operand): value is Condition =>
  isExpr(value) ? value.dtype === 'bool' : typeof (value as Scalar) === 'boolean';
