/**
 * Maps in scans: a kernel that computes what one scan alone reads, and one that reads what the scan gives, become
 * parts of the scan. Neither what is scanned nor what the scan gives is then in memory, unless others read it. A scan in three
 * steps reads its operand twice, for the tiles' totals and for the tiles, and computes a cheap map both times.
 *
 *     t = x · y;  s = running sum of t;  z = exp(s)   →   steps that read x and y and write z
 *
 * Reductions whose order does not matter leave a partial result of each tile, which a small kernel combines
 * (`codegen/cuts/scan-reader.ts`). Results that read neighbours leave the ends of tiles (`codegen/cuts/scan-neighbours.ts`). A kernel that reduces the rows of a scan that is whole in another way becomes a part of it
 * where the target can (`foldsRows`).
 */
import { isCheap, readsInOrder } from '../../codegen/cuts/element-map.js';
import { neighbourReaderOf } from '../../codegen/cuts/scan-neighbours.js';
import { scanReaderOf } from '../../codegen/cuts/scan-reader.js';
import { byteLengthOf, isComplex } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { scanTile } from '../../graph/scan-tiles.js';
import type { Slices } from '../../host/slices.js';
import type { BufferArray, RoutineMaps, RoutineStep } from '../calls/call.js';
import type { DeviceModel } from './device-model.js';
import type { KernelStep, Step } from './plan.js';
import { mapOf, resultOf, type Uses, usesOf } from './routine-maps.js';
import { ownBuffer, type StepList, type UnplacedBuffer } from './step-list.js';

/** The maps that are joined: those that parts of a scan can have, or all, of scans that are not cut. */
type Extent = 'parts' | 'whole';

/** Scans between pauses: one takes some 20 µs. */
const SCANS_OF_SLICE = 32;

/** The step list with such maps: itself where it has none. */
export function* withScanMaps(stepList: StepList, model: DeviceModel, extent: Extent): Slices<StepList> {
  if (model.isElementMap === undefined || !stepList.steps.some(isScan)) return stepList;
  const joining = new Joining(stepList, model, extent);
  let scans = 0;
  for (const [at, step] of stepList.steps.entries()) {
    if (!isScan(step)) continue;
    if (scans++ % SCANS_OF_SLICE === 0) yield;
    joining.join(step, at);
  }
  return joining.list();
}

const isScan = (step: Step): step is RoutineStep =>
  step.kind === 'call' && step.call === 'scan' && !isComplex(step.operands[0]!.dtype);

/** A kernel behind a scan as its epilogue, with the results, and the kernel that is left of it. */
interface Taken {
  readonly epilogue: NonNullable<RoutineMaps['epilogue']>;
  readonly results: readonly BufferArray[];
  readonly finish?: KernelStep | undefined;
}

class Joining {
  readonly #stepList: StepList;
  readonly #model: DeviceModel;
  readonly #extent: Extent;
  readonly #uses: Uses;
  readonly #buffers: UnplacedBuffer[];
  readonly #places: ReadonlyMap<Step, number>;
  /** By the place of a step: none, or those instead of it. */
  readonly #instead = new Map<number, readonly Step[]>();
  /** Kernels that are parts of a scan: one between two scans, or behind both, is the first one's. */
  readonly #taken = new Set<Step>();

  constructor(stepList: StepList, model: DeviceModel, extent: Extent) {
    this.#stepList = stepList;
    this.#model = model;
    this.#extent = extent;
    this.#uses = usesOf(stepList.steps, stepList.buffers);
    this.#buffers = [...stepList.buffers];
    this.#places = new Map(stepList.steps.map((step, at) => [step, at]));
  }

  list(): StepList {
    if (this.#instead.size === 0) return this.#stepList;
    const steps = this.#stepList.steps.flatMap((step, at) => this.#instead.get(at) ?? [step]);
    return { ...this.#stepList, steps, buffers: this.#buffers };
  }

  /** Joins the kernels before and behind a scan. */
  join(step: RoutineStep, at: number): void {
    const totals = step.operands.length > 1 ? totalsOf(step, this.#uses) : undefined;
    const first = this.#prologue(step, totals);
    const last = this.#reader(step);
    const taken = last && this.#take(step, last);
    if (first === undefined && taken === undefined) return;
    const place = taken === undefined ? at : this.#placeOf(last!);
    const nodes = [step, ...(first === undefined ? [] : [first]), ...(taken === undefined ? [] : [last!])];
    const prologue = first === undefined ? step.maps?.prologue : mapOf(first);
    if (first !== undefined) {
      this.#instead.set(this.#placeOf(first), []);
      this.#taken.add(first);
      if (totals !== undefined)
        this.#instead.set(this.#placeOf(totals), [
          { ...totals, maps: { prologue }, nodes: nodesOf([totals, first]) },
        ]);
    }
    // Values that the epilogue reads may be computed behind the scan.
    this.#instead.set(at, []);
    if (taken !== undefined) this.#taken.add(last!);
    const maps = { prologue, epilogue: taken?.epilogue ?? step.maps?.epilogue };
    const joined: Step = { ...step, results: taken?.results ?? step.results, maps, nodes: nodesOf(nodes) };
    this.#instead.set(place, [joined, ...(taken?.finish === undefined ? [] : [taken.finish])]);
  }

  #placeOf(step: Step): number {
    return this.#places.get(step)!;
  }

  /** The kernel that gives what a scan alone reads. */
  #prologue(step: RoutineStep, totals: RoutineStep | undefined): KernelStep | undefined {
    const { writers, readers, isTemporary } = this.#uses;
    const [{ buffer, shape }, before] = step.operands as [BufferArray, BufferArray?];
    const scans = new Set<Step>(totals === undefined ? [step] : [totals, step]);
    const isOwn =
      isTemporary(buffer) &&
      writers.get(buffer)?.length === 1 &&
      readers.get(buffer)?.length === scans.size &&
      readers.get(buffer)!.every((reader) => scans.has(reader)) &&
      step.maps?.prologue === undefined &&
      !step.maps?.epilogue?.buffers.includes(buffer);
    const [first] = isOwn ? writers.get(buffer)! : [];
    if (first?.kind !== 'kernel' || first.scratch.length > 0 || this.#taken.has(first)) return undefined;
    if (before !== undefined && (totals === undefined || !isCheap(first.kernel))) return undefined;
    return this.#canMap(first, first.kernel, sizeOfShape(shape)) ? first : undefined;
  }

  /** The first step that reads what a scan gives, a kernel. */
  #reader(step: RoutineStep): KernelStep | undefined {
    const { writers, readers } = this.#uses;
    const { buffer } = step.results[0]!;
    if (step.maps?.epilogue !== undefined || writers.get(buffer)?.length !== 1) return undefined;
    const [reader] = readers.get(buffer) ?? [];
    return reader?.kind === 'kernel' && !this.#taken.has(reader) ? reader : undefined;
  }

  /** Whether a map that is all or a part of a kernel can be one of a scan's of so many elements. */
  #canMap({ buffers }: KernelStep, map: KernelStep['kernel'], count: number, given?: number): boolean {
    const { isElementMap, readsOnce } = this.#model;
    const most = given === undefined ? 1 : MOST_RESULTS;
    return (
      isElementMap!(map, count, given, most) &&
      (this.#extent === 'whole' || readsInOrder(map, given)) &&
      // Files that a kernel reads block by block are held as a whole for a scan.
      !(readsOnce !== undefined && buffers.some((buffer) => this.#uses.isStreamed(buffer)))
    );
  }

  /** A kernel behind a scan as parts of it; undefined: it cannot be. */
  #take(step: RoutineStep, last: KernelStep): Taken | undefined {
    const { readers, isTemporary } = this.#uses;
    const { buffer, shape, dtype } = step.results[0]!;
    const given = last.buffers.indexOf(buffer);
    const keeps = !isTemporary(buffer) || readers.get(buffer)!.length > 1;
    if (!keeps && last.scratch.length === 0 && this.#canFold(step, last, given)) {
      // With all of its results; a part of a scan leaves it to the whole.
      if (this.#extent === 'parts') return undefined;
      const epilogue = { ...mapOf(last), given };
      return { epilogue, results: [resultOf(step, epilogue)] };
    }
    const [outer, length, inner] = shape as readonly [number, number, number];
    const tiles = Math.ceil(length / scanTile(dtype, inner));
    const near = keeps ? undefined : this.#neighbours(step, last, given);
    if (near !== undefined) return near;
    const reader = scanReaderOf(last.kernel, given, { outer, length, inner, tiles }, keeps);
    if (reader === undefined) return undefined;
    const { element, used, folds, finish } = reader;
    const own = used.indexOf(given);
    if (!this.#canMap(last, element, sizeOfShape(shape), own)) return undefined;
    const partials = folds.map(({ buffer: at }) =>
      this.#add(step, outer * tiles * inner * byteLengthOf(element.buffers[at]!.dtype)),
    );
    const planBuffers = used.map((k) => {
      if (k < last.buffers.length) return last.buffers[k]!;
      return partials[k - last.buffers.length] ?? buffer;
    });
    const results = element.buffers.flatMap(({ role, dtype: type }, k): BufferArray[] => {
      if (role !== 'output') return [];
      const isFold = folds.some((fold) => fold.buffer === k);
      return [{ dtype: type, shape: isFold ? [outer, tiles, inner] : shape, buffer: planBuffers[k]! }];
    });
    const epilogue = { kernel: element, buffers: planBuffers, given: own, folds };
    if (finish === undefined) return { epilogue, results };
    const buffers = finish.used.map((k) => last.buffers[k] ?? partials[k - last.buffers.length]!);
    const scratch = this.#model.scratchOf(finish.kernel).map((bytes) => this.#add(step, bytes));
    return { epilogue, results, finish: { ...last, kernel: finish.kernel, buffers, scratch } };
  }

  /** A kernel behind a whole scan of a line, each of whose results reads neighbours: on a GPU. */
  #neighbours(step: RoutineStep, last: KernelStep, given: number): Taken | undefined {
    const { dtype, shape } = step.results[0]!;
    const [outer, length, inner] = shape as readonly [number, number, number];
    const [, isReverse] = step.parameters;
    const { mapsAnywhere } = this.#model;
    const isLine =
      mapsAnywhere === true && outer === 1 && inner === 1 && isReverse === 0 && step.operands.length === 1;
    const tile = scanTile(dtype, inner);
    if (this.#extent === 'parts' || !isLine || length <= tile || last.scratch.length > 0) return undefined;
    const reader = neighbourReaderOf(last.kernel, given, { length, tile });
    if (reader === undefined) return undefined;
    const { element, neighbours, endCount, finish } = reader;
    const { buffer } = element.stores[0]!.access;
    const result = { ...element.buffers[buffer]!, shape: [element.parallel[0]!] };
    if (!this.#canMap(last, element, result.elementCount)) return undefined;
    const ends = this.#add(step, endCount * byteLengthOf(dtype));
    const results: BufferArray[] = [
      { dtype: result.dtype, shape: result.shape, buffer: last.buffers[buffer]! },
      { dtype, shape: [endCount], buffer: ends },
    ];
    const epilogue = { kernel: element, buffers: last.buffers, given, neighbours };
    const buffers = finish.used.map((k) => last.buffers[k] ?? ends);
    const scratch = this.#model.scratchOf(finish.kernel).map((bytes) => this.#add(step, bytes));
    return { epilogue, results, finish: { ...last, kernel: finish.kernel, buffers, scratch } };
  }

  #add(step: RoutineStep, bytes: number): number {
    this.#buffers.push(ownBuffer(`part ${this.#buffers.length} of node ${step.nodes[0]}`, bytes));
    return this.#buffers.length - 1;
  }

  /** Whether a kernel reduces the rows that a scan that is whole would write, in their order. */
  #canFold({ operands, parameters }: RoutineStep, { kernel }: KernelStep, given: number): boolean {
    const [outer, length, inner] = operands[0]!.shape as readonly [number, number, number];
    const isForward = parameters[1] === 0;
    if (operands.length > 1 || inner !== 1 || !isForward) return false;
    return this.#model.foldsRows?.(kernel, given, outer, length) === true;
  }
}

/** Results of a scan's epilogue at most, with partial ones. */
const MOST_RESULTS = 8;

const nodesOf = (parts: readonly (RoutineStep | KernelStep)[]): number[] => [
  ...new Set(parts.flatMap((part) => part.nodes)),
];

/** The step that finds the totals of a scan's tiles. */
function totalsOf({ operands }: RoutineStep, { writers }: Uses): RoutineStep | undefined {
  const [writer] = writers.get(operands[1]?.buffer ?? -1) ?? [];
  if (writer?.kind !== 'call' || writer.call !== 'scanBefore') return undefined;
  const [totals] = writers.get((writer as RoutineStep).operands[0]!.buffer) ?? [];
  return totals?.kind === 'call' && totals.call === 'scanTotals' ? (totals as RoutineStep) : undefined;
}
