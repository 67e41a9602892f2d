/**
 * A thread of `threads.ts`: tells when it has loaded Weft and done a round, and goes on until it is
 * terminated.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Place } from './activities.js';
import type { Activity } from './activity-names.js';

/** The orders of a thread. */
export interface ThreadData extends Place {
  readonly activity: Activity;
}

const { activity, seed, ...place } = workerData as ThreadData;
const { ACTIVITIES } = await import('./activities.js');
for (let round = 0; ; round++) {
  await ACTIVITIES[activity]({ ...place, seed: seed * 1000 + round });
  parentPort!.postMessage(round);
}
