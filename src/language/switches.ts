/**
 * `switch`: its cases are compared one after the other until one is equal; the statements from there on run up to a
 * `break`. Statements that several cases reach are traced for each, so that what every path does is known.
 *
 *     switch (k) { case 0: x = a; case 1: y = b; break; default: y = c; }
 *     →   if (k === 0) { x = a; y = b; } else if (k === 1) y = b; else y = c;
 */
import type { Expression, Statement, SwitchStatement } from 'acorn';
import { disjunction, negation } from './choice.js';
import type { Expressions } from './expressions.js';
import type { State } from './state.js';
import type { Condition, Operand } from './value.js';
import type { Scope } from './variables.js';

/** Runs statements that follow one another in a scope. */
export type RunStatements = (statements: readonly Statement[], scope: Scope, state: State) => void;

/** Cases without statements between them. */
interface Entry {
  readonly tests: readonly Expression[];
  readonly isDefault: boolean;
  /** The statements from here on, through later cases: `break` ends them. */
  readonly statements: readonly Statement[];
}

/** `scope`: that of the block, which all cases share. */
export function runSwitch(
  expressions: Expressions,
  node: SwitchStatement,
  scope: Scope,
  state: State,
  run: RunStatements,
): void {
  const value = expressions.operand(node.discriminant, scope, state);
  const entries = entriesOf(node);
  const enter = (at: number, path: State): void => {
    const entry = entries[at];
    if (entry === undefined) {
      const other = entries.find(({ isDefault }) => isDefault);
      if (other !== undefined) run(other.statements, scope, path);
      return;
    }
    const condition = isAnyOf(expressions, entry.tests, value, scope, path);
    if (condition === true) run(entry.statements, scope, path);
    else if (condition === false) enter(at + 1, path);
    else {
      const [yes, no] = [path.fork(condition), path.fork(negation(condition))];
      run(entry.statements, scope, yes);
      enter(at + 1, no);
      path.merge(condition, yes, no);
    }
  };
  enter(0, state);
  // Each `break` that is left is the switch's own.
  state.broken = false;
}

function entriesOf({ cases }: SwitchStatement): Entry[] {
  const entries: Entry[] = [];
  let [tests, isDefault]: [Expression[], boolean] = [[], false];
  cases.forEach(({ test, consequent }, k) => {
    if (test) tests.push(test);
    else isDefault = true;
    if (consequent.length === 0 && k + 1 < cases.length) return;
    entries.push({ tests, isDefault, statements: cases.slice(k).flatMap((each) => each.consequent) });
    [tests, isDefault] = [[], false];
  });
  return entries;
}

function isAnyOf(
  expressions: Expressions,
  tests: readonly Expression[],
  value: Operand,
  scope: Scope,
  state: State,
): Condition {
  let found: Condition = false;
  for (const test of tests)
    found = disjunction(found, expressions.isStrictlyEqual(test, value, scope, state));
  return found;
}
