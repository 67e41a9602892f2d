/**
 * The values that a function of scalars computes while it is traced: constants, which JavaScript itself
 * computes, nodes of a graph of scalars, short local arrays, and local functions.
 */
import type { ArrowFunctionExpression, FunctionDeclaration, FunctionExpression } from 'acorn';
import type { Scalar } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import type { Scope } from './variables.js';

/** A number, bigint, boolean or complex number: known while tracing, or a node. */
export type Operand = Scalar | Expr;

/** A condition: known, or a node of dtype bool. */
export type Condition = boolean | Expr;

/** A local array of fixed length. Writing an element makes another one. */
export class LocalArray {
  constructor(readonly elements: readonly Operand[]) {}
}

/** A variable that has no value yet, or on some paths only. */
export class Unset {
  constructor(readonly isAlways: boolean) {}
}

/** A syntax node that is a function. */
export type FunctionNode = ArrowFunctionExpression | FunctionExpression | FunctionDeclaration;

/** A function declared inside of the traced one; its calls are traced where they stand. */
export class LocalFunction {
  constructor(
    readonly node: FunctionNode,
    readonly scope: Scope,
  ) {}
}

/** A function that the traced one calls: of `Math`, of Weft's, or another traced one. */
export interface Callable {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  apply(args: readonly Value[], path: Condition): Value;
}

export type Value = Operand | LocalArray | LocalFunction | Unset;

export const isOperand = (value: Value): value is Operand =>
  !(value instanceof LocalArray || value instanceof LocalFunction || value instanceof Unset);
