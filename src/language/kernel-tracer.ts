/**
 * Traces the function of a kernel: its statements become instructions of a program (`graph/kernel-program.ts`), in
 * their order. Conditions and loops stay what they are; expressions of numbers are those of functions of scalars.
 *
 * The dtype of a variable is one that holds all that is assigned to it: the function is traced again where an
 * assignment needs a wider one.
 */
import type {
  AnyNode,
  Expression,
  ForStatement,
  Identifier,
  IfStatement,
  Pattern,
  ReturnStatement,
  Statement,
  VariableDeclaration,
} from 'acorn';
import type { DType } from '../graph/dtype.js';
import type { KernelInstruction, KernelProgram } from '../graph/kernel-program.js';
import { assignedNames } from './assigned.js';
import { KernelArrays } from './kernel-arrays.js';
import { type KernelStatements, traceForOf, traceSwitch } from './kernel-branches.js';
import { KernelExpressions } from './kernel-expressions.js';
import {
  ArrayView,
  Context,
  type InnerFunction,
  isNumber,
  type KernelValue,
  type Register,
} from './kernel-values.js';
import { KernelVariables, type RegisterTypes } from './kernel-variables.js';
import { KernelWriter } from './kernel-writer.js';
import type { Names } from './names.js';
import type { Node, Source } from './source.js';
import { typeOf } from './state-types.js';
import type { Condition, FunctionNode, Operand } from './value.js';
import { Scope } from './variables.js';

/** A parameter of the function behind its first one. */
export type KernelParameter =
  | {
      readonly name: string;
      readonly kind: 'input' | 'output';
      readonly at: number;
      readonly dtype: DType;
      readonly ndim: number;
    }
  | { readonly name: string; readonly kind: 'scalar'; readonly at: number; readonly dtype: DType };

const REFUSED: Readonly<Record<string, string>> = {
  ClassDeclaration: 'a class',
  ForInStatement: 'for … in',
  LabeledStatement: 'a label',
  ThrowStatement: 'throw',
  TryStatement: 'try',
};

/** Calls that are open, of inner functions in each other. */
const MOST_CALLS = 64;
/** Types change a few times at most. */
const MOST_ROUNDS = 12;

/** The program of a kernel's function for parameters of some dtypes; `isWide`: integers without one have 64 bits. */
export function traceKernel(
  source: Source,
  names: Names,
  parameters: readonly KernelParameter[],
  isWide: boolean,
): KernelProgram {
  const types: RegisterTypes = new Map();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const tracer = new KernelTracer(source, names, types, isWide);
    const program = tracer.program(parameters);
    if (!tracer.isWider) return program;
  }
  return source.refuse(source.node, 'variables of one dtype');
}

/** A function that is being traced. */
interface Frame {
  readonly node: FunctionNode;
  /** The scope that `return` leaves. */
  readonly scope: number;
  result: Register | undefined;
}

class KernelTracer {
  readonly #source: Source;
  readonly #writer: KernelWriter;
  readonly #variables: KernelVariables;
  readonly #arrays: KernelArrays;
  readonly #expressions: KernelExpressions;
  readonly #frames: Frame[] = [];
  readonly #loops: { readonly next: number; readonly end: number }[] = [];
  #scopes = 1;
  /** Conditions and loops around what is traced. */
  #depth = 0;

  constructor(source: Source, names: Names, types: RegisterTypes, isWide: boolean) {
    this.#source = source;
    this.#writer = new KernelWriter(isWide);
    const assigned = assignedNames([source.node]);
    this.#variables = new KernelVariables(source, this.#writer, types, assigned);
    this.#arrays = new KernelArrays(
      source,
      this.#writer,
      () => this.#depth === 0 && this.#frames.length === 1,
    );
    this.#expressions = new KernelExpressions(
      source,
      names,
      this.#writer,
      this.#variables,
      this.#arrays,
      (fn, args) => this.#call(fn, args),
    );
  }

  /** The tracer as `kernel-branches.ts` takes it. */
  get #branches(): KernelStatements {
    return {
      expressions: this.#expressions,
      newScope: () => this.#scopes++,
      inner: (run) => this.#inner(run),
      run: (statement, scope) => this.#statement(statement, scope),
      bind: (pattern, value, scope, isConstant) => this.#bind(pattern, value, scope, isConstant),
      leaving: ({ end, next = this.#loops.at(-1)?.next ?? end }, run) => {
        this.#loops.push({ next, end });
        run();
        this.#loops.pop();
      },
    };
  }

  get isWider(): boolean {
    return this.#variables.isWider;
  }

  program(parameters: readonly KernelParameter[]): KernelProgram {
    const { node } = this.#source;
    if (node.params.length !== parameters.length + 1) {
      const wanted = `${parameters.length + 1} parameters, of the kernel, then ${parameters.map(({ name }) => name).join(', ')}`;
      this.#source.refuse(node, wanted, `${node.params.length}`);
    }
    const values = parameters.map((parameter): KernelValue => {
      const { name, at, dtype } = parameter;
      if (parameter.kind !== 'scalar')
        return this.#arrays.parameter(name, { kind: parameter.kind, at, dtype }, parameter.ndim);
      return this.#arrays.number({ of: 'scalar', at }, { dtype, weak: false });
    });
    const body = this.#writer.listOf(() => {
      this.#frames.push({ node, scope: 0, result: undefined });
      this.#run(node, [new Context(), ...values], new Scope(undefined));
    });
    for (const [k, value] of values.entries())
      if (value instanceof ArrayView && value.isWritable && !this.#arrays.isWritten(value.array))
        this.#source.refuse(
          node.params[k + 1]!,
          `something that is written to the output ${value.name}`,
          'nothing',
        );
    const scalars = parameters.flatMap(({ kind, dtype }) => (kind === 'scalar' ? [dtype] : []));
    const { registers } = this.#writer;
    const { memory, prologue } = this.#arrays;
    return { registers, arrays: memory, scalars, scopes: this.#scopes, body: [...prologue, ...body] };
  }

  // ---------------------------------------------------------------- functions

  #run(node: FunctionNode, args: readonly KernelValue[], scope: Scope): void {
    for (const [k, parameter] of node.params.entries()) {
      if (parameter.type === 'RestElement') this.#source.refuse(parameter, 'parameters by name');
      const isDefault = parameter.type === 'AssignmentPattern';
      const value = args[k] ?? (isDefault ? this.#expressions.value(parameter.right, scope) : undefined);
      if (value === undefined) this.#source.refuse(node, `${node.params.length} arguments`, `${args.length}`);
      this.#bind(isDefault ? parameter.left : parameter, value, scope, false);
    }
    const { body } = node;
    if (body.type === 'BlockStatement') {
      this.#block(body.body, scope);
      return;
    }
    const value = this.#expressions.value(body, scope);
    if (this.#frames.length > 1) this.#returned(body, value);
  }

  #bind(pattern: Pattern, value: KernelValue, scope: Scope, isConstant: boolean): void {
    this.#expressions.bind(pattern, value, (target: Identifier, each) =>
      this.#variables.declare(target, each, scope, isConstant),
    );
  }

  #call({ node, scope: outer }: InnerFunction, args: readonly KernelValue[]): KernelValue | undefined {
    if (this.#frames.some((frame) => frame.node === node) || this.#frames.length > MOST_CALLS)
      this.#source.refuse(node, 'a function that does not call itself');
    const frame: Frame = { node, scope: this.#scopes++, result: undefined };
    this.#frames.push(frame);
    const body = this.#writer.listOf(() => this.#run(node, args, new Scope(outer)));
    this.#frames.pop();
    this.#writer.emit({ kind: 'scope', id: frame.scope, body });
    return frame.result?.value;
  }

  #returned(node: Node, value: KernelValue): void {
    const frame = this.#frames.at(-1)!;
    if (!isNumber(value)) this.#source.refuse(node, 'a number to return');
    frame.result ??= this.#variables.temporary(frame.node, typeOf(value));
    this.#variables.assign(frame.result, value);
  }

  // ---------------------------------------------------------------- statements

  #block(statements: readonly AnyNode[], scope: Scope): void {
    for (const statement of statements) {
      if (statement.type !== 'FunctionDeclaration') continue;
      this.#variables.declare(
        statement.id!,
        this.#expressions.inner(statement as FunctionNode, scope),
        scope,
        true,
      );
    }
    for (const statement of statements) this.#statement(statement as Statement, scope);
  }

  #statement(node: Statement | VariableDeclaration, scope: Scope): void {
    switch (node.type) {
      case 'EmptyStatement':
      case 'FunctionDeclaration':
        return;
      case 'BlockStatement':
        this.#block(node.body, new Scope(scope));
        return;
      case 'ExpressionStatement':
        this.#expressions.value(node.expression, scope);
        return;
      case 'VariableDeclaration':
        this.#declaration(node, scope);
        return;
      case 'IfStatement':
        this.#if(node, scope);
        return;
      case 'ReturnStatement':
        this.#return(node, scope);
        return;
      case 'ForStatement':
        this.#for(node, scope);
        return;
      case 'WhileStatement':
      case 'DoWhileStatement':
        this.#loop(node.type === 'WhileStatement', node.test, undefined, node.body, scope);
        return;
      case 'SwitchStatement':
        traceSwitch(this.#branches, node, scope);
        return;
      case 'ForOfStatement':
        traceForOf(this.#branches, node, scope);
        return;
      case 'BreakStatement':
      case 'ContinueStatement': {
        if (node.label) this.#source.refuse(node, 'loops without labels');
        const { next, end } = this.#loops.at(-1)!;
        this.#writer.emit({ kind: 'leave', id: node.type === 'BreakStatement' ? end : next });
        return;
      }
      default:
        this.#source.refuse(
          node,
          'if, switch, for, while, do, let, const, return',
          REFUSED[node.type] ?? node.type,
        );
    }
  }

  #declaration({ kind, declarations }: VariableDeclaration, scope: Scope): void {
    for (const { id, init } of declarations) {
      if (kind === 'var') this.#source.refuse(id, 'let or const', 'var');
      if (init) this.#bind(id, this.#expressions.value(init, scope), scope, kind === 'const');
      else this.#variables.declare(id as Identifier, undefined, scope, false);
    }
  }

  /** The instructions of statements under a condition, or in a loop. */
  #inner(run: () => void): KernelInstruction[] {
    this.#depth++;
    try {
      return this.#writer.listOf(run);
    } finally {
      this.#depth--;
    }
  }

  #if({ test, consequent, alternate }: IfStatement, scope: Scope): void {
    const condition = this.#expressions.condition(test, scope);
    if (typeof condition === 'boolean') {
      const taken = condition ? consequent : alternate;
      if (taken) this.#statement(taken, new Scope(scope));
      return;
    }
    const register = this.#register(condition);
    const yes = this.#inner(() => this.#statement(consequent, new Scope(scope)));
    const no = this.#inner(() => {
      if (alternate) this.#statement(alternate, new Scope(scope));
    });
    this.#writer.emit({ kind: 'if', condition: register, yes, no });
  }

  #register(condition: Condition): number {
    return this.#writer.register(condition as Operand, { dtype: 'bool', weak: false });
  }

  #return({ argument, ...node }: ReturnStatement, scope: Scope): void {
    const frame = this.#frames.at(-1)!;
    if (argument) {
      if (frame.scope === 0)
        this.#source.refuse(argument, 'a kernel that returns nothing', undefined, 'write to outputs');
      this.#returned(node as Node, this.#expressions.value(argument as Expression, scope));
    }
    this.#writer.emit({ kind: 'leave', id: frame.scope });
  }

  #for({ init, test, update, body }: ForStatement, outer: Scope): void {
    const scope = new Scope(outer);
    if (init?.type === 'VariableDeclaration') this.#statement(init, scope);
    else if (init) this.#expressions.value(init, scope);
    this.#loop(true, test ?? undefined, update ?? undefined, body, scope);
  }

  #loop(
    testsFirst: boolean,
    test: Expression | undefined,
    update: Expression | undefined,
    body: Statement,
    scope: Scope,
  ): void {
    const [next, end] = [this.#scopes++, this.#scopes++];
    let condition = 0;
    const tested = this.#inner(() => {
      condition = this.#register(testsFirst && test ? this.#expressions.condition(test, scope) : true);
    });
    this.#loops.push({ next, end });
    const run = this.#inner(() => this.#statement(body, new Scope(scope)));
    const updated = this.#inner(() => {
      if (update) this.#expressions.value(update, scope);
      if (testsFirst) return;
      const again = this.#register(this.#expressions.condition(test!, scope));
      this.#writer.emit({ kind: 'if', condition: again, yes: [], no: [{ kind: 'leave', id: end }] });
    });
    this.#loops.pop();
    this.#writer.emit({ kind: 'loop', test: tested, condition, body: run, update: updated, next, end });
  }
}
