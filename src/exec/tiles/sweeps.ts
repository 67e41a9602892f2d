/**
 * Plans a job that does not fit into its budget: which buffers are on the device in windows only, which steps
 * share a sweep over tiles, and how many tiles each sweep has. Called by `device-planner.ts`.
 *
 * The largest buffers are windowed first; what is left stays whole. Of the tile counts, the least that fits
 * is taken, or more where copies from and to the host should overlap the work.
 */
import { once, onceInSlices } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { DeviceModel, SweepRules } from '../plan/device-model.js';
import {
  type DevicePlan,
  kernelsOf,
  PRODUCT_PANELS,
  type ProductPanels,
  sweepsOf,
  takesInParts,
} from '../plan/plan.js';
import type { Fitted } from '../plan/plan-within.js';
import { ownBuffer, type StepList } from '../plan/step-list.js';
import { takenBytes } from './index-windows.js';
import { bytesMoved, unrollings, withResultsApart } from './loop-sweeps.js';
import { Attempt, type Choice, type SweptJob, sweptJob } from './sweep-attempt.js';
import type { NoFit } from './sweep-slots.js';
import { writeTables } from './sweep-tables.js';
import { BYTES_OF_A_TILE } from './tile-costs.js';

export class SweepPlanner {
  readonly #whole: NoFit;
  /** By way of cutting products, then of letting values wait: those before are better. */
  readonly #ways: ReadonlyMap<ProductPanels, readonly (readonly Unrolled[])[]>;

  /** `whole`: what the job needs as a whole. */
  constructor(stepList: StepList, model: DeviceModel, whole: NoFit) {
    this.#whole = whole;
    const { sweeps } = model;
    if (sweeps === undefined) {
      this.#ways = new Map();
      return;
    }
    const apart = sweeps.canReadBack ? stepList : withResultsApart(stepList, sweeps.worksOf);
    const stepLists = unrollings(apart, sweeps.worksOf);
    const waysIn = (panels: ProductPanels): Unrolled[][] =>
      waysToWait(sweeps, apart).map((way) =>
        stepLists.map((each) => new Unrolled(each, { ...model, sweeps: way }, panels, whole)),
      );
    this.#ways = new Map(panelsOf(apart).map((panels) => [panels, waysIn(panels)]));
  }

  /** A plan that holds at most `budget` bytes, with products in such panels. */
  *plan(budget: number, panels: ProductPanels): Slices<DevicePlan | NoFit> {
    let least = this.#whole;
    for (const unrolled of this.#ways.get(panels) ?? []) {
      const found = yield* this.#planOne(unrolled, budget);
      if (!('needed' in found)) return found;
      if (least === this.#whole || (found !== this.#whole && found.needed < least.needed)) least = found;
    }
    return least;
  }

  /** Of ways to do several steps of loops at a time, the one that copies least: more at once first. */
  *#planOne(unrolled: readonly Unrolled[], budget: number): Slices<DevicePlan | NoFit> {
    let best: DevicePlan | NoFit = this.#whole;
    for (const tried of unrolled) {
      const found = yield* tried.plan(budget);
      if (!('needed' in found)) {
        if (unrolled.length > 1) yield* writeTables(found.steps);
        if (!('needed' in best) && bytesMoved(found) >= bytesMoved(best)) return best;
        best = found;
      } else if ('needed' in best && (best === this.#whole || found.needed < best.needed)) {
        best = found;
      }
    }
    return best;
  }
}

/** Small values are not worth a file: such as the condition of a loop, which is looked at after each step. */
const LEAST_SPILLED = 4096;

/**
 * As few values wait as can be: those that cost more to make again, or cannot be; then all whose steps cannot
 * follow the tiles of what needs them.
 */
function waysToWait(rules: SweepRules, { steps }: StepList): SweepRules[] {
  // A step alone leaves nothing for others.
  if (!rules.canSpill || (steps.length === 1 && steps[0]!.kind !== 'loop')) return [rules];
  const all = { ...rules, spillsAll: true };
  if (rules.spillsLast !== true) return [rules, all, { ...all, isApart: true }];
  const canWindow: SweepRules['canWindow'] = (buffer) =>
    buffer.byteLength >= LEAST_SPILLED && rules.canWindow(buffer);
  const spilled = { ...all, canWindow };
  return [{ ...rules, canSpill: false }, spilled, { ...spilled, isApart: true }];
}

/** The panels that change anything. */
function panelsOf({ steps }: StepList): ProductPanels[] {
  const calls = steps.filter(({ kind }) => kind === 'call') as CallStep[];
  const hasTwice = calls.some((step) => callRow(step).blocks?.twice?.(step) !== undefined);
  const hasNarrow = calls.some((step) => callRow(step).blocks !== undefined);
  return PRODUCT_PANELS.filter((panels) => panels === 'wide' || (panels === 'apart' ? hasTwice : hasNarrow));
}

const eitherWay = (hasBoth: boolean): readonly boolean[] => (hasBoth ? [false, true] : [false]);

/** Bytes that are copied, and that could be while tiles are begun. */
function* costOf(plan: DevicePlan): Slices<number> {
  yield* writeTables(plan.steps);
  const tiles = plan.steps.flatMap(sweepsOf).reduce((sum, own) => sum + own.tiles, 0);
  return bytesMoved(plan) + BYTES_OF_A_TILE * tiles;
}

/** Whether two plans of a step list have the same sweeps: choices differ in buffers that none touches. */
const sameSweeps = (a: Fitted, b: Fitted): boolean =>
  a.sweeps.length === b.sweeps.length && a.sweeps.every((sweep, k) => sweep === b.sweeps[k]);

/** A plan, as it was before inputs were kept, and its cost. */
interface Found {
  readonly tried: Fitted;
  readonly plan: DevicePlan;
  readonly cost: () => Slices<number>;
}

/** A step list whose loops do so many steps at a time. */
class Unrolled {
  readonly #stepList: StepList;
  readonly #whole: NoFit;
  /** The choices of what is windowed, from the least of it on; undefined: the same as one before. */
  readonly #attempts: () => Slices<readonly (() => Attempt | undefined)[]>;

  constructor(stepList: StepList, model: DeviceModel, panels: ProductPanels, whole: NoFit) {
    this.#stepList = stepList;
    this.#whole = whole;
    this.#attempts = onceInSlices(function* () {
      return attemptsOf(yield* sweptJob(stepList, model), panels);
    });
  }

  *plan(budget: number): Slices<DevicePlan | NoFit> {
    let least = this.#whole;
    // Whether states of loops would have to, where they cannot.
    let mustWait = false;
    let best: Found | undefined;
    for (const attempt of yield* this.#attempts()) {
      yield;
      const choice = attempt();
      if (choice === undefined || choice.leastBytes() > budget) continue;
      const tried = yield* choice.plan(budget);
      if (tried === undefined) {
        mustWait = true;
        continue;
      }
      if (!('needed' in tried)) {
        if (best !== undefined && sameSweeps(tried, best.tried)) continue;
        const { plan } = (yield* choice.withInputsKept(tried, budget)) ?? tried;
        // With less beside them, as of the indices, arrays may pass fewer times.
        if (best === undefined && !takesInParts(plan)) return plan;
        const found = { tried, plan, cost: onceInSlices(() => costOf(plan)) };
        if (best === undefined || (yield* found.cost()) < (yield* best.cost())) best = found;
        continue;
      }
      // A size that would do if steps could be cut says nothing of the need.
      if (tried.needed > budget && (least === this.#whole || tried.needed < least.needed)) least = tried;
    }
    if (best !== undefined) return best.plan;
    const loop = this.#stepList.steps.find(({ kind }) => kind === 'loop');
    return least === this.#whole && mustWait && loop !== undefined
      ? { ...this.#whole, step: loop, atOnce: 'states' }
      : least;
  }
}

/** The choices of what is windowed, from the least of it on; undefined: the same as one before. */
function attemptsOf(job: SweptJob, panels: ProductPanels): readonly (() => Attempt | undefined)[] {
  const { stepList, model, scratch } = job;
  const taken = stepList.steps.flatMap(kernelsOf).flatMap(takenBytes);
  const buffers = [...stepList.buffers, ...taken.map((bytes) => ownBuffer('', bytes))];
  const sizes = [...new Set(buffers.map(model.heldBytes))].filter((n) => n > 0).sort((a, b) => b - a);
  const hasBlocks = stepList.steps.some((step) => step.kind === 'call' && callRow(step).blocks !== undefined);
  const known = new Set<string>();
  const attempt = (how: Pick<Choice, 'threshold' | 'inBlocks' | 'cutsPartials' | 'takesInWindows'>) => {
    const one = new Attempt(job, { ...model.sweeps!, ...how, panels });
    if (known.has(one.key) || (panels !== 'wide' && !one.changesPanels())) return undefined;
    known.add(one.key);
    return one;
  };
  return sizes.flatMap((threshold) =>
    // Other panels are of calls in blocks.
    (panels === 'wide' ? eitherWay(hasBlocks) : [true]).flatMap((inBlocks) =>
      eitherWay(scratch.partials.size > 0).flatMap((cutsPartials) =>
        eitherWay(taken.length > 0).map((takesInWindows) =>
          once(() => attempt({ threshold, inBlocks, cutsPartials, takesInWindows })),
        ),
      ),
    ),
  );
}
