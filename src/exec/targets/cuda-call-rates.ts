/**
 * The times by which those of calls on a GPU are predicted (`cuda-call-seconds.ts`): for each routine, by the kernels or the
 * library that computes it and by its way. Fitted to measured calls (`bench/call-corpus.ts`) on an H200.
 */
import type { DType } from '../../graph/dtype.js';
import { CUDA_PRODUCT_RATES } from '../calls/products/product-rates.js';

/** Nanoseconds, but for `moved` and `dtypes`. */
export interface CudaCallRates {
  /** Of a launch, or of a library's call. */
  readonly launch?: number;
  /** Of a step of a row, and of an operation of one: all rows together take as long. */
  readonly step?: number;
  readonly unit?: number;
  /** Of a row and of an operation, on all multiprocessors of the GPU that rates are of. */
  readonly row?: number;
  readonly operation?: number;
  /** How often operands and results pass through memory. */
  readonly moved?: number;
  /** How much slower steps, rows and operations of dtypes are than those that the others are given for. */
  readonly dtypes?: Partial<Readonly<Record<DType, number>>>;
}

/** The GPU that rates are of. */
export const RATED_ON = { multiprocessors: 132 };

type ByWay = Readonly<Record<string, CudaCallRates>>;

export const CUDA_CALL_RATES: Readonly<Record<string, Readonly<Record<string, ByWay>>>> = {
  ...CUDA_PRODUCT_RATES,
  argsort: {
    'clear+sort_begin+sort_count+sort_pass': {
      '': {
        launch: 2120,
        step: 37.5,
        row: 12400,
        operation: 0.00226,
        dtypes: { float16: 0.437, float32: 1, float64: 1.89, int32: 0.644, int64: 1.77, uint8: 0.216 },
      },
    },
    sort_rows: {
      '': {
        launch: 214,
        step: 55.1,
        unit: 0.458,
        operation: 0.00106,
        moved: 1.82,
        dtypes: { float16: 0.799, float32: 1, float64: 2.22, int32: 0.855, int64: 2.04, uint8: 1.69 },
      },
    },
  },
  binSums: {
    'sums_again+sums_at_once+sums_begin+sums_clear_again+sums_finish+sums_scales': {
      '': { launch: 4940 },
    },
  },
  bins: {
    bins: {
      count: { launch: 2150, row: 1.05, moved: 1.12, dtypes: { int32: 1, int64: 0.825 } },
      fixed: { launch: 1980, row: 4.89, dtypes: { float32: 1, float64: 0.968 } },
      scale: { launch: 1630, row: 2.97, dtypes: { float32: 1, float64: 0.965 } },
    },
  },
  cholesky: {
    block_cholesky: {
      '': { step: 250, unit: 0.0189, dtypes: { complex64: 1.8, float32: 1, float64: 1.55 } },
    },
    library: {
      '': {
        launch: 12000,
        step: 306,
        moved: 10.8,
        dtypes: { complex128: 1.29, complex64: 2.19, float32: 1, float64: 1.21 },
      },
    },
    small_cholesky: {
      '': {
        launch: 2260,
        step: 287,
        unit: 1.86,
        operation: 0.00276,
        dtypes: { complex128: 1.3, complex64: 1.08, float32: 1, float64: 1.05 },
      },
    },
  },
  compact: {
    'clear+compact': {
      places: { row: 6250, moved: 0.583 },
    },
    'clear+compact+compact_fill': {
      places: { row: 7520 },
    },
  },
  components: {
    'flatten+join+parents': {
      '': { launch: 5880, row: 1.29, moved: 8.37 },
    },
  },
  eig: {
    library: {
      vectors: { launch: 4.59e5, step: 45300, moved: 3.83e5, dtypes: { float32: 1, float64: 0.759 } },
    },
  },
  eigh: {
    library: {
      '': { launch: 1.1e5, step: 2980, operation: 0.0102, dtypes: { float32: 1, float64: 1.43 } },
      vectors: {
        launch: 2.72e5,
        step: 7040,
        operation: 0.000698,
        dtypes: { complex128: 1.25, complex64: 0.978, float32: 1, float64: 1.04 },
      },
    },
    small_eigh: {
      '': { step: 1750, unit: 1.01, row: 0.862, dtypes: { float32: 1, float64: 1.34 } },
      vectors: {
        step: 1830,
        unit: 1.51,
        row: 0.1,
        moved: 40.5,
        dtypes: { complex128: 2.05, complex64: 1.41, float32: 1, float64: 1.57 },
      },
    },
  },
  fft: {
    library: {
      '': { launch: 4540, moved: 1.76 },
      long: { launch: 7800, moved: 5.72 },
    },
  },
  histogram: {
    bins: {
      '': { row: 34.2, moved: 1.47, dtypes: { float32: 1, float64: 0.852 } },
    },
  },
  irfft: {
    library: {
      '': { launch: 5510, row: 1.18, moved: 10, dtypes: { complex128: 1, complex64: 1.38 } },
      long: { launch: 23600, moved: 16.4 },
    },
  },
  lu: {
    block_lu: {
      '': {
        step: 906,
        unit: 0.0236,
        moved: 4.66,
        dtypes: { complex128: 1.5, complex64: 1.43, float32: 1, float64: 1.09 },
      },
    },
    library: {
      '': { step: 1470, moved: 236, dtypes: { complex128: 1.01, complex64: 1, float32: 1, float64: 1.02 } },
    },
    small_lu: {
      '': { step: 365, dtypes: { float32: 1, float64: 2.04 } },
    },
  },
  pivotOrder: {
    pivot_order: {
      '': { launch: 1450, step: 29.9, moved: 2.66 },
    },
  },
  qOfQr: {
    block_q: {
      '': { step: 210, unit: 0.0136, dtypes: { complex64: 1.92, float32: 1, float64: 1.46 } },
    },
    library: {
      '': {
        launch: 65600,
        step: 963,
        moved: 41.6,
        dtypes: { complex128: 0.627, complex64: 1.02, float32: 1, float64: 0.684 },
      },
    },
    small_q: {
      '': {
        launch: 1350,
        step: 277,
        unit: 0.449,
        dtypes: { complex128: 1.72, complex64: 1.3, float32: 1, float64: 1.22 },
      },
    },
  },
  qr: {
    block_qr: {
      '': { step: 849, unit: 0.0259, dtypes: { complex64: 1.62, float32: 1, float64: 1.27 } },
    },
    library: {
      '': {
        step: 2580,
        operation: 0.000528,
        dtypes: { complex128: 1.51, complex64: 1.23, float32: 1, float64: 1.09 },
      },
    },
    small_qr: {
      '': {
        launch: 1910,
        step: 802,
        unit: 0.346,
        dtypes: { complex128: 2.22, complex64: 1.83, float32: 1, float64: 1.24 },
      },
    },
  },
  ranks: {
    'select_begin+select_count+select_values': {
      '': { launch: 14000, moved: 10.6 },
    },
  },
  rfft: {
    library: {
      '': { launch: 3130, moved: 1.77 },
    },
  },
  scan: {
    'clear+scan': {
      '': { launch: 2610, step: 0.00164, moved: 0.744, dtypes: { float32: 1, float64: 2.39, int64: 1.39 } },
    },
    scan: {
      '': {
        launch: 1500,
        step: 0.514,
        row: 0.0479,
        moved: 0.901,
        dtypes: { float32: 1, float64: 1.37, int64: 1.68 },
      },
      'of columns': { launch: 2940, step: 15.6, row: 0.317, dtypes: { float32: 1, float64: 0.502 } },
    },
  },
  smallDeterminants: {
    small_determinants: {
      '': { launch: 1720, step: 243, row: 0.0302, dtypes: { float32: 1, float64: 1.23 } },
    },
  },
  solve: {
    small_system: {
      '': {
        launch: 2760,
        step: 168,
        unit: 1.1,
        moved: 15,
        dtypes: { complex128: 2.51, complex64: 2.29, float32: 1, float64: 1.39 },
      },
    },
  },
  sort: {
    'clear+sort_begin+sort_count+sort_pass': {
      '': {
        launch: 3670,
        step: 28,
        row: 5780,
        operation: 0.00138,
        dtypes: { float16: 0.472, float32: 1, float64: 2.15, int32: 0.88, int64: 2.07, uint8: 0.152 },
      },
    },
    sort_rows: {
      '': {
        launch: 166,
        step: 40.5,
        unit: 0.309,
        row: 0.027,
        operation: 0.000992,
        moved: 1.04,
        dtypes: { float16: 1.35, float32: 1, float64: 1.39, int32: 0.894, int64: 1.15, uint8: 1.11 },
      },
    },
  },
  sparseDense: {
    sparse_dense: {
      '': { launch: 2330, operation: 0.00152, dtypes: { float32: 1, float64: 1.29 } },
    },
  },
  sparseMergeCounts: {
    sparse_merge: {
      '': { launch: 2220, moved: 2.52 },
    },
  },
  sparseProduct: {
    sparse_product: {
      '': {
        launch: 1740,
        unit: 5.01,
        operation: 0.00087,
        moved: 1.31,
        dtypes: { float32: 1, float64: 0.724 },
      },
    },
  },
  sparseRows: {
    sparse_rows: {
      '': { launch: 3510, moved: 7.77 },
    },
  },
  sparseSelectCounts: {
    sparse_select: {
      '': { launch: 1800, moved: 4.68 },
    },
  },
  svd: {
    library: {
      '': { launch: 1.5e6, step: 19000 },
      vectors: { launch: 1.23e6, step: 22800, dtypes: { complex128: 1, float64: 0.877 } },
    },
    small_svd: {
      '': { step: 2190, unit: 0.74, moved: 132, dtypes: { float32: 1, float64: 1.61 } },
      vectors: {
        step: 3080,
        unit: 0.697,
        operation: 0.000473,
        moved: 22.5,
        dtypes: { complex128: 2.34, complex64: 1.23, float32: 1, float64: 1.43 },
      },
    },
  },
  top: {
    'select_begin+select_count+top_filter+top_order+top_sample': {
      '': { launch: 5310, moved: 0.789 },
    },
  },
  triangularSolve: {
    block_triangle: {
      '': {
        launch: 8470,
        step: 37,
        unit: 0.0618,
        operation: 0.000478,
        dtypes: { complex128: 6, complex64: 4.48, float32: 1, float64: 2.32 },
      },
      'unit diagonal': {
        launch: 3900,
        unit: 0.0158,
        operation: 0.000104,
        moved: 1.67,
        dtypes: { complex128: 2.28, complex64: 3.88, float32: 1, float64: 2.72 },
      },
    },
    library: {
      '': {
        launch: 17200,
        step: 78.4,
        moved: 33.4,
        dtypes: { complex128: 0.513, complex64: 0.103, float32: 1, float64: 0.115 },
      },
      'unit diagonal': {
        launch: 12200,
        step: 26.9,
        moved: 33.7,
        dtypes: { complex128: 0.244, complex64: 0.162, float32: 1, float64: 0.144 },
      },
    },
  },
};
