/** Paths and libraries of contractions, as data and as text, for `explain()`. */
import type { ProductLibrary } from '../../graph/expr.js';
import { labelName } from '../../graph/print.js';
import type { PathReport } from '../paths/path-report.js';
import type { Operand } from './product-labels.js';

/** An observer of lowered contractions; paths are made where somebody asks. */
export interface ContractionReport {
  readonly path: (make: () => PathReport) => void;
  readonly choice: (made: ProductChoice) => void;
}

/** The library of a product, for `explain()`. */
export interface ProductChoice {
  readonly subscripts: string;
  readonly library: ProductLibrary;
  readonly reason: string;
  /** Bytes of copies that are made for it, and that cuTENSOR spares or would spare. */
  readonly copiedBytes: number;
  readonly sparedBytes: number;
}

export const subscriptsOf = (a: Operand, b: Operand, output: readonly number[]): string => {
  const text = (labels: readonly number[]): string => labels.map(labelName).join('');
  return `${text(a.labels)},${text(b.labels)}->${text(output)}`;
};

const NAMES: Readonly<Record<ProductLibrary, string>> = {
  cutensor: 'cuTENSOR',
  cublas: 'cuBLAS',
  weft: "a kernel of Weft's own",
};

/** `abcd,dbea->ce by cuTENSOR without …`. */
export const printChoice = ({ subscripts, library, reason }: ProductChoice): string =>
  `${subscripts} by ${NAMES[library]} ${reason}`;
