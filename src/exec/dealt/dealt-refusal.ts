/**
 * Refusals of jobs that several devices have no room for, with budgets that are enough. Called by `dealt.ts`.
 */
import { expected, MemoryError } from '../../errors.js';
import type { Canonical } from '../../fusion/canonicalize.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import { totalBytesOf } from '../budgets.js';
import { leastBudget } from '../plan/least-budget.js';
import { noFit } from '../planner.js';
import type { NoFit } from '../sweeps/sweep-slots.js';
import type { DealDevice } from './deal.js';
import { type DealtPlan, hostBytesOf } from './deal-plan.js';

/** A device with its budget, which is its part of the work as far as it has so much memory. */
export const dealDevice = (name: string, budget: number): DealDevice => ({
  name,
  budget,
  weight: Math.min(budget, totalBytesOf(name)),
});

/** The plan for devices and so many bytes of host memory. */
export type Attempt = (devices: readonly DealDevice[], hostBudget: number | undefined) => DealtPlan | NoFit;

/** The error of a job that does not fit, with a budget for each device that is enough. */
export function refusal(
  refused: NoFit,
  attempt: Attempt,
  hostBudget: number | undefined,
  devices: readonly DealDevice[],
  sites: Canonical['sites'],
): MemoryError {
  const within = (bytes: number): DealtPlan | NoFit =>
    attempt(
      devices.map(({ name }) => dealDevice(name, bytes)),
      hostBudget,
    );
  // Whatever the devices have, values may have to wait in more of the host's memory than there may be.
  const whole = within(Number.POSITIVE_INFINITY);
  const onHost = 'needed' in whole ? 0 : hostBytesOf(whole);
  const mayHold = hostBudget ?? Number.POSITIVE_INFINITY;
  const mostHost = Math.max(mayHold, onHost);
  const budget = Math.max(...devices.map((device) => device.budget));
  const least = leastBudget(budget, refused, refused.needed, (bytes) => {
    const plan = within(bytes);
    if ('needed' in plan) return plan;
    return hostBytesOf(plan) <= mostHost ? undefined : { ...refused, needed: bytes };
  });
  return noFit(least, budget, sites, onHost > mayHold ? onHost : undefined);
}

/** The error of a job whose values between phases need more of the host's memory than there may be. */
export function hostRefusal(
  plan: DealtPlan,
  attempt: Attempt,
  hostBudget: number,
  devices: readonly DealDevice[],
): MemoryError {
  let needed = formattedUp(hostBytesOf(plan));
  for (;;) {
    const found = attempt(devices, needed);
    const waiting = 'needed' in found ? needed + 1 : hostBytesOf(found);
    if (waiting <= needed) break;
    needed = formattedUp(waiting);
  }
  const fits = `values between phases that fit into ${formatBytes(hostBudget)} of host memory`;
  return new MemoryError(expected('compute', fits, formatBytes(needed)), undefined, { hostMemory: needed });
}
