/**
 * Property: whatever the graph, the optimized program gives what the reference interpreter gives for the graph as the
 * user built it. A failure prints the seed and the code of the smallest program found.
 *
 * WEFT_PROPERTY_RUNS sets how many graphs are tried, WEFT_PROPERTY_SEED which.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isHalf } from '../../src/graph/dtype.js';
import { referenceOf, run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { type HostArray, toScalars } from '../support/host.js';
import { buildRandomProgram, type RandomProgram } from '../support/random-graph.js';
import { isComplexValue } from '../support/scalar.js';
import { mismatch, type Tolerance } from '../support/ulp.js';

const choice = fc.record({ action: fc.nat(14), a: fc.nat(999), b: fc.nat(999), c: fc.nat(999) });
const choices = fc.array(choice, { minLength: 2, maxLength: 24 });

const sizes = (x: HostArray): number[] =>
  toScalars(x).map((v) => (isComplexValue(v) ? Math.hypot(v.re, v.im) : Math.abs(Number(v))));

/** Relative to the largest value anywhere in the program, which errors of its parts are. */
function tolerances(
  program: RandomProgram,
  reference: readonly HostArray[],
): (k: number) => (i: number) => Tolerance | undefined {
  const floats = reference.filter((x) => /float|complex/.test(x.dtype));
  const scale = floats
    .flatMap(sizes)
    .filter(Number.isFinite)
    .reduce((a, b) => Math.max(a, b), 1);
  const coarsest = floats.some((x) => x.dtype === 'bfloat16')
    ? 0.06
    : floats.some((x) => x.dtype === 'float16')
      ? 0.01
      : 1e-4;
  return (k) => {
    const { dtype } = reference[k]!;
    const values = sizes(reference[k]!);
    if (program.values[k]!.exact) return () => ({ ulp: 0, anyZero: true });
    // A half may overflow on one side of an error and not on the other.
    const overflows = isHalf(dtype) || scale > 1e30;
    return (i) =>
      overflows && !Number.isFinite(values[i]!) ? undefined : { ulp: 4, absolute: coarsest * scale };
  };
}

async function failureOf(
  device: string,
  program: RandomProgram,
  picks: readonly number[],
): Promise<string | undefined> {
  const reference = referenceOf(program.values.map((value) => value.lazy));
  const tolerance = tolerances(program, reference);
  const last = program.values.length - 1;
  const outputs = [last, ...picks.map((pick) => pick % program.values.length)];
  const actual = await run(
    device,
    outputs.map((k) => program.values[k]!.lazy),
  );
  for (const [position, k] of outputs.entries()) {
    const wrong = mismatch(actual[position]!, reference[k]!, tolerance(k));
    if (wrong !== undefined) return `outputs v${outputs.join(', v')}\nv${k}: ${wrong}`;
  }
  return undefined;
}

const given = (name: string): number | undefined =>
  process.env[name] === undefined ? undefined : Number(process.env[name]);

describe.each(backends().filter((device) => device !== 'reference'))('random graphs on %s', (device) => {
  const numRuns = given('WEFT_PROPERTY_RUNS') ?? (device.startsWith('cuda') ? 40 : 200);
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
        expect(failure, `${program.code.join('\n')}\n${failure}`).toBeUndefined();
      },
    );
    await fc.assert(property, { numRuns, seed, endOnFailure: false });
  }, 600_000);
});

describe('the random graphs', () => {
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
    ];
    expect(wanted.filter((name) => !seen.has(name))).toEqual([]);
    expect(exact / total).toBeGreaterThan(0.6);
  });
});
