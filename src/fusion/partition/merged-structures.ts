/**
 * Merges kernels of a graph (`merge.ts`), for each pair of structures twice at most: how two kernels merge depends on their
 * structures, on the buffers and constants that both have, and on the stores that others read:
 *
 *     x0 → y0 = x0 + b0,  y0 → z0 = tanh(y0)      merged, or the reason why not
 *     x1 → y1 = x1 + b1,  y1 → z1 = tanh(y1)      the same structure, with buffers x1 b1 z1
 *
 * Called by `kernel-graph.ts`.
 */
import { type Instruction, sameNumbers } from '../kernel/kernel.js';
import { isSame } from '../kernel/tape-builder.js';
import type { BufferKey } from './buffer-key.js';
import type { KernelBuffer } from './fused-kernel.js';
import type { KernelInstance, Structure } from './kernel-instance.js';
import { mergeHorizontally, mergeVertically, unite } from './merge.js';
import type { MutableKernel } from './mutable-kernel.js';
import type { Structures } from './structures.js';
import type { IsLiveOut, Reason } from './union.js';

/** The structure of two kernels that are one: where its buffers and constants are in the first, or ~ in the second. */
interface Recipe {
  readonly structure: Structure;
  readonly buffers: readonly number[];
  readonly constants: readonly number[];
  /** Pairs of a buffer of the structure and one of the second kernel, which may be of a larger extent. */
  readonly shared: readonly (readonly [at: number, second: number])[];
}

/** A merge that was found, for kernels that share buffers, constants and stores in this way. */
interface Found {
  readonly pattern: readonly number[];
  /** Undefined: the merge was done once, and the merged structure is not kept. */
  result: Recipe | Reason | undefined;
}

/** How many structures a graph has at most: two of their numbers are one key. */
const STRUCTURES = 2 ** 26;

/** Merges of two structures that are kept: those of large kernels differ in what others read, each time anew. */
const MOST_FOUND = 64;

export class MergedStructures {
  readonly #structures: Structures;
  /** By the numbers of two structures. */
  readonly #found = new Map<number, Found[]>();

  constructor(structures: Structures) {
    this.#structures = structures;
  }

  /**
   * Makes `first` both kernels; the reason, where they stay two. `key`: a buffer that `first` stores and `second` loads;
   * without it the two do not depend on each other, and `second` reduces no more axes.
   */
  merge(
    first: KernelInstance,
    second: KernelInstance,
    key: BufferKey | undefined,
    isLiveOut: IsLiveOut,
  ): Reason | undefined {
    const result = this.#resultOf(first, second, key, isLiveOut);
    if (typeof result === 'string') return result;
    if ('kernel' in result) {
      first.become(result, result.kernel.buffers, result.kernel.constants, second);
      return undefined;
    }
    const buffers = result.buffers.map((at) => (at >= 0 ? first.buffers[at]! : second.buffers[~at]!));
    for (const [at, other] of result.shared)
      if (second.buffers[other]!.elementCount > buffers[at]!.elementCount)
        buffers[at] = second.buffers[other]!;
    const constants = result.constants.map((at) => (at >= 0 ? first.constants[at]! : second.constants[~at]!));
    first.become(result.structure, buffers, constants, second);
    return undefined;
  }

  /** Why two kernels stay apart; undefined: they would merge. `key`: as of `merge`. */
  reasonOf(
    first: KernelInstance,
    second: KernelInstance,
    key: BufferKey | undefined,
    isLiveOut: IsLiveOut,
  ): Reason | undefined {
    const merge = mergeOf(first.toMutable(), second.toMutable(), key, isLiveOut);
    return 'reason' in merge ? merge.reason : undefined;
  }

  /** A structure of one kernel's own is that kernel itself, whose buffers and constants need no places. */
  #resultOf(
    first: KernelInstance,
    second: KernelInstance,
    key: BufferKey | undefined,
    isLiveOut: IsLiveOut,
  ): Recipe | Structure | Reason {
    const [a, b] = [first.structure.number, second.structure.number];
    if (a < 0 || b < 0) return this.#find(first, second, key, isLiveOut);
    const pattern = patternOf(first, second, key, isLiveOut);
    const pair = a * STRUCTURES + b;
    let known = this.#found.get(pair);
    if (known === undefined) {
      known = [];
      this.#found.set(pair, known);
    }
    let found = known.find((each) => sameNumbers(each.pattern, pattern));
    if (found?.result !== undefined) {
      if (typeof found.result !== 'string') found.result.structure.recurs = true;
      return found.result;
    }
    // Merges of kernels that recur do so too: of a chain of merges, all are kept once one is done for the third time.
    const recurs = first.structure.recurs || second.structure.recurs;
    const keeps = found !== undefined || (recurs && known.length < MOST_FOUND);
    const result = this.#find(first, second, key, isLiveOut, keeps, recurs);
    if (found === undefined && known.length < MOST_FOUND) {
      found = { pattern, result: undefined };
      known.push(found);
    }
    if (found === undefined) return result;
    if (typeof result === 'string') found.result = result;
    else if (result.number >= 0) found.result = recipeOf(result, first, second);
    return found.result ?? result;
  }

  #find(
    first: KernelInstance,
    second: KernelInstance,
    key: BufferKey | undefined,
    isLiveOut: IsLiveOut,
    keeps = false,
    recurs = false,
  ): Structure | Reason {
    const merge = mergeOf(first.toMutable(), second.toMutable(), key, isLiveOut);
    if ('reason' in merge) return merge.reason;
    return this.#structures.ofMerged(unite(merge, isLiveOut), keeps, recurs);
  }
}

function recipeOf(structure: Structure, first: KernelInstance, second: KernelInstance): Recipe {
  const { buffers, constants } = structure.kernel;
  const from = (own: number, other: number): number => (own >= 0 ? own : ~other);
  return {
    structure,
    buffers: buffers.map(({ key }) => from(placeOf(first.buffers, key), placeOf(second.buffers, key))),
    constants: constants.map((held) => from(first.constants.indexOf(held), second.constants.indexOf(held))),
    shared: second.buffers.flatMap((buffer, other): [number, number][] => {
      const at = placeOf(buffers, buffer.key);
      return at >= 0 && placeOf(first.buffers, buffer.key) >= 0 ? [[at, other]] : [];
    }),
  };
}

const mergeOf = (
  first: MutableKernel,
  second: MutableKernel,
  key: BufferKey | undefined,
  isLiveOut: IsLiveOut,
): ReturnType<typeof mergeHorizontally> =>
  key === undefined
    ? mergeHorizontally(first, second, isLiveOut)
    : mergeVertically(first, second, key, isLiveOut);

/**
 * The properties of two kernels of known structures that their merge depends on: which buffer the second reads of the
 * first, the places at which the first has the second's buffers and constants, and the stored values that others read.
 */
function patternOf(
  first: KernelInstance,
  second: KernelInstance,
  key: BufferKey | undefined,
  isLiveOut: IsLiveOut,
): readonly number[] {
  const pattern: number[] = [key === undefined ? -1 : placeOf(second.buffers, key)];
  for (const buffer of second.buffers) pattern.push(placeOf(first.buffers, buffer.key));
  for (const constant of second.constants) pattern.push(placeOfConstant(first.constants, constant));
  for (const stored of first.writes) pattern.push(isLiveOut(stored) ? 1 : 0);
  for (const stored of second.writes) pattern.push(isLiveOut(stored) ? 1 : 0);
  return pattern;
}

function placeOf(buffers: readonly KernelBuffer[], key: BufferKey): number {
  for (let k = 0; k < buffers.length; k++) if (buffers[k]!.key === key) return k;
  return -1;
}

function placeOfConstant(constants: readonly Instruction[], constant: Instruction): number {
  for (let k = 0; k < constants.length; k++)
    if (constants[k] === constant || isSame(constants[k]!, constant)) return k;
  return -1;
}
