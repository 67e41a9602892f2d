/** Activations, normalisations and products beyond matmul, on every backend, against NumPy. */
import { describe, expect, it, vi } from 'vitest';
import { failuresOf, freeFunction, type Prepared, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { type CompositeCase, fixtures } from '../support/fixtures.js';
import { mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const { cases, read } = fixtures('composites');
const calls = [...new Set(cases.map((c) => c.call))];

function build(c: CompositeCase) {
  const isArray = (x: unknown): x is { array: number } => typeof x === 'object' && x !== null && 'array' in x;
  const args = c.args.map((x) => (isArray(x) ? toLazy(read(c.inputs[x.array]!)) : x));
  return freeFunction(c.call)(...args);
}

describe.each(backends())('composites on %s', (device) => {
  it.each(calls)('%s gives what its definition gives in NumPy', async (call) => {
    const prepared = cases
      .filter((c) => c.call === call)
      .map(
        (c): Prepared => ({
          label: `${call}(${JSON.stringify(c.args)}) of ${c.inputs.map((x) => `${x.dtype} [${x.shape}]`)}`,
          build: () => build(c),
          check: (actual) => mismatch(actual, read(c.output), { ulp: 0, absolute: c.bound, anyZero: true }),
        }),
      );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});
