/**
 * Programs around scans as people write them in NumPy: how many steps they are, the bytes that these move by those of inputs and
 * results, and that bits are those of the parts by themselves, in any budget.
 */
import { describe, expect, it } from 'vitest';
import { arange, compute, explain, type Lazy, lazy, where } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import type { HostArray } from '../support/host.js';
import { bytesOf } from '../support/ordinary-programs.js';
import { randomValues } from '../support/random.js';

const prices = (shape: readonly number[], seed = 1): Lazy =>
  toLazy(randomValues('float32', shape, seed))
    .abs()
    .add(0.5);
const drawdown = (p: Lazy, axis: number): Lazy => p.div(p.cumulativeMax(axis)).sub(1);
const returns = (p: Lazy): Lazy =>
  p
    .slice([1, null])
    .div(p.slice([0, -1]))
    .log();

interface Program {
  readonly inputs: readonly (readonly number[])[];
  readonly build: (...inputs: Lazy[]) => Lazy | readonly Lazy[];
  /** Without it, a scan alone. */
  readonly steps?: number;
  /** At most 1.05 but where there is a reason. */
  readonly moved?: number;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a drawdown': { inputs: [[30_001]], build: (p) => drawdown(p!, 0) },
  'the largest drawdown': { inputs: [[30_001]], build: (p) => drawdown(p!, 0).min(), steps: 2 },
  'a drawdown, its least and its running maximum': {
    inputs: [[30_001]],
    build: (p) => [drawdown(p!, 0), drawdown(p!, 0).min(), p!.cumulativeMax()],
    steps: 2,
  },
  'days under water and the largest drawdown': {
    inputs: [[30_001]],
    build: (p) => [drawdown(p!, 0).less(-0.1).sum(), drawdown(p!, 0).min()],
    steps: 2,
  },
  'the largest drawdowns of rows of several tiles': {
    inputs: [[3, 18_000]],
    build: (p) => drawdown(p!, 1).min(1).mul(100),
    steps: 2,
  },
  'the largest drawdowns of columns': {
    inputs: [[2600, 48]],
    build: (p) => drawdown(p!, 0).min(0),
    steps: 2,
  },
  'drawdowns of columns and the largest of all': {
    inputs: [[2600, 48]],
    build: (p) => [drawdown(p!, 0), drawdown(p!, 0).min()],
    steps: 2,
  },
  'the largest drawdowns along the middle axis': {
    inputs: [[5, 600, 24]],
    build: (p) => drawdown(p!, 1).min([0, 1]),
    steps: 2,
  },
  'drawdowns of short rows and the largest of each': {
    inputs: [[300, 60]],
    build: (p) => [drawdown(p!, 1), drawdown(p!, 1).min(1)],
    steps: 2,
  },
  'cumulative returns': { inputs: [[30_001]], build: (p) => returns(p!).cumulativeSum().exp().sub(1) },
  'running means': {
    inputs: [[30_000]],
    build: (x) => x!.cumulativeSum().div(arange(1, 30_001).astype('float32')),
  },
  'sums of a map of three inputs': {
    inputs: [[30_000], [30_000], [30_000]],
    build: (a, b, c) => a!.exp().mul(b!).add(c!).cumulativeSum(),
  },
  'sums from the end, and their greatest': {
    inputs: [[30_000]],
    build: (x) => {
      const sums = x!.cumulativeSum(0, { reverse: true });
      return [sums, sums.max()];
    },
    steps: 2,
  },
  'numbers of what is chosen': {
    inputs: [[40, 900]],
    build: (x) => {
      const chosen = x!.greater(1);
      return where(chosen, chosen.cumulativeSum(1).sub(1), -1);
    },
    steps: 2,
    // The mask is scanned, and chooses behind the scan: it is stored for both, in 64 bits for the scan.
    moved: 2.51,
  },
  // The sum is known when all has been read.
  'a distribution': {
    inputs: [[30_000]],
    build: (x) => x!.cumulativeSum().div(x!.sum()),
    steps: 2,
    moved: 1.51,
  },
  // A mean has the order of sums that it has alone.
  'a mean drawdown': { inputs: [[30_000]], build: (p) => drawdown(p!, 0).mean(), steps: 2, moved: 4.01 },
};

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');
const dataOf = ({ data }: HostArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

describe.each(devices)('on %s', (device) => {
  it.each(Object.entries(PROGRAMS))('%s', async (_, { inputs, build, steps = 1, moved = 1.05 }) => {
    const given = await compute(
      inputs.map((shape, k) => prices(shape, k + 1)),
      { device: 'cpu' },
    );
    const arrays = given.map((array) => lazy(array));
    const results = [build(...arrays)].flat();
    const plan = explain(results, { device });
    expect(plan.steps.map(({ name }) => name)).toHaveLength(steps);
    expect(plan.bytesRead + plan.bytesWritten).toBeLessThanOrEqual(moved * bytesOf([...arrays, ...results]));
    const whole = await compute(results, { device });
    for (const [k, result] of results.entries()) {
      const [alone] = await compute([result], { device });
      expect(Buffer.compare(dataOf(alone!), dataOf(whole[k]!)), `result ${k} alone`).toBe(0);
    }
    if (isSimulated(device)) {
      const shared = await compute(results, { devices: 2 });
      for (const [k, one] of shared.entries())
        expect(Buffer.compare(dataOf(one), dataOf(whole[k]!)), `result ${k} on two devices`).toBe(0);
    }
    const memory = Math.floor(0.7 * plan.peakBytes);
    try {
      const tiled = await compute(results, { device, memory });
      for (const [k, one] of tiled.entries())
        expect(Buffer.compare(dataOf(one), dataOf(whole[k]!)), `result ${k} in tiles`).toBe(0);
    } catch (error) {
      expect(String(error)).toMatch(/MemoryError/);
    }
  });

  it('sees a NaN in every tile', async () => {
    const data = new Float32Array(30_001).fill(2);
    data[20_000] = Number.NaN;
    const p = lazy(data);
    const [least, greatest] = await compute([p.cumulativeSum().min(), drawdown(p, 0).max()], { device });
    expect([...least!.data, ...greatest!.data]).toEqual([Number.NaN, Number.NaN]);
  });
});
