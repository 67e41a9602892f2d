/**
 * Splits float32 factors into two parts of 11 bits each, which units for TF32 multiply exactly:
 *
 *     x = hi + lo;   A · B   →   hi(A) · hi(B) + (hi(A) · lo(B) + lo(A) · hi(B)), in three products
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

/** How the parts of factors are multiplied. */
export interface Multiplications {
  readonly multiply: (left: number, right: number) => number;
  /** With a long sum in stretches (`exec/calls/matmul-stretches.ts`). */
  readonly multiplyInStretches: (left: number, right: number) => number;
}

/** The two parts of a float32 node; of elements that are not finite `hi` is all, and `lo` means nothing. */
export function splitFactor(editor: Editor, id: number): { readonly hi: number; readonly lo: number } {
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

/**
 * The sum of the three products of the parts of two factors, the first of them by stretches: the others are
 * 2⁻¹¹ as large, and so are their errors. Where the first is not finite, it is the result: an infinite factor has
 * no second part.
 */
export function sumOfThree(
  editor: Editor,
  left: number,
  right: number,
  { multiply, multiplyInStretches }: Multiplications,
): number {
  const a = splitFactor(editor, left);
  const b = splitFactor(editor, right);
  const first = multiplyInStretches(a.hi, b.hi);
  const shape = [...editor.node(first).shape];
  const sum = (x: number, y: number): number =>
    editor.add({ kind: 'map', op: 'add', dtype: 'float32', shape, inputs: [x, y] });
  const rest = sum(multiply(a.hi, b.lo), multiply(a.lo, b.hi));
  const isOrdinary = editor.add({ kind: 'map', op: 'isfinite', dtype: 'bool', shape, inputs: [first] });
  const inputs = [isOrdinary, sum(first, rest), first];
  return editor.add({ kind: 'map', op: 'where', dtype: 'float32', shape, inputs });
}
