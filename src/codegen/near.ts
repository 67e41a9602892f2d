/**
 * Near forms of ops: fewer instructions than the op's own expression, the same bits for ordinary arguments, and a record
 * of whether there was another. A printer runs a stretch of arithmetic with near forms, looks at the record once, and
 * where it tells of an argument that is not ordinary does the stretch again with the ops' own expressions.
 *
 *     float reciprocals = 0;                            what the near forms record
 *     … weft_near_sqrt(x, reciprocals) …                no branch for each
 *     reciprocals = fmaf(result, 0, reciprocals);       of an infinity the near root is NaN: that shows here
 *     if (!(reciprocals < 2^100)) { … sqrtf(x) … }      zeros, subnormals, infinities, negatives, NaN
 *
 * Used where arithmetic, not memory, is the limit. The functions are in `prelude-near.ts`; results do not depend on who
 * uses them.
 */
import { argumentsOf } from '../fusion/kernel.js';
import type { OpName } from '../graph/ops.js';
import type { Body } from './body.js';
import { type NearForm, nearFormOf } from './near-forms.js';
import type { Writer } from './writer.js';

const formsOf = (body: Body, positions: readonly number[]): NearForm[] =>
  positions.flatMap(
    (position) => nearFormOf(body.instruction(position), (k) => body.instruction(k).dtype) ?? [],
  );

/** How many of these values have a near form. */
export const nearCount = (body: Body, positions: readonly number[]): number =>
  formsOf(body, positions).length;

/** Ops that are NaN where an argument is. */
const KEEP_NAN: ReadonlySet<OpName> = new Set([
  'add',
  'subtract',
  'multiply',
  'divide',
  'negative',
  'abs',
  'sqrt',
]);

/** Stores whose values tell of NaNs: those of float32. */
export const tellsOfNaN = (body: Body, store: number): boolean =>
  body.instruction(body.kernel.stores[store]!.value).dtype === 'float32';

/** The positions whose NaN is the NaN of a value that is stored. */
function shownNaNs(body: Body): Set<number> {
  const shown = new Set<number>();
  body.kernel.stores.forEach(({ value }, store) => {
    if (tellsOfNaN(body, store)) shown.add(value);
  });
  for (let position = body.kernel.tape.length - 1; position >= 0; position--) {
    const i = body.instruction(position);
    if (!shown.has(position) || i.kind !== 'map' || !KEEP_NAN.has(i.op)) continue;
    for (const arg of argumentsOf(i)) if (body.instruction(arg).dtype === 'float32') shown.add(arg);
  }
  return shown;
}

/** Records a NaN, or an infinity, in a value that is stored. */
export function printNaNRecord(out: Writer, body: Body, positions: readonly number[], value: string): void {
  for (const { record } of new Set(formsOf(body, positions)))
    out.line(`${record} = fmaf(${value}, 0.0f, ${record});`);
}

/**
 * Prints `stretch` with near forms, and after it once more without them, for arguments that are not ordinary. With near
 * forms it is given the positions whose NaN shows, and calls `printNaNRecord` for the values of stores that tell of it.
 */
export function printNearFirst(
  out: Writer,
  body: Body,
  positions: readonly number[],
  stretch: (near: ReadonlySet<number> | undefined) => void,
): void {
  const forms = new Set(formsOf(body, positions));
  for (const { record, start } of forms) out.line(`float ${record} = ${start};`);
  stretch(shownNaNs(body));
  const ordinary = [...forms].map((form) => form.ordinary).join(' && ');
  out.block(`if (!(${ordinary}))`, () => stretch(undefined));
}
