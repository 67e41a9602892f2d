/**
 * Plans a partitioned graph within its budgets, or says what it lacks. Further memory that a device needs
 * (scratch memory of its kernels, a library's workspace) comes as `DeviceModel`.
 */

import type { Partition } from '../../fusion/partition/partition.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Site } from '../../graph/expr.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import type { Graph } from '../../graph/graph.js';
import { expected, MemoryError } from '../../host/errors.js';
import { completed, type Slices } from '../../host/slices.js';
import { callRow } from '../calls/table.js';
import { forOnePlanning } from '../tiles/remembered-works.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { writeTables } from '../tiles/sweep-tables.js';
import type { DeviceModel } from './device-model.js';
import { DevicePlanner } from './device-planner.js';
import { hostNoFit, madeAt } from './host-budget.js';
import { type LeastBudget, leastBudget } from './least-budget.js';
import { withOpenTails } from './open-tails.js';
import { type DevicePlan, stepName } from './plan.js';
import { withScanMaps } from './scan-maps.js';
import { withSparseMaps } from './sparse-maps.js';
import { type StepList, stepListOf } from './step-list.js';

export type { DeviceModel } from './device-model.js';

/** Where results are wanted: copied to host memory, left on the device, or written to files. */
export type Destination = 'host' | 'device' | 'file';

/** The most bytes that a compute may hold; `undefined`: no bound. */
export interface Budgets {
  /** Of its device. */
  readonly budget: number | undefined;
  /** Of host memory, beside arrays and results. */
  readonly hostBudget: number | undefined;
}

export interface Limits extends Partial<Budgets> {
  /** Where results are wanted; on the host, where it is not said. */
  readonly destination?: Destination | undefined;
  /** Where the user made the graph's nodes; read by errors alone, since it may be made when it is asked for. */
  readonly sites?: ReadonlyMap<number, Site> | undefined;
}

/**
 * The plan of a partitioned graph that holds at most `budget` bytes of the device, and `hostBudget` bytes of
 * the host. Throws `MemoryError` where there is none.
 */
export const planPartition = (
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  deviceModel: DeviceModel,
  limits: Limits = {},
): DevicePlan => completed(planPartitionInSlices(graph, partition, sources, deviceModel, limits));

/** A job that does not fit. Its error names a budget that is enough, which takes a dozen plans to find. */
export class Refused {
  readonly #error: MemoryError | (() => Slices<MemoryError>);

  constructor(error: MemoryError | (() => Slices<MemoryError>)) {
    this.#error = error;
  }

  *error(): Slices<MemoryError> {
    return typeof this.#error === 'function' ? yield* this.#error() : this.#error;
  }
}

/** As `planPartition`; a refusal is given back, for a caller that knows other ways. */
export function* planOrRefuse(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  deviceModel: DeviceModel,
  limits: Limits,
): Slices<DevicePlan | Refused> {
  const model = forOnePlanning(deviceModel);
  const { budget = Number.POSITIVE_INFINITY, hostBudget = Number.POSITIVE_INFINITY } = limits;
  const steps = yield* stepListOf(graph, partition, sources, model);
  const { destination = 'host' } = limits;
  const stays = destination === 'device' || (destination === 'host' && model.leavesResults === true);
  const listed = (own: StepList): StepList => {
    const mapped = withSparseMaps(own, model, false);
    return stays ? withOpenTails(mapped) : mapped;
  };
  const joined = yield* withScanMaps(steps, model, 'parts');
  yield;
  // Parts of a scan that are columns have no maps.
  const planner = new DevicePlanner(listed(joined), model, joined === steps ? undefined : listed(steps));
  yield;
  const plan = yield* planner.plan(budget, hostBudget);
  if ('needed' in plan) return new Refused(() => refusal(planner, plan, budget, hostBudget, limits.sites));
  if (plan.hostPeakBytes > hostBudget) return new Refused(hostNoFit(plan, hostBudget, limits.sites));
  yield* writeTables(plan.steps);
  return plan;
}

/** As `planPartition`. */
export function* planPartitionInSlices(...work: Parameters<typeof planOrRefuse>): Slices<DevicePlan> {
  const plan = yield* planOrRefuse(...work);
  if (plan instanceof Refused) throw yield* plan.error();
  return plan;
}

/**
 * The error of a job that does not fit, with a budget that is enough; the host's memory may be short as well.
 */
function* refusal(
  planner: DevicePlanner,
  refused: NoFit,
  budget: number,
  hostBudget: number,
  sites: Limits['sites'],
): Slices<MemoryError> {
  const whole = (yield* planner.plan(Number.POSITIVE_INFINITY, hostBudget)) as DevicePlan;
  const mostHost = Math.max(hostBudget, whole.hostPeakBytes);
  const least = yield* leastBudget<NoFit>(
    budget,
    refused,
    whole.peakBytes,
    whole.steps.length,
    function* (tried) {
      const plan = yield* planner.plan(tried, mostHost);
      if ('needed' in plan || plan.hostPeakBytes <= mostHost) return plan;
      return { ...refused, needed: plan.peakBytes };
    },
  );
  return noFit(least, budget, sites, mostHost > hostBudget ? mostHost : undefined);
}

/** The error of a job that does not fit: a budget that is enough, and the user's node that needs it. */
export function noFit(
  { bytes, why: { step, atOnce } }: LeastBudget<NoFit>,
  budget: number,
  sites: Limits['sites'],
  hostBytes?: number,
): MemoryError {
  const name = stepName(step);
  const needed = formatBytes(bytes);
  const least = {
    step: `a step that cannot be cut into tiles, ${name}, needs ${needed} at once, with what is held beside it`,
    states: `it needs ${needed} as a whole: the tiles of a ${name} cannot go through its steps one by one, and its states have no other memory here to wait in`,
    tiles: `the smallest tiles of ${name} need ${needed}, with what is held beside them`,
  }[atOnce ?? 'tiles'];
  const onHost = hostBytes === undefined ? {} : { hostMemory: formattedUp(hostBytes) };
  const host = hostBytes === undefined ? '' : `, and ${formatBytes(formattedUp(hostBytes))} of host memory`;
  const hint = step.kind === 'call' && atOnce === 'step' ? callRow(step).hint : undefined;
  const message = expected('compute', `a job that fits into ${formatBytes(budget)}`, least + host, hint);
  return new MemoryError(message + madeAt(step, sites), undefined, { memory: bytes, ...onHost });
}
