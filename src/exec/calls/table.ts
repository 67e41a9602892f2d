/**
 * The table of calls: what libraries and routines of Weft's own do as a whole, a row each (`call-row.ts`).
 */

import type { CallNode } from '../../fusion/partition/task-graph.js';
import type { RoutineName } from '../../graph/routines.js';
import { AMONG } from './among.js';
import { ATTENTION } from './attention.js';
import { BIN_SUMS } from './bin-sums.js';
import { BINS, HISTOGRAM } from './bins.js';
import type { CallStep, RoutineStep } from './call.js';
import type { CallRow } from './call-row.js';
import { COMPACT, DISTINCT } from './compact.js';
import { COMPONENTS } from './components.js';
import { FFT, IRFFT, RFFT } from './fft.js';
import { LABELS } from './labels.js';
import {
  CHOLESKY,
  DETERMINANTS,
  EIG,
  EIGH,
  EXPM,
  INVERSE,
  LEAST_SQUARES,
  LU,
  LU_FACTORS,
  LU_PARTS,
  LU_SOLVE,
  Q_OF_QR,
  QR,
  QR_PARTS,
  SMALL_DETERMINANTS,
  SOLVE,
  SVD,
  TRIANGULAR_SOLVE,
} from './linear.js';
import { MEMBERS } from './members.js';
import { PIVOT_ORDER } from './pivot-order.js';
import { CONTRACTION } from './products/contraction.js';
import { MATMUL } from './products/matmul.js';
import type { ContractionStep, MatmulStep } from './products/product-steps.js';
import { RUN_PRODUCTS } from './run-products.js';
import { SCAN, SCAN_TOTALS } from './scan.js';
import { SCAN_BEFORE } from './scan-before.js';
import { RANKS } from './select.js';
import { ARGSORT, SORT } from './sort.js';
import { SPARSE_COMBINE } from './sparse-combine.js';
import { SPARSE_DENSE } from './sparse-dense.js';
import { SPARSE_ELEMENTS } from './sparse-elements.js';
import { SPARSE_GATHER } from './sparse-gather.js';
import { SPARSE_KEPT } from './sparse-kept.js';
import { SPARSE_KRON } from './sparse-kron.js';
import { SPARSE_LU, SPARSE_ORDER } from './sparse-lu.js';
import { SPARSE_MATMUL, SPARSE_MATMUL_COUNTS } from './sparse-matmul.js';
import { SPARSE_MERGE, SPARSE_MERGE_COUNTS } from './sparse-merge.js';
import { SPARSE_PRODUCT } from './sparse-product.js';
import { SPARSE_ROWS } from './sparse-rows.js';
import { SPARSE_SELECT, SPARSE_SELECT_COUNTS } from './sparse-select.js';
import { SPARSE_SOLVE } from './sparse-solve.js';
import { SPARSE_TRANSPOSE } from './sparse-transpose.js';
import { SPARSE_TRIANGULAR_SOLVE } from './sparse-triangular.js';
import { TOP } from './top.js';
import { UNIQUE, UNIQUE_COUNTS } from './unique.js';
import { USER_KERNEL } from './user-kernel.js';
import { WRITE_ROW } from './write-row.js';

type Rows = {
  readonly matmul: CallRow<MatmulStep>;
  readonly contraction: CallRow<ContractionStep>;
} & {
  readonly [Name in RoutineName]: CallRow<RoutineStep>;
};

export const CALLS: Rows = {
  matmul: MATMUL,
  contraction: CONTRACTION,
  sort: SORT,
  argsort: ARGSORT,
  ranks: RANKS,
  top: TOP,
  scan: SCAN,
  scanTotals: SCAN_TOTALS,
  scanBefore: SCAN_BEFORE,
  bins: BINS,
  binSums: BIN_SUMS,
  histogram: HISTOGRAM,
  compact: COMPACT,
  distinct: DISTINCT,
  unique: UNIQUE,
  uniqueCounts: UNIQUE_COUNTS,
  components: COMPONENTS,
  labels: LABELS,
  members: MEMBERS,
  among: AMONG,
  runProducts: RUN_PRODUCTS,
  writeRow: WRITE_ROW,
  sparseProduct: SPARSE_PRODUCT,
  sparseTriangularSolve: SPARSE_TRIANGULAR_SOLVE,
  sparseSolve: SPARSE_SOLVE,
  sparseCombine: SPARSE_COMBINE,
  sparseKept: SPARSE_KEPT,
  sparseKron: SPARSE_KRON,
  sparseGather: SPARSE_GATHER,
  sparseTranspose: SPARSE_TRANSPOSE,
  sparseElements: SPARSE_ELEMENTS,
  sparseOrder: SPARSE_ORDER,
  sparseLu: SPARSE_LU,
  sparseRows: SPARSE_ROWS,
  sparseDense: SPARSE_DENSE,
  sparseMatmulCounts: SPARSE_MATMUL_COUNTS,
  sparseMatmul: SPARSE_MATMUL,
  sparseSelectCounts: SPARSE_SELECT_COUNTS,
  sparseSelect: SPARSE_SELECT,
  sparseMergeCounts: SPARSE_MERGE_COUNTS,
  sparseMerge: SPARSE_MERGE,
  fft: FFT,
  rfft: RFFT,
  irfft: IRFFT,
  lu: LU,
  luFactors: LU_FACTORS,
  luParts: LU_PARTS,
  inverse: INVERSE,
  determinants: DETERMINANTS,
  smallDeterminants: SMALL_DETERMINANTS,
  pivotOrder: PIVOT_ORDER,
  luSolve: LU_SOLVE,
  solve: SOLVE,
  cholesky: CHOLESKY,
  triangularSolve: TRIANGULAR_SOLVE,
  qr: QR,
  qrParts: QR_PARTS,
  qOfQr: Q_OF_QR,
  eigh: EIGH,
  expm: EXPM,
  eig: EIG,
  svd: SVD,
  leastSquares: LEAST_SQUARES,
  attention: ATTENTION,
  kernel: USER_KERNEL,
};

/** The row of a step. */
export const callRow = <Step extends CallStep>({ call }: Step): CallRow<Step> =>
  CALLS[call] as unknown as CallRow<Step>;

/** The row that computes nodes of the graph. */
export const rowOf = ([node]: readonly CallNode[]): CallRow<CallStep> =>
  CALLS[nameOf(node!)] as unknown as CallRow<CallStep>;

function nameOf(node: CallNode): keyof Rows {
  if (node.kind === 'call') return node.routine;
  return node.library === 'cutensor' ? 'contraction' : 'matmul';
}
