/**
 * Random graphs for property tests: a list of choices becomes a program of the public API, its code, and a
 * graph. Any list of choices is a valid program, so that fast-check can shrink by dropping and lowering them.
 * The actions are in `random-arithmetic.ts`, `random-structure.ts` and `random-indexing.ts`.
 */
import { byteLengthOf, type DType, isComplex, isFloat, isInteger, kindOf } from '../../src/graph/dtype.js';
import { sizeOf } from './host.js';
import { binary, bits, cast, compare, creation, logical, source, unary } from './random-arithmetic.js';
import { indexed } from './random-indexing.js';
import { contraction, join, product, reduce, view } from './random-structure.js';
import { at, type Choice, integerLimit, type Made, State, type Value } from './random-values.js';

export interface RandomProgram {
  readonly values: readonly Value[];
  /** TypeScript that builds the same values, one a line. */
  readonly code: readonly string[];
}

export const ACTIONS: readonly ((state: State, choice: Choice) => Made)[] = [
  (_, choice) => source(choice),
  binary,
  unary,
  reduce,
  view,
  binary,
  compare,
  cast,
  join,
  binary,
  unary,
  bits,
  reduce,
  view,
  product,
  (_, choice) => creation(choice),
  contraction,
  logical,
  view,
  unary,
  indexed,
  indexed,
  indexed,
  indexed,
];

/**
 * The integers that an integer dtype can hold, and a float dtype holds exactly: beyond it nothing more is
 * known.
 */
function boundIn(dtype: DType, bound: number | undefined): number | undefined {
  if (dtype === 'bool') return 1;
  if (isInteger(dtype)) {
    const bits = 8 * byteLengthOf(dtype);
    const most =
      kindOf(dtype) === 'uint' ? 2 ** bits - 1 : Math.min(bound ?? Number.POSITIVE_INFINITY, 2 ** (bits - 1));
    return most < 2 ** 53 ? most : undefined;
  }
  return bound !== undefined && bound <= integerLimit(dtype) ? bound : undefined;
}

/** Builds the program that the choices spell; it starts with one source, whatever they are. */
export function buildRandomProgram(choices: readonly Choice[]): RandomProgram {
  const state = new State();
  const push = (made: Made) => {
    if (made === undefined) return;
    const { lazy } = made.value;
    const floating = isFloat(lazy.dtype) || isComplex(lazy.dtype);
    const anyZero = floating && (made.zeros === 'any' || usesAnyZero(state, made.code));
    state.values.push({ ...made.value, bound: boundIn(lazy.dtype, made.value.bound), anyZero });
    state.code.push(`const v${state.code.length} = ${made.code};`);
  };
  push(source({ action: 0, a: choices[0]?.a ?? 0, b: choices[0]?.b ?? 0, c: 1 }));
  for (const choice of choices) {
    if (state.values.some((value) => sizeOf(value.lazy.shape) > 20_000)) break;
    push(at(ACTIONS, choice.action)(state, choice));
  }
  for (const leaf of state.leaves) push(leaf);
  return { values: state.values, code: state.code };
}

/** Whether an operand named in the code has zeros of unknown sign. */
const usesAnyZero = (state: State, code: string): boolean =>
  [...code.matchAll(/\bv(\d+)/g)].some(([, i]) => state.values[Number(i)]!.anyZero);
