/**
 * Counts and sums by bins of what is computed, as people write them in NumPy: how many steps they are, the bytes that these move
 * by those of inputs and results, that bits are those of keys and values in memory, alone and in any budget, and that they
 * are right.
 */
import { describe, expect, it } from 'vitest';
import { compute, explain, histogram, type Lazy, lazy, where } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import type { HostArray } from '../support/host.js';
import { bytesOf, x } from '../support/ordinary-programs.js';
import { randomValues } from '../support/random.js';

type Spec = readonly [
  shape: readonly number[],
  dtype: 'float32' | 'float64' | 'int64' | 'uint8',
  most: number,
];

interface Program {
  /** Rows, by how many are asked for; values are 0 … most. */
  readonly inputs: (rows: number) => readonly Spec[];
  /** Keys, and values: `gather` is given them, or what they are in memory. */
  readonly rows: (...inputs: Lazy[]) => readonly Lazy[];
  readonly gather: (...rows: Lazy[]) => Lazy | readonly Lazy[];
  /** Of the CPU and of a GPU; one, unless said. */
  readonly steps?: readonly [cpu: number, cuda: number];
  /** At most 1.05 but where there is a reason. */
  readonly moved?: readonly [cpu: number, cuda: number];
}

const binOf = (values: Lazy, count: number): Lazy =>
  values
    .mul(count)
    .floor()
    .astype('int64')
    .clip(0, count - 1);
const bandOf = (image: Lazy, band: number): Lazy => image.slice('...', band).astype('int64');

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a histogram of the brightness of pixels': {
    inputs: (rows) => [[[rows, 3], 'uint8', 255]],
    rows: (image) => [
      bandOf(image!, 0)
        .mul(30)
        .add(bandOf(image!, 1).mul(59))
        .add(bandOf(image!, 2).mul(11))
        .floorDivide(100),
    ],
    gather: (keys) => keys!.bincount(256),
    steps: [2, 2],
  },
  'a confusion matrix': {
    inputs: (rows) => [
      [[rows], 'int64', 9],
      [[rows], 'int64', 9],
    ],
    rows: (a, b) => [a!.mul(10).add(b!)],
    gather: (keys) => keys!.bincount(100).reshape(10, 10),
    steps: [2, 2],
  },
  'a weighted histogram': {
    inputs: (rows) => [
      [[rows], 'float32', 1],
      [[rows], 'float32', 1],
    ],
    rows: (values, weights) => [binOf(values!, 100), weights!.square()],
    gather: (keys, weights) => keys!.bincount(100, weights),
    // A GPU sums few bins in shared memory, by the largest exponent of each bin, which another step finds.
    steps: [1, 5],
    moved: [1.05, 2.1],
  },
  'sums of squares by many keys': {
    inputs: (rows) => [
      [[rows], 'float32', 1],
      [[rows], 'int64', 8191],
    ],
    rows: (values, keys) => [keys!, values!.square().mul(0.5)],
    gather: (keys, values) => values!.segmentSum(keys!, 8192),
  },
  'means in bins of another array': {
    inputs: (rows) => [
      [[rows], 'float32', 1],
      [[rows], 'float32', 1],
    ],
    rows: (values, others) => [binOf(values!, 50), others!.log1p()],
    gather: (keys, others) => keys!.bincount(50, others).div(keys!.bincount(50)),
    // Keys would be computed for both, on a GPU for three routines: they are stored, which is faster.
    steps: [4, 9],
    moved: [4.05, 6.55],
  },
  'weights and keys of one array': {
    inputs: (rows) => [[[rows], 'float64', 1]],
    rows: (values) => [binOf(values!, 64), values!.sqrt()],
    gather: (keys, weights) => keys!.bincount(64, weights),
    steps: [1, 5],
    moved: [1.05, 2.1],
  },
  'the largest of a map by keys': {
    inputs: (rows) => [
      [[rows], 'float32', 1],
      [[rows], 'float32', 1],
    ],
    rows: (values, others) => [binOf(values!, 300), others!.sub(0.5).abs()],
    gather: (keys, others) => others!.segmentMax(keys!, 300),
    steps: [2, 2],
  },
  'a histogram of logarithms between edges': {
    inputs: (rows) => [[[rows], 'float32', 1]],
    rows: (values) => [values!.add(0.01).log()],
    gather: (values) => histogram(values!, 40, { range: [-4, 0] })[0],
    steps: [2, 2],
  },
  'sums over edges of a function of nodes': {
    inputs: (rows) => [
      [[5000], 'float32', 1],
      [[rows], 'int64', 4999],
      [[rows], 'int64', 4999],
    ],
    rows: (nodes, from, to) => [to!, nodes!.mul(2).take(from!, 0)],
    gather: (to, given) => given!.segmentSum(to!, 5000),
    steps: [2, 2],
  },
  'vectors by keys': {
    inputs: (rows) => [
      [[rows, 8], 'float32', 1],
      [[rows], 'int64', 4999],
    ],
    rows: (vectors, keys) => [keys!, where(vectors!.greater(0.5), vectors!, 0)],
    gather: (keys, vectors) => vectors!.segmentSum(keys!, 5000),
  },
};

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');
const dataOf = ({ data }: HostArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

const build = ({ rows, gather }: Program, inputs: readonly Lazy[]): readonly Lazy[] =>
  [gather(...rows(...inputs))].flat();

describe.each(devices)('on %s', (device) => {
  const own = device === 'cpu' ? 0 : 1;

  it.each(Object.entries(PROGRAMS))('%s', async (_, program) => {
    const { steps = [1, 1], moved = [1.05, 1.05] } = program;
    const large = program.inputs(2 ** 24).map(([shape, dtype]) => x(shape, dtype));
    const results = build(program, large);
    const plan = explain(results, { device });
    expect(plan.steps.map(({ name }) => name)).toHaveLength(steps[own]!);
    expect(plan.bytesRead + plan.bytesWritten).toBeLessThanOrEqual(
      moved[own]! * bytesOf([...large, ...results]),
    );
  });

  it.each(Object.entries(PROGRAMS))('%s: bits', async (_, program) => {
    const arrays = program.inputs(70_001).map(([shape, dtype, most], k) => {
      const unit = toLazy(randomValues('float64', shape, k + 1))
        .sin()
        .abs();
      return dtype.startsWith('float')
        ? unit.astype(dtype)
        : unit
            .mul(most + 0.999)
            .floor()
            .astype(dtype);
    });
    const given = (await compute(arrays, { device: 'cpu' })).map((array) => lazy(array));
    const whole = await compute(build(program, given), { device });
    const kept = await compute(program.rows(...given), { device });
    const stored = await compute([program.gather(...kept.map((array) => lazy(array)))].flat(), { device });
    const plan = explain(build(program, given), { device });
    for (const [k, one] of whole.entries())
      expect(Buffer.compare(dataOf(one), dataOf(stored[k]!)), `result ${k} of stored rows`).toBe(0);
    // Beside keys and values as results.
    const beside = await compute([...program.rows(...given), ...build(program, given)], { device });
    for (const [k, one] of whole.entries())
      expect(Buffer.compare(dataOf(one), dataOf(beside.at(k - whole.length)!)), `result ${k} beside`).toBe(0);
    const budgets = [0.9, 0.6, 0.4].map((share) => ({ device, memory: Math.floor(share * plan.peakBytes) }));
    for (const limits of [...budgets, ...(isSimulated(device) ? [{ devices: 2 }] : [])]) {
      try {
        const tiled = await compute(build(program, given), limits);
        const how = JSON.stringify(limits);
        for (const [k, one] of tiled.entries())
          expect(Buffer.compare(dataOf(one), dataOf(whole[k]!)), `result ${k}, ${how}`).toBe(0);
      } catch (error) {
        expect(String(error)).toMatch(/MemoryError/);
      }
    }
  });

  it('sums what is right', async () => {
    const rows = 50_000;
    const values = Float32Array.from({ length: rows }, (_, k) => ((k * 7919) % 1000) / 1000);
    const weights = Float32Array.from({ length: rows }, (_, k) => ((k * 104_729) % 2048) / 256 - 3);
    const expected = new Float64Array(100);
    for (const [k, value] of values.entries()) {
      const bin = Math.min(99, Math.floor(Math.fround(value * 100)));
      // Squares of multiples of 2^-8 are exact.
      expected[bin]! += weights[k]! ** 2;
    }
    const sums = binOf(lazy(values), 100).bincount(100, lazy(weights).square());
    expect([...(await sums.compute({ device })).data]).toEqual([...expected]);
  });

  it('takes rows that grow, and such as have NaN and infinities', async () => {
    const rows = 40_000;
    const keys = Int32Array.from({ length: rows }, (_, k) => k % 7);
    for (const value of [
      (k: number) => 2 ** (k / 500 - 40),
      (k: number) => (k === 30_000 ? Number.NaN : k),
      (k: number) => (k % 9_001 === 5 ? Number.POSITIVE_INFINITY : -k),
      (k: number) => (k % 2 === 0 ? 1e-30 * k : 1e30),
      () => -0,
    ]) {
      const values = Float64Array.from({ length: rows }, (_, k) => value(k));
      const [mapped, stored] = await compute(
        [lazy(values).neg().segmentSum(lazy(keys), 7), lazy(values.map((v) => -v)).segmentSum(lazy(keys), 7)],
        { device },
      );
      expect(Buffer.compare(dataOf(mapped!), dataOf(stored!)), value.toString()).toBe(0);
    }
  });

  it('refuses computed keys that are no bins', async () => {
    const keys = lazy(Int32Array.from({ length: 20_000 }, (_, k) => k % 50)).mul(2);
    await expect(keys.bincount(98).compute({ device })).rejects.toThrow(/bincount/);
    await expect(keys.bincount(98, keys.astype('float32')).compute({ device })).rejects.toThrow(/bincount/);
    const counted = await keys.bincount(98, null, { mode: 'clip' }).compute({ device });
    expect(Number(counted.data[97])).toBe(400);
  });
});
