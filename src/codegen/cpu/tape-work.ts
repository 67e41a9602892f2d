/**
 * How the CPU's tapes can be run part by part: ranges of a tape's tiles, or of its slots phase by phase, and
 * what each range reads and writes, exactly as `native/cpu/tape-worker.cpp` walks them.
 *
 * Called by the planner of jobs that do not fit into memory; running the ranges is native.
 */

import { loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Box, boxesOfRange } from '../../fusion/kernel/boxes.js';
import { type Access, type Affine, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { type Pitches, pitchesOf } from '../cuts/pitch.js';
import { shiftOf, type UnitLoop } from '../cuts/shift.js';
import {
  type IndexWindow,
  mergeRegions,
  periodOf,
  type Region,
  regionsOf,
  type Work,
  type Works,
} from '../cuts/work.js';
import { planPhases, planTape } from './tape.js';
import { type LaneMode, type Loop, laneModeOf, startOf } from './tape-blocking.js';
import { type PhaseMemory, phaseMemory } from './tape-phase-memory.js';
import type { TapePlan } from './tape-plan.js';
import type { Section } from './tape-registers.js';

/** The ways to run a kernel's tape in parts. */
export function tapeWorks(source: Kernel): Works {
  const plan = planTape(source);
  const rows = rowsOf(plan, plan.loops.tiles);
  const pitches = pitchesOf(plan.kernel, keepsLanes(plan));
  if (source.reduced.length === 0) return { rows, phases: [], phaseScratch: [], pitches };
  const inPhases = planPhases(source);
  const memory = phaseMemory(inPhases);
  if (rows.units === 0 || memory.units <= 1) return { rows, phases: [], phaseScratch: [], pitches };
  return { rows, phases: phasesOf(inPhases, memory), phaseScratch: [memory.byteLength], pitches };
}

/** Instructions are chosen by how an access moves along the lanes. */
const keepsLanes =
  ({ kernel, blocking }: TapePlan) =>
  (whole: Affine, inRows: Affine): boolean => {
    const [before, after] = [whole, inRows].map((affine) => laneModeOf(affine, blocking, sizesOf(kernel)));
    const strideOf = (mode: LaneMode): number => (mode.type === 'stride' ? mode.stride : 0);
    return before!.type === after!.type && (strideOf(before!) === 1) === (strideOf(after!) === 1);
  };

const countOf = (loops: readonly Loop[]): number => product(loops.map(({ count }) => count));

const regionsIn = (
  kernel: Kernel,
  accesses: readonly Access[],
  boxes: readonly Box[],
  pitches?: Pitches,
  window?: IndexWindow,
): Region[] => mergeRegions(boxes.flatMap((box) => regionsOf(kernel, accesses, box, pitches, window)));

/** Tiles in the order of their linear index. */
function rowsOf(plan: TapePlan, tiles: readonly Loop[]): Work {
  const { kernel } = plan;
  const loads = loadsOf(kernel).map(({ access }) => access);
  const stores = kernel.stores.map(({ access }) => access);
  return {
    units: countOf(tiles),
    shift: shiftOf(kernel, [...loads, ...stores], unitLoops(plan, tiles)),
    regions: (first, last, pitches, window) => {
      const boxes = boxesOf(plan, tiles, first, last);
      return {
        reads: regionsIn(kernel, loads, boxes, pitches, window),
        writes: regionsIn(kernel, stores, boxes, pitches),
      };
    },
    parts: (first, last) => [[first, last, 0, 0]],
    period: periodOf(tiles.map(({ count }) => count)),
  };
}

const unitLoops = ({ blocking }: TapePlan, loops: readonly Loop[]): UnitLoop[] =>
  loops.map(({ axis, count, role }) => {
    const lanes = role === 'lanes' || role === 'shared' ? blocking.take : 1;
    const rows = role === 'rows' || role === 'shared' ? blocking.rows : 1;
    return { axis, count, step: lanes * rows };
  });

/** The footprint of a section of a tape. */
interface Accesses {
  readonly loads: readonly Access[];
  readonly stores: readonly Access[];
}
function accessesOf({ tape, stores }: Kernel, section: Section): Accesses {
  return {
    loads: loadsOf(
      { tape },
      section.flatMap((op) => (op.kind === 'value' ? [op.value] : [])),
    ).map(({ access }) => access),
    stores: section.flatMap((op) => (op.kind === 'store' ? [stores[op.store]!.access] : [])),
  };
}

/** Slots, runs of blocks of the reduced axes, or parts of slots. */
function phasesOf(plan: TapePlan, { unitBlocks, units }: PhaseMemory): Works['phases'] {
  const { kernel, schedule } = plan;
  const { walks } = plan.loops;
  const blocks = countOf(walks);
  const endOf = (unit: number): number => (unit === units ? blocks : unit * unitBlocks);
  const everywhere: Box = sizesOf(kernel).map((size) => [0, size]);
  const rows = schedule.rowSections.map((section) => accessesOf(kernel, section));
  return schedule.walks.map((section, p) => {
    const { loads, stores } = accessesOf(kernel, section);
    // Row-level values before the first phase are computed with its first blocks.
    const ahead = p === 0 ? rows[0]! : { loads: [], stores: [] };
    const regions: Work['regions'] = (first, last, pitches) => {
      const boxes = boxesOf(plan, walks, endOf(first), endOf(last));
      const both = (accesses: readonly Access[], once: readonly Access[]) =>
        mergeRegions([
          ...regionsIn(kernel, accesses, boxes, pitches),
          ...(first === 0 ? regionsOf(kernel, once, everywhere, pitches) : []),
        ]);
      return { reads: both(loads, ahead.loads), writes: both(stores, ahead.stores) };
    };
    const after = rows[p + 1]!;
    const moved = shiftOf(kernel, [...loads, ...stores], unitLoops(plan, walks), unitBlocks);
    // The first unit has what is ahead, the last one another number of blocks.
    const shift = moved && { ...moved, from: Math.max(moved.from, 1), to: Math.min(moved.to, units - 1) };
    return {
      work: {
        units,
        shift,
        regions,
        parts: (first, last) => [[0, 1, endOf(first), endOf(last)]],
        // Threads share whole slots.
        period: schedule.slotBlocks / unitBlocks,
      },
      finish: regionsOf(kernel, [...after.loads, ...after.stores], everywhere),
    };
  });
}

/** Boxes that make up steps [first, last) of some loops; along all other axes they are whole. */
function boxesOf({ kernel, blocking }: TapePlan, loops: readonly Loop[], first: number, last: number): Box[] {
  const sizes = sizesOf(kernel);
  const counts = loops.map(({ count }) => count);
  return boxesOfRange(first, last, counts).map((steps) => {
    const box = sizes.map((size) => [0, size] as [number, number]);
    loops.forEach((loop, k) => {
      const [from, to] = steps[k]!;
      const extent = sizes[loop.axis]!;
      box[loop.axis] = [startOf(loop, from, extent, blocking), startOf(loop, to, extent, blocking)];
    });
    return box;
  });
}
