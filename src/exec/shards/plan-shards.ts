/**
 * The plan of a partitioned graph for several devices, or the refusal of what fits on none. Called by
 * `run/planned.ts`.
 */
import type { Partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { Graph } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import type { DeviceModel } from '../plan/device-model.js';
import type { Plan } from '../plan/plan.js';
import { totalBytesOf } from '../run/budgets.js';
import type { ComputeTarget } from '../run/compute-target.js';
import { processLimitOf } from '../run/process-limit.js';
import { forOnePlanning } from '../tiles/remembered-works.js';
import { type ShardDevice, shardDevice } from './shard-device.js';
import { shardPartition } from './shard-partition.js';
import { hostRefusal, refusal } from './shard-refusal.js';

/** The plan of a partitioned graph on several devices. Throws `MemoryError` where nothing fits. */
export function* planShards(
  graph: Graph,
  partition: Partition,
  canonical: Canonical,
  model: DeviceModel,
  target: ComputeTarget,
): Slices<Plan> {
  const { destination, hostBudget } = target;
  const devices = shardDevicesOf(target);
  const own = forOnePlanning(model);
  const attempt = yield* shardPartition(graph, partition, canonical.sources, own, destination);
  const plan = yield* attempt(devices, hostBudget);
  const steps = partition.steps.length * devices.length;
  if ('needed' in plan) throw yield* refusal(plan, attempt, steps, hostBudget, devices, canonical.sites);
  if (hostBudget !== undefined && plan.hostPeakBytes > hostBudget)
    throw yield* hostRefusal(plan, attempt, hostBudget, devices);
  return plan;
}

/** Devices with the budget that the user set, or all of their memory; or with what is free of it. */
export const shardDevicesOf = ({ devices, budget, freeBytes }: ComputeTarget): ShardDevice[] =>
  devices.map((device, d) => {
    const most = Math.min(budget ?? totalBytesOf(device), processLimitOf(device) ?? Number.POSITIVE_INFINITY);
    if (freeBytes === undefined) return shardDevice(device.name, most);
    const free = Math.min(freeBytes[d]!, most);
    return { name: device.name, budget: free, weight: free };
  });
