/** Levels and phases of a kernel's values; `kernel.ts` says what they are. */

import { affineLoadsOf, affinesIn, type Load, sizesOf } from './algebra.js';
import { isConstant, isReduction, opOf } from './arithmetic.js';
import { type Affine, argumentsOf, type Kernel, oncePerKernel } from './kernel.js';

/** The axes and instructions of a kernel, finished or not. */
export type LevelTape = Pick<Kernel, 'parallel' | 'reduced' | 'tape'>;

/** The level and phase of every instruction, by position. */
export interface Levels {
  /** Whether the value depends on the reduced axes, or is a product that a sum of their elements takes up. */
  readonly element: readonly boolean[];
  /**
   * The walk over the reduced axes in which an element value can first be computed, or a reduction runs. A
   * row value of phase p is available before walk p.
   */
  readonly phase: readonly number[];
  /** Number of walks over the reduced axes (1 for a map). */
  readonly phases: number;
}

/** The walk before which a row-level value is known, or in which an element-level one is. */
export const knownBefore = (
  { tape }: Pick<Kernel, 'tape'>,
  phase: readonly number[],
  position: number,
): number => phase[position]! + (isReduction(tape[position]!) ? 1 : 0);

/** Level and phase of every value; found once for each kernel. */
export const levelsOf: (kernel: Kernel) => Levels = oncePerKernel(findLevels);

/** As `levelsOf`, of a kernel that is being fused as well. */
export function findLevels(kernel: LevelTape): Levels {
  const first = kernel.parallel.length;
  const onReduced = (a: Affine): boolean => a.strides.some((stride, k) => k >= first && stride !== 0);
  const element: boolean[] = [];
  const phase: number[] = [];
  for (const instruction of kernel.tape) {
    // A sum takes up the factors of such a product, element by element.
    let level = opOf(instruction) === 'termProduct';
    let at = 0;
    for (const arg of argumentsOf(instruction)) {
      level ||= element[arg]!;
      at = Math.max(at, knownBefore(kernel, phase, arg));
    }
    element.push(!isReduction(instruction) && (level || affinesIn(instruction).some(onReduced)));
    phase.push(at);
  }
  let phases = 1;
  kernel.tape.forEach((instruction, i) => {
    if (isReduction(instruction) || element[i]) phases = Math.max(phases, phase[i]! + 1);
  });
  return { element, phase, phases };
}

/** Element-level loads at affine places. */
export function elementLoadsOf(kernel: Kernel): Load[] {
  const { element } = levelsOf(kernel);
  return affineLoadsOf(kernel).filter(({ position }) => element[position]);
}

/** Whether a kernel stores values of each element, besides those of its rows. */
export function storesElements(kernel: Kernel): boolean {
  const { element } = levelsOf(kernel);
  return kernel.stores.some(({ value }) => element[value]);
}

/**
 * Positions of what walks over the reduced axes take: arguments of reductions and of element-level values,
 * of those `among` them, without constants.
 */
export function takenByWalks(kernel: Kernel, among: (position: number) => boolean = () => true): Set<number> {
  const { tape } = kernel;
  const { element } = levelsOf(kernel);
  const taken = new Set<number>();
  tape.forEach((i, position) => {
    if (!isReduction(i) && !(element[position] && among(position))) return;
    for (const arg of argumentsOf(i)) if (!isConstant(tape[arg]!)) taken.add(arg);
  });
  return taken;
}

/** By position, then axis: whether the value depends on the axis; found once for each kernel. */
export const dependenciesOf: (kernel: Kernel) => readonly (readonly boolean[])[] =
  oncePerKernel(findDependencies);

/** Results of reductions are of the row, and depend on parallel axes alone. */
export function findDependencies(kernel: LevelTape): boolean[][] {
  const axes = [...sizesOf(kernel).keys()];
  const result: boolean[][] = [];
  for (const i of kernel.tape) {
    const own = affinesIn(i);
    const args = argumentsOf(i);
    const known = isReduction(i) ? kernel.parallel.length : axes.length;
    const isMoved = (axis: number): boolean => own.some(({ strides }) => strides[axis] !== 0);
    result.push(
      axes.map((axis) => axis < known && (isMoved(axis) || args.some((arg) => result[arg]![axis]))),
    );
  }
  return result;
}

/** Whether a value is computed for each element of the domain, as all of a map but its constants are. */
export function inWalks(
  { tape, reduced }: Pick<Kernel, 'tape' | 'reduced'>,
  { element }: Pick<Levels, 'element'>,
): (position: number) => boolean {
  const isMap = reduced.length === 0;
  return (position) => (isMap || element[position]!) && !isConstant(tape[position]!);
}
