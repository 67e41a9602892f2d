/** Products and contractions as steps of a native program. `dtype` is a code (`dtypeCode`). */
import { dtypeCode } from '../../../graph/dtype.js';
import { stretchOf } from './matmul-stretches.js';
import type { ContractionStep, MatmulEpilogue, MatmulStep } from './product-steps.js';

type Sizes = 'm' | 'n' | 'k' | 'batch' | 'outer';

/** A matrix product. Without a workspace, one on the CPU takes memory of its own. */
export interface ProductSpec extends Pick<MatmulStep, Sizes | 'a' | 'b' | 'c' | 'ownKernels' | 'workspace'> {
  readonly kind: 'matmul';
  readonly dtype: number;
  /** Of float32 and complex64: whether a GPU may multiply in TF32. */
  readonly allowsTf32?: boolean;
  /** On a GPU: sums are computed in stretches of so many products, which are added up. */
  readonly stretch?: number | undefined;
  /** On a GPU, by cuBLASLt. */
  readonly epilogue?: (Omit<MatmulEpilogue, 'dtype'> & { readonly dtype: number }) | undefined;
  /** Of a product with an epilogue: an algorithm of cuBLASLt that was measured for it, in words of 32 bits. */
  readonly algorithm?: readonly number[] | undefined;
}

/** A contraction on a GPU, by cuTENSOR. */
export interface ContractionSpec extends Omit<ContractionStep, 'kind' | 'call' | 'dtype' | 'nodes'> {
  readonly kind: 'contraction';
  readonly dtype: number;
}

export type LibrarySpec = ProductSpec | ContractionSpec;

export function specOf(step: MatmulStep): ProductSpec {
  const { dtype, precision, m, n, k, batch, outer, a, b, c, epilogue, workspace, ownKernels } = step;
  const allowsTf32 = precision !== undefined && precision !== 'tf32x3';
  const stretch = precision === 'tf32-stretched' ? stretchOf(k) : undefined;
  const after = epilogue && { ...epilogue, dtype: dtypeCode(epilogue.dtype) };
  return {
    kind: 'matmul',
    dtype: dtypeCode(dtype),
    allowsTf32,
    ownKernels,
    stretch,
    m,
    n,
    k,
    batch,
    ...(outer === undefined ? {} : { outer }),
    a,
    b,
    c,
    epilogue: after,
    workspace,
  };
}

/** A product by cuBLASLt with this algorithm, and with an epilogue: one that does nothing where the step has none. */
export function specWithAlgorithm(step: MatmulStep, algorithm: readonly number[]): ProductSpec {
  return { ...withPlainEpilogue(specOf(step)), algorithm };
}

/** A product as cuBLASLt is given it. */
export function withPlainEpilogue(spec: ProductSpec): ProductSpec {
  const { dtype, epilogue } = spec;
  const plain = { dtype, alpha: 1, beta: 0, addend: undefined, bias: undefined, activation: undefined };
  return { ...spec, epilogue: epilogue ?? plain };
}
