/**
 * Panels: a product that other steps read once and reduce is not stored as a whole. A panel of it, so small that it
 * stays in the cache of the device, is computed into memory that the next panel uses again, and what reads it follows
 * at once:
 *
 *     t = a @ b            64 times:  256 rows of t = 256 rows of a @ b
 *     y = max(f(t), 1)  →             256 elements of y = max(f(256 rows of t), 1)
 *
 * On the CPU so are operands of products that a kernel computes, which are larger than what is read again for each panel:
 * f(x) @ w, or exp(-|x - y|²) @ w of the distances of all pairs.
 *
 * So are values of kernels that kernels read, as stencils of stencils do (`neighbour-chains.ts`).
 *
 * That is a sweep whose inputs and results are on the device as a whole, so that a panel has the bits of the whole as
 * any tile has; the size of panels depends on the steps alone, not on a budget. Called by `device-planner.ts`.
 */
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { DeviceModel, NeighbourModel, PanelModel } from '../plan/device-model.js';
import { planOfInSlices } from '../plan/place.js';
import type { DevicePlan, KernelStep, Panels, Step } from '../plan/plan.js';
import { type Stage, stagesOf } from '../plan/stages.js';
import { buffersOf } from '../plan/step-buffers.js';
import { ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';
import { workspacesOf } from '../plan/workspace.js';
import { neighbourChains } from './neighbour-chains.js';
import { bytesReadAgain, passesBy, readBySeveral } from './panel-inputs.js';
import { type PanelTiles, panelTiles } from './panel-tiles.js';
import { withRowsAround } from './rows-around.js';
import type { BytePitches, CutTask, Task, Touch } from './sweep-cuts.js';
import type { SizedSweep, SlotRules } from './sweep-slots.js';
import { formsOf } from './sweep-tasks.js';
import type { SweptTask } from './sweep-windows.js';

/** Values that are smaller than this part of a product are what it is reduced to. */
const REDUCED = 1 / 8;

/**
 * The plan with panels; undefined: no product can be computed so, or is better, `isNeeded`: it is worth any
 * time.
 */
export function* planWithPanels(
  stepList: StepList,
  model: DeviceModel,
  isNeeded: boolean,
): Slices<DevicePlan | undefined> {
  const { sweeps, panels } = model;
  if (sweeps === undefined || panels === undefined) return undefined;
  const planner = new PanelPlanner(stepList, model, panels, isNeeded);
  for (const step of stepList.steps) {
    if (step.kind === 'call') yield;
    yield* planner.look(step);
  }
  return yield* planner.plan();
}

/** A part of a plan: steps that run as a whole, or a sweep over panels. */
type Item = { readonly step: Step } | { readonly sized: SizedSweep; readonly steps: readonly Step[] };

/** A product with the steps that follow it, or a kernel with the products of what it makes. */
interface Chain {
  readonly product: CallStep | KernelStep;
  readonly followers: readonly (KernelStep | CallStep)[];
  /** The values that pass through memory in panels: the product's first. */
  readonly values: ReadonlySet<number>;
}

/** The parts of a plan before a chain and behind it. */
interface Sides {
  readonly before: readonly Item[];
  readonly after: readonly Item[];
}

/** The panels of a chain, the steps that finish its reductions, and inputs that several steps of a panel read. */
type Tiled = PanelTiles & { readonly finish: readonly Step[]; readonly inputs?: readonly number[] };

/** The steps of some items in their order, and those that use each buffer: few of many. */
class StepUses {
  /** Those that are in a sweep over panels. */
  readonly swept = new Set<Step>();
  readonly #positions = new Map<Step, number>();
  readonly #users = new Map<number, Step[]>();

  constructor(items: readonly Item[]) {
    for (const item of items)
      for (const step of stepsOf(item)) {
        if (!('step' in item)) this.swept.add(step);
        this.#positions.set(step, this.#positions.size);
        const { reads, writes } = buffersOf(step);
        for (const buffer of new Set([...reads, ...writes])) {
          const users = this.#users.get(buffer);
          if (users === undefined) this.#users.set(buffer, [step]);
          else users.push(step);
        }
      }
  }

  ofBuffer(buffer: number): readonly Step[] {
    return this.#users.get(buffer) ?? [];
  }

  /** Steps in their order. */
  inOrder<S extends Step>(steps: Iterable<S>): S[] {
    return [...steps].sort((a, b) => this.#positions.get(a)! - this.#positions.get(b)!);
  }

  /** The steps that use some buffers, in order; of buffers that are added meanwhile, the later ones. */
  *of(buffers: ReadonlySet<number>): Generator<Step> {
    const placeOf = (step: Step): number => this.#positions.get(step)!;
    const open: Step[] = []; // the first one last
    let known = 0;
    let at = -1;
    for (;;) {
      if (buffers.size > known) {
        for (const buffer of [...buffers].slice(known))
          for (const step of this.#users.get(buffer) ?? []) if (placeOf(step) > at) open.push(step);
        known = buffers.size;
        open.sort((a, b) => placeOf(b) - placeOf(a));
      }
      const next = open.pop();
      if (next === undefined) return;
      if (placeOf(next) === at) continue;
      at = placeOf(next);
      yield next;
    }
  }
}

class PanelPlanner {
  readonly #stepList: StepList;
  readonly #model: DeviceModel;
  readonly #panels: PanelModel;
  readonly #isNeeded: boolean;
  readonly #buffers: UnplacedBuffer[];
  readonly #windowed = new Set<number>();
  #items: readonly Item[];
  /** Of these items, once it is asked for. */
  #uses: StepUses | undefined;

  constructor(stepList: StepList, model: DeviceModel, panels: PanelModel, isNeeded: boolean) {
    this.#stepList = stepList;
    this.#model = model;
    this.#panels = panels;
    this.#isNeeded = isNeeded;
    this.#buffers = [...stepList.buffers];
    this.#items = stepList.steps.map((step) => ({ step }));
  }

  /** Computes a step in panels where it is a product for which that is better. */
  *look(step: Step): Slices<void> {
    const chain = this.#chainFrom(step);
    if (chain === undefined) return yield* this.#lookAround(step);
    const place = this.#placeOf(chain);
    if (place === undefined) return;
    for (const task of this.#tasksOf(chain.product)) {
      const found = yield* this.#tiled(chain, task);
      const panels = found && this.#choose(chain, found);
      if (found === undefined || panels === undefined) continue;
      this.#take(chain, place, found, panels);
      return;
    }
  }

  /** Computes kernels in panels that read what a kernel makes at neighbouring places, where that is better. */
  *#lookAround(step: Step): Slices<void> {
    const { neighbours } = this.#panels;
    if (neighbours === undefined || step.kind !== 'kernel') return;
    this.#uses ??= new StepUses(this.#items);
    for (const chain of neighbourChains(step, this.#buffers, this.#uses, neighbours.leastBytes)) {
      const place = this.#isReadInBlocks(chain) ? undefined : this.#placeOf(chain);
      if (place === undefined) continue;
      const { product, followers } = chain;
      const steps = [product, ...followers];
      const around = withRowsAround(steps, chain.values);
      const known = around && this.#withByteLengths(around.byteLengths);
      for (const bytes of neighbours.byteLengths) {
        yield;
        const found = yield* this.#carried(around?.steps ?? steps, chain.values, bytes);
        if (found === undefined) break;
        const panels = this.#chooseAround(steps, chain.values, found, neighbours);
        if (panels !== undefined) return this.#take(chain, place, found, panels);
      }
      if (known !== undefined) this.#withByteLengths(known);
    }
  }

  /** Gives buffers other lengths; the lengths that they had. */
  #withByteLengths(byteLengths: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
    const known = new Map<number, number>();
    for (const [buffer, byteLength] of byteLengths) {
      known.set(buffer, this.#buffers[buffer]!.byteLength);
      this.#buffers[buffer] = { ...this.#buffers[buffer]!, byteLength };
    }
    return known;
  }

  #take({ product, followers, values }: Chain, { before, after }: Sides, found: Tiled, panels: Panels): void {
    const item = { sized: { ...found.sized, panels }, steps: [product, ...followers] };
    this.#items = [...before, item, ...found.finish.map((one) => ({ step: one })), ...after];
    this.#uses = undefined;
    for (const buffer of values) this.#windowed.add(buffer);
  }

  *plan(): Slices<DevicePlan | undefined> {
    if (this.#windowed.size === 0) return undefined;
    const stages: Stage[] = [];
    const sweeps: (SizedSweep | undefined)[] = [];
    for (const item of this.#items) {
      const own = 'step' in item ? stagesOf([item.step]) : [{ uses: usesOf(item.sized) }];
      stages.push(...own);
      sweeps.push(...own.map(() => ('step' in item ? undefined : item.sized)));
    }
    const buffers = this.#buffers.map((buffer, k) => ({
      ...buffer,
      ...(this.#windowed.has(k) ? { windowed: true } : {}),
    }));
    const staged = { buffers, stages, outputKeys: this.#stepList.outputKeys };
    return yield* planOfInSlices(staged, this.#model, sweeps);
  }

  /** The ways to make a result panel by panel. */
  #tasksOf(step: Chain['product']): readonly CutTask[] {
    if (step.kind === 'call')
      return callRow(step).panels!(step).map((cut) => ({ step, ...buffersOf(step), cut, repeats: true }));
    return this.#formsOf(step).flatMap(([task, ...more]) => (more.length === 0 ? [task as CutTask] : []));
  }

  /** Whether it is a product, or a kernel with one result, which may be an operand of products. */
  #isProduct(step: Step): step is Chain['product'] {
    if (step.kind === 'call') return isProduct(step);
    return step.kind === 'kernel' && resultsOf(step).length === 1;
  }

  /**
   * The steps that read a product's result, and what they make of it, up to where all is much smaller; or the products that
   * read a kernel's.
   */
  #chainFrom(product: Step): Chain | undefined {
    if (!this.#isProduct(product)) return undefined;
    const [result] = resultsOf(product) as [number];
    const { byteLength, role } = this.#buffers[result]!;
    if (role !== 'temporary' || byteLength < this.#panels.leastBytes) return undefined;
    if (product.kind === 'kernel' && !this.#panels.ofOperands()) return undefined;
    this.#uses ??= new StepUses(this.#items);
    const { swept } = this.#uses;
    // It follows another product already.
    if (swept.has(product)) return undefined;
    const values = new Set([result]);
    const followers: (KernelStep | CallStep)[] = [];
    for (const step of this.#uses.of(values)) {
      if (step === product) continue;
      const { writes } = buffersOf(step);
      if (writes.some((buffer) => values.has(buffer))) return undefined;
      if (swept.has(step) || (step.kind !== 'kernel' && step.kind !== 'call')) return undefined;
      followers.push(step);
      if (product.kind === 'kernel') {
        if (step.kind !== 'call' || !isProduct(step)) return undefined;
        continue;
      }
      for (const buffer of resultsOf(step)) {
        const made = this.#buffers[buffer]!;
        if (made.byteLength <= REDUCED * byteLength) continue;
        if (made.role !== 'temporary') return undefined;
        values.add(buffer);
      }
    }
    const chain = { product, followers, values };
    return followers.length === 0 || this.#isReadInBlocks(chain) ? undefined : chain;
  }

  /** Whether a step of a chain reads an input block by block as it comes. */
  #isReadInBlocks({ product, followers }: Chain): boolean {
    const touched = [product, ...followers].flatMap((step) => buffersOf(step).reads);
    return touched.some((buffer) => this.#buffers[buffer]!.readInBlocks === true);
  }

  /** The parts of the plan before a chain and behind it. `undefined`: a step of it needs what another one leaves. */
  #placeOf({ product, followers, values }: Chain): Sides | undefined {
    const chain = new Set<Step>([product, ...followers]);
    const touched = new Set<number>();
    const left = new Set<number>();
    const [before, after]: [Item[], Item[]] = [[], []];
    for (const item of this.#items) {
      const steps = stepsOf(item);
      const reads = steps.flatMap((step) => buffersOf(step).reads);
      const writes = steps.flatMap((step) => buffersOf(step).writes);
      const isBehind = reads.some((b) => left.has(b)) || writes.some((b) => touched.has(b));
      const isInside = chain.has(steps[0]!);
      if (isInside && reads.some((b) => left.has(b))) return undefined;
      if (!isInside && !isBehind) before.push(item);
      else if (!isInside) after.push(item);
      if (!isInside && !isBehind) continue;
      for (const buffer of [...reads, ...writes]) touched.add(buffer);
      for (const buffer of writes) if (!values.has(buffer)) left.add(buffer);
    }
    return { before, after };
  }

  /** Kernels panel by panel, each of which goes on where it stopped; reductions in parts where their rows do not follow. */
  *#carried(
    steps: readonly KernelStep[],
    values: ReadonlySet<number>,
    bytes: number,
  ): Slices<Tiled | undefined> {
    const forms = steps.map((step) => this.#formsOf(step));
    if (forms.some(({ length }) => length === 0)) return undefined;
    const isOne = forms.every(({ length }) => length === 1);
    for (const at of isOne ? [0] : [0, -1]) {
      const ways = forms.map((some) => some.at(at)!);
      if (ways.some((way) => isBehind(way, values))) continue;
      const behind = ways.flatMap(([, ...others]) => others);
      const tasks = ways.map(([first]) => first as CutTask);
      const swept = tasks.map((task) => ({
        task,
        isKept: task.writes.some((buffer) => !values.has(buffer)),
      }));
      const beside = readBySeveral(tasks);
      const rules = { ...this.#rulesOf(values, new Map()), carries: true, beside };
      const found = yield* panelTiles(swept, rules, bytes);
      if (found === undefined) continue;
      const inputs = beside.filter((buffer) =>
        passesBy(buffer, this.#buffers[buffer]!.byteLength, found.sized),
      );
      return { ...found, inputs, finish: behind.map(({ step }) => step) };
    }
    return undefined;
  }

  *#tiled({ followers, values }: Chain, product: CutTask): Slices<Tiled | undefined> {
    let tasks = [product];
    const finish: Step[] = [];
    let found: PanelTiles | undefined;
    for (const step of followers) {
      let way: readonly Task[] | undefined;
      for (const form of this.#formsOf(step)) {
        if (isBehind(form, values)) continue;
        yield;
        const tiled = yield* this.#tilesOf([...tasks, form[0] as CutTask], values);
        if (tiled === undefined) continue;
        [way, found] = [form, tiled];
        break;
      }
      if (way === undefined) return undefined;
      tasks = [...tasks, way[0] as CutTask];
      finish.push(...way.slice(1).map((task) => task.step));
    }
    return found && { ...found, finish };
  }

  /** The forms of a step of which one task is cut, and what finishes it follows. */
  #formsOf(step: Step): (readonly Task[])[] {
    const scratch = (bytes: number): number =>
      this.#buffers.push(ownBuffer(`partial ${this.#buffers.length}`, bytes)) - 1;
    return formsOf(step, this.#model.sweeps!.worksOf, scratch).filter(
      ([first, second, ...more]) =>
        first?.cut !== undefined && second?.cut === undefined && more.length === 0,
    );
  }

  *#tilesOf(tasks: readonly CutTask[], values: ReadonlySet<number>): Slices<PanelTiles | undefined> {
    const rules = this.#rulesOf(values, pitchesOf(tasks, values));
    const swept = tasks.map(
      (task): SweptTask => ({ task, isKept: task.writes.some((buffer) => !values.has(buffer)) }),
    );
    // Until its readers are there, a value that passes in panels is a result.
    const read = new Set(tasks.flatMap(({ reads }) => reads));
    const isOpen = ({ writes }: Task): boolean => writes.some((b) => values.has(b) && !read.has(b));
    const kept = swept.map((one, k) => (k > 0 && isOpen(one.task) ? { ...one, isKept: true } : one));
    return yield* panelTiles(kept, rules, this.#panels.bytesOf(tasks[0]!.step as Chain['product']));
  }

  #rulesOf(values: ReadonlySet<number>, pitches: BytePitches): SlotRules {
    return {
      isWindowed: (buffer) => values.has(buffer),
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      directionOf: () => 'local',
      slots: { in: 1, out: 1, local: 1 },
      tileBytes: Number.POSITIVE_INFINITY,
      pitches,
    };
  }

  #chooseAround(
    steps: readonly KernelStep[],
    values: ReadonlySet<number>,
    { sized, carried, inputs = [] }: Tiled,
    neighbours: NeighbourModel,
  ): Panels | undefined {
    const bytesOf = (buffers: readonly number[]): number =>
      buffers.reduce((sum, k) => sum + (values.has(k) ? this.#buffers[k]!.byteLength : 0), 0);
    const panelByteLength = sized.slots.reduce((sum, { slotByteLength }) => sum + slotByteLength, 0);
    const again = bytesReadAgain(steps, inputs);
    const kernels = steps.map((step, k) => {
      const { reads, writes } = buffersOf(step);
      return { kernel: step.kernel, read: bytesOf(reads) + again[k]!, written: bytesOf(writes) };
    });
    const work = { kernels, tiles: sized.tiles.length, panelByteLength, carried };
    const reason = this.#isNeeded ? 'there is no room for the whole' : neighbours.choose(work);
    const [label] = [...values].map((buffer) => this.#buffers[buffer]!.key);
    return reason === undefined
      ? undefined
      : {
          label: label!,
          byteLength: bytesOf([...values]),
          panelByteLength,
          reason,
          inputs: inputs.map((buffer) => this.#buffers[buffer]!.key),
        };
  }

  #choose({ product, followers, values }: Chain, { sized, repeated }: PanelTiles): Panels | undefined {
    const [result] = [...values] as [number];
    const { key, byteLength } = this.#buffers[result]!;
    const touched = [product, ...followers].map((step) => buffersOf(step));
    const traffic = touched
      .flatMap(({ reads, writes }) => [...reads, ...writes])
      .filter((buffer) => values.has(buffer))
      .reduce((sum, buffer) => sum + this.#buffers[buffer]!.byteLength, 0);
    const tiles = sized.tiles.length;
    const again = product.kind === 'kernel' ? readAgain(sized, values) : 0;
    const work = { product, followers: followers.length, tiles, repeated, traffic, byteLength, again };
    const reason = this.#isNeeded ? 'there is no room for the whole' : this.#panels.choose(work);
    const { slotByteLength } = sized.slots.find(({ buffer }) => buffer === result)!;
    return reason === undefined
      ? undefined
      : { label: key, byteLength, panelByteLength: slotByteLength, reason };
  }
}

/** Whether a reduction reads, or makes, one of some values behind its last panel, where it is needed as a whole. */
const isBehind = ([, ...others]: readonly Task[], values: ReadonlySet<number>): boolean =>
  others.some(({ reads, writes }) => [...reads, ...writes].some((buffer) => values.has(buffer)));

const isProduct = (step: CallStep): boolean => callRow(step).panels !== undefined;

/** Bytes that the readers of panels read again for each panel after the first: from one to the next at the same place. */
function readAgain({ tasks, tiles }: SizedSweep, values: ReadonlySet<number>): number {
  const readIn = (tile: number, k: number): readonly Touch[] => {
    const span = tiles.at(tile)?.spans[k];
    return span === undefined ? [] : tasks[k]!.task.cut!.touches(...span).reads;
  };
  let bytes = 0;
  for (let k = 1; k < tasks.length; k++) {
    const before = readIn(0, k);
    for (const { buffer, first, last } of readIn(1, k)) {
      const isSame = before.some((one) => one.buffer === buffer && one.first === first && one.last === last);
      if (isSame && !values.has(buffer)) bytes += last - first;
    }
  }
  return bytes * (tiles.length - 1);
}

const stepsOf = (item: Item): readonly Step[] => ('step' in item ? [item.step] : item.steps);

/** The results of a step, without partial ones. */
const resultsOf = (step: KernelStep | CallStep): readonly number[] =>
  buffersOf(step.kind === 'kernel' ? { ...step, scratch: [] } : step).writes;

const usesOf = ({ tasks }: SizedSweep): number[] =>
  tasks.flatMap(({ task: { reads, writes, step } }) => [...reads, ...writes, ...workspacesOf(step)]);

/** Windows of columns are rows of a part of their elements; those of rows are stretches. */
function pitchesOf([product, ...others]: readonly CutTask[], values: ReadonlySet<number>): BytePitches {
  const { cut } = product!;
  const [result] = [...values] as [number];
  const written = (last: number): Touch =>
    cut.touches(0, last).writes.find(({ buffer }) => buffer === result)!;
  const isStretch = written(1).last < written(cut.units).last / 2;
  if (isStretch) return new Map();
  const pitches = new Map<number, number>();
  for (const value of values) {
    const users = [product!, ...others].filter(
      ({ reads, writes }) => reads.includes(value) || writes.includes(value),
    );
    const [first = [], ...more] = users.map((task) => task.cut.pitches(value));
    const pitch = first.find((one) => more.every((some) => some.includes(one)));
    if (pitch !== undefined) pitches.set(value, pitch);
  }
  return pitches;
}
