/**
 * Rows of random programs (`random-graph.ts`) that read and write at places: take, slices by several selectors,
 * updates, `put`.
 */

import { sizeOf } from './host.js';
import type { Draw } from './random.js';
import {
  type Argument,
  callOf,
  indicesOf,
  isReal,
  type Known,
  type Mode,
  maskOf,
  type Operand,
  type Row,
  sumOf,
  valuesFor,
} from './random-calls.js';

const MODES = ['raise', 'raise', 'wrap', 'clip'] as const;
const SHAPES = [[3], [5], [2, 3], [1], [0], []] as const;
const RANGES = ['::-1', '1:', ':-1', '::2', '3:0:-2', '-2:'] as const;

/** A selector for each axis, some of them new, with indices that broadcast against each other, or with masks. */
export function selectorsOf(x: Operand, draw: Draw, mode: Mode, masks: boolean): Argument[] {
  const { shape } = x.lazy;
  const selectors: Argument[] = [];
  const joint = draw.of(SHAPES);
  let hasMask = false;
  for (let axis = 0; axis < shape.length; axis++) {
    const size = shape[axis]!;
    const kind = draw.below(9);
    if (kind === 0) selectors.push('newaxis');
    if (kind === 1 && !selectors.includes('...')) {
      selectors.push('...');
      axis = Math.max(axis, shape.length - 1 - draw.below(2)) - 1;
      continue;
    }
    if (masks && kind === 2 && !hasMask) {
      const axes = Math.min(1 + draw.below(2), shape.length - axis);
      selectors.push(maskOf(draw, shape.slice(axis, axis + axes)));
      hasMask = true;
      axis += axes - 1;
    } else if (kind < 5 && size > 0) selectors.push(draw.below(2 * size) - size);
    else if (kind < 6) selectors.push(draw.of(RANGES));
    else if (kind < 8 && size > 0 && !masks) selectors.push(indicesOf(draw, joint, size, mode));
    else selectors.push(null);
  }
  return selectors;
}

/** The places along an axis, or in the array as a line. */
const take: Row = (x, draw) => {
  const { shape } = x.lazy;
  const axis = draw.below(4) === 0 ? null : draw.below(shape.length);
  const mode = draw.of(MODES);
  const size = axis === null ? sizeOf(shape) : shape[axis]!;
  return callOf(x, 'take', [indicesOf(draw, draw.of(SHAPES), size, mode), axis, { mode }]);
};

const takeAlongAxis: Row = (x, draw) => {
  const { shape } = x.lazy;
  const axis = draw.below(shape.length);
  const mode = draw.of(MODES);
  const indices = indicesOf(draw, shape.with(axis, draw.of([1, 2, 5])), shape[axis]!, mode);
  return callOf(x, 'takeAlongAxis', [indices, axis, { mode }]);
};

const slice: Row = (x, draw) => {
  const mode = draw.of(MODES);
  return callOf(x, 'slice', [...selectorsOf(x, draw, mode, false), { mode }]);
};

const UPDATES = ['set', 'set', 'add', 'subtract', 'min', 'max', 'multiply'] as const;

/** Elements at places, some of them several times, updated by one value or by one each. */
const at: Row = (x, draw) => {
  const update = draw.of(UPDATES);
  const { shape, dtype } = x.lazy;
  if ((dtype === 'bool' && update !== 'set') || (!isReal(x) && (update === 'min' || update === 'max')))
    return undefined;
  const form = draw.below(3);
  const mode: Mode = draw.of(form === 0 ? ([...MODES, 'drop'] as const) : MODES);
  const rows = draw.of([[3], [2, 3], [2 * shape[0]!], [0]]);
  const selectors =
    form === 0
      ? [indicesOf(draw, rows, shape[0]!, mode)]
      : form === 1
        ? selectorsOf(x, draw, mode, false)
        : [maskOf(draw, shape)];
  const chosen = form === 0 ? [...rows, ...shape.slice(1)] : undefined;
  const values = draw.below(2) === 0 && chosen !== undefined ? valuesFor(draw, x, chosen) : draw.below(4);
  const value = dtype === 'bool' && typeof values === 'number' ? values > 1 : values;
  const most = Math.max(3, sizeOf(chosen ?? shape));
  const known =
    update === 'add' || update === 'subtract'
      ? sumOf(x.bound === undefined ? x : { ...x, bound: x.bound + 3 }, most)
      : update === 'multiply'
        ? factorsOf(x, value, most)
        : { exact: x.exact, bound: x.bound === undefined ? undefined : Math.max(x.bound, 4) };
  if (known === undefined) return undefined;
  // `x.at(…)` is no array: its methods give one.
  return callOf(callOf(x, 'at', [...selectors, { mode }]), update, [value], known);
};

/** Factors are at most 3: of so many, as far as their product is exact. */
function factorsOf(x: Operand, value: Argument, count: number): Known | undefined {
  return typeof value === 'number' && count <= 8 && x.bound !== undefined ? sumOf(x, 3 ** count) : undefined;
}

const put: Row = (x, draw) => {
  const mode: Mode = draw.of([...MODES, 'drop'] as const);
  const indices = indicesOf(draw, draw.of(SHAPES), sizeOf(x.lazy.shape), mode);
  const values = valuesFor(draw, x, [1 + draw.below(4)]);
  return callOf(x, 'put', [indices, values, { mode }], written(x));
};

const putAlongAxis: Row = (x, draw) => {
  const { shape } = x.lazy;
  const axis = draw.below(shape.length);
  const indices =
    draw.below(2) === 0 && isReal(x) && x.exact
      ? callOf(x, draw.of(['argmax', 'argmin']), [axis, { keepdims: true }])
      : indicesOf(draw, shape.with(axis, 2), shape[axis]!);
  return callOf(x, 'putAlongAxis', [indices, valuesFor(draw, x, indices.lazy.shape), axis], written(x));
};

/** Of an array with some elements set to small numbers. */
const written = ({ exact, bound }: Operand): Known => ({
  exact,
  bound: bound === undefined ? undefined : Math.max(bound, 3),
});

export const PLACES: readonly Row[] = [take, takeAlongAxis, slice, slice, at, at, at, put, putAlongAxis];
