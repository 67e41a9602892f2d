/**
 * Arrays as NumPy prints them (`str(a)` with its default options): columns aligned, precision 8, scientific
 * notation by range, lines of 75 characters, and above 1000 elements only three at each end of an axis. No
 * other element is read.
 *
 * Called by `api/ndarray.ts`.
 */
import { type Complex, DTYPE_INFO, type DType, isComplex, isFloat, type Scalar } from '../graph/dtype.js';
import type { Shape } from '../graph/expr.js';
import { sizeOfShape } from '../graph/graph.js';
import {
  decimalPrecision,
  exponentText,
  isNegative,
  positionalParts,
  rounderOf,
  scalarText,
  scientificDigits,
  scientificParts,
} from './print-number.js';

const PRECISION = 8;
const THRESHOLD = 1000;
const EDGE_ITEMS = 3;
const LINE_WIDTH = 75;

export interface Printable {
  readonly dtype: DType;
  readonly shape: Shape;
  /** The element at an index. */
  readonly read: (index: readonly number[]) => Scalar;
}

/** The array in lines of at most `width` characters, where an element and its brackets are no longer. */
export function printArray(array: Printable, width = LINE_WIDTH): string {
  if (array.shape.length === 0) return printScalar(array.read([]), array.dtype);
  if (array.shape.includes(0)) return '[]';
  const format = elementFormatter(array);
  return formatAxes(array, format, isSummarized(array.shape), [], ' ', Math.min(width, LINE_WIDTH));
}

/** The array in one line. */
export const printLine = (array: Printable): string => printArray(array).replaceAll(/\s*\n\s*/g, ' ');

const isSummarized = (shape: Shape): boolean => sizeOfShape(shape) > THRESHOLD;

/** How an element is written, in the width of all that are printed. */
export function elementFormatter(array: Printable): Formatter {
  const values: Scalar[] = [];
  collect(array, isSummarized(array.shape), [], values);
  return formatterOf(values, array.dtype);
}

/** The indices along an axis that are printed; null stands for those between that are not. */
export function printedIndices(shape: Shape, axis: number): (number | null)[] {
  const size = shape[axis]!;
  const { head, cut } = printed(size, isSummarized(shape));
  const shown: (number | null)[] = [...indices(size, isSummarized(shape))];
  if (cut) shown.splice(head, 0, null);
  return shown;
}

function printScalar(value: Scalar, dtype: DType): string {
  if (typeof value === 'object') {
    const [re, im] = [scalarText(value.re, dtype, ''), scalarText(value.im, dtype, '')];
    if (Object.is(value.re, 0)) return `${im}j`;
    return `(${re}${isNegative(value.im) ? '' : '+'}${im}j)`;
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return isFloat(dtype) ? scalarText(value as number, dtype, '.0') : String(value);
}

/**
 * The indices of an axis that are printed: how many in front, how many at the end, and whether some are left
 * out.
 */
function printed(size: number, summarized: boolean): { head: number; tail: number; cut: boolean } {
  const cut = summarized && 2 * EDGE_ITEMS < size;
  return cut ? { head: EDGE_ITEMS, tail: EDGE_ITEMS, cut } : { head: 0, tail: size, cut };
}

function* indices(size: number, summarized: boolean): Generator<number> {
  const { head, tail } = printed(size, summarized);
  for (let k = 0; k < head; k++) yield k;
  for (let k = size - tail; k < size; k++) yield k;
}

function collect(array: Printable, summarized: boolean, index: readonly number[], values: Scalar[]): void {
  if (index.length === array.shape.length) {
    values.push(array.read(index));
    return;
  }
  for (const k of indices(array.shape[index.length]!, summarized))
    collect(array, summarized, [...index, k], values);
}

type Formatter = (value: Scalar) => string;

/** The rest of the array from an index on, in brackets. `indent` is what continuation lines start with. */
function formatAxes(
  array: Printable,
  format: Formatter,
  summarized: boolean,
  index: readonly number[],
  indent: string,
  width: number,
): string {
  const left = array.shape.length - index.length;
  const size = array.shape[index.length]!;
  if (left === 1) return formatRow(array, format, summarized, index, indent, width);
  const separator = '\n'.repeat(left - 1);
  const { head, cut } = printed(size, summarized);
  const parts: string[] = [];
  for (const k of indices(size, summarized)) {
    if (cut && parts.length === head) parts.push('...');
    parts.push(formatAxes(array, format, summarized, [...index, k], `${indent} `, width - 1));
  }
  return `[${parts.join(separator + indent)}]`;
}

/** Elements of the last axis, wrapped. The closing bracket has its place on every line. */
function formatRow(
  array: Printable,
  format: Formatter,
  summarized: boolean,
  index: readonly number[],
  indent: string,
  width: number,
): string {
  const size = array.shape[index.length]!;
  const { head, cut } = printed(size, summarized);
  const words: string[] = [];
  for (const k of indices(size, summarized)) {
    if (cut && words.length === head) words.push('...');
    words.push(format(array.read([...index, k])));
  }
  let text = '';
  let line = indent;
  words.forEach((word, k) => {
    if (line.length + word.length > width - 1 && line.length > indent.length) {
      text += `${line.trimEnd()}\n`;
      line = indent;
    }
    line += k === words.length - 1 ? word : `${word} `;
  });
  return `[${(text + line).slice(indent.length)}]`;
}

function formatterOf(values: readonly Scalar[], dtype: DType): Formatter {
  if (dtype === 'bool') return (value) => (value ? ' True' : 'False');
  if (isFloat(dtype)) {
    const format = floatFormatter(values as readonly number[], dtype, '');
    return (value) => format(value as number);
  }
  if (isComplex(dtype)) {
    const { component } = DTYPE_INFO[dtype];
    const re = floatFormatter(
      values.map((value) => (value as Complex).re),
      component,
      '',
    );
    const im = floatFormatter(
      values.map((value) => (value as Complex).im),
      component,
      '+',
    );
    return (value) => {
      const text = im((value as Complex).im);
      const end = text.trimEnd().length;
      return `${re((value as Complex).re)}${text.slice(0, end)}j${text.slice(end)}`;
    };
  }
  const width = Math.max(...values.map((value) => String(value).length));
  return (value) => String(value).padStart(width);
}

/** Whether the finite values are printed with exponents: by their largest and smallest magnitude. */
function needsExponent(finite: readonly number[], dtype: DType): boolean {
  const magnitudes = finite.filter((value) => value !== 0).map(Math.abs);
  if (magnitudes.length === 0) return false;
  const round = rounderOf(dtype);
  const largest = magnitudes.reduce((a, b) => Math.max(a, b));
  const smallest = magnitudes.reduce((a, b) => Math.min(a, b));
  const limit = 10 ** Math.min(PRECISION, decimalPrecision(dtype));
  return largest >= limit || smallest < round(0.0001) || round(largest / smallest) > 1000;
}

/** Formats numbers to one width; `plus` is the sign of what is not negative. */
function floatFormatter(values: readonly number[], dtype: DType, plus: '' | '+'): (value: number) => string {
  const finite = values.filter(Number.isFinite);
  const write = needsExponent(finite, dtype)
    ? scientificWriter(finite, dtype, plus)
    : positionalWriter(finite, dtype, plus);
  let { left } = write;
  if (finite.length < values.length) {
    const negative = plus === '+' || values.includes(-Infinity) ? 1 : 0;
    const offset = write.right + 1;
    left = Math.max(left, 3 - offset, 3 + negative - offset);
  }
  return (value) => {
    if (Number.isFinite(value)) return write.write(value, left);
    const name = Number.isNaN(value) ? `${plus}nan` : `${value < 0 ? '-' : plus}inf`;
    return name.padStart(left + write.right + 1);
  };
}

interface NumberWriter {
  /** Widths before and after the point. */
  readonly left: number;
  readonly right: number;
  readonly write: (value: number, left: number) => string;
}

function positionalWriter(finite: readonly number[], dtype: DType, plus: '' | '+'): NumberWriter {
  const parts = (value: number): readonly [string, string] => {
    const [whole, fraction] = positionalParts(Math.abs(value), dtype, PRECISION);
    return [`${isNegative(value) ? '-' : plus}${whole}`, fraction];
  };
  const all = finite.map(parts);
  const left = all.reduce((most, [whole]) => Math.max(most, whole.length), 0);
  const right = all.reduce((most, [, fraction]) => Math.max(most, fraction.length), 0);
  const write = (value: number, width: number): string => {
    const [whole, fraction] = parts(value);
    return `${whole.padStart(width)}.${fraction.padEnd(right)}`;
  };
  return { left, right, write };
}

function scientificWriter(finite: readonly number[], dtype: DType, plus: '' | '+'): NumberWriter {
  const signed = (value: number, whole: string): string => `${isNegative(value) ? '-' : plus}${whole}`;
  const all = finite.map((value) => [value, ...scientificParts(Math.abs(value), dtype, PRECISION)] as const);
  const left = all.reduce((most, [value, whole]) => Math.max(most, signed(value, whole).length), 0);
  const precision = all.reduce((most, [, , fraction]) => Math.max(most, fraction.length), 0);
  const size = all.reduce(
    (most, [, , , exponent]) => Math.max(most, exponentText(exponent, 2).length - 2),
    2,
  );
  const write = (value: number, width: number): string => {
    const [mantissa, exponent] = scientificDigits(Math.abs(value), precision);
    const text = signed(value, mantissa).padStart(width + 1 + precision);
    return `${text}${exponentText(exponent, size)}`;
  };
  return { left, right: size + 2 + precision, write };
}
