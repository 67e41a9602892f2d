/**
 * Which functions take arrays with an axis whose size depends on data (`graph/extent.ts`): elementwise ones,
 * reductions, and those that keep or move whole axes. All others refuse them by name, with what to do.
 */
import * as composites from '../graph/composites.js';
import * as elementwise from '../graph/elementwise.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import * as moments from '../graph/moments.js';
import * as nanReductions from '../graph/nan-reductions.js';
import { OP_NAMES } from '../graph/ops.js';
import { REDUCTION_NAMES } from '../graph/reducing.js';
import * as segmentReductions from '../graph/segment-reductions.js';
import * as special from '../graph/special.js';
import * as updates from '../graph/updates.js';

const ADMITTING: ReadonlySet<string> = new Set([
  ...OP_NAMES,
  ...REDUCTION_NAMES,
  ...Object.keys(composites),
  ...Object.keys(elementwise),
  ...[
    'mean',
    'variance',
    'var',
    'std',
    'norm',
    'countNonzero',
    'ptp',
    'softmax',
    'logSoftmax',
    'standardize',
  ],
  ...Object.keys(moments),
  ...Object.keys(nanReductions),
  ...Object.keys(special),
  ...['average', 'cov', 'corrcoef'],
  ...['matmul', 'dot', 'vecdot', 'tensordot', 'outer', 'einsum'],
  ...['bincount', 'histogram', 'histogram2d', 'histogramdd', 'groupBy', ...Object.keys(segmentReductions)],
  ...Object.keys(updates),
  ...[
    'flatten',
    'ravel',
    'expandDims',
    'squeeze',
    'permuteDims',
    'transpose',
    'matrixTranspose',
    'swapaxes',
    'moveaxis',
  ],
  ...[
    'sort',
    'argsort',
    'cumulativeSum',
    'cumulativeProd',
    'cumulativeMin',
    'cumulativeMax',
    'cumulativeLogsumexp',
  ],
  ...['median', 'quantile', 'percentile', 'nanMedian', 'nanQuantile', 'nanPercentile'],
  ...['partition', 'argpartition', 'topK', 'lexsort', 'isin', 'searchsorted', 'digitize', 'interp'],
  ...['uniqueValues', 'uniqueCounts', 'uniqueInverse', 'uniqueAll', 'union', 'intersect', 'setdiff'],
  ...['concat', 'stack', 'append', 'unstack', 'split', 'resultType'],
  ...['take', 'takeAlongAxis', 'slice', 'compress', 'extract', 'nonzero', 'argwhere', 'diff', 'trapezoid'],
  ...['flip', 'roll', 'rot90', 'pad', 'repeat', 'tile'],
  ...['select', 'zerosLike', 'onesLike', 'fullLike'],
  ...['norm', 't', 'chi2'].flatMap((name) =>
    ['pdf', 'cdf', 'sf', 'ppf'].map((member) => `stats.${name}.${member}`),
  ),
  // Running, and arguments, which the functions themselves are asked about.
  ...['compute', 'persist', 'compile', 'explain', 'plan', 'lazy'],
]);

/** The array itself. Throws a ShapeError where the function `op` does not take it. */
export function admitted(op: string, x: Expr): Expr {
  if (x.extent !== undefined && !ADMITTING.has(op)) needSizes(op, x);
  return x;
}
