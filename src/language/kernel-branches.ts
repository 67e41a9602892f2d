/**
 * `switch` and `for … of` in a kernel's function, by scopes that `break` and `continue` leave. A switch finds the case that
 * it enters first; the statements of the later ones follow.
 *
 *     switch (k) { case 0: a; break; case 1: b; default: c }
 *     →   entry = k === 0 ? 0 : k === 1 ? 1 : 2;   if (entry <= 0) { a; leave }   if (entry <= 1) b;   if (entry <= 2) c
 */
import type { ForOfStatement, Pattern, Statement, SwitchStatement } from 'acorn';
import type { KernelInstruction } from '../graph/kernel-program.js';
import { binary } from './arithmetic.js';
import type { KernelExpressions } from './kernel-expressions.js';
import { type KernelValue, LocalElements, Register } from './kernel-values.js';
import { built } from './refusals.js';
import type { Source } from './source.js';
import { typeOf } from './state-types.js';
import type { Condition, Operand } from './value.js';
import { Scope } from './variables.js';

/** The tracing of statements: `kernel-tracer.ts`. */
export interface KernelStatements {
  readonly expressions: KernelExpressions;
  /** The number of a new scope of the program. */
  newScope(): number;
  /** The instructions of statements under a condition. */
  inner(run: () => void): KernelInstruction[];
  run(statement: Statement, scope: Scope): void;
  bind(pattern: Pattern, value: KernelValue, scope: Scope, isConstant: boolean): void;
  /** Runs with other scopes that `break`, and `continue` where it is given, leave. */
  leaving(scopes: { readonly end: number; readonly next?: number }, run: () => void): void;
}

const BOOL = { dtype: 'bool', weak: false } as const;

export function traceSwitch(statements: KernelStatements, node: SwitchStatement, outer: Scope): void {
  const { expressions, inner } = statements;
  const { source, writer, variables } = expressions;
  const { cases } = node;
  const given = expressions.operand(node.discriminant, outer);
  const value = writer.settled(given, typeOf(given));
  const scope = new Scope(outer);
  const entry = variables.temporary(node, { dtype: 'int64', weak: true });
  const other = cases.findIndex(({ test }) => !test);
  const registerOf = (of: () => Condition): number =>
    writer.register(built(source, node, of) as Operand, BOOL);
  const find = (at: number): void => {
    const own = cases.findIndex(({ test }, k) => k >= at && test);
    if (own < 0) {
      variables.assign(entry, other < 0 ? cases.length : other);
      return;
    }
    const tested = expressions.operand(cases[own]!.test!, scope);
    const condition = registerOf(() => binary('===', value, tested) as Condition);
    const yes = inner(() => variables.assign(entry, own));
    writer.emit({ kind: 'if', condition, yes, no: inner(() => find(own + 1)) });
  };
  find(0);
  const end = statements.newScope();
  const body = writer.listOf(() =>
    statements.leaving({ end }, () => {
      for (const [k, { consequent }] of cases.entries()) {
        if (consequent.length === 0) continue;
        const condition = registerOf(() => binary('<=', entry.value, k) as Condition);
        const yes = inner(() => {
          for (const statement of consequent) statements.run(statement, scope);
        });
        writer.emit({ kind: 'if', condition, yes, no: [] });
      }
    }),
  );
  writer.emit({ kind: 'scope', id: end, body });
}

/** Goes through a local array, whose length is known. */
export function traceForOf(statements: KernelStatements, node: ForOfStatement, outer: Scope): void {
  const { expressions, inner } = statements;
  const { writer } = expressions;
  const source: Source = expressions.source;
  const { left, right, body } = node;
  if (node.await) source.refuse(node, 'a loop that is not async');
  const array = expressions.value(right, outer);
  if (!(array instanceof LocalElements)) source.refuse(right, 'a local array to go through');
  if (left.type !== 'VariableDeclaration' || left.kind === 'var')
    source.refuse(left, 'let or const in a loop over an array');
  const end = statements.newScope();
  const whole = writer.listOf(() => {
    for (const each of array.elements) {
      const next = statements.newScope();
      const own = inner(() =>
        statements.leaving({ end, next }, () => {
          const scope = new Scope(outer);
          const element = each instanceof Register ? each.value : each;
          statements.bind(left.declarations[0]!.id, element, scope, left.kind === 'const');
          statements.run(body, new Scope(scope));
        }),
      );
      writer.emit({ kind: 'scope', id: next, body: own });
    }
  });
  writer.emit({ kind: 'scope', id: end, body: whole });
}
