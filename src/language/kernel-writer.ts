/**
 * Writes the instructions of a kernel's program: expressions of scalars, whose leaves stand for registers, become
 * instructions in the order in which they are needed.
 *
 * Integers without a dtype (literals, places of threads, counters) are int32 where all arrays and the grid are short
 * enough, and else int64.
 */
import { type DType, isHalf } from '../graph/dtype.js';
import type { Expr, ExprOf } from '../graph/expr.js';
import { constant, isExpr } from '../graph/infer.js';
import type { KernelInstruction } from '../graph/kernel-program.js';
import { argumentLike } from '../graph/loops.js';
import { convertScalar, inRange } from '../graph/scalar.js';
import { expected, RangeArgumentError } from '../host/errors.js';
import { NoOperator } from './arithmetic.js';
import { numeric } from './operands.js';
import type { StateType } from './state-types.js';
import type { Operand } from './value.js';

/** An instruction that gives a value, without the register that takes it. */
type Giving = KernelInstruction extends infer I
  ? I extends { readonly to: number }
    ? Omit<I, 'to'>
    : never
  : never;

export class KernelWriter {
  readonly registers: DType[] = [];
  readonly #isWide: boolean;
  readonly #placeholders = new Map<Expr, number>();
  #list: KernelInstruction[] = [];

  constructor(isWide: boolean) {
    this.#isWide = isWide;
  }

  /** The dtype of integers without one. */
  get indexDType(): 'int32' | 'int64' {
    return this.#isWide ? 'int64' : 'int32';
  }

  /** The instructions that a function writes, apart from the others. */
  listOf(write: () => void): KernelInstruction[] {
    const around = this.#list;
    this.#list = [];
    try {
      write();
      return this.#list;
    } finally {
      this.#list = around;
    }
  }

  emit(...instructions: readonly KernelInstruction[]): void {
    this.#list.push(...instructions);
  }

  /** A new register, and the scalar that stands for it. */
  variable(type: StateType): { readonly register: number; readonly value: Expr } {
    const register = this.registers.push(this.#isNarrowType(type) ? this.indexDType : type.dtype) - 1;
    const value = argumentLike(constant(0, type.dtype), register, type.weak);
    this.#placeholders.set(value, register);
    return { register, value };
  }

  /** The value of an instruction. */
  given(type: StateType, make: (to: number) => KernelInstruction): Expr {
    const { register, value } = this.variable(type);
    this.emit(make(register));
    return value;
  }

  /** A value that stays what it is, whatever is assigned later. */
  settled(value: Operand, type: StateType): Expr {
    return this.given(type, (to) => ({ kind: 'copy', to, from: this.register(value, type) }));
  }

  /** Assigns a register. */
  assign(to: number, value: Operand, type: StateType): void {
    this.emit({ kind: 'copy', to, from: this.register(value, type) });
  }

  /** The register of a value in the dtype of a type. */
  register(value: Operand, type: StateType): number {
    const held = type.dtype === 'bool' ? value : numeric(value);
    const dtype = this.#isNarrowType(type) ? this.indexDType : type.dtype;
    if (!isExpr(held)) {
      // A literal without a dtype would change its value.
      if (this.#isNarrowType(type) && typeof held !== 'object' && !inRange(Number(held), dtype))
        throw new RangeArgumentError(expected('kernel', `an integer of ${dtype}`, `${held}`));
      return this.#constant(convertScalar(held, dtype), dtype);
    }
    const found = this.#lowered(held, new Map());
    return this.#cast(found, dtype);
  }

  /** The register of an index: int32 or int64. */
  index(value: Operand): number {
    const held = numeric(value);
    if (!isExpr(held)) return this.#constant(convertScalar(held, this.indexDType), this.indexDType);
    const found = this.#lowered(held, new Map());
    const dtype = this.registers[found];
    if (dtype === 'int32' || dtype === 'int64') return found;
    return this.#cast(
      found,
      dtype === 'uint8' || dtype === 'int8' || dtype === 'uint16' || dtype === 'int16' ? 'int32' : 'int64',
    );
  }

  #isNarrowType({ dtype, weak }: StateType): boolean {
    return weak && dtype === 'int64';
  }

  #add(dtype: DType, giving: Giving): number {
    const to = this.registers.push(dtype) - 1;
    this.emit({ ...giving, to } as KernelInstruction);
    return to;
  }

  #constant(value: Parameters<typeof convertScalar>[0], dtype: DType): number {
    return this.#add(dtype, { kind: 'const', value: convertScalar(value, dtype) });
  }

  #cast(from: number, dtype: DType): number {
    return this.registers[from] === dtype ? from : this.#add(dtype, { kind: 'cast', from });
  }

  #lowered(node: Expr, known: Map<Expr, number>): number {
    const own = this.#placeholders.get(node) ?? known.get(node);
    if (own !== undefined) return own;
    const register = this.#made(node, known);
    known.set(node, register);
    return register;
  }

  #made(node: Expr, known: Map<Expr, number>): number {
    switch (node.kind) {
      case 'const':
        return this.#constant(node.value, this.#isNarrowType(node) ? this.indexDType : node.dtype);
      case 'cast': {
        const from = this.#lowered(node.inputs[0]!, known);
        return this.#cast(from, this.#isNarrowType(node) ? this.indexDType : node.dtype);
      }
      case 'map':
        return this.#map(node, known);
      default:
        // A weak copy of a leaf.
        for (const [leaf, register] of this.#placeholders)
          if (leaf.kind === 'source' && node.kind === 'source' && leaf.source === node.source)
            return register;
        throw new NoOperator('a function with a loop that is not in the kernel');
    }
  }

  #map(node: ExprOf<'map'>, known: Map<Expr, number>): number {
    const { op, inputs } = node;
    const isConstant = (x: Expr): boolean =>
      x.kind === 'const' &&
      (this.#isWide || (typeof x.value !== 'object' && inRange(x.value as bigint, 'int32')));
    // Constants beside integers without a dtype are such, too.
    const others = inputs
      .filter((x) => x.dtype === 'int64' && !isConstant(x))
      .map((x) => this.#lowered(x, known));
    const isNarrow = others.length > 0 && others.every((register) => this.registers[register] === 'int32');
    const args = inputs.map((x) => {
      if (x.dtype === 'int64' && isNarrow && isConstant(x))
        return this.#constant((x as ExprOf<'const'>).value, 'int32');
      const register = this.#lowered(x, known);
      if (isHalf(x.dtype)) return this.#cast(register, 'float32');
      return x.dtype === 'int64' && !isNarrow ? this.#cast(register, 'int64') : register;
    });
    if (isHalf(node.dtype)) return this.#cast(this.#add('float32', { kind: 'map', op, args }), node.dtype);
    const dtype = node.dtype === 'int64' && isNarrow ? 'int32' : node.dtype;
    return this.#add(dtype, { kind: 'map', op, args });
  }
}
