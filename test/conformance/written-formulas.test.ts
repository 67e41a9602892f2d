/**
 * Formulas that are written out, over rows too long to stay on a chip: they are computed as the named functions are, in
 * one reading of their elements. Values are held to float64 sums in the order of the elements.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, placeholder } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { randomValues } from '../support/random.js';

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');
const N = 22_101;
const keep = { keepdims: true } as const;
const X = toLazy(randomValues('float32', [N, 3], 1)).add(100);
const Y = toLazy(randomValues('float32', [N, 3], 2));

/** As written, as named, and the number of times that the written form reads its elements under `exact`. */
const FORMULAS: readonly (readonly [string, (x: Lazy) => Lazy, (x: Lazy) => Lazy, number])[] = [
  ['a variance', (x) => x.sub(x.mean()).square().mean(), (x) => x.var(), 2],
  ['a variance of products', (x) => x.sub(x.mean()).mul(x.sub(x.mean())).mean(), (x) => x.var(), 2],
  ['variances of columns', (x) => x.sub(x.mean(0)).pow(2).mean(0), (x) => x.var(0), 2],
  [
    'a deviation with a correction',
    (x) =>
      x
        .sub(x.mean(0, keep))
        .square()
        .sum(0, keep)
        .div(N - 1)
        .sqrt(),
    (x) => x.std(0, { correction: 1, ...keep }),
    2,
  ],
  ['variances of rows', (x) => x.T.sub(x.T.mean(1, keep)).abs().square().mean(1), (x) => x.T.var(1), 2],
  ['a norm of deviations', (x) => x.sub(x.mean(0)).norm(2, 0), (x) => x.var(0).mul(N).sqrt(), 2],
  ['a mean of squares', (x) => x.square().mean(0).sub(x.mean(0).square()), (x) => x.var(0), 1],
  [
    'a sum of squares',
    (x) => x.square().sum(0, keep).sub(x.sum(0, keep).square().div(N)).div(N),
    (x) => x.var(0, keep),
    1,
  ],
  ['z-scores', (x) => standardized(x), (x) => x.standardize(0), 3],
  ['logsumexp', (x) => x.sub(x.max()).exp().sum().log().add(x.max()), (x) => x.logsumexp(), 2],
  ['softmax', (x) => softmax(x), (x) => x.softmax(0), 3],
];

function standardized(x: Lazy): Lazy {
  const centred = x.sub(x.mean(0));
  return centred.div(centred.square().mean(0).sqrt());
}

function softmax(x: Lazy): Lazy {
  const e = x.sub(x.max(0)).exp();
  return e.div(e.sum(0));
}

const numbers = async (x: Lazy, options: object): Promise<number[]> => [
  ...((await x.compute(options)).data as Float32Array),
];

describe.each(devices)('a formula that is written out is computed as the function on %s:', (device) => {
  it.each(FORMULAS)('%s', async (_, written, named, readings) => {
    const p = placeholder([N, 3], 'float32');
    const bytesOf = (x: Lazy, exact: boolean): number =>
      x.explain({ device, exact }).steps.reduce((sum, { bytesRead }) => sum + bytesRead, 0) / (12 * N);
    expect(bytesOf(written(p), false)).toBeLessThan(Math.max(1, readings - 1) + 0.01);
    expect(bytesOf(written(p), true)).toBeGreaterThan(readings - 0.01);
    const [one, other] = await compute([written(X), named(X)], { device });
    const close = (await numbers(named(X), { device })).map((value) => Math.abs(value) * 1e-6);
    const apart = [...(one!.data as Float32Array)].filter(
      (value, k) => Math.abs(value - (other!.data as Float32Array)[k]!) > close[k]!,
    );
    expect(apart).toEqual([]);
  });

  it('with its bits', async () => {
    for (const [name, written, named] of FORMULAS.slice(0, 3))
      expect([name, await written(X).compute({ device })]).toEqual([
        name,
        await named(X).compute({ device }),
      ]);
    const logs = FORMULAS.find(([name]) => name === 'logsumexp')!;
    expect(await logs[1](X).compute({ device })).toEqual(await logs[2](X).compute({ device }));
  });

  it('with the bits of any budget', async () => {
    for (const [name, written] of FORMULAS.filter((_, k) => k % 8 === 0))
      expect([name, await written(X).compute({ device, memory: 200_000 })]).toEqual([
        name,
        await written(X).compute({ device }),
      ]);
  });

  it('as exactly as float64', async () => {
    const x = await numbers(X.slice(null, 0), { device });
    const mean = x.reduce((sum, v) => sum + v, 0) / N;
    const variance = x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / N;
    for (const [name, written] of FORMULAS.filter(([of]) => /^(variances|a mean|a sum)/.test(of))) {
      const [found] = await numbers(written(X).flatten(), { device });
      expect([name, Math.abs(found! / variance - 1) < 2e-6]).toEqual([name, true]);
    }
    const most = Math.max(...x);
    const sum = x.reduce((all, v) => all + Math.exp(v - most), 0);
    const column = X.slice(null, 0);
    const [found] = await numbers(column.sub(column.max()).exp().sum(), { device });
    expect(Math.abs(found! / sum - 1)).toBeLessThan(2e-6);
  });

  it('with norms that are divided out', async () => {
    const cosine = (x: Lazy, y: Lazy): Lazy =>
      x
        .div(x.norm(2, 0))
        .mul(y.div(y.norm({ axis: 0, keepdims: true }).maximum(1e-9)))
        .sum(0);
    const p = placeholder([N, 3], 'float32');
    const { steps } = cosine(p, p.mul(2)).explain({ device });
    expect(steps.map(({ bytesRead }) => bytesRead)).toEqual([12 * N]);
    const [x, y] = [await numbers(X, { device }), await numbers(Y, { device })];
    const dot = (a: number[], b: number[]): number =>
      a.reduce((sum, v, k) => sum + (k % 3 === 0 ? v * b[k]! : 0), 0);
    const [found] = await numbers(cosine(X, Y), { device });
    expect(found).toBeCloseTo(dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y)), 6);
    // By another value than a norm, sums might overflow: they stay as they are.
    expect(p.div(p.max(0)).sum(0).explain({ device }).steps).toHaveLength(2);
    expect(p.div(p.norm(2, 0)).mul(p).sum(0).explain({ device }).steps).toHaveLength(2);
  });

  it('where elements are NaN or infinite, with the values of the formula', async () => {
    const kinds = ({ data }: { data: unknown }): string[] =>
      [...(data as Float32Array)].map((v) => (Number.isFinite(v) ? 'finite' : String(v)));
    for (const x of [withSpecial([Number.NaN, Infinity, -0]), withSpecial([-Infinity, -0, 1])])
      for (const [name, written] of FORMULAS.filter(([of]) => !/^(a mean|a sum) of/.test(of))) {
        const online = await written(x).compute({ device });
        const plain = await written(x).compute({ device, exact: true });
        expect([name, kinds(online)]).toEqual([name, kinds(plain)]);
      }
  });

  it('of one row, whose sum is all of its rows', async () => {
    const row = toLazy(randomValues('float32', [17, 1, 4], 3));
    const ofRows = row.mul(row.square().sum(-1, keep).add(1).sqrt());
    const sums = [ofRows.sum([1, 2]), ofRows.reshape(1, 17, 4).sum([0, 2])];
    const expected = await numbers(ofRows.sum(-1), { device, exact: true });
    for (const found of await Promise.all([
      numbers(sums[0]!, { device }),
      numbers(sums[1]!, { device }),
      compute([sums[0]!, ofRows.sum()], { device }).then(([first]) => [...(first!.data as Float32Array)]),
    ]))
      found.forEach((value, k) => {
        expect(value).toBeCloseTo(expected[k]!, 3);
      });
  });

  it('only where it is that formula', async () => {
    const x = X.flatten()
      .slice([0, 257 * 257])
      .reshape(257, 257);
    const others: Lazy[] = [
      x.sub(x.mean(1)).square().sum(1),
      x.sub(x.mean(0, keep)).square().sum(1),
      x.sub(x.max(1)).exp().sum(1),
      X.sub(X.mean(0)).square().sum(1).sum(),
      X.sub(X.sum(0).div(N - 1))
        .square()
        .sum(0),
      X.sub(X.min(0)).negative().exp().sum(0),
    ];
    for (const other of others) {
      const name = (exact: boolean): string[] =>
        other.explain({ device, exact }).steps.map((step) => step.name);
      expect(name(false)).toEqual(name(true));
    }
    const all = X.sub(X.mean(0)).square().sum();
    const [found] = await numbers(all, { device });
    const [plain] = await numbers(all, { device, exact: true });
    expect(found! / plain!).toBeCloseTo(1, 5);
  });

  it('sums over rows and axes of size 1, beside others of the same elements', async () => {
    const rows = toLazy(randomValues('float32', [6, 130, 9, 5], 3)).prod(3, keep);
    const weighted = rows.mul(rows.max([0, 2], keep));
    const columns = X.reshape(N, 3, 1);
    const deviations = columns.sub(columns.mean(0, keep)).square();
    const values = [
      ...[rows.logSoftmax(0).mean([0, 3]), rows.max(2, keep)],
      ...[weighted.sum([0, 2, 3], keep), weighted.sum([0, 2, 3]), weighted.sum([0, 1, 2, 3])],
      ...[deviations.sum([0, 2]), deviations.sum([0, 2], keep)],
    ];
    const [found, plain] = [
      await compute(values, { device }),
      await compute(values, { device, exact: true }),
    ];
    for (const [k, { data, shape }] of found.entries()) {
      expect(shape).toEqual(plain[k]!.shape);
      const others = plain[k]!.data as Float32Array;
      for (const [at, value] of (data as Float32Array).entries())
        expect(Math.abs(value - others[at]!)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(others[at]!)));
    }
  });
});

/** Ones, among which each column has a value of these. */
function withSpecial(values: readonly number[]): Lazy {
  const data = new Float32Array(3 * N).fill(1);
  data.set(values, 3 * 5000);
  return lazy({ data, shape: [N, 3], dtype: 'float32' });
}
