/**
 * Joins pairs of cheap instructions of a tape into one: the CPU then computes the inner one in registers
 * instead of writing its block to the cache and reading it back. Each lane sees the same operations in the
 * same order.
 *
 * Chains (`tape-chain.ts`) do the same for any number of instructions, and undo pairs that they take up. A pair
 * that stays alone is faster: a chain is set up anew for each block, asks for more of memory ahead, and hands
 * sums on through memory, which a function of its own keeps in registers. With chains instead of pairs, these
 * took so many times as long (float32, AVX-512, two cores that others used too, the versions by turns in one
 * process; medians of the ratios):
 *
 *     maps of 1,000 elements        1.06 – 1.08     a b + c, exp(a − b), exp(−a), a choice
 *     maps of a million elements    1.05 – 1.35     the same
 *     sums of products              1.09            of a thousand and of four million
 *     sums along rows               1.55 – 1.82     of squares, products, differences of 1024 × 1024
 *     squared distances             4.6             of 1024 × 1024 pairs in 64 dimensions
 *
 * The names here are those that `native/cpu/ops-fused.cpp`, `ops-math.cpp` and `reduce.cpp` enter into the
 * registry; a test holds the two together. Called by `tape-schedule.ts`.
 */

import { castValueOf, isComputed, isReduction, opOf, reductionOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from '../../fusion/kernel/kernel.js';
import type { Levels } from '../../fusion/kernel/levels.js';
import type { DType } from '../../graph/dtype.js';
import { PLACE_WITHIN, placeWithin } from './tape-places.js';

/** A function of the CPU's: its name, and the values it takes. */
export interface TapeFunction {
  readonly name: string;
  readonly args: readonly number[];
}

export interface TapeFusion {
  /** The function behind a map or reduction, by position; those left out are the op itself. */
  readonly functions: ReadonlyMap<number, TapeFunction>;
  /** Whether an instruction is computed inside its only user. */
  readonly absorbed: readonly boolean[];
}

export const INNER_UNARY = ['abs', 'negative', 'square'] as const;
export const INNER_BINARY = ['add', 'subtract', 'multiply', 'maximum', 'minimum'] as const;
export const OUTER_UNARY = ['abs', 'negative', 'square', 'sqrt'] as const;
export const OUTER_BINARY = ['add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum'] as const;
export const EXP_INNER = ['add', 'subtract', 'multiply', 'negative'] as const;
export const COMPARISONS = ['equal', 'notEqual', 'less', 'lessEqual', 'greater', 'greaterEqual'] as const;
export const SUM_INNER = ['abs', 'square', 'multiply', 'abs.subtract', 'square.subtract'] as const;

const has = (list: readonly string[], name: string): boolean => list.includes(name);
const isPlainFloat = (dtype: DType): boolean => dtype === 'float32' || dtype === 'float64';

/**
 * Name of the joined function where `inner`, an op or joined op, is argument `place` of `outer`; undefined:
 * none.
 */
function joinedName(
  outer: Instruction,
  inner: Instruction,
  innerName: string,
  place: number,
  argDType: DType,
): string | undefined {
  if (isReduction(outer)) {
    if (reductionOf(outer) !== 'sum') return undefined;
    if (castValueOf(inner) !== undefined)
      return outer.dtype === 'int64' && argDType === 'bool' ? 'sum.cast' : undefined;
    return isPlainFloat(argDType) && has(SUM_INNER, innerName) ? `sum.${innerName}` : undefined;
  }
  const op = opOf(outer);
  if (op === undefined || opOf(inner) === undefined || !isPlainFloat(argDType)) return undefined;
  if (op === 'where')
    return place === 0 && outer.dtype === argDType && has(COMPARISONS, innerName)
      ? `where.${innerName}`
      : undefined;
  if (inner.dtype !== argDType || outer.dtype !== argDType) return undefined;
  if (op === 'exp') return has(EXP_INNER, innerName) ? `exp.${innerName}` : undefined;
  if (!has(INNER_UNARY, innerName) && !has(INNER_BINARY, innerName)) return undefined;
  if (has(OUTER_UNARY, op)) return `${op}.${innerName}`;
  return has(OUTER_BINARY, op) ? `${op}.${innerName}.${place}` : undefined;
}

/** Values that an instruction reads, or that its function does. */
export const operandsOf = (kernel: Kernel, fusion: TapeFusion, i: number): readonly number[] =>
  fusion.functions.get(i)?.args ?? argumentsOf(kernel.tape[i]!);

/** Values that sums of pairs alone read: of those, a chunk of equal lanes is read as one lane (`simple-fold.h`). */
export function readBySumsOfPairs(kernel: Kernel, levels: Levels): ReadonlySet<number> {
  const { tape, stores } = kernel;
  const { functions, absorbed } = fuseTape(kernel, levels, () => true);
  // Sums alone join other ops.
  const pairOf = (i: number): readonly number[] | undefined => {
    const args = functions.get(i)?.args;
    return isReduction(tape[i]!) && args?.length === 2 ? args : undefined;
  };
  const found = new Set([...functions.keys()].flatMap((i) => pairOf(i) ?? []));
  if (found.size === 0) return found;
  tape.forEach((instruction, i) => {
    if (absorbed[i] || pairOf(i) !== undefined) return;
    for (const arg of functions.get(i)?.args ?? argumentsOf(instruction)) found.delete(arg);
  });
  for (const { value } of stores) found.delete(value);
  return found;
}

/** Finds the pairs. `together` says whether two values are computed over the same lanes at the same time. */
export function fuseTape(
  kernel: Kernel,
  levels: Levels,
  together: (a: number, b: number) => boolean,
): TapeFusion {
  const { tape, stores } = kernel;
  const uses = tape.map(() => 0);
  for (const instruction of tape) for (const arg of argumentsOf(instruction)) uses[arg]!++;
  for (const store of stores) uses[store.value]!++;
  const absorbed = tape.map(() => false);
  const functions = new Map<number, TapeFunction>();

  const join = (i: number, place: number): boolean => {
    const outer = tape[i]!;
    const args = argumentsOf(outer);
    const k = args[place]!;
    const inner = tape[k]!;
    if (uses[k] !== 1 || !isComputed(inner) || !together(k, i)) return false;
    const earlier = functions.get(k);
    const innerName = earlier?.name ?? opOf(inner) ?? 'cast';
    const innerArgs = earlier?.args ?? argumentsOf(inner);
    const name = joinedName(outer, inner, innerName, place, tape[innerArgs[0]!]!.dtype);
    if (name === undefined) return false;
    functions.set(i, { name, args: [...innerArgs, ...args.filter((_, p) => p !== place)] });
    functions.delete(k);
    absorbed[k] = true;
    return true;
  };
  const joinPlace = (i: number): boolean => {
    const place = placeWithin(kernel, i);
    if (place === undefined || !place.inner.every((k) => uses[k] === 1 && together(k, i))) return false;
    functions.set(i, { name: PLACE_WITHIN, args: place.args });
    for (const k of place.inner) absorbed[k] = true;
    return true;
  };
  tape.forEach((outer, i) => {
    if (opOf(outer) === undefined && !isReduction(outer)) return;
    if (joinPlace(i)) return;
    const args = argumentsOf(outer);
    // A reduction is at row level itself; what it takes is computed in its walk.
    if (isReduction(outer) && !levels.element[args[0]!]) return;
    for (let place = 0; place < args.length; place++) if (join(i, place)) return;
  });
  return { functions, absorbed };
}
