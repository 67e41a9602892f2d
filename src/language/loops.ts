/**
 * Unrolls the loops of a function whose conditions are known while it is traced, where they are short. Others
 * become nodes (`repeat.ts`).
 */
import type { Expression, Statement } from 'acorn';
import type { Expressions } from './expressions.js';
import type { Node, Source } from './source.js';
import type { State } from './state.js';
import type { Condition } from './value.js';
import { Scope } from './variables.js';

/** A loop of any kind. */
export interface LoopSyntax {
  readonly node: Node;
  readonly test?: Expression | undefined;
  readonly update?: Expression | undefined;
  readonly body: Statement;
  /** Whether the condition is looked at before the first step. */
  readonly testsFirst: boolean;
}

/** The tracer, as loops need it. */
export interface LoopTracer {
  readonly source: Source;
  readonly expressions: Expressions;
  statement(node: Statement, scope: Scope, state: State): void;
}

/** The most steps that are unrolled, and of a loop that a condition on data may end. */
const MOST_STEPS = 32;
const MOST_CONDITIONAL_STEPS = 8;

/** The number of steps is not known, or is large. */
class NotUnrolled extends Error {}

/** Runs the steps on a state; false: it is not known how many there are, or they are too many. */
export function unroll(tracer: LoopTracer, loop: LoopSyntax, scope: Scope, state: State): boolean {
  try {
    steps(tracer, loop, scope, state, 0, MOST_STEPS);
  } catch (error) {
    if (error instanceof NotUnrolled) return false;
    throw error;
  }
  state.broken = false;
  return true;
}

/** Runs a step for each of some elements, one after the other. */
export function unrollOver<Element>(
  elements: readonly Element[],
  state: State,
  step: (element: Element, state: State) => void,
): void {
  const from = (first: number, path: State): void => {
    for (let k = first; k < elements.length; k++) {
      step(elements[k]!, path);
      path.continued = false;
      if (path.exited === true) return;
      if (path.exited !== false) {
        path.proceed((rest) => from(k + 1, rest));
        return;
      }
    }
  };
  from(0, state);
  state.broken = false;
}

/** Runs the steps from one on. */
function steps(
  tracer: LoopTracer,
  loop: LoopSyntax,
  scope: Scope,
  state: State,
  first: number,
  most: number,
): void {
  for (let step = first; ; step++) {
    if (loop.testsFirst || step > 0) {
      const goesOn = conditionOf(tracer, loop, scope, state);
      if (typeof goesOn !== 'boolean') throw new NotUnrolled();
      if (!goesOn) return;
    }
    if (step >= most) throw new NotUnrolled();
    tracer.statement(loop.body, new Scope(scope), state);
    state.continued = false;
    if (state.exited === true) return;
    const update = (path: State): void => {
      if (loop.update) tracer.expressions.value(loop.update, scope, path);
    };
    if (state.exited !== false) {
      state.proceed((rest) => {
        update(rest);
        steps(tracer, loop, scope, rest, step + 1, MOST_CONDITIONAL_STEPS);
      });
      return;
    }
    update(state);
  }
}

/** The condition of a loop, which may assign variables. */
export const conditionOf = (
  { expressions }: LoopTracer,
  { test }: LoopSyntax,
  scope: Scope,
  state: State,
): Condition => (test === undefined ? true : expressions.condition(test, scope, state));
