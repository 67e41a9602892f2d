/** NumPy's functions that are made of other nodes, on every backend, against NumPy. */
import { describe, expect, it, vi } from 'vitest';
import { failuresOf } from '../support/api.js';
import { backends } from '../support/backends.js';
import { casesByCall, prepareCases } from '../support/composite-cases.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const cases = casesByCall('functions', 'arrays', 'binning');

describe.each(backends())('functions on %s', (device) => {
  it.each([...cases.keys()])('%s gives what NumPy gives', async (call) => {
    expect(await failuresOf(device, prepareCases(cases.get(call)!))).toEqual([]);
  });
});
