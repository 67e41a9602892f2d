/**
 * Graph → sharded plan: passes, partition, shares of the devices of a target, or the refusal of what fits on
 * none. Called by `program.ts` and `inspect/`.
 */

import { partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { runPasses } from '../../fusion/passes/pipeline.js';
import { totalBytesOf } from '../run/budgets.js';
import { debug } from '../run/debug.js';
import { processLimitOf } from '../run/process-limit.js';
import { cudaNeeds } from '../run/program-cuda.js';
import type { Target } from '../run/target.js';
import { forOnePlanning } from '../tiles/remembered-works.js';
import { shardPartition } from './shard-partition.js';
import { type Attempt, hostRefusal, refusal, shardDevice } from './shard-refusal.js';
import { printShardedPlan, type ShardDevice, type ShardedPlan, waitingBytesOf } from './sharded-plan.js';

/** The plan of a compute on several devices. Throws `MemoryError` where nothing fits. */
export function planSharded(canonical: Canonical, target: Target): ShardedPlan {
  const { exact, place, hostBudget } = target;
  const devices = shardDevicesOf(target);
  const graph = runPasses(canonical.graph, { exact, sharded: true });
  // All devices are of one kind: `devices.ts` sees to it.
  const needs = forOnePlanning(cudaNeeds(devices[0]!.name, place));
  const parts = partition(graph);
  const attempt: Attempt = (some, onHost) =>
    shardPartition(graph, parts, canonical.sources, needs, some, { place, hostBudget: onHost });
  const plan = attempt(devices, hostBudget);
  if ('needed' in plan) throw refusal(plan, attempt, hostBudget, devices, canonical.sites);
  debug('plan', 'devices', () => printShardedPlan(plan));
  if (hostBudget !== undefined && waitingBytesOf(plan) > hostBudget)
    throw hostRefusal(plan, attempt, hostBudget, devices);
  return plan;
}

/** Devices with the budget that the user set, or all of their memory; or with what is free of it. */
export const shardDevicesOf = ({ devices, budget, freeBytes }: Target): ShardDevice[] =>
  devices.map((name, d) => {
    const most = Math.min(budget ?? totalBytesOf(name), processLimitOf(name) ?? Number.POSITIVE_INFINITY);
    if (freeBytes === undefined) return shardDevice(name, most);
    const free = Math.min(freeBytes[d]!, most);
    return { name, budget: free, weight: free };
  });
