/** The variables of a kernel's function: what each one is, and the registers of those that change. */
import type { Identifier } from 'acorn';
import { isExpr } from '../graph/infer.js';
import { isNumber, type KernelValue, LocalElements, Register } from './kernel-values.js';
import type { KernelWriter } from './kernel-writer.js';
import type { Node, Source } from './source.js';
import { joined, type StateType, typeOf } from './state-types.js';
import type { Operand } from './value.js';
import { type Scope, Variable } from './variables.js';

/** The dtypes of variables that change, by what declares them: kept from one tracing to the next. */
export type RegisterTypes = Map<string, StateType>;

export class KernelVariables {
  /** Whether an assignment needs a wider dtype than its variable has. */
  isWider = false;
  readonly #values = new Map<Variable, KernelValue | Register>();
  readonly #source: Source;
  readonly #writer: KernelWriter;
  readonly #types: RegisterTypes;
  /** Names that something in the function assigns. */
  readonly #assigned: ReadonlySet<string>;

  constructor(source: Source, writer: KernelWriter, types: RegisterTypes, assigned: ReadonlySet<string>) {
    this.#source = source;
    this.#writer = writer;
    this.#types = types;
    this.#assigned = assigned;
  }

  read(node: Node, variable: Variable): KernelValue {
    const value = this.#values.get(variable);
    if (value === undefined) return this.#source.refuse(node, 'a variable with a value', variable.name);
    return value instanceof Register ? value.value : value;
  }

  /** Declares a name with a value, which it keeps where nothing assigns it. */
  declare(target: Identifier, value: KernelValue | undefined, scope: Scope, isConstant: boolean): void {
    const variable = scope.declare(new Variable(target.name, isConstant));
    this.#values.set(variable, this.#initial(target, value));
  }

  #initial(target: Identifier, value: KernelValue | undefined): KernelValue | Register {
    const changes = this.#assigned.has(target.name);
    if (value instanceof LocalElements && changes) {
      const elements = value.elements.map((each, k) =>
        this.#begun(`${target.start}.${k}`, each instanceof Register ? each.value : each),
      );
      return new LocalElements(elements);
    }
    if (value === undefined) {
      const type = this.#types.get(`${target.start}`) ?? { dtype: 'int64', weak: true };
      return this.#begun(`${target.start}`, 0, type);
    }
    if (!isNumber(value)) return value;
    if (changes) return this.#begun(`${target.start}`, value);
    return isExpr(value) ? this.#writer.settled(value, typeOf(value)) : value;
  }

  /** A register with its first value. */
  #begun(key: string, value: Operand, least?: StateType): Register {
    const type = joined(this.#types.get(key), least ?? typeOf(value));
    this.#types.set(key, type);
    const register = new Register(...this.#new(type), key);
    this.#writer.assign(register.register, value, type);
    return register;
  }

  #new(type: StateType): [register: number, value: Register['value'], type: StateType] {
    const { register, value } = this.#writer.variable(type);
    return [register, value, type];
  }

  /** A register of its own for the value of an expression. */
  temporary(node: Node, least: StateType): Register {
    const key = `value ${node.start}`;
    const type = joined(this.#types.get(key), least);
    this.#types.set(key, type);
    return new Register(...this.#new(type), key);
  }

  assign(register: Register, value: Operand): void {
    const type = joined(register.type, typeOf(value));
    if (type.dtype !== register.type.dtype || type.weak !== register.type.weak) {
      this.isWider = true;
      this.#types.set(register.key, joined(this.#types.get(register.key), type));
    }
    this.#writer.assign(register.register, value, register.type);
  }

  /** The variable that an assignment means. */
  target(node: Identifier, scope: Scope): Register {
    const variable = scope.find(node.name);
    if (variable === undefined)
      return this.#source.refuse(
        node,
        'a variable of the kernel to assign',
        node.name,
        'outputs are elements: y[i] = 1',
      );
    const value = this.#values.get(variable);
    if (variable.isConstant || !(value instanceof Register))
      return this.#source.refuse(node, 'a variable that may change', node.name);
    return value;
  }
}
