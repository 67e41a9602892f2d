/**
 * Loops whose steps set rows of their states: written in place, in plans that copy nothing of them, with the bits of loops
 * that write all of a state in every step, within budgets, and without touching what others have.
 */
import { describe, expect, it } from 'vitest';
import type { RoutineStep } from '../../src/exec/calls/call.js';
import type { DevicePlan, LoopStep, Step } from '../../src/exec/plan/plan.js';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import {
  arange,
  compute,
  iterate,
  type Lazy,
  lazy,
  persist,
  random,
  sparse,
  zeros,
} from '../../src/index.js';
import { checkBudgets, meterOf } from '../support/budget-corpus.js';
import { planOnDevice } from '../support/device-plan.js';
import { bitsOfAll, randomRowStates, rowStateJobs } from '../support/row-state-jobs.js';

const device = 'cpu';
const [ROWS, COLUMNS] = [16, 700];
const JOBS = rowStateJobs(ROWS, COLUMNS);

const planOf = (results: readonly Lazy[]): DevicePlan =>
  planOnDevice(canonicalize(results.map(({ expr }) => expr)), CPU).plan;
const loopsIn = (steps: readonly Step[]): LoopStep[] =>
  steps.flatMap((step) => (step.kind === 'loop' ? [step, ...loopsIn(step.body)] : []));
const isWrite = (step: Step): step is RoutineStep => step.kind === 'call' && step.call === 'writeRow';
const writesIn = (loops: readonly LoopStep[]): RoutineStep[] =>
  loops.flatMap(({ body }) => body.filter(isWrite));

describe('states of which a step sets a row', () => {
  it.each(JOBS)('have the bits of states that are written anew: $name', async ({ make, states }) => {
    const loops = loopsIn(planOf(make(true)).steps);
    expect(writesIn(loops).filter(({ isInPlace }) => isInPlace === true)).toHaveLength(states);
    expect(loops.flatMap((loop) => loop.states).filter(({ last, other }) => last === other)).toHaveLength(
      states,
    );
    expect(writesIn(loopsIn(planOf(make(false)).steps))).toEqual([]);
    const [found, wanted] = [
      await bitsOfAll(make(true), { device }),
      await bitsOfAll(make(false), { device }),
    ];
    for (const [k, bits] of wanted.entries()) expect(found[k]!.equals(bits)).toBe(true);
  });

  it('have them in random loops', async () => {
    let written = 0;
    for (let seed = 0; seed < 25; seed++) {
      const of = (asRow: boolean): readonly Lazy[] => randomRowStates(seed, ROWS, COLUMNS, asRow);
      written += writesIn(loopsIn(planOf(of(true)).steps)).filter(
        ({ isInPlace }) => isInPlace === true,
      ).length;
      const [found, wanted] = [await bitsOfAll(of(true), { device }), await bitsOfAll(of(false), { device })];
      expect(
        found.every((bits, k) => bits.equals(wanted[k]!)),
        `seed ${seed}`,
      ).toBe(true);
    }
    expect(written).toBeGreaterThan(25);
  });

  it.each(['bool', 'int8', 'uint64', 'float16', 'float64', 'complex128'] as const)(
    'may be of %s',
    async (dtype) => {
      const columns = 2 ** 15 / ROWS;
      const x = arange(ROWS * columns)
        .reshape([ROWS, columns])
        .remainder(7)
        .astype(dtype);
      const rows = arange(ROWS, { dtype: 'int32' }).reshape([ROWS, 1]);
      const last = iterate(3, x, (y, i) => rows.equal(i.mul(4)).where(y.slice([5, 6]), y));
      const byHand = rows
        .remainder(4)
        .equal(0)
        .logicalAnd(rows.less(12))
        .where(x.slice([5, 6]), x);
      expect(writesIn(loopsIn(planOf([last]).steps))).toHaveLength(1);
      const [found, wanted] = await bitsOfAll([last, byHand], { device });
      expect(found!.equals(wanted!)).toBe(true);
    },
  );

  it('hold one buffer each, and those of zeros none before it', () => {
    const n = 2 ** 16;
    const bytes = 20 * n * 8;
    const rows = arange(20).reshape([20, 1]);
    const basis = (asRow: boolean): Lazy[] =>
      iterate(18, [zeros([20, n]), random.uniform(random.key(1), [n])], ([x, v], i) => [
        (asRow ? rows.equal(i) : rows.equal(i).logicalOr(rows.equal(-1))).where(v.reshape([1, n]), x),
        v.sub(x.matmul(v).matmul(x)).mul(0.5),
      ]);
    const { buffers, steps } = planOf(basis(true));
    expect(buffers.filter(({ role, byteLength }) => role !== 'state' && byteLength === bytes)).toHaveLength(
      1,
    );
    const [loop] = loopsIn(steps);
    const [{ initial, last, other }] = loop!.states as unknown as [LoopStep['states'][number]];
    expect([initial, other]).toEqual([last, last]);
    expect(planOf(basis(false)).peakBytes).toBeGreaterThan(2 * bytes);
    expect(planOf(basis(true)).peakBytes).toBeLessThan(n * 8 * 8);
  });

  it('are explained as such, with the bytes of a row', () => {
    const [job] = JOBS;
    const { steps } = job!.make(true)[0]!.explain({ device });
    const { text, bytesRead, bytesWritten } = steps.find(({ name }) => name === 'writeRow')!;
    expect(text).toContain('in place: a row a step, no copy');
    expect([bytesRead, bytesWritten]).toEqual([4 * COLUMNS + 8, 4 * COLUMNS + 8]);
  });

  it('leave the arrays that they begin with as they are', async () => {
    const data = Float32Array.from({ length: ROWS * COLUMNS }, (_, k) => k % 100);
    const given = data.slice();
    const [kept] = await persist([lazy(data, { shape: [ROWS, COLUMNS] }).add(1)], { device });
    const before = (await kept!.compute({ device })).data as Float32Array;
    const rows = arange(ROWS).reshape([ROWS, 1]);
    const run = (x: Lazy): Lazy =>
      iterate(4, x, (y, i) => rows.equal(i).where(y.sum(0, { keepdims: true }), y));
    const input = lazy(given, { shape: [ROWS, COLUMNS] });
    const [first, ofKept, again] = await compute([run(input), run(kept!), input.add(run(input))], { device });
    expect(given).toEqual(data);
    expect((await kept!.compute({ device })).data).toEqual(before);
    const second = await compute([run(input), run(kept!)], { device });
    expect(second.map((array) => array.data)).toEqual([first!.data, ofKept!.data]);
    expect(again!.at(0, 1)).toBe(data[1]! + Number(first!.at(0, 1)));
  });

  it('have the same bits within budgets', async () => {
    const meter = await meterOf(device, false);
    for (const k of [0, 1, 4, 10]) {
      const { name, make } = rowStateJobs(24, 4000)[k]!;
      expect((await checkBudgets({ name, results: make(true) }, device, meter)).wrong).toEqual([]);
    }
  });

  it('are those of eigsh and gmres: no step copies a basis', () => {
    const n = 1500;
    const a = sparse.diags([-1, 2, -1], [-1, 0, 1], [n, n]);
    for (const { loops, most } of [
      { loops: loopsIn(planOf([sparse.eigsh(a, { k: 4 }).eigenvalues]).steps), most: 2 },
      { loops: loopsIn(planOf([sparse.gmres(a, arange(n).cos()).x]).steps), most: 1 },
    ]) {
      const writes = writesIn(loops);
      expect(writes).toHaveLength(most);
      expect(writes.every(({ isInPlace }) => isInPlace === true)).toBe(true);
    }
  });
});
