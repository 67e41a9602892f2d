/**
 * For every test on the simulated CUDA: it fails if the simulator saw a race, an access out of bounds, a misused handle
 * or the like, even if its values are right. Tests of the simulator itself take the problems they provoke.
 */
import { afterEach, expect } from 'vitest';
import { show, takeProblems } from './simulator.js';

afterEach(() => {
  expect(takeProblems().map(show)).toEqual([]);
});
