/**
 * How the launches of a CUDA kernel are run block range by block range, and what a range touches (`work.ts`).
 * Generated functions add the launch's first block to their own, so that a part is the same code as the whole
 * (`function.ts`).
 *
 * Regions are exact at their ends: the first and the last element of each that some thread touches, clamped
 * to the buffer. Called by the planner, for kernels that a GPU runs as one (`expandForDevice` splits the
 * others).
 */
import { liveValues, loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { isReduction, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { type Box, boxesOfRange } from '../../fusion/kernel/boxes.js';
import { type Access, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { Body } from '../cuda/body.js';
import { gridSizes, type TileGrid } from '../cuda/function.js';
import { mapBlock, mapBlocks } from '../cuda/printers/map-kernel.js';
import { outerProductGrid } from '../cuda/printers/outer-product-kernel.js';
import { reduceBlock, reduceScratch } from '../cuda/printers/reduce-kernel.js';
import { repeatBlock, repeatBlocks } from '../cuda/printers/repeat-kernel.js';
import { transposeGrid } from '../cuda/printers/transpose-kernel.js';
import { combineBlock } from '../cuda/schedules/combine-slots.js';
import { type Schedule, scheduleOf } from '../cuda/schedules/schedule.js';
import type { OuterProductSchedule } from '../cuda/schedules/schedule-outer-product.js';
import type { ReduceSchedule } from '../cuda/schedules/schedule-reduce.js';
import { type StencilSchedule, stencilGrid, tileRows } from '../cuda/schedules/schedule-stencil.js';
import { tileReduced } from '../cuda/tile-reduced.js';
import { normalize } from './domain.js';
import { type Pitches, pitchesOf } from './pitch.js';
import { type Shift, shiftOf, type UnitLoop } from './shift.js';
import {
  buffersInOrder,
  type IndexWindow,
  mergeRegions,
  type Partials,
  periodOf,
  type Region,
  regionsOf,
  type Work,
  type Works,
} from './work.js';

const NO_WORKS: Works = { rows: undefined, phases: [], phaseScratch: [], pitches: new Map() };

/**
 * The ways to cut a kernel that is printed with `schedule`. A kernel of split phases, or of no elements, has
 * none, nor has one whose blocks are as many as the device runs at once.
 */
export function cudaWorks(kernel: Kernel, schedule: Schedule = scheduleOf(kernel)): Works {
  const normal = normalize(kernel);
  switch (schedule.kind) {
    case 'empty':
    case 'split':
    case 'table':
      return NO_WORKS;
    case 'stencil':
      return { ...NO_WORKS, rows: stencilWork(normal, schedule) };
    case 'map':
      return whole(normal, mapWork(normal, mapBlock(schedule), mapBlocks(normal, schedule)));
    case 'repeat':
      return whole(normal, mapWork(normal, repeatBlock(schedule), repeatBlocks(normal, schedule)));
    case 'transpose':
      return whole(normal, gridWork(normal, transposeGrid(normal, schedule)));
    case 'outer-product':
      return outerProductWorks(normal, schedule);
    case 'rows':
      return whole(normal, rowWork(normal, [schedule.threadsP], 1));
    case 'reduce':
      return reduceWorks(normal, schedule);
  }
}

const whole = (kernel: Kernel, rows: Work): Works => ({ ...NO_WORKS, rows, pitches: pitchesOf(kernel) });

/** Loads and stores of a part of a kernel. */
interface Accesses {
  readonly loads: readonly Access[];
  readonly stores: readonly Access[];
}

/** The loads that values need, down to `known`. */
const loadsFor = (
  { kernel }: Body,
  values: readonly number[],
  known: (position: number) => boolean,
): Access[] => loadsOf(kernel, liveValues(kernel.tape, values, known)).map(({ access }) => access);

function accessesOf(kernel: Kernel): Accesses {
  const { stores } = kernel;
  const values = stores.map(({ value }) => value);
  return {
    loads: loadsFor(new Body(kernel), values, () => false),
    stores: stores.map(({ access }) => access),
  };
}

/** One region for each buffer that the accesses reach from the boxes. */
const reach = (
  kernel: Kernel,
  accesses: readonly Access[],
  boxes: readonly Box[],
  pitches?: Pitches,
  window?: IndexWindow,
): Region[] => mergeRegions(boxes.flatMap((box) => regionsOf(kernel, accesses, box, pitches, window)));

const regionsIn =
  (
    kernel: Kernel,
    { loads, stores }: Accesses,
    boxesOf: (first: number, last: number) => Box[],
  ): Work['regions'] =>
  (first, last, pitches, window) => {
    const boxes = boxesOf(first, last);
    return {
      reads: reach(kernel, loads, boxes, pitches, window),
      writes: reach(kernel, stores, boxes, pitches),
    };
  };

/** All of the axes; one index of an empty one, for what does not depend on it. */
const wholeAxes = (sizes: readonly number[]): Box => sizes.map((n) => [0, Math.max(1, n)] as const);

const allOf = ({ loads, stores }: Accesses): readonly Access[] => [...loads, ...stores];

/** Loops over all elements of some axes, from `axis` on. */
const elementLoops = (sizes: readonly number[], axis = 0): UnitLoop[] =>
  sizes.map((count, k) => ({ axis: axis + k, count, step: 1 }));

/** The shift of all units but the last. */
const withoutLast = (shift: Shift | undefined, units: number): Shift | undefined =>
  shift && { ...shift, to: Math.min(shift.to, units - 1) };

/** Blocks [first, last) of one that walks `block` elements; the last block does what is left over as well. */
function mapWork(kernel: Kernel, block: number, blocks: number): Work {
  const count = product(kernel.parallel);
  const accesses = accessesOf(kernel);
  const end = (last: number): number => (last === blocks ? count : last * block);
  return {
    units: blocks,
    regions: regionsIn(kernel, accesses, (first, last) =>
      boxesOfRange(first * block, end(last), kernel.parallel),
    ),
    parts: (first, last) => [[first, last, 0, 1]],
    inOrder: buffersInOrder(accesses.stores, kernel.parallel),
    shift: withoutLast(shiftOf(kernel, allOf(accesses), elementLoops(kernel.parallel), block), blocks),
  };
}

/** Rows of tiles, which read as far around what they store as the steps of a launch reach. */
function stencilWork(kernel: Kernel, schedule: StencilSchedule): Work {
  const [height, width] = kernel.parallel as readonly [number, number];
  const [above] = schedule.halo;
  const stored = tileRows(schedule) - 2 * above;
  const [units, across] = stencilGrid(kernel, schedule);
  const carried = kernel.carried!;
  const isState = ({ buffer }: Access): boolean => carried.some(({ input }) => input === buffer);
  const others = accessesOf(kernel).loads.filter((access) => !isState(access));
  return {
    units,
    shift: stencilShift(kernel, schedule, others, units),
    regions: (first, last) => {
      const [top, bottom] = [first * stored, Math.min(height, last * stored)];
      const [from, to] = [Math.max(0, top - above), Math.min(height, bottom + above)];
      const rows = (buffer: number, low: number, high: number): Region => ({
        buffer,
        first: low * width,
        last: high * width,
      });
      const box: Box = [
        [from, to],
        [0, width],
      ];
      return {
        reads: mergeRegions([
          ...carried.map(({ input }) => rows(input, from, to)),
          ...regionsOf(kernel, others, box),
        ]),
        writes: carried.map(({ output }) => rows(output, top, bottom)),
      };
    },
    parts: (first, last) => [[first * across, last * across, 0, 1]],
  };
}

/** The shift of rows of tiles away from the edges. */
function stencilShift(
  kernel: Kernel,
  schedule: StencilSchedule,
  others: readonly Access[],
  units: number,
): Shift | undefined {
  const [height, width] = kernel.parallel as readonly [number, number];
  const [above] = schedule.halo;
  const stored = tileRows(schedule) - 2 * above;
  const shift = shiftOf(kernel, others, [{ axis: 0, count: units, step: stored }]);
  if (shift === undefined) return undefined;
  const states = kernel.carried!.flatMap(({ input, output }) => [input, output]);
  return {
    ...shift,
    from: Math.max(shift.from, Math.ceil(above / stored)),
    to: Math.min(shift.to, Math.floor((height - above) / stored)),
    by: new Map([...shift.by, ...states.map((buffer) => [buffer, stored * width] as const)]),
  };
}

/**
 * Ranges of rows (results of a reduction) that every launch can take: launch k has blocks of `blocks[k]`
 * rows, powers of two; the first has `slots` of them one over the other.
 */
function rowWork(kernel: Kernel, blocks: readonly number[], slots: number): Work {
  const rows = product(kernel.parallel);
  const unit = Math.max(...blocks);
  const reduced = wholeAxes(kernel.reduced);
  const accesses = accessesOf(kernel);
  // Stores of a row's elements do not matter here: only stores of its results.
  const ofRows = accesses.stores.filter(({ strides }) =>
    strides.slice(kernel.parallel.length).every((s) => s === 0),
  );
  return {
    units: Math.ceil(rows / unit),
    inOrder: buffersInOrder(ofRows, kernel.parallel),
    shift: shiftOf(kernel, allOf(accesses), elementLoops(kernel.parallel), unit),
    regions: regionsIn(kernel, accesses, (first, last) =>
      boxesOfRange(first * unit, Math.min(rows, last * unit), kernel.parallel).map((box) => [
        ...box,
        ...reduced,
      ]),
    ),
    parts: (first, last) =>
      blocks.map((block, launch) => {
        const end = Math.min(Math.ceil(rows / block), (last * unit) / block);
        return [(first * unit) / block, end, 0, launch === 0 ? slots : 1];
      }),
  };
}

/** Rows of tiles that a kernel has at least if they are not cut. */
const LEAST_ROWS = 16;

/**
 * Ranges of tiles along all axes of a grid but the last, which stay whole so that results leave in order;
 * along the last one too where there are few tiles of the others.
 */
function gridWork(kernel: Kernel, grid: TileGrid): Work {
  const sizes = gridSizes(kernel, grid);
  const isWide = product(sizes.slice(0, -1)) < LEAST_ROWS;
  const cut = isWide ? sizes : sizes.slice(0, -1);
  const inner = isWide ? 1 : (sizes[sizes.length - 1] ?? 1);
  const whole = wholeAxes(sizesOf(kernel));
  const boxOf = (tiles: Box): Box => {
    const box = [...whole];
    for (const [k, [from, to]] of tiles.entries()) {
      const { axis, length } = grid[k]!;
      box[axis] = [from * length, Math.min(kernel.parallel[axis]!, to * length)];
    }
    return box;
  };
  const accesses = accessesOf(kernel);
  const loops = cut.map((count, k): UnitLoop => ({ axis: grid[k]!.axis, count, step: grid[k]!.length }));
  return {
    units: product(cut),
    shift: shiftOf(kernel, allOf(accesses), loops),
    regions: regionsIn(kernel, accesses, (first, last) => boxesOfRange(first, last, cut).map(boxOf)),
    parts: (first, last) => [[first * inner, last * inner, 0, 1]],
    period: periodOf(cut),
  };
}

/**
 * A reduction: by rows, or by slots of the reduced axes, which leave partial results that the second launch
 * combines.
 */
function reduceWorks(kernel: Kernel, schedule: ReduceSchedule): Works {
  const block = reduceBlock(schedule);
  const { slots } = schedule;
  const rows = product(kernel.parallel);
  if (slots === 1) return whole(kernel, rowWork(kernel, [block], 1));
  const body = new Body(kernel);
  const phaseScratch = reduceScratch(body, schedule).map(({ byteLength }) => byteLength);
  const blocks = [block, combineBlock(kernel, slots)];
  const partials = phaseScratch.map(
    (all): Partials => ({ bytes: all / rows / slots, slots, rows, unit: Math.max(...blocks) }),
  );
  return {
    rows: { ...rowWork(kernel, blocks, slots), partials },
    phases: [slotWork(body, schedule, Math.ceil(rows / block))],
    phaseScratch,
    pitches: pitchesOf(kernel),
  };
}

/**
 * Pairs: by tiles, or by slots of the reduced axes. Results of few tiles are small: their rows are not cut. Partial results
 * of many slots may be more than there is room for: slots leave theirs, and rows are finished after all.
 */
function outerProductWorks(kernel: Kernel, schedule: OuterProductSchedule): Works {
  const grid = outerProductGrid(kernel, schedule);
  if (schedule.slots === 1) return whole(kernel, gridWork(kernel, grid));
  const body = new Body(tileReduced(kernel, schedule.tile));
  const phaseScratch = reduceScratch(body, schedule).map(({ byteLength }) => byteLength);
  const { work, finish } = slotWork(body, schedule, product(gridSizes(kernel, grid)));
  const { slots } = schedule;
  const rows = product(kernel.parallel);
  const all = rows * slots;
  const partials = phaseScratch.map(
    (bytes): Partials => ({ bytes: bytes / all, slots: 1, rows: all, unit: rows }),
  );
  return {
    rows: undefined,
    phases: [{ work: { ...work, partials }, finish, rows: finishWork(body, slots, phaseScratch) }],
    phaseScratch,
    pitches: pitchesOf(kernel),
  };
}

/** The launch that combines slots, by its rows. */
function finishWork(body: Body, slots: number, scratch: readonly number[]): Work {
  const { kernel, levels } = body;
  const rows = product(kernel.parallel);
  const unit = combineBlock(kernel, slots);
  const stores = kernel.stores.filter(({ value }) => !levels.element[value]);
  const isReduce = (position: number): boolean => isReduction(body.instruction(position));
  const finished = stores.map(({ value }) => value);
  const accesses = { loads: loadsFor(body, finished, isReduce), stores: stores.map(({ access }) => access) };
  const reduced = wholeAxes(kernel.reduced);
  return {
    units: Math.ceil(rows / unit),
    inOrder: buffersInOrder(accesses.stores, kernel.parallel),
    shift: withoutLast(
      shiftOf(kernel, allOf(accesses), elementLoops(kernel.parallel), unit),
      Math.ceil(rows / unit),
    ),
    regions: regionsIn(kernel, accesses, (first, last) =>
      boxesOfRange(first * unit, Math.min(rows, last * unit), kernel.parallel).map((box) => [
        ...box,
        ...reduced,
      ]),
    ),
    parts: (first, last) => [[first, last, 0, 1]],
    partials: scratch.map((bytes): Partials => ({ bytes: bytes / rows / slots, slots, rows, unit })),
  };
}

function slotWork(
  body: Body,
  { slots, slotLength }: Pick<ReduceSchedule, 'slots' | 'slotLength'>,
  blocks: number,
): Works['phases'][number] {
  const { kernel, levels } = body;
  const length = product(kernel.reduced);
  const parallel = wholeAxes(kernel.parallel);
  const elementStores = kernel.stores.filter(({ value }) => levels.element[value]);
  const rowStores = kernel.stores.filter(({ value }) => !levels.element[value]);
  const isReduce = (position: number): boolean => isReduction(body.instruction(position));
  const walked = [
    ...reductionsOf(kernel).flatMap(({ args }) => args),
    ...elementStores.map(({ value }) => value),
  ];
  const finished = rowStores.map(({ value }) => value);
  const walk: Accesses = {
    loads: loadsFor(body, walked, () => false),
    stores: elementStores.map(({ access }) => access),
  };
  const finish = [...loadsFor(body, finished, isReduce), ...rowStores.map(({ access }) => access)];
  return {
    work: {
      units: slots,
      shift: shiftOf(kernel, allOf(walk), elementLoops(kernel.reduced, kernel.parallel.length), slotLength),
      regions: regionsIn(kernel, walk, (first, last) =>
        boxesOfRange(first * slotLength, Math.min(length, last * slotLength), kernel.reduced).map((box) => [
          ...parallel,
          ...box,
        ]),
      ),
      parts: (first, last) => [[0, blocks, first, last]],
    },
    finish: reach(kernel, finish, [[...parallel, ...wholeAxes(kernel.reduced)]]),
  };
}
