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
/** Differences of elements so far apart. */
const apart = (sums: Lazy, width: number): Lazy => sums.slice([width, null]).sub(sums.slice([0, -width]));
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
  /** Of the CPU, which stores running sums for what reads neighbours of them. */
  readonly movedOnCpu?: number;
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
  'a moving average by running sums': {
    inputs: [[30_001]],
    build: (x) => apart(x!.cumulativeSum(), 20).div(20),
    steps: 2,
    movedOnCpu: 2.01,
  },
  'a moving root of the mean square': {
    inputs: [[30_001]],
    build: (x) => apart(x!.square().cumulativeSum(), 250).div(250).sqrt(),
    steps: 2,
    movedOnCpu: 2.01,
    // Of each 8,192 elements the ends are stored, and read for what is between them.
    moved: 1.07,
  },
  'sums around each element, by float64': {
    inputs: [[30_001]],
    build: (x) => {
      const sums = x!.astype('float64').cumulativeSum();
      return sums
        .slice([41, -5])
        .sub(sums.slice([3, -43]))
        .astype('float32');
    },
    steps: 2,
    movedOnCpu: 3.01,
  },
  'second differences of running sums, beside another array': {
    inputs: [[30_001], [29_981]],
    build: (x, y) => {
      const sums = x!.cumulativeSum();
      return sums
        .slice([20, null])
        .sub(sums.slice([10, -10]).mul(2))
        .add(sums.slice([0, -20]))
        .mul(y!);
    },
    steps: 2,
    movedOnCpu: 1.67,
  },
  'new maxima within a week': {
    inputs: [[30_001]],
    build: (p) => {
      const most = p!.cumulativeMax();
      return most.slice([7, null]).greater(most.slice([0, -7]));
    },
    steps: 2,
    movedOnCpu: 2.61,
  },
  // Ends of a line that are too short for the neighbours of what begins before them: the sums are stored.
  'a moving average whose last tile is short': {
    inputs: [[24_580]],
    build: (x) => apart(x!.cumulativeSum(), 20).div(20),
    steps: 2,
    moved: 2.01,
  },
  // Other results read the sums.
  'running sums and their moving average': {
    inputs: [[30_001]],
    build: (x) => [x!.cumulativeSum(), apart(x!.cumulativeSum(), 20).div(20)],
    steps: 2,
    moved: 1.34,
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
  it.each(Object.entries(PROGRAMS))('%s', async (_, program) => {
    const { inputs, build, steps = 1, moved = 1.05, movedOnCpu = moved } = program;
    const given = await compute(
      inputs.map((shape, k) => prices(shape, k + 1)),
      { device: 'cpu' },
    );
    const arrays = given.map((array) => lazy(array));
    const results = [build(...arrays)].flat();
    const plan = explain(results, { device });
    expect(plan.steps.map(({ name }) => name)).toHaveLength(steps);
    expect(plan.bytesRead + plan.bytesWritten).toBeLessThanOrEqual(
      (device === 'cpu' ? movedOnCpu : moved) * bytesOf([...arrays, ...results]),
    );
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

  it.each([
    [20_000, 1],
    [16_384 + 33, 33],
    [16_384 + 33, 34],
    [40_961, 1024],
    [33_000, 1025],
    [8193, 1],
  ])('reads neighbours of %d running sums, %d apart, as they are in memory', async (length, width) => {
    const x = lazy(Float32Array.from({ length }, (_, k) => ((k * 7919) % 1009) / 97 - 5));
    const of = (sums: Lazy): Lazy =>
      apart(sums, width)
        .div(width)
        .add(sums.slice([width, null]));
    const [sums] = await compute([x.add(1).cumulativeSum()], { device });
    const [joined, stored] = await compute([of(x.add(1).cumulativeSum()), of(lazy(sums!))], { device });
    expect(Buffer.compare(dataOf(joined!), dataOf(stored!))).toBe(0);
  });

  it('sees a NaN in every tile', async () => {
    const data = new Float32Array(30_001).fill(2);
    data[20_000] = Number.NaN;
    const p = lazy(data);
    const [least, greatest] = await compute([p.cumulativeSum().min(), drawdown(p, 0).max()], { device });
    expect([...least!.data, ...greatest!.data]).toEqual([Number.NaN, Number.NaN]);
  });
});
