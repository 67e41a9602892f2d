/**
 * Every reduction and composite × dtype × axes, keepdims, correction and dtype, on every backend, against
 * NumPy.
 */
import { describe, expect, it, vi } from 'vitest';
import { callMethod, failuresOf, type Prepared, run, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { fixtures, type ReductionCase, type ReductionOptions } from '../support/fixtures.js';
import { randomValues } from '../support/random.js';
import { mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const { cases, read } = fixtures('reductions');
const methods = [...new Set(cases.map((c) => c.method))];

function argumentsOf({ ord, ...rest }: ReductionOptions): readonly unknown[] {
  if (ord === undefined) return [rest];
  return [
    {
      ...rest,
      ord: ord === 'inf' ? Number.POSITIVE_INFINITY : ord === '-inf' ? Number.NEGATIVE_INFINITY : ord,
    },
  ];
}

const label = (c: ReductionCase): string =>
  `${c.method} of ${c.dtype} [${c.input.shape}] ${JSON.stringify(c.options)}`;
const build = (c: ReductionCase) => callMethod(toLazy(read(c.input)), c.method, argumentsOf(c.options));

describe.each(backends())('reductions on %s', (device) => {
  it.each(methods)('%s gives what NumPy gives', async (method) => {
    const prepared = cases
      .filter((c) => c.method === method && c.error === undefined)
      .map(
        (c): Prepared => ({
          label: label(c),
          build: () => build(c),
          // Signs of zero: NumPy's extremes depend on its SIMD lanes.
          check: (actual) => mismatch(actual, read(c.output!), { ulp: 0, absolute: c.bound!, anyZero: true }),
        }),
      );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });

  it('gives the same bits however often and beside whatever it is computed', async () => {
    const x = toLazy(randomValues('float32', [301, 77], 7));
    const [alone] = await run(device, [x.sum(0)]);
    const [beside] = await run(device, [x.sum(0), x.exp().sum(1)]);
    const [again] = await run(device, [x.sum(0)]);
    expect(beside!.data).toEqual(alone!.data);
    expect(again!.data).toEqual(alone!.data);
  });
});

describe('reductions of nothing', () => {
  it.each(cases.filter((c) => c.error).map((c) => [label(c), c] as const))('throw for %s', (_, c) => {
    expect(() => build(c)).toThrow(RangeError);
  });
});
