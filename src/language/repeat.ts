/**
 * Loops whose number of steps depends on data, as nodes: variables that a step assigns are states; a state `running`
 * is false on lanes that `break`, `return` or a condition around the loop has ended.
 *
 *     while (x > 1) { if (k > 9) break; x *= 0.5; k++; }
 *     →   states x, k, running; while running && x > 1: x = k > 9 ? x : x * 0.5, … , running = !(k > 9)
 *
 * The dtype of a state is one that holds what it is before the first step, and what each step makes of it.
 */
import { elementLoop } from '../graph/element-loop.js';
import type { Expr } from '../graph/expr.js';
import { cast, constant, isExpr } from '../graph/infer.js';
import { argumentLike } from '../graph/loops.js';
import { assignedNames } from './assigned.js';
import { conjunction, negation } from './choice.js';
import { type LoopState, narrowCounters } from './counters.js';
import { conditionOf, type LoopSyntax, type LoopTracer } from './loops.js';
import { numeric, weakened } from './operands.js';
import { State } from './state.js';
import { joined, type StateType, typeOf } from './state-types.js';
import { type Condition, isOperand, LocalArray, type Operand, Unset, type Value } from './value.js';
import { Scope, type Variable } from './variables.js';

/** A variable that a loop carries: how many elements, where it is an array, and the types of its states. */
interface Carried {
  readonly variable: Variable;
  readonly before: Value;
  readonly length: number | undefined;
  types: readonly (StateType | undefined)[];
}

/** A step, traced for states of some types. */
interface Step {
  readonly parameters: readonly (readonly Expr[])[];
  readonly condition: Condition;
  readonly after: State;
}

/** Types change a few times at most: from a literal to a float of its kind, then to that of an array. */
const MOST_ROUNDS = 8;

export function repeat(tracer: LoopTracer, loop: LoopSyntax, scope: Scope, state: State): void {
  const names = assignedNames([loop.test, loop.update, loop.body as never]);
  const variables = new Set([...names].flatMap((name) => scope.find(name) ?? []));
  const carried = [...variables]
    .filter((variable) => state.values.has(variable))
    .map((variable) => carriedOf(tracer, loop, variable, state.values.get(variable)!));
  const isPure = loop.testsFirst && assignedNames([loop.test]).size === 0;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const step = stepOf(tracer, loop, scope, state, carried, isPure);
    if (widen(tracer, loop, carried, step)) continue;
    finish(tracer, loop, state, carried, step, isPure);
    return;
  }
  tracer.source.refuse(loop.node, 'variables of one dtype in all steps of a loop');
}

function carriedOf(tracer: LoopTracer, { node }: LoopSyntax, variable: Variable, before: Value): Carried {
  if (before instanceof Unset) return { variable, before, length: undefined, types: [undefined] };
  if (isOperand(before)) return { variable, before, length: undefined, types: [typeOf(before)] };
  if (!(before instanceof LocalArray))
    return tracer.source.refuse(node, 'functions that do not change', variable.name);
  return { variable, before, length: before.elements.length, types: before.elements.map(typeOf) };
}

// ---------------------------------------------------------------- a step

function stepOf(
  tracer: LoopTracer,
  loop: LoopSyntax,
  scope: Scope,
  state: State,
  carried: readonly Carried[],
  isPure: boolean,
): Step {
  const after = new State(true, state.isInner);
  after.values = new Map(state.values);
  const parameters = carried.map(({ variable, length, types }) => {
    const own = types.map((type) => (type === undefined ? undefined : parameterOf(type)));
    const value = length === undefined ? (own[0] ?? new Unset(true)) : new LocalArray(own as Expr[]);
    after.values.set(variable, value);
    return own.filter((each) => each !== undefined);
  });
  const condition = run(tracer, loop, scope, after, isPure);
  return { parameters, condition, after };
}

const parameterOf = ({ dtype, weak }: StateType): Expr => argumentLike(constant(0, dtype), 0, weak);

/** Traces a step; gives the condition before it, of a test that assigns nothing. */
function run(tracer: LoopTracer, loop: LoopSyntax, scope: Scope, state: State, isPure: boolean): Condition {
  const test = (path: State): Condition => conditionOf(tracer, loop, scope, path);
  const endsUnless = (path: State): void => {
    path.broken = negation(test(path));
  };
  const condition = isPure ? test(state) : true;
  tracer.source.located(loop.node, () => {
    if (loop.testsFirst && !isPure) endsUnless(state);
    state.proceed((path) => tracer.statement(loop.body, new Scope(scope), path));
    state.continued = false;
    state.proceed((path) => {
      if (loop.update) tracer.expressions.value(loop.update, scope, path);
    });
    if (!loop.testsFirst) state.proceed(endsUnless);
  });
  return condition;
}

/** Takes the types that a step leaves; whether one is wider than before. */
function widen(
  tracer: LoopTracer,
  { node }: LoopSyntax,
  carried: readonly Carried[],
  { after }: Step,
): boolean {
  let isWider = false;
  for (const each of carried) {
    const values = elementsOf(after.values.get(each.variable)!);
    if (values === undefined || (each.length !== undefined && values.length !== each.length))
      tracer.source.refuse(node, 'a variable of one kind in all steps', each.variable.name);
    const types = each.types.map((type, k) =>
      values[k] === undefined ? type : joined(type, typeOf(values[k])),
    );
    isWider ||= types.some(
      (type, k) => type?.dtype !== each.types[k]?.dtype || type?.weak !== each.types[k]?.weak,
    );
    each.types = types;
  }
  return isWider;
}

/** The states that a value is; none of a variable that is not set, undefined for a function. */
function elementsOf(value: Value): readonly Operand[] | undefined {
  if (value instanceof LocalArray) return value.elements;
  if (value instanceof Unset) return [];
  return isOperand(value) ? [value] : undefined;
}

// ---------------------------------------------------------------- the node

function finish(
  tracer: LoopTracer,
  loop: LoopSyntax,
  state: State,
  carried: readonly Carried[],
  { parameters, condition, after }: Step,
  isPure: boolean,
): void {
  const states: LoopState[] = [];
  const own = carried.map((each, c) => {
    const next = elementsOf(after.values.get(each.variable)!)!;
    const before = elementsOf(each.before)!;
    return each.types.flatMap((type, k) => {
      if (type === undefined) return [];
      const parameter = parameters[c]![k] ?? parameterOf(type);
      const value = next[k] === undefined ? parameter : asState(next[k], type);
      return [
        states.push({ parameter, before: asState(before[k] ?? 0, type), next: value, weak: type.weak }) - 1,
      ];
    });
  });
  const goesOn = addRunning(states, state, after, condition, isPure);
  if (goesOn === true) tracer.source.refuse(loop.node, 'a loop that ends');
  const returned = after.returned === false ? undefined : addReturned(tracer, loop, states, after);
  const narrow = narrowCounters(states, asState(goesOn, BOOL));
  const results = elementLoop(
    narrow.states.map(({ before }) => before),
    narrow.states.map(({ parameter }) => parameter),
    narrow.condition,
    narrow.states.map(({ next }) => next),
  ).map((result, k) => {
    const held = cast(result, states[k]!.parameter.dtype);
    return states[k]!.weak ? weakened(held) : held;
  });
  const runsOnce = !loop.testsFirst || condition === true;
  carried.forEach((each, c) => {
    const values = own[c]!.map((k) => results[k]!);
    if (values.length === 0) return;
    const isUnset = each.before instanceof Unset && !runsOnce;
    const value = each.length === undefined ? values[0]! : new LocalArray(values);
    state.values.set(each.variable, isUnset ? new Unset(false) : value);
  });
  if (returned === undefined) return;
  const isOnlyWay = isPure && condition === true && after.broken === false;
  state.returned = isOnlyWay ? true : results[returned.flag]!;
  const values = returned.values.map((k) => results[k]!);
  state.result = after.result instanceof LocalArray ? new LocalArray(values) : values[0]!;
}

const BOOL: StateType = { dtype: 'bool', weak: false };

/** A value in the dtype of a state. */
function asState(value: Operand, { dtype }: StateType): Expr {
  const held = dtype === 'bool' ? value : numeric(value);
  return isExpr(held) ? cast(held, dtype) : constant(held, dtype);
}

/** The condition of the loop, with a state for what else ends it. */
function addRunning(
  states: LoopState[],
  { path }: State,
  { exited }: State,
  condition: Condition,
  isPure: boolean,
): Condition {
  if (exited === false && path === true && isPure) return condition;
  const parameter = parameterOf(BOOL);
  states.push({ parameter, before: asState(path, BOOL), next: asState(negation(exited), BOOL), weak: false });
  return conjunction(parameter, condition);
}

/** States for whether the function has returned, and what. */
function addReturned(
  tracer: LoopTracer,
  { node }: LoopSyntax,
  states: LoopState[],
  { returned, result }: State,
): { readonly flag: number; readonly values: readonly number[] } {
  const add = (next: Expr, weak: boolean): number => {
    const parameter = parameterOf({ dtype: next.dtype, weak });
    return states.push({ parameter, before: constant(0, next.dtype), next, weak }) - 1;
  };
  const values = result === undefined ? undefined : elementsOf(result);
  if (values === undefined || values.length === 0) return tracer.source.refuse(node, 'numbers to return');
  const flag = add(asState(returned, BOOL), false);
  return {
    flag,
    values: values.map((value) => {
      const type = typeOf(value);
      return add(asState(value, type), type.weak);
    }),
  };
}
