/**
 * For every test on the simulated CUDA: it fails if the simulator saw a race, an access out of bounds, a misused handle
 * or the like, or if it leaves device memory in use or anything else behind, even if its values are right. Tests of the
 * simulator itself take the problems they provoke.
 */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import { SIM_ENVIRONMENT } from './environment.js';
import { describeSimulator, show, takeProblems } from './simulator.js';

let before: readonly number[] = [];
const inUse = (): number[] => describeSimulator().devices.map((device) => device.inUse);

beforeEach(() => {
  before = inUse();
});

function leftInUse(): string[] {
  return describeSimulator().devices.flatMap(({ lost, inUse: now }, ordinal) => {
    const bytes = now - (before[ordinal] ?? 0);
    return lost || bytes <= 0 ? [] : [`cuda:${ordinal}: ${bytes} bytes`];
  });
}

/** What there is beside what the runtime says that it keeps: streams, events, modules, pinned memory and the like. */
async function leftBehind(): Promise<string[]> {
  const { devices, live } = describeSimulator();
  const opened = devices.flatMap(({ live: own, lost }, ordinal) =>
    !lost && Object.values(own).some((count) => count > 0) ? [ordinal] : [],
  );
  const left = live.nvrtcPrograms ? [`${live.nvrtcPrograms} nvrtcPrograms`] : [];
  if (opened.length === 0 && live.pinnedBytes === 0) return left;
  // Not before: tests choose the environment that it reads.
  const { keptObjects, memory } = await import('../../src/exec/native.js');
  const pinned = memory().reduce((sum, { staging }) => sum + staging, 0);
  if (live.pinnedBytes !== pinned) left.push(`${live.pinnedBytes} pinned bytes, ${pinned} kept`);
  for (const ordinal of opened) {
    const kept = await keptObjects(`cuda:${ordinal}`);
    for (const [name, count] of Object.entries(kept)) {
      const exist = devices[ordinal]!.live[name];
      if (exist !== count) left.push(`cuda:${ordinal}: ${exist} ${name}, ${count} kept`);
    }
  }
  return left;
}

afterEach(async () => {
  expect(takeProblems().map(show)).toEqual([]);
  for (let wait = 0; wait < 200 && (await leftBehind()).length > 0; wait++) await setTimeout(10);
  expect(await leftBehind(), 'what the test left behind').toEqual([]);
  // Where Weft keeps memory for reuse, it does not come back.
  if (process.env.WEFT_POISON !== SIM_ENVIRONMENT.WEFT_POISON) return;
  // What JavaScript gives up is freed by the device's executor.
  for (let wait = 0; wait < 200 && leftInUse().length > 0; wait++) await setTimeout(10);
  expect(leftInUse(), 'device memory that the test left in use').toEqual([]);
});
