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
  /** Whether steps, operations and what moves overlap, as those of blocks that begin together, so that the longest counts. */
  readonly overlaps?: true;
  /** How much slower steps, rows and operations of dtypes are than those that the others are given for. */
  readonly dtypes?: Partial<Readonly<Record<DType, number>>>;
}

/** The GPU that rates are of. */
export const RATED_ON = { multiprocessors: 132 };

type ByWay = Readonly<Record<string, CudaCallRates>>;

/** Scans of columns, of each lane of a tile; and those that look back, by what a tile reads of those before it. */
const COLUMNS: CudaCallRates = { launch: 1570, step: 66.5, operation: 0.00137, moved: 1.6, overlaps: true };
const COLUMNS_IN_ONE_PASS: CudaCallRates = {
  launch: 1050,
  step: 92.7,
  unit: 800,
  operation: 0.0025,
  moved: 1.4,
  overlaps: true,
};

export const CUDA_CALL_RATES: Readonly<Record<string, Readonly<Record<string, ByWay>>>> = {
  ...CUDA_PRODUCT_RATES,
  argsort: {
    'clear+sort_begin+sort_count+sort_pass': {
      '': {
        launch: 3800,
        step: 38.4,
        operation: 0.00183,
        moved: 4.01,
        dtypes: { float16: 0.29, float32: 1, float64: 2.07, int32: 0.5, int64: 2.02, uint8: 0.00285 },
      },
    },
    sort_rows: {
      '': {
        launch: 1290,
        step: 12.8,
        operation: 0.000165,
        moved: 2.13,
        dtypes: { float16: 0.947, float32: 1, float64: 3.85, int32: 0.868, int64: 3.62, uint8: 0.841 },
      },
    },
  },
  attention: {
    attention: {
      '': {
        launch: 5000,
        unit: 0.45,
        operation: 3.8e-5,
        dtypes: { bfloat16: 0.09, float16: 0.09, float32: 1 },
      },
    },
  },
  binSums: {
    'sums_again+sums_at_once+sums_begin+sums_clear_again+sums_finish+sums_scales': {
      '': { launch: 4210, row: 0.0477, dtypes: { float32: 1, float64: 2.11 } },
    },
  },
  bins: {
    bins: {
      count: { launch: 2190, row: 0.95, moved: 1.16, dtypes: { int32: 1, int64: 0.827 } },
      fixed: { launch: 1980, row: 4.91, dtypes: { float32: 1, float64: 1.02 } },
      scale: { launch: 1670, row: 2.51, dtypes: { float32: 1, float64: 0.957 } },
      'mapped scale': { launch: 1670, row: 5.3 },
    },
    'bins+bins_fill': {
      count: { launch: 5720, row: 0.0668 },
      fixed: { launch: 8900, row: 0.745 },
    },
  },
  cholesky: {
    block_cholesky: {
      '': {
        step: 244,
        unit: 0.02,
        operation: 0.000318,
        dtypes: { complex64: 1.75, float32: 1, float64: 1.57 },
      },
    },
    library: {
      '': {
        launch: 5800,
        step: 337,
        dtypes: { complex128: 1.36, complex64: 2.02, float32: 1, float64: 1.22 },
      },
    },
    small_cholesky: {
      '': {
        launch: 1040,
        step: 425,
        unit: 1.44,
        row: 0.11,
        operation: 0.00232,
        dtypes: { complex128: 1.3, complex64: 1.02, float32: 1, float64: 1.04 },
      },
    },
  },
  compact: {
    'clear+compact': {
      places: { row: 6220, moved: 0.74 },
    },
    'clear+compact+compact_fill': {
      places: { row: 7510, moved: 1.02 },
    },
  },
  components: {
    'flatten+join+parents': {
      '': { launch: 6370, operation: 0.00669 },
    },
  },
  eig: {
    library: {
      vectors: { launch: 4.65e5, step: 40600, moved: 3.6e5, dtypes: { float32: 1, float64: 0.765 } },
    },
  },
  eigh: {
    library: {
      '': { step: 5630, operation: 0.0018, dtypes: { float32: 1, float64: 1.28 } },
      vectors: {
        launch: 2.33e5,
        step: 7460,
        operation: 0.000424,
        dtypes: { complex128: 1.31, complex64: 1.04, float32: 1, float64: 1.05 },
      },
    },
    small_eigh: {
      '': { step: 1740, unit: 0.991, row: 0.815, dtypes: { float32: 1, float64: 1.45 } },
      vectors: {
        step: 2120,
        unit: 1.35,
        row: 0.654,
        operation: 0.000859,
        dtypes: { complex128: 2.45, complex64: 1.47, float32: 1, float64: 1.57 },
      },
    },
  },
  fft: {
    library: {
      '': { launch: 2920, step: 1.02, moved: 2.05, dtypes: { complex128: 1, complex64: 0.342 } },
      long: { launch: 10500, moved: 6.1 },
      'of a block long': { launch: 3000, step: 1.36, moved: 7.5 },
      'powers long': { launch: 4700, operation: 0.00156, dtypes: { complex128: 1.41, complex64: 1 } },
      primes: { launch: 3200, operation: 0.00045 },
      padded: { launch: 9500, operation: 0.027 },
      'padded long': { launch: 25000, operation: 0.13 },
      planes: { launch: 5040, step: 0.417, unit: 0.00588, dtypes: { complex128: 1, complex64: 0.369 } },
      'planes long': { launch: 6570, moved: 12.8 },
    },
  },
  histogram: {
    bins: {
      '': { unit: 0.0299, row: 30.2, dtypes: { float32: 1, float64: 1.02 } },
    },
  },
  irfft: {
    library: {
      '': { launch: 5160, row: 1.19, moved: 12.6, dtypes: { complex128: 1, complex64: 1.46 } },
      mixed: { launch: 8500, moved: 10.6 },
      long: { launch: 11400, moved: 20.1 },
      primes: { launch: 6300, operation: 0.0016 },
      padded: { launch: 9500, operation: 0.027 },
      'padded long': { launch: 25000, operation: 0.13 },
    },
  },
  lu: {
    block_lu: {
      '': {
        step: 907,
        unit: 0.0237,
        moved: 4.08,
        dtypes: { complex128: 1.54, complex64: 1.44, float32: 1, float64: 1.09 },
      },
    },
    library: {
      '': {
        step: 1450,
        moved: 239,
        dtypes: { complex128: 1.02, complex64: 1.01, float32: 1, float64: 1.04 },
      },
    },
    small_lu: {
      '': { launch: 2040, step: 274, operation: 0.000413, dtypes: { float32: 1, float64: 1.2 } },
    },
  },
  pivotOrder: {
    pivot_order: {
      '': { launch: 1450, step: 30, moved: 3.32 },
    },
  },
  qOfQr: {
    block_q: {
      '': {
        step: 127,
        unit: 1.88,
        dtypes: { complex128: 3.33, complex64: 2.35, float32: 1, float64: 1.91 },
      },
    },
    library: {
      '': {
        launch: 55000,
        step: 995,
        moved: 22.1,
        dtypes: { complex128: 0.762, complex64: 1.04, float32: 1, float64: 0.753 },
      },
    },
    small_q: {
      '': {
        launch: 1430,
        step: 135,
        unit: 37.4,
        row: 0.0665,
        operation: 0.000104,
        dtypes: { complex128: 1.82, complex64: 1.31, float32: 1, float64: 1.35 },
      },
    },
  },
  qr: {
    block_qr: {
      '': {
        step: 951,
        operation: 0.000718,
        dtypes: { complex128: 2.33, complex64: 1.89, float32: 1, float64: 1.32 },
      },
    },
    library: {
      '': {
        step: 2330,
        unit: 1.87,
        operation: 0.000212,
        dtypes: { complex128: 1.34, complex64: 1.16, float32: 1, float64: 1.06 },
      },
      'few rows': { step: 4210, unit: 48.5, dtypes: { complex128: 1, float64: 0.821 } },
    },
    small_qr: {
      '': {
        launch: 1350,
        step: 770,
        unit: 28.7,
        row: 0.208,
        dtypes: { complex128: 2.2, complex64: 1.67, float32: 1, float64: 1.23 },
      },
    },
  },
  ranks: {
    'select_begin+select_count+select_values': {
      '': { launch: 12600, row: 3710, moved: 6.43, dtypes: { float32: 1, float64: 7.39 } },
    },
  },
  rfft: {
    library: {
      '': { launch: 2400, step: 0.25, moved: 2.2 },
      mixed: { launch: 5000, moved: 7.1 },
      long: { launch: 6000, moved: 10.4 },
      'mixed long': { launch: 7500, moved: 16 },
      primes: { launch: 3200, operation: 0.00045 },
      padded: { launch: 9500, operation: 0.027 },
      'padded long': { launch: 25000, operation: 0.13 },
    },
  },
  scan: {
    'clear+scan': {
      '': { launch: 2500, step: 0.1, moved: 1.25 },
      mapped: { launch: 2610, step: 0.468, moved: 0.715, dtypes: { float32: 1, int64: 1.29 } },
      'of columns': COLUMNS_IN_ONE_PASS,
      'of columns mapped': COLUMNS_IN_ONE_PASS,
    },
    scan: {
      '': {
        launch: 1240,
        step: 110,
        row: 0.104,
        moved: 0.936,
        dtypes: { float32: 1, float64: 1.14, int64: 0.861 },
      },
      'of columns': COLUMNS,
      'of columns mapped': COLUMNS,
    },
  },
  smallDeterminants: {
    small_determinants: {
      '': { launch: 1760, step: 243, row: 0.0292, dtypes: { float32: 1, float64: 1.26 } },
    },
  },
  solve: {
    small_system: {
      '': {
        launch: 2060,
        step: 119,
        unit: 91.7,
        moved: 15.4,
        dtypes: { complex128: 2.6, complex64: 1.71, float32: 1, float64: 1.5 },
      },
    },
  },
  sort: {
    'clear+sort_begin+sort_count+sort_pass': {
      '': {
        launch: 4570,
        step: 27,
        row: 497,
        operation: 0.00139,
        dtypes: { float16: 0.422, float32: 1, float64: 2.22, int32: 0.803, int64: 2.14, uint8: 0.105 },
      },
    },
    sort_rows: {
      '': {
        launch: 1260,
        step: 6.46,
        row: 0.0494,
        operation: 0.000131,
        dtypes: { float16: 1.38, float32: 1, float64: 2.18, int32: 0.793, int64: 1.9, uint8: 1.06 },
      },
    },
  },
  sparseDense: {
    sparse_dense: {
      '': { launch: 2310, operation: 0.00143, dtypes: { float32: 1, float64: 1.57 } },
    },
  },
  sparseMergeCounts: {
    sparse_merge: {
      '': { launch: 2180, moved: 2.62 },
    },
  },
  sparseProduct: {
    sparse_product: {
      '': {
        launch: 1750,
        unit: 4.89,
        operation: 0.000921,
        moved: 1.29,
        dtypes: { float32: 1, float64: 0.749 },
      },
    },
  },
  sparseRows: {
    sparse_rows: {
      '': { launch: 3670, moved: 7.58 },
    },
  },
  sparseSelectCounts: {
    sparse_select: {
      '': { launch: 1800, moved: 4.63 },
    },
  },
  svd: {
    library: {
      '': { launch: 1.5e6, step: 19000 },
      vectors: { launch: 1.23e6, step: 22600, dtypes: { complex128: 1, float64: 0.863 } },
    },
    small_svd: {
      '': { step: 2310, unit: 0.905, row: 0.551, operation: 0.000872, dtypes: { float32: 1, float64: 1.53 } },
      vectors: {
        step: 3070,
        unit: 0.72,
        moved: 61.5,
        dtypes: { complex128: 1.81, complex64: 1.24, float32: 1, float64: 1.48 },
      },
    },
  },
  top: {
    'select_count+top_first+top_order+top_sample': {
      '': { launch: 6270, moved: 2.76 },
    },
  },
  triangularSolve: {
    block_triangle: {
      '': {
        launch: 2470,
        unit: 75.4,
        row: 0.016,
        moved: 1.29,
        dtypes: { complex128: 4.42, complex64: 3, float32: 1, float64: 1.52 },
      },
      'unit diagonal': {
        launch: 2190,
        unit: 18.6,
        row: 0.0085,
        moved: 0.47,
        dtypes: { complex128: 2.93, complex64: 1.77, float32: 1, float64: 1.5 },
      },
    },
    library: {
      '': {
        launch: 8140,
        step: 181,
        operation: 1.19e-5,
        moved: 36.8,
        dtypes: { complex128: 1.49, complex64: 1.3, float32: 1, float64: 1.97 },
      },
      'one side': {
        launch: 7950,
        step: 50.8,
        moved: 1.01,
        dtypes: { complex128: 2.11, complex64: 1.16, float32: 1, float64: 1.04 },
      },
      'one side unit diagonal': {
        launch: 4570,
        step: 49.1,
        moved: 0.136,
        dtypes: { complex128: 1.31, complex64: 1.09, float32: 1, float64: 1.05 },
      },
      'unit diagonal': {
        launch: 3750,
        step: 97.8,
        operation: 9.22e-5,
        moved: 19.6,
        dtypes: { complex128: 2.15, complex64: 1.54, float32: 1, float64: 1.63 },
      },
    },
  },
  uniqueCounts: {
    'compact+sort_begin+sort_count+sort_pass+unique_begin+unique_clear+unique_clear_again+unique_lengths+unique_list_counts+unique_range+unique_tally':
      {
        '': { launch: 4570, operation: 0.00163 },
      },
  },
};
