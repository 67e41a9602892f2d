/**
 * A plan some of whose steps pass values in panels: which steps use a buffer, where a chain of steps can stand, and the sweeps
 * that were chosen. Both sorts of chains are found in it, and taken into it: those of products (`product-panels.ts`) and of
 * kernels that read neighbours (`neighbour-panels.ts`).
 */
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import type { DeviceModel } from '../plan/device-model.js';
import { planOfInSlices } from '../plan/place.js';
import type { DevicePlan, KernelStep, Panels, Step } from '../plan/plan.js';
import { type Stage, stagesOf } from '../plan/stages.js';
import { buffersOf } from '../plan/step-buffers.js';
import { ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';
import { workspacesOf } from '../plan/workspace.js';
import type { PanelTiles } from './panel-tiles.js';
import type { BytePitches, Task } from './sweep-cuts.js';
import type { SizedSweep, SlotRules } from './sweep-slots.js';
import { formsOf } from './sweep-tasks.js';

/** A part of a plan: steps that run as a whole, or a sweep over panels. */
type Item = { readonly step: Step } | { readonly sized: SizedSweep; readonly steps: readonly Step[] };

/** A product with the steps that follow it, or a kernel with those that read what it makes. */
export interface Chain {
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

/** The panels of a chain, and the steps that finish its reductions. */
export type Tiled = PanelTiles & { readonly finish: readonly Step[] };

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

export class PanelPlan {
  readonly #stepList: StepList;
  readonly #model: DeviceModel;
  /** Whether panels are worth any time. */
  readonly isNeeded: boolean;
  readonly #buffers: UnplacedBuffer[];
  readonly #windowed = new Set<number>();
  #items: readonly Item[];
  /** Of these items, once it is asked for. */
  #uses: StepUses | undefined;

  constructor(stepList: StepList, model: DeviceModel, isNeeded: boolean) {
    this.#stepList = stepList;
    this.#model = model;
    this.isNeeded = isNeeded;
    this.#buffers = [...stepList.buffers];
    this.#items = stepList.steps.map((step) => ({ step }));
  }

  get buffers(): readonly UnplacedBuffer[] {
    return this.#buffers;
  }

  get stepCount(): number {
    return this.#stepList.steps.length;
  }

  get uses(): StepUses {
    this.#uses ??= new StepUses(this.#items);
    return this.#uses;
  }

  /** Whether a step of a chain reads an input block by block as it comes. */
  isReadInBlocks({ product, followers }: Chain): boolean {
    const touched = [product, ...followers].flatMap((step) => buffersOf(step).reads);
    return touched.some((buffer) => this.#buffers[buffer]!.readInBlocks === true);
  }

  /** The parts of the plan before a chain and behind it. `undefined`: a step of it needs what another one leaves. */
  placeOf({ product, followers, values }: Chain): Sides | undefined {
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

  /** The forms of a step of which one task is cut, and what finishes it follows. */
  formsOf(step: Step): (readonly Task[])[] {
    const scratch = (bytes: number): number =>
      this.#buffers.push(ownBuffer(`partial ${this.#buffers.length}`, bytes)) - 1;
    return formsOf(step, this.#model.sweeps!.worksOf, scratch).filter(
      ([first, second, ...more]) =>
        first?.cut !== undefined && second?.cut === undefined && more.length === 0,
    );
  }

  /** Windows of some values alone, each of which has one place. */
  rulesOf(values: ReadonlySet<number>, pitches: BytePitches): SlotRules {
    return {
      isWindowed: (buffer) => values.has(buffer),
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      directionOf: () => 'local',
      slots: { in: 1, out: 1, local: 1 },
      tileBytes: Number.POSITIVE_INFINITY,
      pitches,
    };
  }

  /** Gives buffers other lengths; the lengths that they had. */
  withByteLengths(byteLengths: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
    const known = new Map<number, number>();
    for (const [buffer, byteLength] of byteLengths) {
      known.set(buffer, this.#buffers[buffer]!.byteLength);
      this.#buffers[buffer] = { ...this.#buffers[buffer]!, byteLength };
    }
    return known;
  }

  /** Has a chain pass its values in panels from now on. */
  take({ product, followers, values }: Chain, { before, after }: Sides, found: Tiled, panels: Panels): void {
    const item = { sized: { ...found.sized, panels }, steps: [product, ...followers] };
    this.#items = [...before, item, ...found.finish.map((one) => ({ step: one })), ...after];
    this.#uses = undefined;
    for (const buffer of values) this.#windowed.add(buffer);
  }

  /** The plan with all chains that were taken; `undefined`: none was. */
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
}

/** Whether a reduction reads, or makes, one of some values behind its last panel, where it is needed as a whole. */
export const isBehind = ([, ...others]: readonly Task[], values: ReadonlySet<number>): boolean =>
  others.some(({ reads, writes }) => [...reads, ...writes].some((buffer) => values.has(buffer)));

const stepsOf = (item: Item): readonly Step[] => ('step' in item ? [item.step] : item.steps);

/** The results of a step, without partial ones. */
export const resultsOf = (step: KernelStep | CallStep): readonly number[] =>
  buffersOf(step.kind === 'kernel' ? { ...step, scratch: [] } : step).writes;

const usesOf = ({ tasks }: SizedSweep): number[] =>
  tasks.flatMap(({ task: { reads, writes, step } }) => [...reads, ...writes, ...workspacesOf(step)]);
