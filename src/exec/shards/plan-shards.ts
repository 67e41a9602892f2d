/**
 * Graph → sharded plan: passes, partition, shares of the devices of a target, or the refusal of what fits on
 * none. Called by `program.ts` and `inspect/`.
 */

import { partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { runPasses, SPLIT_CONTRACTIONS } from '../../fusion/passes/pipeline.js';
import { totalBytesOf } from '../run/budgets.js';
import type { ComputeTarget } from '../run/compute-target.js';
import { debug } from '../run/debug.js';
import { processLimitOf } from '../run/process-limit.js';
import type { Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';
import { forOnePlanning } from '../tiles/remembered-works.js';
import { shardPartition } from './shard-partition.js';
import { type Attempt, hostRefusal, refusal, shardDevice } from './shard-refusal.js';
import { printShardedPlan, type ShardDevice, type ShardedPlan, waitingBytesOf } from './sharded-plan.js';

/** The plan of a compute on several devices. Throws `MemoryError` where nothing fits. */
export function planSharded(canonical: Canonical, target: ComputeTarget): ShardedPlan {
  const { exact, place, hostBudget } = target;
  const devices = shardDevicesOf(target);
  // All devices are of one kind: `devices.ts` sees to it.
  const [first] = target.devices as [Device];
  const { passes, modelOf } = targetOf(first);
  const graph = runPasses(canonical.graph, { exact, passes, last: [SPLIT_CONTRACTIONS] });
  const model = forOnePlanning(modelOf(first, place));
  const parts = partition(graph);
  const attempt: Attempt = (some, onHost) =>
    shardPartition(graph, parts, canonical.sources, model, some, { place, hostBudget: onHost });
  const plan = attempt(devices, hostBudget);
  if ('needed' in plan) throw refusal(plan, attempt, hostBudget, devices, canonical.sites);
  debug('plan', 'devices', () => printShardedPlan(plan));
  if (hostBudget !== undefined && waitingBytesOf(plan) > hostBudget)
    throw hostRefusal(plan, attempt, hostBudget, devices);
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
