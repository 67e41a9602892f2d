/**
 * Property: whatever the graph, the optimized program gives what the reference interpreter gives for the
 * graph as the user built it. A failure prints the seed and the code of the smallest program found.
 *
 * WEFT_PROPERTY_RUNS sets how many graphs are tried, WEFT_PROPERTY_SEED which.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backends, runsOthers, whyNotOthers } from '../support/backends.js';
import { failureOf, reproduction } from '../support/random-check.js';
import { choices } from '../support/random-choices.js';
import { buildRandomProgram } from '../support/random-graph.js';

const given = (name: string): number | undefined =>
  process.env[name] === undefined ? undefined : Number(process.env[name]);

describe.each(backends().filter((device) => device !== 'reference'))('random graphs on %s', (device) => {
  const numRuns =
    given('WEFT_PROPERTY_RUNS') ?? (device.startsWith('cuda') ? 40 : device === 'cpu' ? 1000 : 400);
  const seed = given('WEFT_PROPERTY_SEED') ?? 20_261_121;
  it(`give what the reference gives, ${numRuns} times from seed ${seed}`, async () => {
    const property = fc.asyncProperty(
      choices,
      fc.array(fc.nat(999), { maxLength: 3 }),
      async (list, picks) => {
        const program = buildRandomProgram(list);
        const failure = await failureOf(device, program, picks).catch(
          (error: unknown) => `throws ${String(error)}`,
        );
        expect(failure, `${reproduction(device, program, picks)}\n${failure}`).toBeUndefined();
      },
    );
    await fc.assert(property, { numRuns, seed, endOnFailure: false });
  }, 600_000);
});

describe.runIf(runsOthers)(`the random graphs${whyNotOthers}`, () => {
  it('reach every action and every dtype, and most values are exact', () => {
    const seen = new Set<string>();
    let [exact, total] = [0, 0];
    for (const list of fc.sample(choices, { numRuns: 300, seed: 5 })) {
      const program = buildRandomProgram(list);
      for (const line of program.code)
        for (const [, name] of line.matchAll(/\.?\b([a-zA-Z]+)\(/g)) seen.add(name!);
      for (const value of program.values) seen.add(value.lazy.dtype);
      exact += program.values.filter((value) => value.exact).length;
      total += program.values.length;
    }
    const wanted = [
      'matmul',
      'concat',
      'stack',
      'where',
      'sum',
      'argmax',
      'prod',
      'astype',
      'roll',
      'tril',
      'divide',
      'complex64',
      'bfloat16',
      'uint64',
      ...['takeAlongAxis', 'at', 'putAlongAxis', 'bincount', 'histogram', 'groupBy', 'cumulativeSum', 'diff'],
      ...['argsort', 'lexsort', 'partition', 'topK', 'quantile', 'searchsorted', 'isin'],
      ...['arrayEqual', 'vecdot'],
      ...['compress', 'nonzero', 'argwhere', 'uniqueValues', 'uniqueAll', 'iterate', 'whileLoop'],
    ];
    expect(wanted.filter((name) => !seen.has(name))).toEqual([]);
    expect(exact / total).toBeGreaterThan(0.6);
  });
});
