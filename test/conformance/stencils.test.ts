/**
 * Property: a loop over a random stencil (shifts, borders, constants, several states, kept states, one or two
 * axes) gives what as many steps in the reference interpreter give. Numbers are whole and small, so that
 * every result is exact.
 *
 * WEFT_STENCIL_RUNS sets how many are tried; a failure prints the seed and the smallest case found.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gpu } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { DType } from '../../src/graph/dtype.js';
import { arange, iterate, type Lazy } from '../../src/index.js';
import { referenceOf, run, toLazy } from '../support/api.js';
import { backends, runsOthers, whyNotOthers } from '../support/backends.js';
import { planOnDevice } from '../support/device-plan.js';
import { randomIntegers } from '../support/random.js';
import { mismatch } from '../support/ulp.js';

const DTYPES: readonly DType[] = ['float32', 'int32', 'uint32', 'float32', 'float64', 'int64', 'int16'];

const term = fc.record({
  /** Which state, and how far down and to the right. */
  state: fc.nat(2),
  down: fc.constantFrom<number>(0, 1, -1, 0, 2, -2),
  right: fc.constantFrom<number>(0, 1, -1, 0, 2, -2),
  /** Whether what lies outside is zero, or the border stays as it is. */
  held: fc.boolean(),
  factor: fc.integer({ min: 1, max: 3 }),
  /** Times a constant, where the row is even, or as it is. */
  form: fc.constantFrom('plain', 'plain', 'constant', 'rows'),
});

const stencil = fc.record({
  shape: fc.oneof(
    { arbitrary: fc.tuple(fc.integer({ min: 7, max: 80 }), fc.integer({ min: 9, max: 160 })), weight: 4 },
    { arbitrary: fc.tuple(fc.integer({ min: 7, max: 600 })), weight: 1 },
  ),
  dtype: fc.constantFrom(...DTYPES),
  states: fc.array(fc.array(term, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 2 }),
  /** Added to the first term's way: now and then it reads too far away. */
  further: fc.constantFrom(0, 0, 0, 0, 0, 3),
  steps: fc.integer({ min: 2, max: 21 }),
  every: fc.option(fc.integer({ min: 2, max: 5 }), { nil: undefined, freq: 1 }),
});
type Stencil = typeof stencil extends fc.Arbitrary<infer T> ? T : never;
type Term = Stencil['states'][number][number];

/** The elements as many rows down and columns to the right; zero where there are none. */
function shifted(x: Lazy, down: number, right: number): Lazy {
  const by = x.ndim === 1 ? [right] : [down, right];
  const padded = x.pad(by.map((n): [number, number] => [Math.max(0, -n), Math.max(0, n)]));
  return padded.slice(...by.map((n, k): [number, number] => [Math.max(0, n), Math.max(0, n) + x.shape[k]!]));
}

/** The same, but only where the neighbour is there. */
function inside(x: Lazy, down: number, right: number): Lazy {
  const by = x.ndim === 1 ? [right] : [down, right];
  const size = (k: number): number => x.shape[k]! - Math.abs(by[k]!);
  const read = x.slice(...by.map((n, k): [number, number] => [Math.max(0, n), Math.max(0, n) + size(k)]));
  return read.pad(by.map((n): [number, number] => [Math.max(0, -n), Math.max(0, n)]));
}

function valueAt(states: readonly Lazy[], constant: Lazy, t: Term): Lazy {
  const x = states[t.state % states.length]!;
  const read = (t.held ? inside : shifted)(x, t.down, t.right).mul(t.factor);
  if (t.form === 'constant') return read.mul(constant);
  if (t.form === 'plain') return read;
  const row = arange(x.shape[0]!, undefined, undefined, { dtype: 'int32' }).remainder(2).equal(0);
  return (x.ndim === 1 ? row : row.expandDims(1)).where(read, x);
}

/**
 * A small whole number again, by little arithmetic: much would be done step by step. Integers wrap around.
 */
const bounded = (x: Lazy): Lazy =>
  x.dtype.startsWith('float') ? x.sub(40).abs().minimum(64) : x.bitwiseXor(5);

function build({ shape, dtype, states, further, steps, every }: Stencil): Lazy[] {
  const start = states.map((_, k) => toLazy(randomIntegers(dtype, shape, 40 + k, 0, 6)));
  const constant = toLazy(randomIntegers(dtype, shape, 50, 0, 2));
  const results = iterate(
    steps,
    start,
    (now) =>
      states.map((terms) =>
        bounded(
          terms
            .map((t, k) => valueAt(now, constant, k === 0 ? { ...t, right: t.right + further } : t))
            .reduce((a, b) => a.add(b)),
        ),
      ),
    { every },
  );
  return results;
}

const runsOn = (device: string): number =>
  Number(process.env.WEFT_STENCIL_RUNS ?? (device.startsWith('cuda') ? 40 : 15));
const seed = 20_261_121;
/** What stencils give, which are the same on each backend: most of the time of a test. */
const references = new Map<string, ReturnType<typeof referenceOf>>();

describe.runIf(runsOthers)(`the random stencils${whyNotOthers}`, () => {
  it('are mostly done several steps at once on a GPU, by either schedule', () => {
    const kinds = fc.sample(stencil, { numRuns: 200, seed }).map((given) => {
      const { plan } = planOnDevice(canonicalize(build(given).map((x) => x.expr)), gpu(0), {});
      const loop = plan.steps.find((step) => step.kind === 'loop');
      return loop === undefined || loop.stepsAtOnce === 1
        ? 'single'
        : loop.stepsAtOnce <= 8
          ? 'stencil'
          : 'repeat';
    });
    const count = (kind: string): number => kinds.filter((one) => one === kind).length;
    expect(count('stencil')).toBeGreaterThan(40);
    expect(count('repeat')).toBeGreaterThan(2);
    expect(count('single')).toBeGreaterThan(20);
  });
});

describe.each(backends().filter((device) => device !== 'reference'))('random stencils on %s', (device) => {
  const numRuns = runsOn(device);
  it(`give what the reference gives, ${numRuns} times from seed ${seed}`, async () => {
    const property = fc.asyncProperty(stencil, async (given) => {
      const outputs = build(given);
      const name = JSON.stringify(given);
      const expected = references.get(name) ?? referenceOf(outputs);
      references.set(name, expected);
      const actual = await run(device, outputs);
      const wrong = expected.map((want, k) =>
        mismatch(actual[k]!, want, { ulp: 0, absolute: 0, anyZero: true }),
      );
      expect(wrong).toEqual(expected.map(() => undefined));
    });
    await fc.assert(property, { numRuns, seed });
  }, 600_000);
});
