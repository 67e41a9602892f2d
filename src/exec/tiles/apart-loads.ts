/**
 * Kernels that read a value in windows, and elements of it that are far from those: they are copied first, by a kernel of
 * their own, so that a tile needs a window around neither.
 *
 *     y[i] = s[i] / s[n - 1]     the first tile reads the first elements of s, and the last one
 *                                t = s[n - 1]     y[i] = s[i] / t
 *
 * Inputs have windows for each place that they are read at instead (`sweep-aliases.ts`). Called by `sweep-attempt.ts`.
 */
import type { Work } from '../../codegen/cuts/work.js';
import { type Load, loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { isZeroOutside, product } from '../../fusion/kernel/kernel.js';
import type { KernelStep } from '../plan/plan.js';
import { isNear } from './sweep-aliases.js';
import type { WorksOf } from './sweep-cuts.js';
import { firstWhere, lastWhere } from './sweep-windows.js';
import { type MakeBuffer, takenAxes, takenFirst } from './taken-first.js';

export interface ApartRules {
  /** Whether a buffer has windows, and is made in the job. */
  readonly isMade: (buffer: number) => boolean;
  /** Whether many elements may be copied, too: where all large values wait. */
  readonly takesMany: boolean;
  readonly worksOf: WorksOf;
  /** Makes a buffer for a copy. */
  readonly buffer: MakeBuffer;
}

/** The part of a buffer that is a few elements. */
const FEW = 1 / 16;
/** The part of a buffer that some part of a kernel needs at least where it reads around two places, or more; where all large values wait. */
const FAR = 0.45;
const FAR_APART = 1 / 16;
/** The part of a buffer that units before or behind one need where that one reads at two ends. */
const MOST = 0.9;

/** The copies that a step needs, and the step that reads them; the step alone, where it needs none. */
export function withApartLoads(step: KernelStep, rules: ApartRules): KernelStep[] {
  const copies: KernelStep[] = [];
  if (step.kernel.carried !== undefined) return [step];
  let rest = step;
  for (;;) {
    const group = apartGroup(rest, rules);
    const split = group && takenFirst(rest, group, rules.buffer);
    if (split === undefined) return [...copies, rest];
    copies.push(split.taking);
    rest = split.rest;
  }
}

/** Loads of a buffer near to one another, and far from the others. `undefined`: no part of the kernel reads around two places. */
function apartGroup(step: KernelStep, { isMade, takesMany, worksOf }: ApartRules): Load[] | undefined {
  const { kernel, buffers } = step;
  const far = takesMany ? FAR_APART : FAR;
  const loads = loadsOf(kernel).filter(({ access }) => isMade(buffers[access.buffer]!));
  for (const buffer of new Set(loads.map(({ access }) => access.buffer))) {
    const { elementCount } = kernel.buffers[buffer]!;
    const own = loads.filter(({ access }) => access.buffer === buffer);
    const near = groupsOf(step, own, elementCount);
    const groups = near.length < 2 && takesMany ? placesInRows(step, own, FEW * elementCount) : near;
    if (groups.length < 2) continue;
    const [most, ...others] = groups.toSorted((a, b) => b.elements - a.elements);
    const few = [...others, most!].filter(({ elements }) => elements <= FEW * elementCount);
    const many = takesMany ? others.filter(({ elements }) => elements <= elementCount) : [];
    const found = [...few, ...many].find((group) => group.loads.every(isPlain));
    if (found !== undefined && reads(step, buffer, far * elementCount, worksOf)) return found.loads;
  }
  return undefined;
}

/** Whether elements of a load are those at its place, or 0. */
const isPlain = ({ access: { index, place, bounds } }: Load): boolean =>
  index === undefined && place === undefined && bounds.every(isZeroOutside);

interface NearLoads {
  readonly loads: Load[];
  /** That a copy has. */
  readonly elements: number;
}

/**
 * Loads of a few elements of each row, as those of several quantiles, by places in the rows: a window has all that lies
 * between. None where they read more than so many elements.
 */
function placesInRows(step: KernelStep, loads: readonly Load[], most: number): NearLoads[] {
  const strides = loads.flatMap(({ access }) => access.strides.filter((stride) => stride !== 0));
  const groups = groupsOf(step, loads, Math.min(...strides.map(Math.abs)));
  return groups.every(({ elements }) => elements <= most) ? groups : [];
}

/** Loads of a buffer by place, those of `length` elements together that can share a window of as many. */
function groupsOf({ kernel }: KernelStep, loads: readonly Load[], length: number): NearLoads[] {
  const groups: Load[][] = [];
  for (const load of loads) {
    const known = groups.find(([leader]) => isNear(leader!.access, load.access, length));
    if (known === undefined) groups.push([load]);
    else known.push(load);
  }
  const sizes = sizesOf(kernel);
  return groups.map((own) => ({
    loads: own,
    elements: product(takenAxes(kernel, own).map((axis) => sizes[axis]!)),
  }));
}

/** Whether some unit of a kernel needs as many elements of a buffer, in all ways in which it can be cut. */
function reads({ kernel }: KernelStep, buffer: number, elements: number, worksOf: WorksOf): boolean {
  const { rows, phases } = worksOf(kernel);
  const { elementCount } = kernel.buffers[buffer]!;
  const isFar = ({ units, regions }: Work): boolean => {
    const lengthOf = (first: number, last: number): number => {
      const own = first < last ? regions(first, last).reads.find((one) => one.buffer === buffer) : undefined;
      return own === undefined ? 0 : own.last - own.first;
    };
    // Units between those that read at one place and those that read at the other read at both.
    const isMost = (first: number, last: number): boolean => lengthOf(first, last) >= MOST * elementCount;
    const between = [
      firstWhere(0, units - 1, (unit) => isMost(0, unit + 1)),
      lastWhere(0, units - 1, (unit) => isMost(unit, units)),
    ];
    return [0, units >> 1, units - 1, ...between].some((unit) => lengthOf(unit, unit + 1) >= elements);
  };
  const ofRows = rows === undefined || rows.units === 0 ? [] : [isFar(rows)];
  const ofPhases = phases.length === 0 ? [] : [phases.some(({ work }) => isFar(work))];
  return [...ofRows, ...ofPhases].every(Boolean);
}
