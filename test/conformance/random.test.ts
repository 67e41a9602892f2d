/** Random numbers: the published words, JAX's bits, the same bits however they are computed, and their statistics. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  compile,
  compute,
  DTypeError,
  iterate,
  type Lazy,
  lazy,
  linspace,
  RangeArgumentError,
  random,
  ShapeError,
} from '../../src/index.js';
import { run } from '../support/api.js';
import { backends, runsOthers, whyNotOthers } from '../support/backends.js';
import { DISTRIBUTIONS, distanceOf, MOST_DISTANCE } from '../support/distributions.js';

const onDevices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');
const philox = random.key(42);
const jax = random.key(42, { impl: 'threefry2x32' });

/** Values of jax 0.10.2 (`jax.random` of `key(42)`, with 64-bit types). */
const JAX: readonly [name: string, x: () => Lazy, values: readonly (number | bigint)[]][] = [
  ['a folded key', () => random.foldIn(jax, 7).words, [10939337156606259615n]],
  ['a split key', () => random.split(jax, 3)[1]!.words, [276886910877598708n]],
  [
    'bits',
    () => random.bits(jax, [2, 3]),
    [2098992034, 2919706841, 2646866425, 2409546199, 1935504149, 2516274904],
  ],
  [
    '64 bits',
    () => random.bits(jax, [3], { dtype: 'uint64' }),
    [7871734211187709741n, 276886910877598708n, 10591095138341673235n],
  ],
  [
    'uniform float32',
    () => random.uniform(jax, [2, 2], { dtype: 'float32' }).astype('float64'),
    [0.48870956897735596, 0.6797971725463867, 0.6162714958190918, 0.5610160827636719],
  ],
  [
    'uniform float64',
    () => random.uniform(jax, [2, 2]),
    [0.4267275666499091, 0.015010069515314584, 0.5741444178995352, 0.7298188969046309],
  ],
  [
    'uniform float16',
    () => random.uniform(jax, [2, 2], { dtype: 'float16' }).astype('float64'),
    [0.076171875, 0.1904296875, 0.9755859375, 0.7568359375],
  ],
  [
    'uniform bfloat16',
    () => random.uniform(jax, [2, 2], { dtype: 'bfloat16' }).astype('float64'),
    [0.6328125, 0.84375, 0.96875, 0.8359375],
  ],
];
const JAX_NORMALS = [-0.18471174528191162, -2.169824560397754, 0.18693555179382582, 0.6122653570510959];

/** Samples of every kind, small ones. */
const SAMPLES: readonly (() => Lazy)[] = [philox, jax].flatMap((key) => [
  () => random.bits(key, [5, 7]),
  () => random.uniform(key, [37], { dtype: 'float32' }),
  () => random.uniform(key, [3, 11], { low: [[-1], [2], [5]], high: 9 }),
  () => random.normal(key, [130]),
  () => random.normal(key, [130], { dtype: 'float32' }),
  () => random.normal(key, [9], { dtype: 'float16', mean: 2, deviation: 0.5 }),
  () => random.integers(key, [70], -3, 4),
  () => random.integers(key, [70], 0, 2n ** 64n - 1n, { dtype: 'uint64', endpoint: true }),
  () => random.bernoulli(key, [70], 0.3),
  () => random.permutation(key, 50),
  () => random.choice(key, 50, { shape: [4, 5] }),
  () => random.choice(key, [1, 2, 3, 4], { shape: [20], p: [1, 0, 2, 1] }),
  () => random.choice(key, 30, { shape: [10], replace: false, p: new Float64Array(30).fill(0.1) }),
  () => random.exponential(key, [70], { dtype: 'float32' }),
  () => random.gumbel(key, [70], { dtype: 'float16' }),
  () => random.gamma(key, [70], linspace(0.1, 4, 70)),
  () => random.beta(key, [70], 0.5, 2, { dtype: 'float32' }),
  () => random.standardT(key, [9], 3),
  () => random.poisson(key, [70], linspace(0, 20, 70)),
  () => random.binomial(key, [70], arange(70), 0.3),
  () => random.multinomial(key, [4], 100, [0.2, 0.3, 0.5]),
  () => random.hypergeometric(key, [70], arange(70), 30, 20),
  () => random.hypergeometric(key, [9], 500, 700, [3, 8, 40, 200, 600, 1000, 1193, 1200, 1201]),
  () => random.multivariateHypergeometric(key, [5], [20, 30, 40], 35),
  () => random.noncentralChisquare(key, [70], 1.5, linspace(0, 9, 70)),
  () => random.noncentralF(key, [9], 3, 7, 2),
  () =>
    random.permuted(
      key,
      [
        [1, 2, 3, 4, 5],
        [1, 2, 3, 4, 5],
      ],
      1,
    ),
  () => random.dirichlet(key, [4], [0.5, 1, 2]),
]);

describe.each(backends())('random numbers on %s', (device) => {
  it('are the words published with Philox 4x32-10', async () => {
    const [block] = await run(device, [random.bits(random.key(0), [4])]);
    expect([...(block!.data as Uint32Array)]).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  });

  it("have JAX's bits with Threefry", async () => {
    const results = await run(
      device,
      JAX.map(([, x]) => x()),
    );
    for (const [k, [name, , values]] of JAX.entries())
      expect([...(results[k]!.data as Float64Array)], name).toEqual(values);
    const [normal] = await run(device, [random.normal(jax, [4])]);
    for (const [k, value] of (normal!.data as Float64Array).entries())
      expect(Math.abs(value - JAX_NORMALS[k]!)).toBeLessThan(4e-15);
  });

  it('have the same bits on every backend', async () => {
    const values = SAMPLES.map((x) => x());
    const [here, there] = [await run(device, values), await run('reference', values)];
    for (const [k, { dtype, data }] of there.entries()) {
      // The interpreter's quantile has the last bits of another algorithm.
      if (device !== 'reference' && dtype.startsWith('float')) {
        for (const [i, value] of (here[k]!.data as Float64Array).entries())
          expect(Math.abs(value - Number(data[i]))).toBeLessThan(1e-5 * (1 + Math.abs(value)));
      } else expect(here[k]!.data).toEqual(data);
    }
  });

  it('are in their ranges, with the frequencies of their distributions', async () => {
    const n = device === 'cpu' ? 2 ** 15 : 2 ** 12;
    const dice = random.integers(philox, [n], 1, 7);
    const z = random.normal(philox, [n], { dtype: 'float32' });
    const counts = [1, 2, 3, 4, 5, 6].map((face) => dice.equal(face).sum());
    const moments = [z.mean(), z.square().mean(), z.pow(3).mean(), z.pow(4).mean()];
    const [u0, u1] = random.split(philox).map((key) => random.uniform(key, [n])) as [Lazy, Lazy];
    const correlations = [u0.sub(0.5).mul(u1.sub(0.5)).mean(), neighbours(u0)];
    const results = await run(device, [...counts, ...moments, ...correlations, u0.min(), u0.max()]);
    const values = results.map(({ data }) => Number(data[0]));
    // Five standard deviations of each.
    for (const count of values.slice(0, 6))
      expect(Math.abs(count - n / 6)).toBeLessThan(5 * Math.sqrt((n * 5) / 36));
    const spreads = [1, 2, 15, 96];
    for (const [k, moment] of values.slice(6, 10).entries())
      expect(Math.abs(moment - [0, 1, 0, 3][k]!)).toBeLessThan(5 * Math.sqrt(spreads[k]! / n));
    for (const correlation of values.slice(10, 12))
      expect(Math.abs(correlation)).toBeLessThan(5 / (12 * Math.sqrt(n)));
    expect(values[12]).toBeGreaterThanOrEqual(0);
    expect(values[13]).toBeLessThan(1);
  });

  it('follow the normal distribution as Kolmogorov and Smirnov measure it', async () => {
    const n = device === 'cpu' ? 2 ** 14 : 2 ** 11;
    const sorted = random.normal(random.key(3), [n], { dtype: 'float32' }).astype('float64').sort();
    const [probability] = await run(device, [sorted.div(-Math.SQRT2).erfc().div(2)]);
    const distance = (probability!.data as Float64Array).reduce(
      (most, p, k) => Math.max(most, Math.abs(p - k / n), Math.abs(p - (k + 1) / n)),
      0,
    );
    // Beyond this one sample in a million.
    expect(distance).toBeLessThan(2.69 / Math.sqrt(n));
  });
});

describe.runIf(runsOthers)(`distributions${whyNotOthers}`, () => {
  it.each(DISTRIBUTIONS)(
    'of $name are followed as Kolmogorov and Smirnov measure it',
    async (distribution) => {
      const distance = distanceOf(distribution, random.key(11), 2 ** 13);
      expect((await distance.compute({ device: 'cpu' })).item()).toBeLessThan(MOST_DISTANCE);
    },
  );

  it('of integer dtypes have the numbers of int64, and whole floats', async () => {
    const dtypes = ['int64', 'int32', 'uint8', 'float32'] as const;
    const samples = dtypes.map((dtype) => random.poisson(philox, [50], 7, { dtype }).astype('int64'));
    const [first, ...rest] = await compute(samples, { device: 'cpu' });
    for (const other of rest) expect(other!.data).toEqual(first!.data);
  });

  it('give an element what its place and parameters say, whatever is beside it', async () => {
    const all = random.gamma(philox, [100], linspace(0.2, 9, 100));
    const one = random.foldIn(philox, 41).words.drawGamma(linspace(0.2, 9, 100).slice(41));
    const [sample, alone] = await compute([all, one], { device: 'cpu' });
    expect((sample!.data as Float64Array)[41]).toBe(alone!.item());
  });

  it('take tiny and huge parameters', async () => {
    const sums = [
      random.beta(philox, [200], 1e-4, 1e-4),
      random.dirichlet(philox, [50], [1e-5, 1e-5]).sum(1),
      random.poisson(philox, [200], 1e12, { dtype: 'float64' }).div(1e12),
      random.binomial(philox, [200], 2 ** 50, 0.5, { dtype: 'float64' }).div(2 ** 49),
      random.gamma(philox, [200], 1e9).div(1e9),
    ];
    const results = await compute(sums, { device: 'cpu' });
    for (const value of results[0]!.data as Float64Array) expect(value >= 0 && value <= 1).toBe(true);
    for (const { data } of results.slice(1))
      for (const value of data as Float64Array) expect(Math.abs(value - 1)).toBeLessThan(2e-4);
  });

  it('of several numbers add up, and have the means that they should', async () => {
    const n = 4000;
    const counts = random.multinomial(philox, [n], 60, [0.1, 0.2, 0.3, 0.4]);
    const shares = random.dirichlet(philox, [n], [1, 2, 3, 4]);
    const asked = [counts.sum(1), counts.mean(0), shares.sum(1), shares.mean(0)];
    const [total, means, whole, parts] = await compute(asked, { device: 'cpu' });
    expect(new Set(total!.data as BigInt64Array)).toEqual(new Set([60n]));
    for (const value of whole!.data as Float64Array) expect(Math.abs(value - 1)).toBeLessThan(1e-15);
    for (let k = 0; k < 4; k++) {
      const p = (k + 1) / 10;
      const mean = (means!.data as Float64Array)[k]!;
      expect(Math.abs(mean - 60 * p)).toBeLessThan(5 * Math.sqrt((60 * p * (1 - p)) / n));
      const part = (parts!.data as Float64Array)[k]!;
      expect(Math.abs(part - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / 11 / n));
    }
  });

  it('of kinds without replacement add up, and are at most what there is of each', async () => {
    const n = 4000;
    const drawn = random.multivariateHypergeometric(philox, [n], [10, 20, 0, 70], 40);
    const asked = [drawn.sum(1), drawn.max(0), drawn.min(), drawn.mean(0)];
    const [total, most, least, means] = await compute(asked, { device: 'cpu' });
    expect(new Set(total!.data as BigInt64Array)).toEqual(new Set([40n]));
    expect(Number(least!.item())).toBe(0);
    for (const [k, size] of [10, 20, 0, 70].entries()) {
      expect(Number(most!.data[k])).toBeLessThanOrEqual(size);
      const deviation = Math.sqrt((40 * size * (100 - size) * 60) / (100 * 100 * 99));
      expect(Math.abs(Number(means!.data[k]) - 0.4 * size)).toBeLessThanOrEqual(
        (5 * deviation) / Math.sqrt(n),
      );
    }
    const huge = random.hypergeometric(philox, [50], 2 ** 50, 2 ** 51, 2 ** 50, { dtype: 'float64' });
    for (const value of (await huge.div(2 ** 50).compute({ device: 'cpu' })).data as Float64Array)
      expect(Math.abs(value - 1 / 3)).toBeLessThan(1e-7);
    const wrong = random.hypergeometric(philox, [4], [3, -1, Number.NaN, 3], 4, [8, 1, 1, 7]);
    expect([...((await wrong.compute({ device: 'cpu' })).data as BigInt64Array)]).toEqual([
      -1n,
      -1n,
      -1n,
      3n,
    ]);
    expect(() => random.hypergeometric(philox, [3], 5, 6, 12)).toThrow(RangeArgumentError);
    expect(() => random.hypergeometric(philox, [3], -5, 6, 1)).toThrow(RangeArgumentError);
    expect(() => random.multivariateHypergeometric(philox, [3], 7, 1)).toThrow(ShapeError);
    expect(() => random.noncentralChisquare(philox, [3], 0, 1)).toThrow(RangeArgumentError);
    expect(() => random.noncentralF(philox, [3], 2, 3, -1)).toThrow(RangeArgumentError);
  });

  it('mark parameters in arrays that make no sense, and refuse such numbers', async () => {
    const wrong = [-1, Number.NaN];
    const [gammas, counts] = await compute(
      [random.gamma(philox, [2], wrong), random.poisson(philox, [2], wrong)],
      { device: 'cpu' },
    );
    expect([...(gammas!.data as Float64Array)]).toEqual([Number.NaN, Number.NaN]);
    expect([...(counts!.data as BigInt64Array)]).toEqual([-1n, -1n]);
    expect(() => random.gamma(philox, [3], -1)).toThrow(
      '[random.gamma] expected the shape to be not negative',
    );
    expect(() => random.poisson(philox, [3], Number.NaN)).toThrow(RangeArgumentError);
    expect(() => random.binomial(philox, [3], 5, 1.5)).toThrow(RangeArgumentError);
    expect(() => random.geometric(philox, [3], 0)).toThrow(RangeArgumentError);
    expect(() => random.laplace(philox, [3], { scale: -2 })).toThrow(RangeArgumentError);
    expect(() => random.gamma(philox, [3], 2, { dtype: 'int32' as never })).toThrow(DTypeError);
    expect(() => random.poisson(philox, [3], 2, { dtype: 'complex64' as never })).toThrow(DTypeError);
    expect(() => random.gamma(philox, [3], [1, 2])).toThrow(ShapeError);
    expect(() => random.dirichlet(philox, [3], 2)).toThrow(ShapeError);
    expect(() => random.multinomial(philox, [3], 5, [])).toThrow(ShapeError);
  });
});

const neighbours = (u: Lazy): Lazy =>
  u
    .slice([1, null])
    .sub(0.5)
    .mul(u.slice([0, -1]).sub(0.5))
    .mean();

describe.each(onDevices)('random numbers on %s', (device) => {
  it('have the bits that they have on the CPU', async () => {
    const values = SAMPLES.map((x) => x()).filter((x) => x.shape.length === 1);
    const [here, there] = [await run(device, values), await run('cpu', values)];
    for (const [k, { data }] of there.entries()) expect(here[k]!.data).toEqual(data);
  });

  it('have the same bits in tiles', async () => {
    const n = 2 ** 17;
    const x = lazy(new Float32Array(n).fill(1));
    const noisy = x.add(random.normal(philox, [n], { dtype: 'float32' }));
    const whole = await noisy.compute({ device });
    expect((await noisy.compute({ device, memory: 2 ** 19 })).data).toEqual(whole.data);
  });

  it('are part of the kernel that uses them, which writes one number', () => {
    const paths = random.normal(philox, [1000, 252], { dtype: 'float32' });
    const price = paths.mul(0.0126).add(0.0001).sum(1).exp().sub(1).maximum(0).mean();
    const { steps, bytesRead } = price.explain({ device });
    expect(steps.map(({ kind }) => kind).every((kind) => kind === 'kernel')).toBe(true);
    expect(bytesRead).toBeLessThanOrEqual(4 * 1000);
  });

  it('take a key as the argument of a compiled function, and one for each step of a loop', async () => {
    const sample = compile((key: Lazy<'uint64'>) => random.uniform(key, [4]), { device });
    const [first, second] = [await sample(philox.words), await sample(random.key(43).words)];
    expect(first.data).toEqual((await random.uniform(philox, [4]).compute({ device })).data);
    expect(second.data).not.toEqual(first.data);
    const walk = iterate(3, lazy(0), (x, step) => x.add(random.normal(random.foldIn(philox, step), [])));
    const steps = [0, 1, 2].map((step) => random.normal(random.foldIn(philox, step), []));
    const [walked, added] = await compute([walk, steps[0]!.add(steps[1]!).add(steps[2]!)], { device });
    expect(walked.item()).toBe(added.item());
  });
});

describe.runIf(runsOthers)(`random numbers${whyNotOthers}`, () => {
  it('of permutations are each once, and of arrays move whole rows', async () => {
    const order = await random.permutation(philox, 1000).compute({ device: 'cpu' });
    expect([...(order.data as BigInt64Array)].sort((a, b) => Number(a - b))).toEqual(
      Array.from({ length: 1000 }, (_, k) => BigInt(k)),
    );
    const rows = await random
      .permutation(philox, [
        [1, 10],
        [2, 20],
        [3, 30],
      ])
      .compute({ device: 'cpu' });
    for (const row of rows.toArray() as number[][]) expect(row[1]).toBe(10 * row[0]!);
  });

  it('permute each row by itself, or all elements', async () => {
    const rows = arange(300).reshape([3, 100]).remainder(100);
    const [permuted, all] = await compute(
      [random.permuted(philox, rows, -1), random.permuted(philox, arange(300).reshape([3, 100]))],
      { device: 'cpu' },
    );
    const lines = (permuted!.toArray() as bigint[][]).map((row) => row.map(Number));
    for (const line of lines)
      expect([...line].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, k) => k));
    expect(lines[0]).not.toEqual(lines[1]);
    expect(all!.shape).toEqual([3, 100]);
    expect(new Set(all!.data as BigInt64Array).size).toBe(300);
    expect(() => random.permuted(philox, rows, 2)).toThrow(ShapeError);
  });

  it('draw what has no weight never, and without replacement nothing twice', async () => {
    const drawn = random.choice(philox, ['a', 'b', 'c'].length, { shape: [500], p: [1, 0, 3] });
    const once = random.choice(philox, 20, { shape: [20], replace: false });
    const [counts, all] = await compute([drawn, once], { device: 'cpu' });
    expect([...(counts.data as BigInt64Array)]).not.toContain(1n);
    expect(new Set(all.data as BigInt64Array).size).toBe(20);
  });

  it('have empty samples and scalars', async () => {
    const empty = await random.normal(philox, [0, 3]).compute({ device: 'cpu' });
    expect([empty.shape, empty.data.length]).toEqual([[0, 3], 0]);
    expect((await random.uniform(philox, []).compute({ device: 'cpu' })).shape).toEqual([]);
    expect((await random.permutation(philox, 0).compute({ device: 'cpu' })).shape).toEqual([0]);
  });

  it('refuse what is no key, shape, dtype or range', () => {
    expect(() => random.uniform(7 as never, [3])).toThrow(ArgumentError);
    expect(() => random.key(2n ** 64n)).toThrow(RangeArgumentError);
    expect(() => random.key(1.5)).toThrow('the seed to be an integer');
    expect(() => random.key(1, { impl: 'mt19937' as never })).toThrow(ArgumentError);
    expect(() => random.uniform(philox, [3], { dtype: 'int32' })).toThrow(DTypeError);
    expect(() => random.uniform(philox, [3], { low: [1, 2] })).toThrow(ShapeError);
    expect(() => random.integers(philox, [3], 5, 5)).toThrow(RangeArgumentError);
    expect(() => random.integers(philox, [3], 0, 300, { dtype: 'uint8' })).toThrow(RangeArgumentError);
    expect(() => random.integers(philox, [3], 0.5, 3)).toThrow(ArgumentError);
    expect(() => random.choice(philox, 3, { shape: [4], replace: false })).toThrow(RangeArgumentError);
    expect(() => random.choice(philox, 3, { p: [1, 2] })).toThrow(ShapeError);
    expect(() => random.foldIn(philox, -1)).toThrow(ArgumentError);
  });
});
