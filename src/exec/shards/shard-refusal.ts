/**
 * Refusals of jobs that several devices have no room for, with budgets that are enough. Called by
 * `plan-shards.ts`.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import { expected, MemoryError } from '../../host/errors.js';
import type { Slices } from '../../host/slices.js';
import { leastBudget } from '../plan/least-budget.js';
import type { Plan } from '../plan/plan.js';
import { noFit } from '../plan/plan-graph.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { type ShardDevice, shardDevice } from './shard-device.js';
import type { Attempt } from './shard-partition.js';

/** The error of a job of so many steps that does not fit, with a budget for each device that is enough. */
export function* refusal(
  refused: NoFit,
  attempt: Attempt,
  steps: number,
  hostBudget: number | undefined,
  devices: readonly ShardDevice[],
  sites: Canonical['sites'],
): Slices<MemoryError> {
  const within = (bytes: number): Slices<Plan | NoFit> =>
    attempt(
      devices.map(({ name }) => shardDevice(name, bytes)),
      hostBudget,
    );
  // However large the devices, values may have to wait in more host memory than is allowed.
  const whole = yield* within(Number.POSITIVE_INFINITY);
  const onHost = 'needed' in whole ? 0 : whole.hostPeakBytes;
  const mayHold = hostBudget ?? Number.POSITIVE_INFINITY;
  const mostHost = Math.max(mayHold, onHost);
  const budget = Math.max(...devices.map((device) => device.budget));
  const least = yield* leastBudget<NoFit>(budget, refused, refused.needed, steps, function* (bytes) {
    const plan = yield* within(bytes);
    if ('needed' in plan) return plan;
    if (plan.hostPeakBytes > mostHost) return { ...refused, needed: bytes };
    return { peakBytes: Math.max(...plan.peakBytes) };
  });
  return noFit(least, budget, sites, onHost > mayHold ? onHost : undefined);
}

/** The error of a job whose values between phases need more of the host's memory than there may be. */
export function* hostRefusal(
  plan: Plan,
  attempt: Attempt,
  hostBudget: number,
  devices: readonly ShardDevice[],
): Slices<MemoryError> {
  let needed = formattedUp(plan.hostPeakBytes);
  for (;;) {
    const found = yield* attempt(devices, needed);
    const waiting = 'needed' in found ? needed + 1 : found.hostPeakBytes;
    if (waiting <= needed) break;
    needed = formattedUp(waiting);
  }
  const fits = `values between phases that fit into ${formatBytes(hostBudget)} of host memory`;
  return new MemoryError(expected('compute', fits, formatBytes(needed)), undefined, { hostMemory: needed });
}
