/**
 * Elements around each element of an array, with a border where there are none: the taps of filters. A tap is a slice
 * of a pad, so that a kernel reads it where the array lies: nothing is copied, and a border costs a kernel a few
 * operations on indices (`Fold` in `expr.ts`). Called by the files of filters.
 */
import { checkOptions, finiteNumber, oneOf } from './arguments.js';
import type { DType } from './dtype.js';
import { type Expr, type Fold, foldReach } from './expr.js';
import { cast, constant, map } from './infer.js';
import { padTo } from './joins.js';
import { broadcast, view } from './view-nodes.js';

/**
 * The elements that filters read outside of an array, as in SciPy: mirrored at its edge (`'reflect'`: b a | a b c | c
 * b) or at the last element (`'mirror'`: c b | a b c | b a), the nearest element, those from the other end
 * (`'wrap'`), or one value (`'constant'`).
 */
export type BorderMode = Fold | 'constant';
const BORDER_MODES = ['reflect', 'constant', 'nearest', 'mirror', 'wrap'] as const;

/** Options of everything that reads outside of an array. */
export interface BorderOptions {
  /** `'reflect'` by default. */
  readonly mode?: BorderMode | undefined;
  /** The value outside of the array with `mode: 'constant'`; 0 by default. */
  readonly cval?: number | undefined;
}

/** The elements outside of an array. */
export interface Border {
  readonly mode: BorderMode;
  readonly value: number;
}

const BORDER_OPTIONS = ['mode', 'cval'] as const;

/** The border that options ask for; other options are refused but for `more`. */
export function borderOf(
  op: string,
  options: BorderOptions | undefined,
  more: readonly string[] = [],
): Border {
  checkOptions(op, options, [...BORDER_OPTIONS, ...more]);
  const mode = oneOf(op, 'a mode', BORDER_MODES, options?.mode ?? 'reflect');
  return { mode, value: finiteNumber(op, 'cval', options?.cval ?? 0) };
}

/** The array with so many elements more at both ends of each axis, which are folded back into it. */
export function extended(x: Expr, before: readonly number[], after: readonly number[], fold: Fold): Expr {
  let result = x;
  let [front, back] = [before, after];
  while (front.some((n, k) => n + back[k]! > 0)) {
    const { shape } = result;
    const part = (n: number, k: number): number => Math.min(n, foldReach(fold, shape[k]!));
    const [first, last] = [front.map(part), back.map(part)];
    const sizes = shape.map((n, k) => n + first[k]! + last[k]!);
    result = view(result, { type: 'pad', before: first, fold }, sizes);
    front = front.map((n, k) => n - first[k]!);
    back = back.map((n, k) => n - last[k]!);
  }
  return result;
}

/** The array with a border, in a dtype; x has elements. */
export function bordered(
  x: Expr,
  before: readonly number[],
  after: readonly number[],
  border: Border,
  dtype: DType,
): Expr {
  if (border.mode !== 'constant') return cast(extended(x, before, after, border.mode), dtype);
  const shape = x.shape.map((n, k) => n + before[k]! + after[k]!);
  const whole = cast(padTo(x, before, shape), dtype);
  if (border.value === 0 || whole.shape.every((n, k) => n === x.shape[k])) return whole;
  const inside = padTo(broadcast(constant(true, 'bool'), x.shape), before, shape);
  return map('where', [inside, whole, cast(constant(border.value, 'float64'), dtype)]);
}

/** How far an element is away along each axis. */
export type Offset = readonly number[];

/**
 * For each offset an array of the shape of x, whose element i is that of x at i + offset, in a dtype; x has
 * elements. Each is a view of x, but where offsets reach farther than one fold.
 */
export function taps(x: Expr, offsets: readonly Offset[], border: Border, dtype: DType): Expr[] {
  const { mode, value } = border;
  const shifted = (y: Expr, offset: Offset): Expr => {
    const before = offset.map((by) => -by + 0);
    if (before.every((by) => by === 0)) return y;
    return view(
      y,
      mode === 'constant' ? { type: 'pad', before } : { type: 'pad', before, fold: mode },
      x.shape,
    );
  };
  if (mode === 'constant') {
    const zeros = offsets.map((offset) => cast(shifted(x, offset), dtype));
    if (value === 0) return zeros;
    const outside = cast(constant(value, 'float64'), dtype);
    const inside = broadcast(constant(true, 'bool'), x.shape);
    return zeros.map((tap, k) => {
      const isMoved = offsets[k]!.some((by) => by !== 0);
      return isMoved ? map('where', [shifted(inside, offsets[k]!), tap, outside]) : tap;
    });
  }
  const isNear = offsets.every((offset) =>
    offset.every((by, k) => Math.abs(by) <= foldReach(mode, x.shape[k]!)),
  );
  if (isNear) return offsets.map((offset) => cast(shifted(x, offset), dtype));
  const reach = (sign: 1 | -1): number[] =>
    x.shape.map((_, k) => offsets.reduce((most, offset) => Math.max(most, sign * offset[k]!), 0));
  const [before, after] = [reach(-1), reach(1)];
  const whole = extended(x, before, after, mode);
  const steps = x.shape.map(() => 1);
  return offsets.map((offset) => {
    const starts = offset.map((by, k) => by + before[k]!);
    return cast(view(whole, { type: 'slice', starts, steps }, x.shape), dtype);
  });
}
