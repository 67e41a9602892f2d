/**
 * Fast paths of ops: fewer instructions than the op's own expression, the same bits for ordinary arguments,
 * and a record of whether there was another. A printer runs a stretch of arithmetic with fast paths, looks at
 * the record once, and where it tells of an argument that is not ordinary does the stretch again with the
 * ops' own expressions. Maps do so chunk by chunk; the loop over staged elements (`reduce-staged.ts`) goes on
 * without fast paths from there.
 *
 *     float reciprocals = 0;                            what the fast paths record
 *     … weft_near_sqrt(x, reciprocals) …                no branch for each
 *     reciprocals = fmaf(result, 0, reciprocals);       of an infinity the near root is NaN: that shows here
 *     if (!(reciprocals < 2^100)) { … sqrtf(x) … }      zeros, subnormals, infinities, negatives, NaN
 *
 * Used where arithmetic, not memory, is the limit. The functions are in `prelude-fast-paths.ts`; results do
 * not depend on who uses them, but for terms of sums: exponentials have a form of their own there (`term`),
 * near or not.
 */
import { opOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf } from '../../fusion/kernel/kernel.js';
import type { OpName } from '../../graph/ops.js';
import type { Body, Scope } from './body.js';
import { type FastPath, fastPathOf, suitsLoop } from './fast-path-forms.js';
import type { Writer } from './writer.js';

/** The ops of a stretch that are printed in fast paths, by their positions. */
export type NearOps = ReadonlyMap<number, FastPath>;

function nearIn(body: Body, positions: readonly number[], isTaken: (form: FastPath) => boolean): NearOps {
  const ops = new Map<number, FastPath>();
  for (const position of positions) {
    const form = fastPathOf(body.kernel, position);
    if (form !== undefined && isTaken(form)) ops.set(position, form);
  }
  return ops;
}

/** The fast paths of a map. */
export const nearInMap = (body: Body, positions: readonly number[]): NearOps =>
  nearIn(body, positions, ({ inMaps }) => inMaps);

/**
 * Those of a loop that goes on without fast paths where arguments are not ordinary; it shows nobody its NaNs.
 */
export function nearInLoop(body: Body, positions: readonly number[]): NearOps {
  const ops = nearIn(body, positions, (form) => suitsLoop(form, body.kernel));
  return new Map([...ops].map(([k, form]) => [k, { ...form, name: form.hidden }]));
}

/** How fast paths are called. */
export const callsOf = (ops: NearOps): Scope['instead'] =>
  new Map([...ops].map(([k, { name, record }]) => [k, (argument) => `${name}(${argument}, ${record})`]));

/** How a loop calls what has the bits of its fast paths, where that is not the op. */
export const termsOf = (ops: NearOps): Scope['instead'] =>
  new Map(
    [...ops].flatMap(([k, { term }]) =>
      term === undefined ? [] : [[k, (argument: string) => `${term}(${argument})`] as const],
    ),
  );

const formsOf = (ops: NearOps): FastPath[] => [
  ...new Map([...ops.values()].map((form) => [form.record, form])).values(),
];

/** Ops that are NaN where an argument is. */
const KEEP_NAN: ReadonlySet<OpName> = new Set([
  'add',
  'subtract',
  'multiply',
  'divide',
  'multiplyAdd',
  'multiplySubtract',
  'subtractProduct',
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
    const op = opOf(i);
    if (!shown.has(position) || op === undefined || !KEEP_NAN.has(op)) continue;
    for (const arg of argumentsOf(i)) if (body.instruction(arg).dtype === 'float32') shown.add(arg);
  }
  return shown;
}

/** Records a NaN, or an infinity, in a value that is stored. */
export function printNaNRecord(out: Writer, ops: NearOps, value: string): void {
  for (const { record } of formsOf(ops)) out.line(`${record} = fmaf(${value}, 0.0f, ${record});`);
}

/** Declares the records of fast paths. */
export function printRecords(out: Writer, ops: NearOps): void {
  for (const { record, start } of formsOf(ops)) out.line(`float ${record} = ${start};`);
}

/** The condition under which all arguments since `printRecords` were ordinary. */
export const ordinaryOf = (ops: NearOps): string =>
  formsOf(ops)
    .map(({ ordinary }) => ordinary)
    .join(' && ');

/**
 * Prints `stretch` with fast paths, and after it once more without them, for arguments that are not ordinary.
 * With fast paths it is given them, and calls `printNaNRecord` for the values of stores that tell of NaNs.
 */
export function printNearFirst(
  out: Writer,
  body: Body,
  ops: NearOps,
  stretch: (near: NearOps | undefined) => void,
): void {
  const shown = shownNaNs(body);
  printRecords(out, ops);
  stretch(new Map([...ops].map(([k, form]) => [k, shown.has(k) ? form : { ...form, name: form.hidden }])));
  out.block(`if (!(${ordinaryOf(ops)}))`, () => stretch(undefined));
}
