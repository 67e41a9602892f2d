/**
 * Traces the statements of a function. Branches are traced both, and their variables chosen from; loops whose
 * steps are known are unrolled, others become nodes (`loops.ts`).
 */
import type {
  AnyNode,
  BlockStatement,
  Expression,
  ForOfStatement,
  ForStatement,
  Identifier,
  IfStatement,
  Pattern,
  ReturnStatement,
  Statement,
  SwitchStatement,
  VariableDeclaration,
} from 'acorn';
import { isOwnError } from '../host/errors.js';
import { hoistedNames } from './assigned.js';
import { bind, initial, setVariable } from './assignments.js';
import { NoChoice, negation } from './choice.js';
import { Expressions } from './expressions.js';
import { type LoopSyntax, unroll, unrollOver } from './loops.js';
import type { Names } from './names.js';
import { repeat } from './repeat.js';
import type { Source } from './source.js';
import { State } from './state.js';
import { runSwitch } from './switches.js';
import { type FunctionNode, LocalArray, LocalFunction, Unset, type Value } from './value.js';
import { Scope, Variable } from './variables.js';

const REFUSED: Readonly<Record<string, string>> = {
  ClassDeclaration: 'a class',
  DebuggerStatement: 'debugger',
  ForInStatement: 'for … in',
  LabeledStatement: 'a label',
  ThrowStatement: 'throw',
  TryStatement: 'try',
  WithStatement: 'with',
};

/** Calls that are open, of local functions in each other. */
const MOST_CALLS = 64;

export class Tracer {
  readonly source: Source;
  readonly expressions: Expressions;
  readonly #calls: FunctionNode[] = [];

  constructor(source: Source, names: Names) {
    this.source = source;
    this.expressions = new Expressions(source, names, (fn, args, state) => this.call(fn, args, state));
  }

  /** The result of a function for some arguments. */
  call({ node, scope: outer }: LocalFunction, args: readonly Value[], around: State): Value {
    if (this.#calls.includes(node) || this.#calls.length > MOST_CALLS)
      this.source.refuse(node, 'a function that does not call itself');
    const state = new State(around.path, around.values.size > 0);
    state.values = new Map(around.values);
    this.#calls.push(node);
    try {
      this.#run(node, args, new Scope(outer), state);
    } finally {
      this.#calls.pop();
    }
    // Variables around a local function may have changed.
    for (const variable of around.values.keys()) around.values.set(variable, state.values.get(variable)!);
    if (state.returned !== true || state.result === undefined || state.result instanceof Unset)
      this.source.refuse(node, 'a value returned on every path', 'a path without one');
    return state.result;
  }

  #run(node: FunctionNode, args: readonly Value[], scope: Scope, state: State): void {
    this.#parameters(node, args, scope, state);
    const { body } = node;
    if (body.type === 'BlockStatement') {
      for (const name of hoistedNames(body)) {
        if (!scope.has(name)) state.values.set(scope.declare(new Variable(name, false)), new Unset(true));
      }
      this.#block(body.body, scope, state);
    } else {
      state.result = this.expressions.value(body, scope, state);
      state.returned = true;
    }
  }

  #parameters({ params }: FunctionNode, args: readonly Value[], scope: Scope, state: State): void {
    params.forEach((parameter, k) => {
      let [pattern, value] = [parameter, args[k]];
      if (pattern.type === 'AssignmentPattern') {
        value ??= this.expressions.value(pattern.right, scope, state);
        pattern = pattern.left;
      }
      if (pattern.type !== 'Identifier' && pattern.type !== 'ArrayPattern')
        this.source.refuse(pattern, 'a parameter by name');
      bind(this.expressions, pattern, value ?? new Unset(true), (target, each) => {
        state.values.set(scope.declare(new Variable(target.name, false, true)), each);
      });
    });
  }

  // ---------------------------------------------------------------- statements

  #block(statements: readonly AnyNode[], scope: Scope, state: State): void {
    this.#functions(statements, scope, state);
    this.#from(0, statements, scope, state);
  }

  /** Functions are there before the statements of their block. */
  #functions(statements: readonly AnyNode[], scope: Scope, state: State): void {
    for (const statement of statements) {
      if (statement.type !== 'FunctionDeclaration') continue;
      const variable = scope.declare(new Variable(statement.id!.name, true));
      state.values.set(variable, this.expressions.local(statement as FunctionNode, scope));
    }
  }

  #from(first: number, statements: readonly AnyNode[], scope: Scope, state: State): void {
    for (let k = first; k < statements.length; k++) {
      if (state.exited === true) return;
      if (state.exited !== false) {
        this.source.located(statements[k]!, () =>
          state.proceed((rest) => this.#from(k, statements, scope, rest)),
        );
        return;
      }
      this.statement(statements[k] as Statement, scope, state);
    }
  }

  statement(node: Statement | VariableDeclaration, scope: Scope, state: State): void {
    switch (node.type) {
      case 'EmptyStatement':
      case 'FunctionDeclaration':
        return;
      case 'BlockStatement':
        this.#block((node as BlockStatement).body, new Scope(scope), state);
        return;
      case 'ExpressionStatement':
        this.expressions.value(node.expression, scope, state);
        return;
      case 'VariableDeclaration':
        this.#declaration(node, scope, state);
        return;
      case 'IfStatement':
        this.#if(node, scope, state);
        return;
      case 'ReturnStatement':
        this.#return(node, scope, state);
        return;
      case 'ForStatement':
        this.#for(node, scope, state);
        return;
      case 'ForOfStatement':
        this.#forOf(node, scope, state);
        return;
      case 'WhileStatement':
        this.#loop({ node, test: node.test, body: node.body, testsFirst: true }, scope, state);
        return;
      case 'DoWhileStatement':
        this.#loop({ node, test: node.test, body: node.body, testsFirst: false }, scope, state);
        return;
      case 'SwitchStatement':
        this.#switch(node, scope, state);
        return;
      case 'BreakStatement':
      case 'ContinueStatement':
        if (node.label) this.source.refuse(node, 'loops without labels');
        if (node.type === 'BreakStatement') state.broken = true;
        else state.continued = true;
        return;
      default:
        this.source.refuse(
          node,
          'if, switch, for, while, do, let, const, return',
          REFUSED[node.type] ?? node.type,
        );
    }
  }

  #declaration({ kind, declarations }: VariableDeclaration, scope: Scope, state: State): void {
    for (const { id, init } of declarations) {
      const value = init ? initial(this.expressions, init, scope, state) : new Unset(true);
      this.#declared(kind, id, value, scope, state);
    }
  }

  #declared(kind: VariableDeclaration['kind'], id: Pattern, value: Value, scope: Scope, state: State): void {
    bind(this.expressions, id, value, ({ name }: Identifier, each) => {
      const known = kind === 'var' ? scope.find(name) : undefined;
      if (known !== undefined && each instanceof Unset) return;
      state.values.set(known ?? scope.declare(new Variable(name, kind === 'const')), each);
    });
  }

  #if({ test, consequent, alternate, ...node }: IfStatement, scope: Scope, state: State): void {
    const condition = this.expressions.condition(test, scope, state);
    if (typeof condition === 'boolean') {
      const taken = condition ? consequent : alternate;
      if (taken) this.statement(taken, new Scope(scope), state);
      return;
    }
    const [yes, no] = [state.fork(condition), state.fork(negation(condition))];
    this.statement(consequent, new Scope(scope), yes);
    if (alternate) this.statement(alternate, new Scope(scope), no);
    this.#merged(node, () => state.merge(condition, yes, no));
  }

  #switch(node: SwitchStatement, outer: Scope, state: State): void {
    const scope = new Scope(outer);
    this.#functions(
      node.cases.flatMap(({ consequent }) => consequent),
      scope,
      state,
    );
    this.#merged(node, () =>
      runSwitch(this.expressions, node, scope, state, (statements, within, path) =>
        this.#from(0, statements, within, path),
      ),
    );
  }

  #merged(node: Pick<AnyNode, 'start' | 'end'>, merge: () => void): void {
    try {
      this.source.located(node, merge);
    } catch (error) {
      if (isOwnError(error) || !(error instanceof NoChoice)) throw error;
      this.source.refuse(node, 'values of one kind on both paths', error.message);
    }
  }

  #return({ argument, ...node }: ReturnStatement, scope: Scope, state: State): void {
    if (!argument) this.source.refuse(node, 'a value to return', 'return without one');
    state.result = this.expressions.value(argument as Expression, scope, state);
    state.returned = true;
    if (state.result instanceof LocalFunction) this.source.refuse(node, 'a number to return', 'a function');
  }

  #loop(loop: LoopSyntax, scope: Scope, state: State): void {
    const unrolled = state.fork(true);
    if (unroll(this, loop, scope, unrolled)) state.merge(true, unrolled, unrolled);
    else repeat(this, loop, scope, state);
  }

  #for({ init, test, update, body, ...node }: ForStatement, outer: Scope, state: State): void {
    const scope = new Scope(outer);
    if (init?.type === 'VariableDeclaration') this.statement(init, scope, state);
    else if (init) this.expressions.value(init, scope, state);
    this.#loop(
      { node, test: test ?? undefined, update: update ?? undefined, body, testsFirst: true },
      scope,
      state,
    );
  }

  /** The elements of an array of fixed length. */
  #forOf({ left, right, body, await: isAsync, ...node }: ForOfStatement, outer: Scope, state: State): void {
    if (isAsync) this.source.refuse(node, 'a loop that is not async');
    const array = this.expressions.value(right, outer, state);
    if (!(array instanceof LocalArray)) this.source.refuse(right, 'an array to go through');
    this.source.located(node, () =>
      unrollOver(array.elements, state, (element, path) => {
        const scope = new Scope(outer);
        if (left.type === 'VariableDeclaration')
          this.#declared(left.kind, left.declarations[0]!.id, element, scope, path);
        else
          bind(this.expressions, left, element, (target, each) =>
            setVariable(this.expressions, target, each, scope, path),
          );
        this.statement(body, scope, path);
      }),
    );
  }
}
