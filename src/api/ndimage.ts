/**
 * Filters of arrays of any axes with the names and the meaning of SciPy's `ndimage`: nodes of the graph like all others,
 * so that what surrounds them is in their kernels, and what does not fit is cut into tiles.
 */
import {
  affineTransform,
  mapCoordinates,
  rotate,
  shift,
  splineFilter,
  zoom,
} from './ndimage-interpolation.js';
import { centerOfMass, generateBinaryStructure, label, sumLabels } from './ndimage-labels.js';
import {
  binaryDilation,
  binaryErosion,
  greyDilation,
  greyErosion,
  maximumFilter,
  medianFilter,
  minimumFilter,
  percentileFilter,
  rankFilter,
} from './ndimage-ranks.js';
import {
  convolve,
  convolve1d,
  correlate,
  correlate1d,
  gaussianFilter,
  gaussianGradientMagnitude,
  gaussianLaplace,
  laplace,
  prewitt,
  sobel,
  uniformFilter,
} from './ndimage-sums.js';

/** Filters of arrays with SciPy's names: `ndimage.gaussianFilter(x, 2)`. */
export const ndimage = {
  correlate1d,
  convolve1d,
  correlate,
  convolve,
  gaussianFilter,
  uniformFilter,
  sobel,
  prewitt,
  laplace,
  gaussianLaplace,
  gaussianGradientMagnitude,
  minimumFilter,
  maximumFilter,
  medianFilter,
  rankFilter,
  percentileFilter,
  greyErosion,
  greyDilation,
  binaryErosion,
  binaryDilation,
  zoom,
  shift,
  rotate,
  affineTransform,
  mapCoordinates,
  splineFilter,
  label,
  generateBinaryStructure,
  sumLabels,
  centerOfMass,
} as const;
