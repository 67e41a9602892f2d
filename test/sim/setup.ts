/**
 * For every test on the simulated CUDA: it fails if the simulator saw a race, an access out of bounds, a
 * misused handle or the like, or if it leaves device memory in use or anything else behind, even if its
 * values are right. Tests of the simulator itself take the problems they provoke.
 */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { SIM_ENVIRONMENT } from './environment.js';
import { bytesInUse, leftInTheEnd, leftInUse } from './leftovers.js';
import { show, takeProblems } from './simulator.js';

// Elsewhere, tests set what the addon is loaded with, and what its modules import.
beforeAll(async () => {
  if (!expect.getState().testPath!.includes('/test/conformance/')) return;
  (await import('./announce-kernels.js')).announceKernels();
});

let before: readonly number[] = [];

beforeEach(() => {
  before = bytesInUse();
});

afterEach(async () => {
  expect(takeProblems().map(show)).toEqual([]);
  expect(await leftInTheEnd(), 'what the test left behind').toEqual([]);
  // Where Weft keeps memory for reuse, it does not come back.
  if (process.env.WEFT_POISON !== SIM_ENVIRONMENT.WEFT_POISON) return;
  // Memory that JavaScript gives up is freed by the device's executor, once the collector has found it.
  for (let wait = 0; wait < 200 && leftInUse(before).length > 0; wait++) {
    if (wait % 50 === 25) await (await import('../../src/exec/native/native.js')).collectGarbage();
    await setTimeout(10);
  }
  expect(leftInUse(before), 'device memory that the test left in use').toEqual([]);
});
