/** NumPy's functions that are made of other nodes, on every backend, against NumPy. */
import { describe, expect, it, vi } from 'vitest';
import type { Lazy } from '../../src/index.js';
import { failuresOf, freeFunction, type Prepared, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { fixtures } from '../support/fixtures.js';
import { mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

/** Cases of all files, with the arrays of each. */
const files = [fixtures('functions'), fixtures('arrays'), fixtures('binning')];
const cases = files.flatMap(({ cases, read }) => cases.map((c) => ({ ...c, read })));
type Case = (typeof cases)[number];
const calls = [...new Set(cases.map((c) => c.call))];

/** Arguments with the inputs in their places. */
function withArrays(value: unknown, c: Case): unknown {
  if (Array.isArray(value)) return value.map((each) => withArrays(each, c));
  if (typeof value !== 'object' || value === null) return value;
  if ('array' in value) return toLazy(c.read(c.inputs[value.array as number]!));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withArrays(each, c)]));
}

function build(c: Case): Lazy {
  const result = freeFunction(c.call)(...(withArrays(c.args, c) as unknown[]));
  return c.part === undefined
    ? result
    : (result as unknown as Readonly<Record<number | string, Lazy>>)[c.part]!;
}

describe.each(backends())('functions on %s', (device) => {
  it.each(calls)('%s gives what NumPy gives', async (call) => {
    const prepared = cases
      .filter((c) => c.call === call)
      .map(
        (c): Prepared => ({
          label: `${call}(${JSON.stringify(c.args)}) of ${c.inputs.map((x) => `${x.dtype} [${x.shape}]`)}`,
          build: () => build(c),
          check: (actual) => mismatch(actual, c.read(c.output), { ulp: 0, absolute: c.bound, anyZero: true }),
        }),
      );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});
