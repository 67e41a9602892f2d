/**
 * The plan of a job on several devices: shares of its work, with less of products' workspace and values on
 * the host where that is needed; else all of it on one device. Called by `plan-shards.ts`.
 */
import type { Partition } from '../../fusion/partition/partition.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Graph } from '../../graph/graph.js';
import { InternalError } from '../../host/errors.js';
import type { Slices } from '../../host/slices.js';
import type { DeviceModel } from '../plan/device-model.js';
import type { Plan, WholeReason } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import { withScanMaps } from '../plan/scan-maps.js';
import { withSparseMaps } from '../plan/sparse-maps.js';
import { type StepList, stepListOf } from '../plan/step-list.js';
import { withWorkspaces } from '../plan/workspace.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { planOnOne } from './one-device.js';
import { withoutParts } from './open-loops.js';
import type { ShardDevice } from './shard-device.js';
import type { Job } from './shard-job.js';
import { shardSteps } from './sharding.js';
import { type Kernels, sharedLoops } from './shared-loops.js';
import { WholePlanners } from './whole-planners.js';

/** Ways to share, from what is done soonest to what takes least memory. */
const WAYS = [
  { cutsAll: false, spills: false },
  { cutsAll: true, spills: false },
  { cutsAll: true, spills: true },
] as const;
/** Kernels in a round of a shared loop: where values wait, more of them copy less, and hold more. */
const KERNELS: readonly (readonly Kernels[])[] = [['worth'], ['worth', 1], [16, 4, 1]];

/** The plan for devices and so many bytes of host memory, any number of them where undefined; where there is none, why. */
export type Attempt = (
  devices: readonly ShardDevice[],
  hostBudget: number | undefined,
) => Slices<Plan | NoFit>;

/** Plans a partitioned graph on several devices, with any budgets. */
export function* shardPartition(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  model: DeviceModel,
  destination: Destination,
): Slices<Attempt> {
  const { sweeps, costs } = model;
  if (sweeps === undefined || costs === undefined)
    throw new InternalError('[shard] a device whose kernels cannot be cut');
  const steps = yield* stepListOf(graph, partition, sources, model);
  const lowered = withSparseMaps(yield* withScanMaps(steps, model, 'parts'), model, false);
  yield;
  const stepLists = withWorkspaces(lowered, model.workspaceOf);
  const planners = new WholePlanners();
  return function* (devices, hostBudget = Number.POSITIVE_INFINITY) {
    const job = { sources, model, sweeps, costs, devices, destination, hostBudget, planners };
    if (devices.length === 1) return yield* planOnOne(lowered, job);
    let least: NoFit | undefined;
    for (const stepList of stepLists) {
      for (const attempt of waysToShare(stepList(), job)) {
        const found = yield* attempt();
        if (found === undefined) continue;
        if ('phases' in found) return found;
        if (least === undefined || found.needed < least.needed) least = found;
      }
    }
    const alone = yield* planOnOne(lowered, job);
    return 'phases' in alone || alone.needed < least!.needed ? alone : least!;
  };
}

type WayToShare = () => Slices<Plan | NoFit | undefined>;

/** Plans to try: with loops whose rounds devices share, then with loops that one device does. */
function waysToShare(stepList: StepList, job: Omit<Job, 'cutsAll' | 'spills' | 'whyWhole'>): WayToShare[] {
  const later: WayToShare[] = [];
  let whyWhole: WholeReason = 'uncut';
  const ways = WAYS.flatMap((way, k) => {
    const own: Job = { ...job, ...way, whyWhole: 'short' };
    const opened = KERNELS[k]!.flatMap((kernels) => sharedLoops(stepList, own, kernels) ?? []);
    if (opened.length === 0) return [() => shardSteps(withoutParts(stepList), own)];
    later.push(() => shardSteps(withoutParts(stepList), { ...own, whyWhole }));
    return opened.map(
      (each) =>
        function* () {
          const found = yield* shardSteps(each, own);
          if (found !== undefined) whyWhole = 'memory';
          return found;
        },
    );
  });
  return [...ways, ...later];
}
