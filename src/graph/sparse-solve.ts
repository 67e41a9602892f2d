/** The solve by factors of a sparse matrix on a GPU, as a node; called by `api/sparse-factors.ts`. */
import { call } from './calls.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast } from './infer.js';
import { transpose } from './views.js';

/** Factors of a matrix of n rows: their number, the memory that stands for them, and their dtype. */
export interface FactorsOnGpu {
  readonly number: number;
  readonly memory: Expr;
  readonly dtype: DType;
}

/** X of A X = B [n, k], of the dtype of the factors. */
export function directSolution(op: string, { number, memory, dtype }: FactorsOnGpu, b: Expr): Expr {
  const [x] = call('sparseSolve', [number], [transpose(cast(b, dtype)), memory], op);
  return transpose(x!);
}
