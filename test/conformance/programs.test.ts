/** Composite programs on every backend against the reference interpreter. */
import { describe, expect, it, vi } from 'vitest';
import { isComplex } from '../../src/graph/dtype.js';
import { referenceOf, run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { type HostArray, toScalars } from '../support/host.js';
import { PROGRAMS } from '../support/programs.js';
import { isComplexValue } from '../support/scalar.js';
import { mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

/** The largest finite size in an array. */
function largest(x: HostArray): number {
  const sizes = toScalars(x).map((v) => (isComplexValue(v) ? Math.hypot(v.re, v.im) : Math.abs(Number(v))));
  return sizes.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
}

/** Of programs by their names: the same for every backend. */
const references = new Map<string, HostArray[]>();

describe.each(backends().filter((device) => device !== 'reference'))('programs on %s', (device) => {
  it.each(PROGRAMS.map((program) => [program.name, program] as const))('%s', async (_, program) => {
    const outputs = program.build();
    const expected = references.get(program.name) ?? referenceOf(outputs);
    references.set(program.name, expected);
    const actual = await run(device, outputs);
    const failures = expected.flatMap((want, i) => {
      const inexact = program.tolerance !== undefined && /^float|^bfloat|^complex/.test(want.dtype);
      const absolute = inexact ? program.tolerance * largest(want) : 0;
      const tolerance = { ulp: 0, absolute, anyZero: inexact || isComplex(want.dtype) };
      const wrong = mismatch(actual[i]!, want, tolerance);
      return wrong === undefined ? [] : [`output ${i}: ${wrong}`];
    });
    expect(failures).toEqual([]);
  });
});
