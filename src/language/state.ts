/**
 * States of paths through the traced function. Branches work on copies of a state, which are merged where they meet:
 *
 *     if (c) x = a; else x = b;      →   x = where(c, a, b)
 *     if (c) return a; rest          →   where(c, a, the result of the rest)
 */
import { choose, chooseCondition, conjunction, disjunction, negation } from './choice.js';
import { type Condition, Unset, type Value } from './value.js';
import type { Variable } from './variables.js';

/** The values of variables on a path, and how the path has ended. */
export class State {
  values = new Map<Variable, Value>();
  /** Whether the function, the iteration, the loop has ended. */
  returned: Condition = false;
  continued: Condition = false;
  broken: Condition = false;
  /** The value that was returned, where one was. */
  result: Value | undefined;

  /**
   * `path`: the condition under which the state is reached. `isInner`: whether variables are read after the
   * function has returned, those around a local function.
   */
  constructor(
    readonly path: Condition,
    readonly isInner = false,
  ) {}

  /** Whether the path goes no further. */
  get exited(): Condition {
    return disjunction(this.returned, disjunction(this.broken, this.continued));
  }

  /** A copy for a branch. */
  fork(condition: Condition): State {
    const made = new State(conjunction(this.path, condition), this.isInner);
    made.values = new Map(this.values);
    made.returned = this.returned;
    made.continued = this.continued;
    made.broken = this.broken;
    made.result = this.result;
    return made;
  }

  /** Takes the values of the branch that `condition` chooses. */
  merge(condition: Condition, a: State, b: State): void {
    this.values = mergedValues(condition, a, b);
    this.result = mergedResult(condition, a.result, b.result);
    this.returned = chooseCondition(condition, a.returned, b.returned);
    this.continued = chooseCondition(condition, a.continued, b.continued);
    this.broken = chooseCondition(condition, a.broken, b.broken);
  }

  /** Runs what follows where the path goes on: all of it, nothing, or a part under a condition. */
  proceed(run: (state: State) => void): void {
    const { exited } = this;
    if (exited === true) return;
    if (exited === false) {
      run(this);
      return;
    }
    const ended = this.fork(exited);
    if (this.broken === false && this.continued === false) ended.returned = true;
    const rest = this.fork(negation(exited));
    rest.returned = rest.continued = rest.broken = false;
    rest.result = undefined;
    run(rest);
    this.merge(exited, ended, rest);
  }
}

function mergedValues(condition: Condition, a: State, b: State): Map<Variable, Value> {
  // Values of a path that has returned are never read.
  if (a.returned === true && !a.isInner) return b.values;
  if (b.returned === true && !b.isInner) return a.values;
  const merged = new Map<Variable, Value>();
  for (const [variable, value] of a.values) {
    const other = b.values.get(variable);
    merged.set(variable, other === undefined ? value : mergedValue(condition, value, other));
  }
  for (const [variable, value] of b.values) if (!merged.has(variable)) merged.set(variable, value);
  return merged;
}

function mergedValue(condition: Condition, a: Value, b: Value): Value {
  if (a instanceof Unset || b instanceof Unset) {
    if (typeof condition === 'boolean') return condition ? a : b;
    return new Unset(a instanceof Unset && b instanceof Unset && a.isAlways && b.isAlways);
  }
  return choose(condition, a, b);
}

function mergedResult(condition: Condition, a: Value | undefined, b: Value | undefined): Value | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return choose(condition, a, b);
}
