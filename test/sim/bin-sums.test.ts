/** Sums of floats by many bins on a GPU: in one pass, gathered again where values do not allow it, and by units. */
import { describe, expect, it } from 'vitest';
import type { DeviceLimits } from '../../src/codegen/cuda/schedules/schedule-rows.js';
import { BIN_SUMS } from '../../src/exec/calls/bin-sums.js';
import type { RoutineStep } from '../../src/exec/calls/call.js';
import { compute, type Lazy, lazy } from '../../src/index.js';
import { fill, random, SUMMED } from '../support/summed-values.js';

const BINS = 4200;
const FEW = 2 ** 16;
/** So many for each bin that float32 are summed exactly. */
const MANY = 32 * BINS;

const stepsOf = async (sums: Lazy, target: object): Promise<string> =>
  (await sums.explain(target))
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('step'))
    .join('\n');

/** Keys of rows, of which some bins have none and some are sorted. */
function keysOf(rows: number, sorted: boolean): Lazy {
  const keys = Int32Array.from({ length: rows }, () => Math.floor(random() * (BINS - 5)));
  return lazy(sorted ? keys.sort() : keys);
}

async function expectBitsOfCpu(sums: readonly Lazy[]): Promise<void> {
  const expected = await compute(sums, { device: 'cpu' });
  const actual = await compute(sums, { device: 'cuda' });
  for (const [k, { data }] of actual.entries()) expect(data).toEqual(expected[k]!.data);
}

describe('sums of floats by many bins', () => {
  it.each(Object.entries(SUMMED))('of values %s have the bits of the CPU', async (_, value) => {
    const single = lazy(fill(new Float32Array(FEW), value));
    const double = lazy(fill(new Float64Array(FEW), value));
    const zeros = lazy(fill(new Float64Array(BINS), () => (random() < 0.5 ? -0 : 0)));
    const keys = keysOf(FEW, false);
    const rows = keys.slice([0, FEW / 2]);
    await expectBitsOfCpu([
      zeros.astype('float32').at(keys).add(single),
      zeros.at(keys).add(double),
      zeros
        .reshape([BINS / 2, 2])
        .at(rows.remainder(BINS / 2))
        .add(double.reshape([FEW / 2, 2])),
      keysOf(FEW, true).bincount(BINS, double),
    ]);
  });

  it.each(['between 0 and 1', 'of all exponents', 'that are 0, -0, 1 or -1', 'with infinities and NaN'])(
    'of many float32 %s are exact',
    async (name) => {
      const values = lazy(fill(new Float32Array(MANY), SUMMED[name]!));
      const zeros = lazy(fill(new Float32Array(BINS), () => (random() < 0.5 ? -0 : 0)));
      await expectBitsOfCpu([
        zeros.at(keysOf(MANY, false)).add(values),
        values.segmentSum(keysOf(MANY, true), BINS),
      ]);
    },
  );

  it('are made by units of rows on several devices, and within budgets', async () => {
    const sums = lazy(fill(new Float64Array(FEW), random)).segmentSum(keysOf(FEW, false), BINS);
    expect(await stepsOf(sums, { device: 'cuda' })).toContain('binSums');
    for (const target of [{ devices: 2 }, { device: 'cuda', memory: 2 ** 19 }])
      expect(await stepsOf(sums, target)).not.toContain('binSums');
    const [whole] = await compute([sums], { device: 'cuda' });
    const [shared] = await compute([sums], { devices: 2 });
    expect(shared!.data).toEqual(whole!.data);
  });

  it.each([
    [2 ** 30 - 1, 'int'],
    [2 ** 30, 'long long'],
  ])('of %s bins have places of %s', (bins, type) => {
    const step: RoutineStep = {
      kind: 'call',
      call: 'binSums',
      parameters: [bins, 1, 0, 1, 2, 36, 0],
      operands: [
        { dtype: 'int32', shape: [2 ** 26], buffer: 0 },
        { dtype: 'float32', shape: [2 ** 26], buffer: 1 },
      ],
      results: [{ dtype: 'float64', shape: [bins], buffer: 2 }],
      workspace: 3,
      nodes: [0],
    };
    expect(BIN_SUMS.kernels!(step, {} as DeviceLimits)!.source).toContain(`typedef ${type} weft_place;`);
  });
});
