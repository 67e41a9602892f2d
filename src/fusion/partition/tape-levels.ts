/**
 * Levels of a growing kernel's values as they would be in a merged kernel (`kernel.ts` says what levels and
 * phases are). Kept from one question to the next: a kernel that grows is asked about again and again. Called
 * by `merge-limits.ts`.
 */

import { affinesIn, loadOf } from '../kernel/algebra.js';
import { isReduction } from '../kernel/arithmetic.js';
import { type Affine, argumentsOf, type Instruction } from '../kernel/kernel.js';
import type { BufferKey } from './buffer-key.js';
import type { BufferUse } from './buffer-list.js';

/** A value's level and the phase that what uses it can be in, as `2 * phase + (element ? 1 : 0)`. */
export type Level = number;
export const isElement = (level: Level): boolean => (level & 1) === 1;
const phaseOf = (level: Level): number => level >> 1;

export interface TapeLevels {
  /** The first axis that is reduced. */
  readonly firstReduced: number;
  /** By position in the tape. */
  readonly levels: Level[];
  /** Walks over the reduced axes. */
  phases: number;
}

/** The kernel whose levels are found and kept: a `MutableKernel`. */
interface Leveled {
  readonly tape: readonly Instruction[];
  readonly uses: readonly BufferUse[];
  ownLevels: TapeLevels | undefined;
}

/**
 * Levels of a tape once its axis k is the merged kernel's `axisOf[k]`; `held`: loads that come from
 * registers.
 */
export function levelsIn(
  kernel: Leveled,
  axisOf: readonly number[],
  firstReduced: number,
  held?: (key: BufferKey) => Level | undefined,
): TapeLevels {
  const isOwn = held === undefined && axisOf.every((axis, k) => axis === k);
  const kept = isOwn ? kernel.ownLevels : undefined;
  const found = kept?.firstReduced === firstReduced ? kept : { firstReduced, levels: [], phases: 1 };
  if (isOwn) kernel.ownLevels = found;
  extend(found, kernel, axisOf, firstReduced, held);
  return found;
}

/** Finds the levels of the instructions that have none yet. */
function extend(
  found: TapeLevels,
  { tape, uses }: Leveled,
  axisOf: readonly number[],
  firstReduced: number,
  held: ((key: BufferKey) => Level | undefined) | undefined,
): void {
  const onReduced = ({ strides }: Affine): boolean => {
    for (let k = 0; k < strides.length; k++) if (strides[k] !== 0 && axisOf[k]! >= firstReduced) return true;
    return false;
  };
  const { levels } = found;
  for (let p = levels.length; p < tape.length; p++) {
    const i = tape[p]!;
    const read = loadOf(i);
    const register = read && held?.(uses[read.buffer]!.buffer.key);
    const level = register ?? levelOf(i, levels, onReduced);
    const phase = phaseOf(level);
    if (isReduction(i)) {
      found.phases = Math.max(found.phases, phase + 1);
      levels.push(2 * (phase + 1));
    } else {
      if (isElement(level)) found.phases = Math.max(found.phases, phase + 1);
      levels.push(level);
    }
  }
}

function levelOf(i: Instruction, levels: readonly Level[], onReduced: (affine: Affine) => boolean): Level {
  let element = affinesIn(i).some(onReduced) ? 1 : 0;
  let phase = 0;
  for (const arg of argumentsOf(i)) {
    element |= levels[arg]! & 1;
    phase = Math.max(phase, phaseOf(levels[arg]!));
  }
  return 2 * phase + element;
}
