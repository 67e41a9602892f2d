/**
 * The costs of the ways to give a product to a library of matrix products. Made by `product-ways.ts`, compared with
 * cuTENSOR's in `tensor-products.ts`.
 */
import type { DType } from '../../graph/dtype.js';
import type { Precision } from '../../graph/expr.js';
import type { ProductSize } from './kernel-contractions.js';
import type { PairProduct } from './product-labels.js';

/** The times of a target whose library reads some operands as copies alone. */
export interface CallTraits {
  /** Bytes of copies that are made in a second, each written and read once more. */
  readonly copyRate: number;
  /** Seconds of a copy beside that. */
  readonly copySeconds: number;
  /** Seconds of each call after the first beside its own. */
  readonly callSeconds: number;
  /** Seconds of one call of the library. */
  readonly seconds: (size: ProductSize, dtype: DType, precision: Precision | undefined) => number;
  /** Seconds that several calls on operands as they lie take longer, for a multiplication and an addition. */
  readonly lostSeconds: (dtype: DType, precision: Precision | undefined) => number;
}

export interface ProductWay extends PairProduct {
  /** Whether each batch label is an axis of its own. */
  readonly isApart: boolean;
  /** Labels along which operands are reversed, and the result with them. */
  readonly reversed: readonly number[];
}

export interface WayCost {
  readonly way: ProductWay;
  /** Its operands as stacks of matrices. */
  readonly stacks: readonly [left: number, right: number];
  /** Bytes of copies of the operands, and of the result where it is stored in another order. */
  readonly copiedBytes: number;
  /** Calls of the library. */
  readonly calls: number;
  readonly seconds: number;
}

/** The way that is taken, and others for comparison. */
export interface ChosenWay extends WayCost {
  /** The fastest with a single call. */
  readonly single: WayCost;
  /** The fastest in several calls, where one was tried. */
  readonly several: WayCost | undefined;
}
