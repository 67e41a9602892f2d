/**
 * Values that kernels make for kernels, in panels, as stencils of stencils do: the kernels of a chain (`neighbour-chains.ts`)
 * take turns, and each goes on where it stopped. Called by `panels.ts`.
 */
import type { Slices } from '../../host/slices.js';
import type { KernelNeighbours, NeighbourModel } from '../plan/device-model.js';
import type { KernelStep, Panels, Step } from '../plan/plan.js';
import { buffersOf } from '../plan/step-buffers.js';
import { neighbourChains } from './neighbour-chains.js';
import { bytesReadAgain, passesBy, readBySeveral } from './panel-inputs.js';
import { isBehind, type PanelPlan, type Tiled } from './panel-plan.js';
import { panelTiles } from './panel-tiles.js';
import { withRowsAround } from './rows-around.js';
import type { CutTask } from './sweep-cuts.js';

/** Panels are planned one by one: of more than so many, larger ones are taken. */
const MOST_PANELS = 32;
/** For a place for a chain all steps are looked through: of more than so many, values have to be so many times as large. */
const MANY_STEPS = 64;
const LARGER = 4;

/** The first tasks of the kernels of a chain, the steps that finish its reductions, and inputs that several tasks read. */
interface Way {
  readonly tasks: readonly CutTask[];
  readonly finish: readonly Step[];
  readonly beside: readonly number[];
}

/** The panels of a chain, and inputs that several steps of a panel read. */
type TiledChain = Tiled & { readonly inputs: readonly number[] };

/** Panels that are better than the whole. */
interface Sized {
  readonly found: TiledChain;
  readonly panels: Panels;
}

export class NeighbourPanels {
  readonly #plan: PanelPlan;
  readonly #neighbours: NeighbourModel;

  constructor(plan: PanelPlan, neighbours: NeighbourModel) {
    this.#plan = plan;
    this.#neighbours = neighbours;
  }

  /** Computes kernels in panels that read what a kernel makes at neighbouring places, where that is better. */
  *look(step: Step): Slices<void> {
    if (step.kind !== 'kernel') return;
    const { buffers, uses, stepCount, isNeeded } = this.#plan;
    const larger = stepCount > MANY_STEPS && !isNeeded ? LARGER : 1;
    for (const chain of neighbourChains(step, buffers, uses, larger * this.#neighbours.leastBytes)) {
      const place = this.#plan.isReadInBlocks(chain) ? undefined : this.#plan.placeOf(chain);
      if (place === undefined) continue;
      const steps = [chain.product, ...chain.followers];
      const around = withRowsAround(steps, chain.values);
      const known = around && this.#plan.withByteLengths(around.byteLengths);
      const best = yield* this.#best(steps, around?.steps ?? steps, chain.values);
      if (best !== undefined) return this.#plan.take(chain, place, best.found, best.panels);
      if (known !== undefined) this.#plan.withByteLengths(known);
    }
  }

  /** The panels that are expected to take least time and are better than the whole. `run`: the steps with rows around ends. */
  *#best(
    steps: readonly KernelStep[],
    run: readonly KernelStep[],
    values: ReadonlySet<number>,
  ): Slices<Sized | undefined> {
    for (const way of this.#ways(run, values))
      for (const bytes of this.#sizesInOrder(steps, values, way)) {
        yield;
        const found = yield* this.#carried(way, values, bytes);
        const panels = found && this.#panelsOf(steps, values, found);
        if (found !== undefined && panels !== undefined) return { found, panels };
      }
    return undefined;
  }

  /** The ways in which the kernels of a chain can be cut: reductions in parts where their rows do not follow. */
  #ways(steps: readonly KernelStep[], values: ReadonlySet<number>): Way[] {
    const forms = steps.map((step) => this.#plan.formsOf(step));
    if (forms.some(({ length }) => length === 0)) return [];
    const isOne = forms.every(({ length }) => length === 1);
    return (isOne ? [0] : [0, -1]).flatMap((at) => {
      const ways = forms.map((some) => some.at(at)!);
      if (ways.some((way) => isBehind(way, values))) return [];
      const tasks = ways.map(([first]) => first as CutTask);
      const finish = ways.flatMap(([, ...others]) => others.map(({ step }) => step));
      return [{ tasks, finish, beside: readBySeveral(tasks) }];
    });
  }

  /** Sizes of panels that may be better than the whole, the best one first: as if nothing were moved along. */
  #sizesInOrder(steps: readonly KernelStep[], values: ReadonlySet<number>, { beside }: Way): number[] {
    const kernels = this.#kernelsOf(steps, values, beside);
    const byteLength = this.#bytesOf([...values, ...beside]);
    const sizes = this.#neighbours.byteLengths;
    const costs = sizes.flatMap((bytes, k) => {
      const tiles = Math.ceil(byteLength / bytes);
      if (tiles > MOST_PANELS && k < sizes.length - 1) return [];
      const choice = { kernels, tiles, byteLength, panelByteLength: Math.min(bytes, byteLength), carried: 0 };
      const { seconds, reason } = this.#neighbours.costOf(choice);
      return reason === undefined && !this.#plan.isNeeded ? [] : [{ bytes, seconds }];
    });
    return costs.sort((a, b) => a.seconds - b.seconds).map(({ bytes }) => bytes);
  }

  /** The tasks of a chain panel by panel, each of which goes on where it stopped. */
  *#carried(
    { tasks, finish, beside }: Way,
    values: ReadonlySet<number>,
    bytes: number,
  ): Slices<TiledChain | undefined> {
    const swept = tasks.map((task) => ({
      task,
      isKept: task.writes.some((buffer) => !values.has(buffer)),
    }));
    const rules = { ...this.#plan.rulesOf(values, new Map()), carries: true, beside };
    const found = yield* panelTiles(swept, rules, bytes);
    if (found === undefined) return undefined;
    const inputs = beside.filter((buffer) => passesBy(buffer, this.#bytesOf([buffer]), found.sized));
    return { ...found, inputs, finish };
  }

  /** The panels of a chain; `undefined`: the whole is better. */
  #panelsOf(
    steps: readonly KernelStep[],
    values: ReadonlySet<number>,
    { sized, carried, inputs }: TiledChain,
  ): Panels | undefined {
    const kernels = this.#kernelsOf(steps, values, inputs);
    const panelByteLength = sized.slots.reduce((sum, { slotByteLength }) => sum + slotByteLength, 0);
    const byteLength = this.#bytesOf([...values]);
    const all = byteLength + this.#bytesOf(inputs);
    const choice = { kernels, tiles: sized.tiles.length, byteLength: all, panelByteLength, carried };
    const reason = this.#plan.isNeeded
      ? 'there is no room for the whole'
      : this.#neighbours.costOf(choice).reason;
    if (reason === undefined) return undefined;
    const keyOf = (buffer: number): string => this.#plan.buffers[buffer]!.key;
    const [first] = [...values] as [number];
    return { label: keyOf(first), byteLength, panelByteLength, reason, inputs: inputs.map(keyOf) };
  }

  /** The kernels of a chain with the bytes that they read and write of its values, and read again of inputs. */
  #kernelsOf(
    steps: readonly KernelStep[],
    values: ReadonlySet<number>,
    inputs: readonly number[],
  ): KernelNeighbours[] {
    const passed = (buffers: readonly number[]): number =>
      this.#bytesOf(buffers.filter((buffer) => values.has(buffer)));
    const again = bytesReadAgain(steps, inputs);
    return steps.map((step, k) => {
      const { reads, writes } = buffersOf(step);
      return { kernel: step.kernel, read: passed(reads) + again[k]!, written: passed(writes) };
    });
  }

  #bytesOf = (buffers: readonly number[]): number =>
    buffers.reduce((sum, buffer) => sum + this.#plan.buffers[buffer]!.byteLength, 0);
}
