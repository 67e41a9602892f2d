/**
 * Counters of loops in 32 bits: a literal is counted in int64, which takes a GPU two instructions for each one. A
 * state that starts at a small constant, that constants are added to, and that the loop's condition keeps below one
 * never leaves 32 bits; what else uses it has it in int64.
 *
 *     k = 0; while (k < 1000 && …) { …; k = k + 1 }     k: int64 → int32
 */
import type { Expr } from '../graph/expr.js';
import { cast, constant, map } from '../graph/infer.js';
import type { OpName } from '../graph/ops.js';
import { weakened } from './operands.js';

/** A state of a loop: what stands for it in a step, what it is before and after one. */
export interface LoopState {
  readonly parameter: Expr;
  readonly before: Expr;
  readonly next: Expr;
  readonly weak: boolean;
}

const MOST = 2 ** 30;
const COMPARISONS: ReadonlySet<OpName> = new Set([
  'less',
  'lessEqual',
  'greater',
  'greaterEqual',
  'equal',
  'notEqual',
]);

/** The states and the condition of a loop with its counters in int32. */
export function narrowCounters(
  states: readonly LoopState[],
  condition: Expr,
): { readonly states: readonly LoopState[]; readonly condition: Expr } {
  let narrow = { states, condition };
  for (let k = 0; k < states.length; k++)
    if (isCounter(narrow.states[k]!, narrow.condition)) narrow = narrowed(narrow, k);
  return narrow;
}

function isCounter({ parameter, before, next, weak }: LoopState, condition: Expr): boolean {
  const first = smallOf(before);
  if (!weak || parameter.dtype !== 'int64' || first === undefined || next === parameter) return false;
  return isBounded(condition, parameter) && (stepOf(next, parameter) ?? MOST) < MOST;
}

/** A constant well within 32 bits. */
function smallOf(x: Expr | undefined): number | undefined {
  if (x?.kind !== 'const' || typeof x.value === 'object') return undefined;
  const value = Number(x.value);
  return Math.abs(value) < MOST ? value : undefined;
}

/** Whether a condition is never true unless a state is below a constant. */
function isBounded(condition: Expr, parameter: Expr): boolean {
  if (condition.kind !== 'map') return false;
  const [a, b] = condition.inputs;
  if (condition.op === 'logicalAnd') return isBounded(a!, parameter) || isBounded(b!, parameter);
  const isBelow = condition.op === 'less' || condition.op === 'lessEqual';
  return isBelow && a === parameter && smallOf(b) !== undefined;
}

/** The most that a step adds to a state; undefined: it is something else. */
function stepOf(next: Expr, parameter: Expr): number | undefined {
  if (next === parameter) return 0;
  if (next.kind !== 'map') return undefined;
  const [a, b, c] = next.inputs;
  if (next.op === 'add') {
    const [own, added] = [stepOf(a!, parameter), smallOf(b)];
    return own === undefined || added === undefined || added < 0 ? undefined : own + added;
  }
  if (next.op !== 'where') return undefined;
  const [yes, no] = [stepOf(b!, parameter), stepOf(c!, parameter)];
  return yes === undefined || no === undefined ? undefined : Math.max(yes, no);
}

function narrowed(
  { states, condition }: ReturnType<typeof narrowCounters>,
  k: number,
): ReturnType<typeof narrowCounters> {
  const { parameter, before } = states[k]!;
  const own: Expr = { ...parameter, dtype: 'int32', weak: false };
  const least = smallOf(before)!;
  const known = new Map<Expr, Expr>([[parameter, weakened(cast(own, 'int64'))]]);
  /** A node with the counter in int64, but for remainders by constants, and comparisons of both with constants. */
  const wide = (node: Expr): Expr => {
    let made = known.get(node);
    if (made === undefined) {
      made =
        compared(node) ??
        converted(node) ??
        widened(small(node)) ??
        settled(withInputs(node, node.inputs.map(wide)));
      known.set(node, made);
    }
    return made;
  };
  /** The counter, or its remainder by a constant, in 32 bits. */
  const small = (node: Expr): Expr | undefined => {
    if (node === parameter) return own;
    if (node.kind !== 'map') return undefined;
    const [a, b, c] = node.inputs as [Expr, Expr, Expr];
    if (node.op === 'where') return isFalse(wide(a)) ? small(c) : undefined;
    const divisor = node.op === 'remainder' && a === parameter ? smallOf(b) : undefined;
    return divisor === undefined ? undefined : map('remainder', [own, constant(divisor, 'int32')]);
  };
  /** Its conversion to another dtype, without 64 bits between. */
  const converted = (node: Expr): Expr | undefined => {
    const counter = node.kind === 'cast' ? small(node.inputs[0]!) : undefined;
    return counter?.dtype === node.dtype ? counter : counter && withInputs(node, [counter]);
  };
  /** A comparison with a constant in 32 bits; none is less than the first value of a counter. */
  const compared = (node: Expr): Expr | undefined => {
    if (node.kind !== 'map' || !COMPARISONS.has(node.op)) return undefined;
    const limit = smallOf(node.inputs[1]);
    const counter = limit === undefined ? undefined : small(node.inputs[0]!);
    if (counter === undefined) return undefined;
    if (counter === own && node.op === 'less' && limit! <= least) return constant(false, 'bool');
    return map(node.op, [counter, constant(limit!, 'int32')]);
  };
  /** The next value of the counter. */
  const counted = (node: Expr): Expr => {
    if (node === parameter) return own;
    const [a, b, c] = node.inputs as [Expr, Expr, Expr];
    const isSum = node.kind === 'map' && node.op === 'add';
    return isSum
      ? map('add', [counted(a), cast(b, 'int32')])
      : map('where', [wide(a), counted(b), counted(c)]);
  };
  const all = states.map((state, at): LoopState => {
    if (at !== k) return { ...state, next: wide(state.next) };
    return { parameter: own, before: cast(before, 'int32'), next: counted(state.next), weak: true };
  });
  return { states: all, condition: wide(condition) };
}

const widened = (small: Expr | undefined): Expr | undefined => small && weakened(cast(small, 'int64'));

const isFalse = (node: Expr): boolean => node.kind === 'const' && node.value === false;

/** A node without a condition that is never true. */
function settled(node: Expr): Expr {
  if (node.kind !== 'map') return node;
  const [a, b, c] = node.inputs as [Expr, Expr, Expr];
  if (node.op === 'logicalAnd' && (isFalse(a) || isFalse(b))) return constant(false, 'bool');
  return node.op === 'where' && isFalse(a) ? c : node;
}

const withInputs = (node: Expr, inputs: readonly Expr[]): Expr =>
  inputs.every((input, k) => input === node.inputs[k]) ? node : ({ ...node, inputs } as Expr);
