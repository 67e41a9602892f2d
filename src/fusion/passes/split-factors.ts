/**
 * Splits float32 factors into two parts of 11 bits each, which units for TF32 multiply exactly:
 *
 *     x = hi + lo;   A · B   →   hi(A) · hi(B) + (hi(A) · lo(B) + lo(A) · hi(B)), in three products
 *
 * Of long sums the factors of the two products with `lo` are rounded to bfloat16, which is multiplied twice as fast:
 * each of their terms is wrong by 2⁻²⁰ of the exact one at most, at random, so that the sum is wrong by less than
 * float32's own is.
 *
 * (Markidis et al., "NVIDIA tensor core programmability, performance & precision", 2018; the splitting is
 * Veltkamp's.) Called by `lower-contractions.ts` for precision `tf32x3`.
 */
import type { OpName } from '../../graph/ops.js';
import type { Editor } from './rewrite.js';

/** Factors above this are scaled while they are split, so that nothing overflows. */
const LARGE = 2 ** 100;
const SCALE = 2 ** -27;
/** 2 to the number of bits that `hi` leaves to `lo`. */
const SHIFT = 2 ** 13;

/** The largest number of bfloat16: larger ones of float32 would be rounded to infinity. */
const MOST_NARROW = (2 - 2 ** -7) * 2 ** 127;

/** How the parts of factors are multiplied. */
export interface Multiplications {
  readonly multiply: (left: number, right: number) => number;
  /** With a long sum in stretches (`exec/calls/products/matmul-stretches.ts`). */
  readonly multiplyInStretches: (left: number, right: number) => number;
  /** Whether the products with small parts are of bfloat16. */
  readonly isNarrow: boolean;
}

/** The two parts of a float32 node; of elements that are not finite `hi` is all, and `lo` means nothing. */
function splitFactor(editor: Editor, id: number): { readonly hi: number; readonly lo: number } {
  const shape = [...editor.node(id).shape]; // a draft of immer ends with the pass
  const map = (op: OpName, ...inputs: number[]): number =>
    editor.add({ kind: 'map', op, dtype: 'float32', shape, inputs });
  const test = (op: OpName, ...inputs: number[]): number =>
    editor.add({ kind: 'map', op, dtype: 'bool', shape, inputs });
  const constant = (value: number): number => editor.constant(value, 'float32', shape);
  const isLarge = test('greater', map('abs', id), constant(LARGE));
  const scaled = map('multiply', id, map('where', isLarge, constant(SCALE), constant(1)));
  // Products here are by powers of two, so that nothing changes where a compiler fuses one with a sum.
  const wide = map('add', map('multiply', scaled, constant(SHIFT)), scaled);
  const top = map('subtract', wide, map('subtract', wide, scaled));
  const rounded = map('multiply', top, map('where', isLarge, constant(1 / SCALE), constant(1)));
  const hi = map('where', test('isfinite', id), rounded, id);
  return { hi, lo: map('subtract', id, hi) };
}

/** A part rounded to bfloat16, as float32: the casts of a product's factors are its library's. */
function narrowed(editor: Editor, id: number): number {
  const shape = [...editor.node(id).shape];
  const most = (value: number): number => editor.constant(value, 'float32', shape);
  const map = (op: OpName, ...inputs: number[]): number =>
    editor.add({ kind: 'map', op, dtype: 'float32', shape, inputs });
  const clipped = map('minimum', map('maximum', id, most(-MOST_NARROW)), most(MOST_NARROW));
  const narrow = editor.add({ kind: 'cast', dtype: 'bfloat16', shape, inputs: [clipped] });
  return editor.add({ kind: 'cast', dtype: 'float32', shape, inputs: [narrow] });
}

/**
 * The sum of the three products of the parts of two factors, the first of them by stretches: the others are
 * 2⁻¹¹ as large, and so are their errors. Where the first is not finite, it is the result: an infinite factor has
 * no second part.
 */
export function sumOfThree(
  editor: Editor,
  left: number,
  right: number,
  { multiply, multiplyInStretches, isNarrow }: Multiplications,
): number {
  const a = splitFactor(editor, left);
  const b = splitFactor(editor, right);
  const first = multiplyInStretches(a.hi, b.hi);
  const shape = [...editor.node(first).shape];
  const sum = (x: number, y: number): number =>
    editor.add({ kind: 'map', op: 'add', dtype: 'float32', shape, inputs: [x, y] });
  const [c, d] = [a, b].map(({ hi, lo }) =>
    isNarrow ? { hi: narrowed(editor, hi), lo: narrowed(editor, lo) } : { hi, lo },
  ) as [typeof a, typeof b];
  const rest = sum(multiply(c.hi, d.lo), multiply(c.lo, d.hi));
  const isOrdinary = editor.add({ kind: 'map', op: 'isfinite', dtype: 'bool', shape, inputs: [first] });
  const inputs = [isOrdinary, sum(first, rest), first];
  return editor.add({ kind: 'map', op: 'where', dtype: 'float32', shape, inputs });
}
