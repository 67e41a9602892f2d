/**
 * For every test on the simulated CUDA: it fails if the simulator saw a race, an access out of bounds, a misused handle
 * or the like, or if it leaves device memory in use, even if its values are right. Tests of the simulator itself take the
 * problems they provoke.
 */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import { SIM_ENVIRONMENT } from './environment.js';
import { describeSimulator, show, takeProblems } from './simulator.js';

/** Of cuBLAS: taken once for each device, by the first product. */
const WORKSPACE_BYTES = 32 * 2 ** 20;

let before: readonly number[] = [];
const inUse = (): number[] => describeSimulator().devices.map((device) => device.inUse);

beforeEach(() => {
  before = inUse();
});

function leftInUse(): string[] {
  return describeSimulator().devices.flatMap(({ lost, inUse: now }, ordinal) => {
    const bytes = now - (before[ordinal] ?? 0);
    return lost || bytes <= 0 || bytes === WORKSPACE_BYTES ? [] : [`cuda:${ordinal}: ${bytes} bytes`];
  });
}

afterEach(async () => {
  expect(takeProblems().map(show)).toEqual([]);
  // Where Weft keeps memory for reuse, it does not come back.
  if (process.env.WEFT_POISON !== SIM_ENVIRONMENT.WEFT_POISON) return;
  // What JavaScript gives up is freed by the device's executor.
  for (let wait = 0; wait < 200 && leftInUse().length > 0; wait++) await setTimeout(10);
  expect(leftInUse(), 'device memory that the test left in use').toEqual([]);
});
