/**
 * How a loop runs in parts: where a step makes every element of the large states from that element alone, a
 * part of them goes through all steps by itself. States of another size, such as the number of the step, are
 * small: every part runs them as a whole.
 *
 * Called by `sweep-tasks.ts`. Loops that read elsewhere are left to `loop-sweeps.ts`.
 */

import { mergeRegions, type Region, type Work, type Works } from '../../codegen/cuts/work.js';
import { isSamePlace, loadsOf } from '../../fusion/kernel/algebra.js';
import { type Access, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { KernelStep, LoopStep } from '../plan/plan.js';
import type { Cut, Ranges, Touch } from './sweep-cuts.js';

/** A kernel of a loop's body, and how it is run in ranges. */
interface CutKernel {
  readonly step: KernelStep;
  readonly rows: Work;
}

/** The cut of a loop into parts that go through all of its steps; `undefined`: it has none. */
export function loopCut(loop: LoopStep, worksOf: (kernel: Kernel) => Works): Cut | undefined {
  if (loop.condition >= 0 || loop.every > 0) return undefined;
  const parts: CutKernel[] = [];
  for (const step of loop.body) {
    if (step.kind !== 'kernel' || step.scratch.length > 0 || step.kernel.reduced.length > 0) return undefined;
    const { rows } = worksOf(step.kernel);
    if (rows === undefined || rows.parts(0, rows.units).length !== 1) return undefined;
    parts.push({ step, rows });
  }
  const most = Math.max(...parts.map(({ step }) => product(step.kernel.parallel)));
  const isLarge = ({ step }: CutKernel): boolean => product(step.kernel.parallel) === most;
  const large = parts.filter(isLarge);
  if (large.length === 0 || !goTogether(large)) return undefined;
  if (
    !staysInPlace(
      loop,
      large,
      parts.filter((part) => !isLarge(part)),
    )
  )
    return undefined;
  return cutOf(loop, parts, isLarge);
}

/** Whether units of some kernels are the same elements. */
function goTogether(parts: readonly CutKernel[]): boolean {
  const [first, ...others] = parts;
  const { units } = first!.rows;
  if (units < 2) return false;
  const writtenAt = ({ step, rows }: CutKernel, unit: number): string[] => {
    const regions = rows.regions(unit, unit + 1).writes;
    return regions.map((one) => `${one.first * scaleOf(step, one)} ${one.last * scaleOf(step, one)}`);
  };
  const parallel = (part: CutKernel): string => part.step.kernel.parallel.join();
  return others.every(
    (part) =>
      part.rows.units === units &&
      parallel(part) === parallel(first!) &&
      [0, units >> 1, units - 1].every((unit) => {
        const known = new Set([...writtenAt(first!, unit), ...writtenAt(part, unit)]);
        return known.size === 1;
      }),
  );
}

/** A buffer's elements for each one of the kernel's: what is stored with gaps is not compared. */
const scaleOf = ({ kernel }: KernelStep, { buffer }: Region): number =>
  product(kernel.parallel) / kernel.buffers[buffer]!.elementCount;

/**
 * Whether what the large kernels of a body make is read by them where it is stored, and by no small one: also
 * in the next step, where it is the state.
 */
function staysInPlace(loop: LoopStep, large: readonly CutKernel[], small: readonly CutKernel[]): boolean {
  const stateOf = new Map(loop.states.map(({ current, next }) => [current, next]));
  const stored = new Map<number, Access>();
  for (const { step } of large) {
    for (const { access } of step.kernel.stores) {
      const buffer = step.buffers[access.buffer]!;
      if (stored.has(buffer) || access.bounds.length > 0) return false;
      stored.set(buffer, access);
    }
  }
  const madeOf = (buffer: number): Access | undefined => stored.get(stateOf.get(buffer) ?? buffer);
  const isOwn = ({ step: { kernel, buffers } }: CutKernel): boolean =>
    loadsOf(kernel).every(({ access }) => {
      const store = madeOf(buffers[access.buffer]!);
      return store === undefined || isSamePlace(access, store);
    });
  return large.every(isOwn) && small.every(({ step }) => step.buffers.every((b) => madeOf(b) === undefined));
}

function cutOf(loop: LoopStep, parts: readonly CutKernel[], isLarge: (part: CutKernel) => boolean): Cut {
  const { units, period } = parts.find(isLarge)!.rows;
  const places = new Map<number, Record<'reads' | 'writes', readonly number[]>>();
  for (const { initial, current, next, last, other } of loop.states) {
    places.set(current, { reads: [initial], writes: [] });
    places.set(next, { reads: [], writes: other >= 0 ? [last, other] : [last] });
  }
  /** The footprint of a range of a kernel, in bytes of the buffers around the loop. */
  const touchesOf = (part: CutKernel, first: number, last: number) => {
    const { step, rows } = part;
    const { reads, writes } = isLarge(part) ? rows.regions(first, last) : rows.regions(0, rows.units);
    const touch = (regions: readonly Region[], way: 'reads' | 'writes'): Touch[] =>
      mergeRegions(regions).flatMap((region) => {
        const buffer = step.buffers[region.buffer]!;
        const bytes = byteLengthOf(step.kernel.buffers[region.buffer]!.dtype);
        const range = { first: region.first * bytes, last: region.last * bytes };
        return (places.get(buffer)?.[way] ?? [buffer]).map((own) => ({ buffer: own, ...range }));
      });
    return { reads: touch(reads, 'reads'), writes: touch(writes, 'writes') };
  };
  return {
    units,
    touches: (first, last) => {
      const all = parts.map((part) => touchesOf(part, first, last));
      const writes = mergeRegions(all.flatMap((one) => one.writes));
      // Values that one kernel of the body makes for another are not read from outside.
      const made = new Set(writes.map(({ buffer }) => buffer));
      const reads = mergeRegions(all.flatMap((one) => one.reads));
      return { reads: reads.filter(({ buffer }) => !made.has(buffer)), writes };
    },
    ranges: (first, last) =>
      parts.map((part): Ranges => {
        const { rows } = part;
        return (isLarge(part) ? rows.parts(first, last) : rows.parts(0, rows.units))[0]!;
      }),
    pitches: () => [],
    period,
  };
}
