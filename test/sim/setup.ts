/**
 * For every test on the simulated CUDA: it fails if the simulator saw a race, an access out of bounds, a misused handle
 * or the like, or if it leaves device memory in use, even if its values are right. Tests of the simulator itself take the
 * problems they provoke.
 */
import { afterEach, beforeEach, expect } from 'vitest';
import { describeSimulator, show, takeProblems } from './simulator.js';

/** Of cuBLAS: taken once for each device, by the first product. */
const WORKSPACE_BYTES = 32 * 2 ** 20;

let before: readonly number[] = [];
const inUse = (): number[] => describeSimulator().devices.map((device) => device.inUse);

beforeEach(() => {
  before = inUse();
});

afterEach(() => {
  expect(takeProblems().map(show)).toEqual([]);
  const { devices } = describeSimulator();
  const left = devices.flatMap(({ lost, inUse: now }, ordinal) => {
    const bytes = now - (before[ordinal] ?? 0);
    return lost || bytes <= 0 || bytes === WORKSPACE_BYTES ? [] : [`cuda:${ordinal}: ${bytes} bytes`];
  });
  expect(left, 'device memory that the test left in use').toEqual([]);
});
