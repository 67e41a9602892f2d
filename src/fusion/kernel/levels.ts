/** Levels and phases of a kernel's values; `kernel.ts` says what they are. */

import { affinesIn } from './algebra.js';
import { type Affine, argumentsOf, type Kernel } from './kernel.js';

/** The level and phase of every instruction, by position. */
export interface Levels {
  /** Whether the value depends on the reduced axes. */
  readonly element: readonly boolean[];
  /** The walk over the reduced axes in which an element value can first be computed, or a reduction runs. A row value
   * of phase p is available before walk p. */
  readonly phase: readonly number[];
  /** Number of walks over the reduced axes (1 for a map). */
  readonly phases: number;
}

/** Finds level and phase of every value. */
export function levelsOf(kernel: Kernel): Levels {
  const first = kernel.parallel.length;
  const onReduced = (a: Affine): boolean => a.strides.some((stride, k) => k >= first && stride !== 0);
  const element: boolean[] = [];
  const phase: number[] = [];
  for (const instruction of kernel.tape) {
    let level = false;
    let at = 0;
    for (const arg of argumentsOf(instruction)) {
      level ||= element[arg]!;
      at = Math.max(at, phase[arg]! + (kernel.tape[arg]!.kind === 'reduce' ? 1 : 0));
    }
    element.push(instruction.kind !== 'reduce' && (level || affinesIn(instruction).some(onReduced)));
    phase.push(at);
  }
  let phases = 1;
  kernel.tape.forEach((instruction, i) => {
    if (instruction.kind === 'reduce' || element[i]) phases = Math.max(phases, phase[i]! + 1);
  });
  return { element, phase, phases };
}
