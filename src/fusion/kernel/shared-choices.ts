/**
 * Computes once what alternatives of a choice compute alike, of operands that are chosen. A lane has the bits of the
 * alternative that is taken there:
 *
 *     where(c, a / s + 2, b / s + 4)   →   q = where(c, a, b) / s;  where(c, q + 2, q + 4)
 *
 * Of the three quotients of a hue one is computed. Values are shared that some condition parts, wherever between the
 * value and the choice they are used: each for elements alone for which the other one is not.
 */

import type { Tape } from './algebra.js';
import { costOf, isComputed, opOf } from './arithmetic.js';
import { create, mapInstruction } from './instruction.js';
import { argumentsOf, type Instruction } from './kernel.js';
import { findDependencies, findLevels, type LevelTape } from './levels.js';
import { TapeBuilder } from './tape-builder.js';

/** A value is shared if it costs so many additions at least for each operand that has to be chosen. */
const LEAST_COST = 4;
/** The least cost of all, with one operand. */
const LEAST_SHARED = 8;
/** Conditions that are known of a value. */
const MOST_CONDITIONS = 16;
/** Values that are compared with each other, after each one that is shared again; kernels with more are left as they are. */
const MOST_VALUES = 24;

/** Conditions by position, and which of both outcomes a value is used for alone. */
type Sides = ReadonlyMap<number, boolean>;
const ALWAYS: Sides = new Map();

interface Pair {
  readonly one: number;
  readonly other: number;
  readonly condition: number;
  /** The outcome for which `one` is used. */
  readonly side: boolean;
}

/** The kernel with values of alternatives shared; the kernel itself where none are. */
export function withSharedChoices<K extends Tape>(kernel: K): K {
  let shared = kernel;
  for (;;) {
    const pair = pairIn(shared);
    if (pair === undefined) return shared;
    shared = share(shared, pair);
  }
}

/** Values that a condition parts: those that most other ones do not, since the shared value is used where these hold. */
function pairIn(kernel: Tape): Pair | undefined {
  const { tape } = kernel;
  if (!tape.some((i) => opOf(i) === 'where')) return undefined;
  const costly = [...tape.keys()].filter(
    (at) => costOf(tape[at]!) >= LEAST_SHARED && opOf(tape[at]!) !== undefined,
  );
  if (costly.length < 2 || costly.length > MOST_VALUES) return undefined;
  const sides = sidesOf(kernel);
  const parted = costly.filter((at) => (sides[at]?.size ?? 0) > 0);
  if (parted.length < 2) return undefined;
  const isBeside = besides(kernel);
  let found: Pair | undefined;
  let most = -1;
  for (const [k, one] of parted.entries())
    for (const other of parted.slice(k + 1)) {
      const common = countInBoth(sides[one]!, sides[other]!);
      if (common <= most || !areShared(tape, one, other)) continue;
      for (const [condition, side] of sides[one]!)
        if (
          sides[other]!.get(condition) === !side &&
          isBeside(one, other, condition) &&
          !dependsOn(tape, [condition, ...argumentsOf(tape[other]!)], [one, other])
        ) {
          found = { one, other, condition, side };
          most = common;
        }
    }
  return found;
}

/** Whether two values are of one op, and choosing their operands takes less than one of them. */
function areShared(tape: readonly Instruction[], one: number, other: number): boolean {
  const [a, b] = [tape[one]!, tape[other]!];
  if (opOf(a) !== opOf(b) || a.dtype !== b.dtype) return false;
  const others = argumentsOf(b);
  const differing = argumentsOf(a).filter((arg, k) => arg !== others[k]);
  return (
    costOf(a) >= LEAST_COST * differing.length &&
    argumentsOf(a).every((arg, k) => tape[arg]!.dtype === tape[others[k]!]!.dtype)
  );
}

function dependsOn(
  tape: readonly Instruction[],
  values: readonly number[],
  others: readonly number[],
): boolean {
  const least = Math.min(...others);
  const open = values.filter((at) => at >= least);
  const seen = new Set<number>();
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (others.includes(at)) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    for (const arg of argumentsOf(tape[at]!)) if (arg >= least) open.push(arg);
  }
  return false;
}

/** Whether values are computed for the same elements, a condition for these or fewer, in one walk. */
function besides(kernel: LevelTape): (one: number, other: number, condition: number) => boolean {
  const depends = findDependencies(kernel);
  const { phase } = findLevels(kernel);
  return (one, other, condition) =>
    phase[one] === phase[other] &&
    phase[condition]! <= phase[one]! &&
    depends[one]!.every(
      (isMoved, axis) => isMoved === depends[other]![axis] && (isMoved || !depends[condition]![axis]),
    );
}

/**
 * For which outcomes of conditions alone each value is used; undefined: it is not used. Loops, functions and indices are
 * given operands for every element: what they do with those of an alternative that is not taken may not end, or lie outside.
 */
function sidesOf({ tape, stores }: Tape): readonly (Sides | undefined)[] {
  const sides = new Array<Sides | undefined>(tape.length).fill(undefined);
  const note = (value: number, used: Sides): void => {
    const known = sides[value];
    sides[value] = known === undefined ? used : inBoth(known, used);
  };
  for (const { value } of stores) note(value, ALWAYS);
  for (let at = tape.length - 1; at >= 0; at--) {
    const used = sides[at];
    if (used === undefined) continue;
    const i = tape[at]!;
    if (opOf(i) === 'where') {
      const [condition, chosen, otherwise] = argumentsOf(i) as [number, number, number];
      note(condition, used);
      note(chosen, onSide(used, condition, true));
      note(otherwise, onSide(used, condition, false));
    } else for (const arg of argumentsOf(i)) note(arg, isComputed(i) ? used : ALWAYS);
  }
  return sides;
}

const inBoth = (a: Sides, b: Sides): Sides =>
  a === b ? a : new Map([...a].filter(([condition, side]) => b.get(condition) === side));

function countInBoth(a: Sides, b: Sides): number {
  let count = 0;
  for (const [condition, side] of a) if (b.get(condition) === side) count++;
  return count;
}

const onSide = (used: Sides, condition: number, side: boolean): Sides =>
  used.size >= MOST_CONDITIONS || used.has(condition) ? used : new Map([...used, [condition, side]]);

/** The kernel with one value in place of two: neither the condition nor an operand depends on either of them. */
function share<K extends Tape>(kernel: K, { one, other, condition, side }: Pair): K {
  const tape = [...kernel.tape];
  const [a, b] = [tape[side ? one : other]!, tape[side ? other : one]!];
  const others = argumentsOf(b);
  const chosen = argumentsOf(a).map((arg, k) =>
    arg === others[k]
      ? arg
      : tape.push(create.map(tape[arg]!.dtype, 'where', [condition, arg, others[k]!])) - 1,
  );
  const shared = tape.push(mapInstruction(a, chosen)) - 1;

  const builder = new TapeBuilder();
  const moved = new Array<number>(tape.length).fill(-1);
  const place = (value: number): number => {
    const at = value === one || value === other ? shared : value;
    if (moved[at] === -1) {
      const i = tape[at]!;
      moved[at] = builder.add(mapInstruction(i, argumentsOf(i).map(place)));
    }
    return moved[at]!;
  };
  for (let at = 0; at < kernel.tape.length; at++) place(at);
  const stores = kernel.stores.map((store) => ({ ...store, value: place(store.value) }));
  return { ...kernel, tape: builder.instructions, stores };
}
