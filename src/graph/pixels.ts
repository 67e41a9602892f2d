/**
 * Images as graphs: elements as bytes, and rows of bytes with the filter of each, as PNG files have them (W3C,
 * "Portable Network Graphics Specification", section 9). Called by `io/png.ts`.
 */
import { slice } from './basic-slicing.js';
import { type DType, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, map, type Operand, reduce } from './infer.js';
import { concat, stack } from './joins.js';
import { pad } from './masks.js';
import { nanMax, nanMin } from './nan-reductions.js';
import { expandDims } from './views.js';

/** The elements that become 0 and 255; `'minmax'`: the least and the largest finite one. */
export type PixelRange = readonly [low: number, high: number] | 'minmax';

const floatOf = (dtype: DType): DType => (dtype === 'float32' || isHalf(dtype) ? 'float32' : 'float64');

function finiteEnds(x: Expr): readonly [Expr, Expr] {
  const finite = map('where', [map('isfinite', [x]), x, Number.NaN]);
  return [nanMin(finite), nanMax(finite)];
}

/** Elements as bytes: 0 up to the low end of the range and of NaN, 255 from the high end on, rounded between. */
export function pixelBytes(x: Expr, range: PixelRange): Expr {
  if (x.dtype === 'uint8' && range[0] === 0 && range[1] === 255) return x;
  const value = cast(x, floatOf(x.dtype));
  const [low, high]: readonly [Operand, Operand] = range === 'minmax' ? finiteEnds(value) : range;
  const width = typeof low === 'number' ? (high as number) - low : map('subtract', [high, low]);
  const share = map('divide', [map('subtract', [value, low]), width]);
  // The cast saturates, and NaN becomes 0.
  return cast(map('round', [map('multiply', [share, 255])]), 'uint8');
}

/** `left`: the byte of the same channel in the pixel before; `up`: in the row above; 0 outside of the image. */
interface Neighbours {
  readonly left: Expr;
  readonly up: Expr;
  readonly upLeft: Expr;
}

function neighboursOf(bytes: Expr, channels: number): Neighbours {
  const wide = cast(bytes, 'int16');
  const around = pad(wide, [
    [1, 0],
    [channels, 0],
  ]);
  const [height, width] = wide.shape as [number, number];
  return {
    left: slice(around, [1, null], [0, width]),
    up: slice(around, [0, height], [channels, null]),
    upLeft: slice(around, [0, height], [0, width]),
  };
}

const distance = (a: Expr, b: Expr): Expr => map('abs', [map('subtract', [a, b])]);

/** The neighbour that is nearest to left + up - upLeft; of equal ones left, then up. */
function paeth({ left, up, upLeft }: Neighbours): Expr {
  const [toLeft, toUp] = [distance(up, upLeft), distance(left, upLeft)];
  const toCorner = distance(map('add', [left, up]), map('multiply', [upLeft, 2]));
  const isLeft = map('logicalAnd', [map('lessEqual', [toLeft, toUp]), map('lessEqual', [toLeft, toCorner])]);
  const other = map('where', [map('lessEqual', [toUp, toCorner]), up, upLeft]);
  return map('where', [isLeft, left, other]);
}

/**
 * Rows of bytes as PNG files hold them, (h, w) → (h, 1 + w): the number of the row's filter, then the differences from
 * what the filter predicts. A row has the filter whose differences, as signed bytes, have the least sum of absolute
 * values (section 12.8).
 */
export function filteredRows(bytes: Expr, channels: number): Expr {
  const around = neighboursOf(bytes, channels);
  const average = map('floorDivide', [map('add', [around.left, around.up]), 2]);
  const predictions = [around.left, around.up, average, paeth(around)];
  const filtered = [
    bytes,
    ...predictions.map((predicted) => map('subtract', [bytes, cast(predicted, 'uint8')])),
  ];
  const costs = filtered.map((row) => reduce('sum', map('abs', [cast(cast(row, 'int8'), 'int16')]), [1]));
  const choice = expandDims(reduce('argmin', stack(costs), [0]), 1);
  const rows = filtered.reduceRight((others, row, k) =>
    map('where', [map('equal', [choice, k]), row, others]),
  );
  return concat([cast(choice, 'uint8'), rows], 1);
}
