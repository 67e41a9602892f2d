/**
 * Near forms of ops: fewer instructions than the op's own expression, the same bits for ordinary arguments, and a record
 * of whether there was another. A printer runs a stretch of arithmetic with near forms, looks at the record once, and
 * where it tells of an argument that is not ordinary does the stretch again with the ops' own expressions.
 *
 *     float reciprocals = 0;                            what the near forms record
 *     … weft_near_sqrt(x, reciprocals) …                no branch for each
 *     if (!(reciprocals < 2^100)) { … sqrtf(x) … }      zeros, subnormals, infinities, negatives, NaN
 *
 * Used where arithmetic, not memory, is the limit. The functions are in `prelude-near.ts`; results do not depend on who
 * uses them.
 */
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

/** Prints `stretch` with near forms, and after it once more without them, for arguments that are not ordinary. */
export function printNearFirst(
  out: Writer,
  body: Body,
  positions: readonly number[],
  stretch: (near: boolean) => void,
): void {
  const forms = new Set(formsOf(body, positions));
  for (const { record, start } of forms) out.line(`float ${record} = ${start};`);
  stretch(true);
  const ordinary = [...forms].map((form) => form.ordinary).join(' && ');
  out.block(`if (!(${ordinary}))`, () => stretch(false));
}
