/**
 * `switch`: its cases are compared one after the other until one is equal; the statements from there on run up to a
 * `break`.
 *
 *     switch (k) { case 0: x = a; case 1: y = b; break; default: y = c; }
 *     →   if (k === 0) x = a;   if (k === 0 || k === 1) y = b; else y = c;
 */
import type { Statement, SwitchCase, SwitchStatement } from 'acorn';
import { conjunction, disjunction, negation } from './choice.js';
import type { Expressions } from './expressions.js';
import type { State } from './state.js';
import type { Condition } from './value.js';
import type { Scope } from './variables.js';

/** Runs statements that follow one another in a scope. */
export type RunStatements = (statements: readonly Statement[], scope: Scope, state: State) => void;

/** `scope`: that of the block, which all cases share. */
export function runSwitch(
  expressions: Expressions,
  { discriminant, cases }: SwitchStatement,
  scope: Scope,
  state: State,
  run: RunStatements,
): void {
  const begins = beginnings(expressions, discriminant, cases, scope, state);
  let reached: Condition = false;
  cases.forEach(({ consequent }, k) => {
    reached = disjunction(reached, begins[k]!);
    const entered = reached;
    state.proceed((path) => {
      underCondition(path, entered, (inner) => run(consequent, scope, inner));
    });
  });
  // Each `break` that is left is the switch's own.
  state.broken = false;
}

/** For each case, the condition under which the statements begin with it. */
function beginnings(
  expressions: Expressions,
  discriminant: SwitchStatement['discriminant'],
  cases: readonly SwitchCase[],
  scope: Scope,
  state: State,
): Condition[] {
  const value = expressions.operand(discriminant, scope, state);
  let rest: Condition = true;
  const begins = cases.map(({ test }): Condition => {
    if (!test || rest === false) return false;
    let isEqual: Condition = false;
    underCondition(state, rest, (path) => {
      isEqual = expressions.isStrictlyEqual(test, value, scope, path);
    });
    const begin = conjunction(rest, isEqual);
    rest = conjunction(rest, negation(isEqual));
    return begin;
  });
  return begins.map((begin, k) => (cases[k]!.test ? begin : rest));
}

/** Runs a part on the paths of a state on which a condition holds. */
function underCondition(state: State, condition: Condition, run: (state: State) => void): void {
  if (condition === false) return;
  if (condition === true) {
    run(state);
    return;
  }
  const [yes, no] = [state.fork(condition), state.fork(negation(condition))];
  run(yes);
  state.merge(condition, yes, no);
}
