/**
 * Nested lists of scalars or typed arrays as one dense typed array: shape, dtype and conversion.
 *
 * Numbers are float64, bigints int64 (uint64 where one is too large for int64), booleans bool, `{ re, im }`
 * complex128; kinds that are mixed meet in the highest. Called by `host-array.ts`.
 */

import { type DType, isComplex, isInteger, promote, type Scalar } from '../graph/dtype.js';
import type { Shape, TypedArray } from '../graph/expr.js';
import { formatScalar, formatShape, formatValue } from '../graph/format.js';
import { convertScalar, inRange, integerRange, isScalar } from '../graph/scalar.js';
import { allocate, isTypedArray, memoryOf, nativeDType, readElement, writeElement } from './elements.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from './errors.js';

/** Lists in lists, down to scalars or typed arrays. */
export type Nested = readonly (Scalar | TypedArray | Nested)[];

export interface Dense {
  readonly data: TypedArray;
  readonly dtype: DType;
  readonly shape: Shape;
}

const MAX_AXES = 64;

/**
 * Dense data of nested lists. Ragged lists are a ShapeError; values that `dtype` cannot hold a
 * RangeArgumentError.
 */
export function fromNested(op: string, list: readonly unknown[], dtype?: DType): Dense {
  const shape = shapeOfFirst(op, list);
  const found = new Set<DType>();
  const values: Scalar[] = [];
  collect(op, list, shape, 0, values, found);
  const target = dtype ?? meet(op, values, found);
  const data = allocate(target, values.length);
  for (let k = 0; k < values.length; k++) writeElement(data, target, k, heldScalar(op, values[k]!, target));
  return { data, dtype: target, shape };
}

/** The dtype that data made of one scalar has. */
export const scalarDType = (op: string, value: Scalar): DType =>
  meet(op, [value], new Set([kindDType(value)]));

/**
 * A value of the user's in a dtype he named: fractions are cut for integers, what is out of range is refused.
 */
export function heldScalar(op: string, value: Scalar, dtype: DType): Scalar {
  if (typeof value === 'object' && !isComplex(dtype) && dtype !== 'bool') {
    throw new DTypeError(expected(op, 'a complex dtype for complex values', dtype));
  }
  if (isInteger(dtype) && typeof value !== 'boolean') {
    const whole = typeof value === 'bigint' ? value : Math.trunc(value as number);
    if (Number.isNaN(whole) || !inRange(whole, dtype)) {
      const { min, max } = integerRange(dtype);
      throw new RangeArgumentError(
        expected(op, `values from ${min} to ${max} for ${dtype}`, formatScalar(value)),
      );
    }
    return convertScalar(whole, dtype);
  }
  return convertScalar(value, dtype);
}

function shapeOfFirst(op: string, list: readonly unknown[]): number[] {
  const shape: number[] = [];
  let level: unknown = list;
  while (Array.isArray(level) && shape.length <= MAX_AXES) {
    shape.push(level.length);
    level = level[0];
  }
  if (shape.length > MAX_AXES) throw new ShapeError(expected(op, `at most ${MAX_AXES} nested lists`, 'more'));
  if (isTypedArray(level)) shape.push(level.length);
  return shape;
}

function collect(
  op: string,
  level: unknown,
  shape: Shape,
  depth: number,
  values: Scalar[],
  found: Set<DType>,
): void {
  if (depth === shape.length) {
    if (!isScalar(level)) refuse(op, level, shape);
    values.push(level);
    found.add(kindDType(level));
  } else if (isTypedArray(level) && depth === shape.length - 1) {
    const dtype = nativeDType(level)!;
    if (level.length !== shape[depth]) refuse(op, level, shape);
    const memory = memoryOf(level);
    for (let k = 0; k < level.length; k++) values.push(readElement(memory, dtype, k));
    found.add(dtype);
  } else {
    if (!Array.isArray(level) || level.length !== shape[depth]) refuse(op, level, shape);
    for (const part of level) collect(op, part, shape, depth + 1, values, found);
  }
}

function refuse(op: string, level: unknown, shape: Shape): never {
  const nested = Array.isArray(level) || isTypedArray(level);
  if (nested || isScalar(level)) {
    const received = nested ? `one of ${level.length}` : 'a single value among lists';
    throw new ShapeError(
      expected(op, `nested lists of one length each, as in shape ${formatShape(shape)}`, received),
    );
  }
  throw new ArgumentError(
    expected(
      op,
      'lists of numbers, bigints, booleans or { re, im }',
      formatValue(level),
      'stack() joins arrays',
    ),
  );
}

function kindDType(value: Scalar): DType {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int64';
    case 'number':
      return 'float64';
    default:
      return 'complex128';
  }
}

/** The dtype in which all values meet. */
function meet(op: string, values: readonly Scalar[], found: ReadonlySet<DType>): DType {
  if (found.size === 0) return 'float64';
  const dtype = [...found].reduce(promote);
  if (dtype !== 'int64') return dtype;
  const tooLarge = values.find((value) => typeof value === 'bigint' && !inRange(value, 'int64'));
  if (tooLarge === undefined) return dtype;
  const wrong = values.find((value) => typeof value === 'bigint' && !inRange(value, 'uint64'));
  if (wrong !== undefined) {
    throw new RangeArgumentError(
      expected(op, 'integers that one 64-bit dtype holds', `${tooLarge} and ${wrong}`),
    );
  }
  return 'uint64';
}
