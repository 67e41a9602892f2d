/** Activations, normalisations and products beyond matmul, on every backend, against NumPy. */
import { describe, expect, it, vi } from 'vitest';
import { failuresOf } from '../support/api.js';
import { backends } from '../support/backends.js';
import { casesByCall, prepareCases } from '../support/composite-cases.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const cases = casesByCall('composites');

describe.each(backends())('composites on %s', (device) => {
  it.each([...cases.keys()])('%s gives what its definition gives in NumPy', async (call) => {
    expect(await failuresOf(device, prepareCases(cases.get(call)!))).toEqual([]);
  });
});
