/**
 * Plans a step list on one device within any budgets: as a whole, in several streams, in place or in sweeps,
 * the first that fits. Step lists, groups of steps and trial tiles are the same for every budget and are kept: the
 * search for the least budget of a refused job makes a dozen plans. Called by `plan-graph.ts` and
 * `one-device.ts`.
 */

import { once, onceInSlices } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import { planWithPanels } from '../tiles/panels.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { SweepPlanner } from '../tiles/sweeps.js';
import { withBinMaps } from './bin-maps.js';
import type { DeviceModel } from './device-model.js';
import { withLessToCopyThrough, withoutSpills } from './host-budget.js';
import { inPlace } from './in-place.js';
import { withLoopCounters } from './loop-counters.js';
import { withLoopRecords } from './loop-records.js';
import { withOnePassScans } from './one-pass-scans.js';
import { planOfInSlices } from './place.js';
import { type DevicePlan, PRODUCT_PANELS, type ProductPanels, type Step } from './plan.js';
import { inStreams } from './plan-streams.js';
import { inReadBlocks } from './read-blocks.js';
import { withRowsInPlace } from './row-states.js';
import { withScanMaps } from './scan-maps.js';
import { withSparseMaps } from './sparse-maps.js';
import { stagesInSlices } from './stages.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';
import { withWorkspaces } from './workspace.js';

export class DevicePlanner {
  readonly #model: DeviceModel;
  /** With scans in one pass, and with maps that are not cut. */
  readonly #inOnePass: () => Slices<StepListPlanner | undefined>;
  readonly #stepLists: () => Slices<readonly (() => StepListPlanner)[]>;
  /** Of the same step list, without values that wait in host memory. */
  readonly #withoutSpills: () => DevicePlanner;

  /** `apart`: the same with steps by themselves that others have in `stepList`, for want of another way. */
  constructor(stepList: StepList, model: DeviceModel, apart?: StepList) {
    this.#model = model;
    this.#inOnePass = onceInSlices(function* () {
      const inOnePass = yield* withWholeScans(stepList, model);
      yield;
      const [first] = inOnePass === undefined ? [] : withWorkspaces(inOnePass, model.workspaceOf);
      return first && new StepListPlanner(first(), model);
    });
    this.#stepLists = onceInSlices(function* () {
      const planners: (() => StepListPlanner)[] = [];
      for (const list of [stepList, ...(apart === undefined ? [] : [apart])]) {
        yield;
        for (const made of withWorkspaces(list, model.workspaceOf))
          planners.push(once(() => new StepListPlanner(made(), model)));
      }
      return planners;
    });
    this.#withoutSpills = once(() => new DevicePlanner(stepList, withoutSpills(model), apart));
  }

  /**
   * The plan that holds at most `budget` bytes of the device; of those, one that takes least of the host's
   * memory where none takes at most `hostBudget`.
   */
  *plan(budget: number, hostBudget: number): Slices<DevicePlan | NoFit> {
    const plan = yield* this.#within(budget);
    if ('needed' in plan || plan.hostPeakBytes <= hostBudget) return plan;
    // Without values that wait in host memory; then with less memory to copy through.
    const plans = [plan];
    if (plan.buffers.some(({ role }) => role === 'spill')) {
      const other = yield* this.#withoutSpills().#within(budget);
      if (!('needed' in other)) plans.push(other);
    }
    plans.push(...plans.map((tried) => withLessToCopyThrough(tried, this.#model, hostBudget)));
    const fitting = plans.find(({ hostPeakBytes }) => hostPeakBytes <= hostBudget);
    return fitting ?? plans.reduce((least, one) => (one.hostPeakBytes < least.hostPeakBytes ? one : least));
  }

  *#within(budget: number): Slices<DevicePlan | NoFit> {
    const inOnePass = yield* this.#inOnePass();
    yield;
    const whole = inOnePass && (yield* inOnePass.planWhole(budget));
    if (whole !== undefined) return whole;
    let refused: NoFit | undefined;
    for (const panels of PRODUCT_PANELS)
      for (const stepList of yield* this.#stepLists()) {
        yield;
        const found = yield* stepList().plan(budget, panels);
        if (!('needed' in found)) return found;
        if (refused === undefined || found.needed < refused.needed) refused = found;
      }
    return refused!;
  }
}

/** The step list with scans in one pass, and the maps that only whole routines have; undefined: it has none. */
function* withWholeScans(stepList: StepList, model: DeviceModel): Slices<StepList | undefined> {
  const inOnePass = model.scansInOnePass === true ? withOnePassScans(stepList) : undefined;
  yield;
  const mapped = yield* withScanMaps(inOnePass ?? stepList, model, 'whole');
  yield;
  const sparse = withSparseMaps(mapped, model, true);
  yield;
  const whole = withBinMaps(sparse, model);
  return whole === stepList ? undefined : whole;
}

/** A step list with the workspaces of its calls. */
class StepListPlanner {
  readonly #model: DeviceModel;
  /** With what loops write in place, count and record; the plan of that with panels of products; that as a whole; the plan without. */
  readonly #recorded: () => StepList;
  /** With panels of products that are better computed so, and of all that can be. */
  readonly #inPanels: () => Slices<DevicePlan | undefined>;
  readonly #inMorePanels: () => Slices<DevicePlan | undefined>;
  readonly #decided: () => Slices<DevicePlan>;
  readonly #whole: () => Slices<DevicePlan>;
  readonly #inPlace: () => Slices<DevicePlan | undefined>;
  readonly #swept: () => Slices<SweepPlanner>;

  constructor(stepList: StepList, model: DeviceModel) {
    this.#model = model;
    this.#recorded = once(() =>
      withLoopRecords(withLoopCounters(withRowsInPlace(stepList), model), model.loopRecordBytes),
    );
    const inBlocks = once(() => inReadBlocks(this.#recorded(), model));
    this.#inPanels = onceInSlices(() => planWithPanels(inBlocks(), model, false));
    this.#inMorePanels = onceInSlices(() => planWithPanels(inBlocks(), model, true));
    this.#decided = onceInSlices(() => planWhole(inBlocks(), model));
    const whole = onceInSlices(() =>
      this.#recorded() === stepList ? this.#decided() : planWhole(stepList, model),
    );
    this.#whole = whole;
    this.#inPlace = onceInSlices(function* () {
      const shared = model.isByElement && inPlace(stepList, model.isByElement, model.overwrites);
      return shared && (yield* planWhole(shared, model));
    });
    this.#swept = onceInSlices(function* () {
      const { peakBytes } = yield* whole();
      return new SweepPlanner(stepList, model, { needed: peakBytes, step: largestStep(stepList, model) });
    });
  }

  /** Of panels other than wide ones, those in sweeps alone: what fits as a whole was found with wide ones. */
  *plan(budget: number, panels: ProductPanels): Slices<DevicePlan | NoFit> {
    const whole = panels === 'wide' ? yield* this.planWhole(budget) : undefined;
    return whole ?? (yield* (yield* this.#swept()).plan(budget, panels));
  }

  /** The plan whose inputs and results are whole; undefined: it does not fit. */
  *planWhole(budget: number): Slices<DevicePlan | undefined> {
    yield;
    const inPanels = yield* this.#inPanels();
    if (inPanels !== undefined && inPanels.peakBytes <= budget) return inPanels;
    yield;
    const decided = yield* this.#decided();
    yield;
    if (decided.peakBytes <= budget)
      return (yield* inStreams(this.#recorded(), this.#model, decided, budget)) ?? decided;
    for (const made of [this.#whole, this.#inPlace]) {
      yield;
      const plan = yield* made();
      if (plan !== undefined && plan.peakBytes <= budget) return plan;
    }
    yield;
    const inMorePanels = yield* this.#inMorePanels();
    return inMorePanels !== undefined && inMorePanels.peakBytes <= budget ? inMorePanels : undefined;
  }
}

/** The step that touches most. */
function largestStep(stepList: StepList, model: DeviceModel): Step {
  const bytesOf = (step: Step): number => {
    const { reads, writes } = buffersOf(step);
    return [...reads, ...writes].reduce((sum, k) => sum + model.heldBytes(stepList.buffers[k]!), 0);
  };
  return stepList.steps.reduce((most, step) => (bytesOf(step) > bytesOf(most) ? step : most));
}

/** Every buffer as a whole, steps one after the other. */
function* planWhole(stepList: StepList, model: DeviceModel): Slices<DevicePlan> {
  const stages = yield* stagesInSlices(stepList.steps);
  yield;
  return yield* planOfInSlices({ ...stepList, stages }, model);
}
