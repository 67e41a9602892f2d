/** The facts and traits that lowering contractions goes by, per target. Made by `lower-contractions.ts`. */
import type { DType } from '../../graph/dtype.js';
import type { MutableGraph } from '../../graph/graph.js';
import type { Readable } from '../partition/operands.js';
import type { ContractionPath } from '../paths/contraction-path.js';
import type { ContractionReport } from './contraction-report.js';
import type { ProductSize } from './kernel-contractions.js';
import type { CallTraits } from './product-costs.js';
import type { Editor } from './rewrite.js';
import type { TensorTraits } from './tensor-products.js';

/** Whether a product of these operands is better not left to a library. */
export type InKernel = (dtype: DType, left: number, right: number, size: ProductSize) => boolean;
export const NEVER: InKernel = () => false;

/** Of a target that multiplies in TF32. */
export interface Tf32Traits {
  /**
   * Of so many results on, three products are as exact as one in float32: the sums of fewer are split among
   * multiprocessors there, which makes them more exact.
   */
  readonly leastResults: number;
  /**
   * Of sums of so many terms on, the two products with the small parts are of bfloat16, in half the time: their
   * roundings average out.
   */
  readonly leastNarrowTerms: number;
}

/** The facts that lowering one contraction needs. */
export interface Context {
  readonly editor: Editor;
  readonly graph: MutableGraph;
  readonly inKernel: InKernel;
  /** The operands that the target's matrix products read where they lie. */
  readonly isReadable: Readable;
  /** Bytes of a copy that is made of an operand for the library alone. */
  readonly copiedBytes: (id: number) => number;
  /** Without them, the way that copies the fewest bytes is the best. */
  readonly calls: CallTraits | undefined;
  readonly tf32: Tf32Traits | undefined;
  readonly tensors: TensorTraits | undefined;
  readonly hasOwnProducts: boolean;
  /** Whether a node is a result, or several nodes read it. */
  readonly isShared: (id: number) => boolean;
  /** By node: the paths of contractions of more than two operands. */
  readonly paths: ReadonlyMap<number, ContractionPath>;
  /** The products for libraries that were made, which stay as they are. */
  readonly made: Set<number>;
  readonly report: ContractionReport | undefined;
}
