/**
 * Products in panels: a product that other steps read once and reduce is not stored as a whole.
 *
 *     t = a @ b            64 times:  256 rows of t = 256 rows of a @ b
 *     y = max(f(t), 1)  →             256 elements of y = max(f(256 rows of t), 1)
 *
 * On the CPU so are operands of products that a kernel computes, which are larger than what is read again for each panel:
 * f(x) @ w, or exp(-|x - y|²) @ w of the distances of all pairs. Called by `panels.ts`.
 */
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { PanelModel } from '../plan/device-model.js';
import type { KernelStep, Panels, Step } from '../plan/plan.js';
import { buffersOf } from '../plan/step-buffers.js';
import { type Chain, isBehind, type PanelPlan, resultsOf, type Tiled } from './panel-plan.js';
import { type PanelTiles, panelTiles } from './panel-tiles.js';
import type { BytePitches, CutTask, Task, Touch } from './sweep-cuts.js';
import type { SizedSweep } from './sweep-slots.js';
import type { SweptTask } from './sweep-windows.js';

/** Values that are smaller than this part of a product are what it is reduced to. */
const REDUCED = 1 / 8;

export class ProductPanels {
  readonly #plan: PanelPlan;
  readonly #panels: PanelModel;

  constructor(plan: PanelPlan, panels: PanelModel) {
    this.#plan = plan;
    this.#panels = panels;
  }

  /** Computes a step in panels where it is a product for which that is better. False: it begins no chain. */
  *look(step: Step): Slices<boolean> {
    const chain = this.#chainFrom(step);
    if (chain === undefined) return false;
    const place = this.#plan.placeOf(chain);
    if (place === undefined) return true;
    for (const task of this.#tasksOf(chain.product)) {
      const found = yield* this.#tiled(chain, task);
      const panels = found && this.#choose(chain, found);
      if (found === undefined || panels === undefined) continue;
      this.#plan.take(chain, place, found, panels);
      return true;
    }
    return true;
  }

  /** The ways to make a result panel by panel. */
  #tasksOf(step: Chain['product']): readonly CutTask[] {
    if (step.kind === 'call')
      return callRow(step).panels!(step).map((cut) => ({ step, ...buffersOf(step), cut, repeats: true }));
    return this.#plan
      .formsOf(step)
      .flatMap(([task, ...more]) => (more.length === 0 ? [task as CutTask] : []));
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
    const { byteLength, role } = this.#plan.buffers[result]!;
    if (role !== 'temporary' || byteLength < this.#panels.leastBytes) return undefined;
    if (product.kind === 'kernel' && !this.#panels.ofOperands()) return undefined;
    const { swept } = this.#plan.uses;
    // It follows another product already.
    if (swept.has(product)) return undefined;
    const values = new Set([result]);
    const followers: (KernelStep | CallStep)[] = [];
    for (const step of this.#plan.uses.of(values)) {
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
        const made = this.#plan.buffers[buffer]!;
        if (made.byteLength <= REDUCED * byteLength) continue;
        if (made.role !== 'temporary') return undefined;
        values.add(buffer);
      }
    }
    const chain = { product, followers, values };
    return followers.length === 0 || this.#plan.isReadInBlocks(chain) ? undefined : chain;
  }

  *#tiled({ followers, values }: Chain, product: CutTask): Slices<Tiled | undefined> {
    let tasks = [product];
    const finish: Step[] = [];
    let found: PanelTiles | undefined;
    for (const step of followers) {
      let way: readonly Task[] | undefined;
      for (const form of this.#plan.formsOf(step)) {
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

  *#tilesOf(tasks: readonly CutTask[], values: ReadonlySet<number>): Slices<PanelTiles | undefined> {
    const rules = this.#plan.rulesOf(values, pitchesOf(tasks, values));
    const swept = tasks.map(
      (task): SweptTask => ({ task, isKept: task.writes.some((buffer) => !values.has(buffer)) }),
    );
    // Until its readers are there, a value that passes in panels is a result.
    const read = new Set(tasks.flatMap(({ reads }) => reads));
    const isOpen = ({ writes }: Task): boolean => writes.some((b) => values.has(b) && !read.has(b));
    const kept = swept.map((one, k) => (k > 0 && isOpen(one.task) ? { ...one, isKept: true } : one));
    return yield* panelTiles(kept, rules, this.#panels.bytesOf(tasks[0]!.step as Chain['product']));
  }

  #choose({ product, followers, values }: Chain, { sized, repeated }: PanelTiles): Panels | undefined {
    const [result] = [...values] as [number];
    const { key, byteLength } = this.#plan.buffers[result]!;
    const touched = [product, ...followers].map((step) => buffersOf(step));
    const traffic = touched
      .flatMap(({ reads, writes }) => [...reads, ...writes])
      .filter((buffer) => values.has(buffer))
      .reduce((sum, buffer) => sum + this.#plan.buffers[buffer]!.byteLength, 0);
    const tiles = sized.tiles.length;
    const again = product.kind === 'kernel' ? readAgain(sized, values) : 0;
    const work = { product, followers: followers.length, tiles, repeated, traffic, byteLength, again };
    const reason = this.#plan.isNeeded ? 'there is no room for the whole' : this.#panels.choose(work);
    const { slotByteLength } = sized.slots.find(({ buffer }) => buffer === result)!;
    return reason === undefined
      ? undefined
      : { label: key, byteLength, panelByteLength: slotByteLength, reason };
  }
}

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
