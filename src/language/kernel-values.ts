/** The values of a kernel's function while it is traced, beside those of functions of scalars. */
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import type { StateType } from './state-types.js';
import type { FunctionNode, Operand } from './value.js';
import type { Scope } from './variables.js';

/** An array: a parameter of the kernel, or shared memory. */
export class ArrayView {
  constructor(
    readonly name: string,
    /** Its place in the program's arrays. */
    readonly array: number,
    readonly dtype: DType,
    /** Sizes that are known, of shared memory; else values of the launch. */
    readonly shape: readonly Operand[],
    readonly size: Operand,
    readonly isWritable: boolean,
  ) {}
}

/** The sizes of an array. */
export class ShapeView {
  constructor(readonly sizes: readonly Operand[]) {}
}

/** `threadIdx`, `blockIdx`, `blockDim` or `gridDim`. */
export class Places {
  constructor(readonly of: 'threadIdx' | 'blockIdx' | 'blockDim' | 'gridDim') {}
}

/** The first parameter. */
export class Context {}

/** A function of the first parameter. */
export class ContextFunction {
  constructor(readonly name: string) {}
}

/** A word, such as a dtype. */
export class Text {
  constructor(readonly text: string) {}
}

/** A variable that changes, in a register of its own. */
export class Register {
  constructor(
    readonly register: number,
    readonly value: Expr,
    readonly type: StateType,
    /** Its declaration, and the element of a local array that it is. */
    readonly key: string,
  ) {}
}

/** A local array of fixed length, an element a register or a number that is known. */
export class LocalElements {
  constructor(readonly elements: readonly (Register | Operand)[]) {}
}

/** A function inside of the kernel's; its calls are traced where they stand. */
export class InnerFunction {
  constructor(
    readonly node: FunctionNode,
    readonly scope: Scope,
  ) {}
}

export type KernelValue =
  | Operand
  | ArrayView
  | ShapeView
  | Places
  | Context
  | ContextFunction
  | Text
  | LocalElements
  | InnerFunction;

const CLASSES = [ArrayView, ShapeView, Places, Context, ContextFunction, Text, LocalElements, InnerFunction];

export const isNumber = (value: KernelValue): value is Operand =>
  !CLASSES.some((type) => value instanceof type);
