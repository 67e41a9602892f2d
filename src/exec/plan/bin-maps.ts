/**
 * Maps in routines of bins, where all of their rows are there: kernels that give keys and values of rows to these alone are
 * done where each row is gathered, so that neither is in memory.
 *
 *     k = ⌊100 x⌋;  v = w²;  h = sums of v by k   →   a step that reads x and w and writes h
 *
 * Called by `device-planner.ts`; in tiles and on several devices keys and values are stored, with the same bits.
 */
import { isCheaper } from '../../codegen/cuts/element-map.js';
import { usedBuffers } from '../../codegen/cuts/split-phases.js';
import { extract, liveValues } from '../../fusion/kernel/algebra.js';
import { arithmeticOf } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { ElementMap, RoutineStep } from '../calls/call.js';
import type { DeviceModel } from './device-model.js';
import type { KernelStep, Step } from './plan.js';
import { type Uses, usesOf } from './routine-maps.js';
import type { StepList } from './step-list.js';

/**
 * Cost (`OpRow.cost`) of maps that are computed again for further routines: of all kernels that one routine would have maps of,
 * together. On an H200 those of a weighted histogram, of 7 and 1, take 241 µs for 245 of stored ones; keys and logarithms of means
 * in bins, of 14 each, 317 for 288.
 */
const MOST_COST_AGAIN = 20;
/** Values of a row that a thread has at a time. */
const MOST_WIDTH = 64;

/** The step list with such maps: itself where it has none. */
export function withBinMaps(stepList: StepList, model: DeviceModel): StepList {
  if (model.isElementMap === undefined || !stepList.steps.some(isBins)) return stepList;
  const uses = usesOf(stepList.steps, stepList.buffers);
  const joined = new Map<Step, RoutineStep>();
  const gone = new Set<Step>();
  for (const [step, reads] of withinCost(readsOf(stepList, uses, model))) {
    gone.add(step);
    for (const { reader, operand, map } of reads) {
      const own = joined.get(reader) ?? reader;
      const maps = operand === 0 ? { prologue: map } : { weights: { ...map, operand } };
      const nodes = [...new Set([...own.nodes, ...step.nodes])];
      joined.set(reader, { ...own, maps: { ...own.maps, ...maps }, nodes });
    }
  }
  if (gone.size === 0) return stepList;
  const steps = stepList.steps.flatMap((step) => (gone.has(step) ? [] : [joined.get(step) ?? step]));
  return { ...stepList, steps };
}

type Reads = ReadonlyMap<KernelStep, readonly MappedRead[]>;

function readsOf({ steps }: StepList, uses: Uses, model: DeviceModel): Reads {
  const found = new Map<KernelStep, readonly MappedRead[]>();
  for (const step of steps) {
    const reads = step.kind === 'kernel' ? readsBy(step, uses, model) : undefined;
    if (reads !== undefined) found.set(step as KernelStep, reads);
  }
  return found;
}

/** Those of which no routine has maps that cost too much again. */
function withinCost(all: Reads): Reads {
  const again = new Map<RoutineStep, number>();
  const readersOf = (reads: readonly MappedRead[]): Set<RoutineStep> =>
    new Set(reads.map(({ reader }) => reader));
  for (const [{ kernel }, reads] of all) {
    if (readersOf(reads).size === 1) continue;
    const cost = reads.reduce((sum, { map }) => sum + arithmeticOf(map.kernel), -arithmeticOf(kernel));
    for (const reader of readersOf(reads)) again.set(reader, (again.get(reader) ?? 0) + cost);
  }
  const isCheap = (reads: readonly MappedRead[]): boolean =>
    [...readersOf(reads)].every((reader) => (again.get(reader) ?? 0) <= MOST_COST_AGAIN);
  return new Map([...all].filter(([, reads]) => isCheap(reads)));
}

/** Whether a step gathers rows by their keys, and can compute both where it reads them. */
export const isBins = (step: Step): step is RoutineStep =>
  step.kind === 'call' && ['bins', 'histogram', 'binSums'].includes(step.call);

/** The place of values among the operands. */
const weightsOf = ({ call }: RoutineStep): number => (call === 'histogram' ? 2 : 1);

/** A read of a kernel's result by a routine, with the map that gives it. */
interface MappedRead {
  readonly reader: RoutineStep;
  readonly operand: number;
  readonly map: ElementMap;
}

/** All reads of a kernel's results, where routines of bins alone read them and had better compute them; else undefined. */
function readsBy(step: KernelStep, uses: Uses, model: DeviceModel): readonly MappedRead[] | undefined {
  const { kernel, buffers, scratch } = step;
  if (scratch.length > 0 || kernel.reduced.length > 0) return undefined;
  const isFile = (buffer: number): boolean => model.readsOnce !== undefined && uses.isStreamed(buffer);
  if (buffers.some(isFile)) return undefined;
  const reads: MappedRead[] = [];
  for (const { access } of kernel.stores) {
    const buffer = buffers[access.buffer]!;
    const readers = uses.readers.get(buffer) ?? [];
    if (!uses.isTemporary(buffer) || uses.writers.get(buffer)?.length !== 1 || readers.length === 0)
      return undefined;
    const map = partOf(step, access.buffer);
    for (const reader of readers) {
      const places = isBins(reader) ? placesOf(reader, buffer) : [];
      const [operand] = places;
      if (!isBins(reader) || places.length !== 1 || (operand !== 0 && operand !== weightsOf(reader)))
        return undefined;
      const count = sizeOfShape(reader.operands[operand]!.shape);
      if (count > MOST_WIDTH * reader.operands[0]!.shape[0]! || !model.isElementMap!(map.kernel, count))
        return undefined;
      reads.push({ reader, operand, map });
    }
  }
  return isBetter(step, reads, model) ? reads : undefined;
}

const placesOf = ({ operands }: RoutineStep, buffer: number): number[] =>
  operands.flatMap((array, k) => (array.buffer === buffer ? [k] : []));

/** The part of a kernel that writes one of its results. */
function partOf({ kernel, buffers }: KernelStep, result: number): ElementMap {
  const stores = kernel.stores.filter(({ access }) => access.buffer === result);
  if (stores.length === kernel.stores.length) return { kernel, buffers };
  const values = stores.map(({ value }) => value);
  const { tape, moved } = extract(kernel.tape, liveValues(kernel.tape, values));
  const own = stores.map((store) => ({ ...store, value: moved.get(store.value)! }));
  const part = usedBuffers({ ...kernel, tape, stores: own });
  return { kernel: part.kernel, buffers: part.used.map((k) => buffers[k]!) };
}

/**
 * Whether one routine reads, or on a GPU several do, whose maps read no more than is stored and read otherwise. A
 * CPU takes longer for the bins of 2^22 float32 twice, 1 ns each, than to store them and read them twice.
 */
function isBetter({ kernel }: KernelStep, reads: readonly MappedRead[], model: DeviceModel): boolean {
  const readers = new Set(reads.map(({ reader }) => reader)).size;
  if (readers === 1) return true;
  if (model.mapsAnywhere !== true) return false;
  const bytesOf = ({ buffers }: Kernel, role: 'input' | 'output'): number =>
    buffers.reduce(
      (sum, own) => sum + (own.role === role ? own.elementCount * byteLengthOf(own.dtype) : 0),
      0,
    );
  const again = reads.reduce((sum, { map }) => sum + bytesOf(map.kernel, 'input'), 0);
  const stored = reads.reduce((sum, { map }) => sum + bytesOf(map.kernel, 'output'), 0);
  const takesElements = reads.every(({ map }) => isCheaper(map.kernel, Infinity, Infinity));
  return takesElements && again <= bytesOf(kernel, 'input') + bytesOf(kernel, 'output') + stored;
}
