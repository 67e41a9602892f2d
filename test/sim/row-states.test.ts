/**
 * Loops on a GPU whose steps set rows of their states: in place with the bits of loops that write all of a state, also where
 * a condition is read back while the next step begins, on several devices, and whichever call fails.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compute, DeviceError, lazy, synchronize, whileLoop } from '../../src/index.js';
import { checkBudgets, meterOf } from '../support/budget-corpus.js';
import { bitsOfAll, randomRowStates, rowStateJobs } from '../support/row-state-jobs.js';
import { describeSimulator, setDevices, setFaults, setSchedule, show, takeProblems } from './simulator.js';

// States of so few bytes are sooner written anew.
vi.mock('../../src/fusion/passes/pipeline.js', async (original) => {
  const pipeline = await original<typeof import('../../src/fusion/passes/pipeline.js')>();
  const { writeRowsOf } = pipeline;
  return {
    ...pipeline,
    writeRowsOf: (_: number, isFor: Parameters<typeof writeRowsOf>[1]) => writeRowsOf(2 ** 15, isFor),
  };
});

setDevices([{}, {}, {}]);

const device = 'cuda:0';
const [ROWS, COLUMNS] = [8, 1100];
const JOBS = rowStateJobs(ROWS, COLUMNS);
const byName = (part: string) => JOBS.find(({ name }) => name.includes(part))!;
const UNTIL = byName('until');

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

const writes = (text: string): number => text.match(/in place: a row a step, no copy/g)?.length ?? 0;

describe('states of which a step sets a row, on a GPU', () => {
  it.each(JOBS.filter(({ name }) => !name.includes('does not begin')))(
    'have the bits of states that are written anew: $name',
    async ({ make, states }) => {
      expect(writes(`${make(true)[0]!.explain({ device })}`)).toBe(states);
      const wanted = await bitsOfAll(make(false), { device });
      for (const timing of ['late', 'random'] as const) {
        setSchedule({ timing, seed: 3 });
        const found = await bitsOfAll(make(true), { device });
        for (const [k, bits] of wanted.entries()) expect(found[k]!.equals(bits)).toBe(true);
      }
      expect(takeProblems().map(show)).toEqual([]);
    },
  );

  it('have them in random loops', async () => {
    for (let seed = 0; seed < 12; seed++) {
      const of = (asRow: boolean) => randomRowStates(seed, ROWS, COLUMNS, asRow);
      const [found, wanted] = [await bitsOfAll(of(true), { device }), await bitsOfAll(of(false), { device })];
      expect(
        found.every((bits, k) => bits.equals(wanted[k]!)),
        `seed ${seed}`,
      ).toBe(true);
    }
  });

  it('have them on several devices', async () => {
    for (const { make } of [byName('a basis'), UNTIL]) {
      const wanted = await bitsOfAll(make(true), { device });
      const found = await bitsOfAll(make(true), { devices: 3 });
      for (const [k, bits] of wanted.entries()) expect(found[k]!.equals(bits)).toBe(true);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('have them within budgets', async () => {
    const meter = await meterOf(device, true);
    const { name, make } = UNTIL;
    expect((await checkBudgets({ name, results: make(true) }, device, meter)).wrong).toEqual([]);
  });

  it('have them after a call has failed', async () => {
    const wanted = await bitsOfAll(UNTIL.make(true), { device });
    setFaults([]);
    await bitsOfAll(UNTIL.make(true), { device });
    const { counts } = describeSimulator();
    for (const call of [
      'cuLaunchKernel',
      'cuMemcpyDtoHAsync_v2',
      'cuEventRecord',
      'cuMemcpyDtoDAsync_v2',
    ] as const) {
      const count = counts[call] ?? 0;
      for (const nth of [Math.ceil(count / 3), Math.ceil(count / 2), count]) {
        if (count === 0) continue;
        setFaults([{ call, nth, status: 999 }]);
        const met = await bitsOfAll(UNTIL.make(true), { device }).catch((error: unknown) => error);
        expect(describeSimulator().faultsMet).toBe(1);
        if (Array.isArray(met)) expect(met.every((bits, k) => wanted[k]!.equals(bits as Buffer))).toBe(true);
        else expect(met).toBeInstanceOf(DeviceError);
        setFaults([]);
        await synchronize();
        const again = await bitsOfAll(UNTIL.make(true), { device });
        for (const [k, bits] of wanted.entries()) expect(again[k]!.equals(bits)).toBe(true);
      }
    }
    expect(takeProblems().map(show)).toEqual([]);
  });
});

it('runs a loop in a loop only where its step counts: behind the last it would not end', async () => {
  const number = (value: number) => lazy(value, { dtype: 'float64' });
  const [x, count] = whileLoop(
    ([x]) => x.greater(0),
    ([x, count]) => {
      const [, steps] = whileLoop(
        ([y]) => y.greater(0),
        ([y, steps]) => [y.sub(x), steps.add(1)],
        [number(10), number(0)],
        { max: 1e6 },
      );
      return [x.sub(1), count.add(steps)];
    },
    [number(3), number(0)],
  );
  setFaults([]);
  const results = await compute([x, count], { device });
  expect(results.map((array) => Number(array.data[0]))).toEqual([0, 19]);
  expect(describeSimulator().counts.cuMemcpyDtoHAsync_v2).toBeLessThan(100);
});
