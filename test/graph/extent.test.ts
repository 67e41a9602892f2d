/** Axes whose sizes depend on data, beside NumPy's values (`conformance/functions.test.ts`): what takes them, and how. */
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
  nonzero,
  npy,
  plan,
  RangeArgumentError,
  ShapeError,
  split,
  stack,
  topK,
  uniqueCounts,
  uniqueInverse,
  unstack,
  zeros,
} from '../../src/index.js';

const x = lazy(Float32Array.from([3, -1, 2, -5, 0, 7, 2, 3])).reshape([2, 4]);
const positive = x.greater(0);
const some = x.slice(positive);
const none = x.slice(x.greater(100));
const columns = x.compress([true, false, true, true], 1);
const valuesOf = async (array: Lazy): Promise<unknown> => (await array.compute({ device: 'cpu' })).toArray();

describe('a size that depends on data', () => {
  it('is a bound in the shape and an array in the sizes, until it is computed', async () => {
    expect([some.shape, `${some}`]).toEqual([[8], 'Lazy float32 (≤8,)']);
    expect((await (some.sizes[0] as Lazy).compute()).item()).toBe(5);
    expect(columns.sizes[0]).toBe(2);
    const [chosen, empty] = await compute([some, none]);
    expect([chosen.shape, [...chosen.data], empty.shape]).toEqual([[5], [3, 2, 7, 2, 3], [0]]);
    expect((await columns.compute()).shape).toEqual([2, 3]);
  });

  it('is that of an axis of arrays without elements, too', async () => {
    const [none, mask] = [zeros([0, 4]), [true, false, true, true]];
    const chosen = none.compress(mask, 1);
    expect(`${chosen}`).toBe('Lazy float64 (0, ≤4)');
    const [rows] = nonzero(lazy([[1, 0, 3, 0]]));
    const results = await compute([
      chosen,
      chosen.sum(0),
      chosen.add(1).cumulativeSum(1),
      zeros([3, 0]).take(rows!, 0),
      zeros([1, 4, 0]).slice(0, lazy(mask)),
      chosen.argsort(1),
    ]);
    expect(results.map(({ shape }) => shape)).toEqual([[0, 3], [3], [0, 3], [2, 0], [3, 0], [0, 3]]);
    expect(await valuesOf(some.expandDims(1).argsort(1))).toEqual([[0n], [0n], [0n], [0n], [0n]]);
  });

  it('stays that of an axis beside the one that is taken of, also where nothing is', async () => {
    const columns = zeros([4, 5]).compress([true, false, true, true, false], 1);
    for (const none of [[], lazy(new BigInt64Array())]) {
      expect((await columns.take(none, 0).compute()).shape).toEqual([0, 3]);
      expect((await columns.take(none, 1).compute()).shape).toEqual([4, 0]);
    }
    expect((await columns.slice(lazy(new BigInt64Array())).compute()).shape).toEqual([0, 3]);
  });

  it('leaves results memory of their own size where they are a small part of the bound', async () => {
    const line = arange(2 ** 16).astype('float32');
    const [few, most] = await compute([line.slice(line.less(9000)), line.slice(line.greater(9000))], {
      device: 'cpu',
    });
    expect([few.data.length, few.data.buffer.byteLength, few.data[8999]]).toEqual([9000, 4 * 9000, 8999]);
    expect([most.data.length, most.data.buffer.byteLength]).toEqual([2 ** 16 - 9001, 4 * 2 ** 16]);
  });

  it('is known after persist, which gives arrays for anything', async () => {
    const known = await some.persist();
    expect(known.shape).toEqual([5]);
    expect(
      await valuesOf(
        known
          .reshape([5, 1])
          .matmul(known.reshape([1, 5]))
          .sum(),
      ),
    ).toBe(17 * 17);
    expect((await columns.persist()).shape).toEqual([2, 3]);
    expect((await none.persist()).shape).toEqual([0]);
  });

  it('is one kernel with what is computed of the selected elements', () => {
    const { steps } = some.mul(2).exp().sum().explain({ device: 'cpu' });
    expect(steps.map(({ kind }) => kind)).toEqual(['kernel', 'call', 'kernel']);
    const both = some.add(x.mul(3).slice(positive)).explain({ device: 'cpu' });
    expect(both.steps.map(({ kind }) => kind)).toEqual(['kernel', 'call', 'kernel']);
  });

  it('selects a result from a line without places, and all else by places', () => {
    const planOf = (...outputs: Lazy[]): string => String(plan(outputs, { device: 'cpu' }));
    const selected = /compact bool \(8,?\) float32 \(8,?\)/;
    expect(planOf(some)).toMatch(selected);
    expect(planOf(some.sum())).not.toMatch(selected);
    expect(planOf(some, some.mul(2))).not.toMatch(selected);
    expect(planOf(some, x.mul(3).slice(positive))).not.toMatch(selected);
    expect(planOf(columns)).not.toMatch(selected);
    expect(planOf(x.sub(some.mean()).slice(positive))).not.toMatch(selected);
    expect(planOf(x.uniqueValues())).toMatch(/distinct float32/);
  });

  it('goes through maps, reductions, sorts, scans and take', async () => {
    expect(await valuesOf(some.mul(2).add(x.sub(1).slice(positive)))).toEqual([8, 5, 20, 5, 8]);
    const summed = [some.sum(), some.prod(), some.max(), some.min(), some.argmax(), some.any(), some.mean()];
    const results = await compute(summed);
    expect(results.map((each) => Number(each.item()))).toEqual([17, 252, 7, 2, 2, 1, Math.fround(3.4)]);
    expect(await valuesOf(some.std())).toBeCloseTo(Math.sqrt(17.2 / 5), 6);
    expect(await valuesOf(some.sort())).toEqual([2, 2, 3, 3, 7]);
    expect(await valuesOf(some.sort(0, { descending: true }))).toEqual([7, 3, 3, 2, 2]);
    expect(await valuesOf(some.argsort())).toEqual([1n, 3n, 0n, 4n, 2n]);
    expect(await valuesOf(some.cumulativeSum())).toEqual([3, 5, 12, 14, 17]);
    expect(await valuesOf(some.cumulativeSum(0, { reverse: true }))).toEqual([17, 14, 12, 5, 3]);
    expect(await valuesOf(some.cumulativeSum(0, { reverse: true, exclusive: true }))).toEqual([
      14, 12, 5, 3, 0,
    ]);
    const initial = { includeInitial: true };
    expect(await valuesOf(some.cumulativeSum(0, initial))).toEqual([0, 3, 5, 12, 14, 17]);
    expect(await valuesOf(some.cumulativeProd(0, { ...initial, reverse: true }))).toEqual([
      252, 84, 42, 6, 3, 1,
    ]);
    expect(await valuesOf(columns.cumulativeSum(0, initial).T)).toEqual([
      [0, 3, 3],
      [0, 2, 4],
      [0, -5, -2],
    ]);
    expect(await valuesOf(columns.cumulativeSum(1, { ...initial, reverse: true }))).toEqual([
      [0, -3, -5, 0],
      [5, 5, 3, 0],
    ]);
    expect(await valuesOf(none.cumulativeSum(0, initial))).toEqual([0]);
    expect(await valuesOf(some.cumulativeProd(0, { reverse: true }))).toEqual([252, 84, 42, 6, 3]);
    expect(await valuesOf(some.cumulativeMax(0, { reverse: true }))).toEqual([7, 7, 7, 3, 3]);
    expect(await valuesOf(some.cumulativeMin(0, { reverse: true }))).toEqual([2, 2, 2, 2, 3]);
    expect(await valuesOf(some.cumulativeLogsumexp(0, { reverse: true }).sub(3).exp())).toHaveLength(5);
    expect(await valuesOf(some.isin(lazy([3, 7])))).toEqual([true, false, true, false, true]);
    expect(await valuesOf(some.isin(lazy(new Float32Array(0))))).toEqual(new Array(5).fill(false));
    expect(await valuesOf(lazy([1, 3, 5]).searchsorted(some))).toEqual([1n, 1n, 3n, 1n, 1n]);
    expect(await valuesOf(some.digitize(lazy([1, 3, 5])))).toEqual([2n, 1n, 3n, 1n, 2n]);
    expect(await valuesOf(x.ravel().take(nonzero(x.ravel().less(0))[0]!))).toEqual([-1, -5]);
    expect(await valuesOf(columns.sub(columns.mean(0, { keepdims: true })).T)).toEqual([
      [1.5, -1.5],
      [0, 0],
      [-4, 4],
    ]);
    expect(await valuesOf(columns.sum(1))).toEqual([0, 5]);
    // Indices in C order count the elements that are there.
    expect(await valuesOf(x.mul(-1).compress([true, false, false, true], 1).argmax())).toBe(1n);
    expect(await valuesOf(columns.argmax(null, { keepdims: true }))).toEqual([[0n]]);
    expect(await valuesOf(columns.mul(-1).argmin())).toBe(0n);
    expect(await valuesOf(columns.add(lazy([[0], [9]])).argmax())).toBe(5n);
  });

  it('may be 0: sums of none are 0, means NaN', async () => {
    const sums = await compute([
      none.sum(),
      none.mean(),
      none.any(),
      none.all(),
      x.take(nonzero(none.sum().reshape([1]))[0]!),
    ]);
    expect(sums.slice(0, 4).map((each) => each.item())).toEqual([0, NaN, false, true]);
    expect(sums[4]!.shape).toEqual([0]);
  });

  it('is that of order statistics, and of sets', async () => {
    expect(await valuesOf(some.median())).toBe(3);
    expect(await valuesOf(columns.quantile([0, 0.25], 1))).toEqual([
      [-5, 0],
      [-1.5, 1],
    ]);
    expect(await valuesOf(columns.median(0))).toEqual([1.5, 2, -1]);
    expect(await valuesOf(some.astype('int32').percentile(75, { method: 'weibull' }))).toBe(5);
    expect(await valuesOf(none.astype('int32').median())).toBeNaN();
    const { values, inverseIndices } = uniqueInverse(columns);
    expect(await valuesOf(values)).toEqual([-5, 0, 2, 3]);
    expect(await valuesOf(inverseIndices)).toEqual([
      [3n, 2n, 0n],
      [1n, 2n, 3n],
    ]);
    expect(await valuesOf(uniqueCounts(some).counts)).toEqual([2n, 2n, 1n]);
    expect(await valuesOf(some.union(none).setdiff(lazy(Float32Array.of(3))))).toEqual([2, 7]);
    expect(await valuesOf(lazy([2, 4, 7]).isin(some))).toEqual([true, false, true]);
    expect(await valuesOf(lazy([2, 4, 7]).isin(none, { invert: true }))).toEqual([true, true, true]);
    expect(await valuesOf(some.sort().searchsorted(lazy(Float32Array.of(0, 3, 9))))).toEqual([0n, 2n, 5n]);
  });

  it('is checked where it is an index', async () => {
    const wrong = lazy([1, 2]).take(nonzero(x.ravel().less(0))[0]!);
    await expect(wrong.compute()).rejects.toThrow(/axis 0 of 2 elements: 3\n.*extent\.test/);
  });

  it('is looked at for places that have to be there', async () => {
    expect(await valuesOf(some.partition(-5).slice(0))).toBe(2);
    expect(await valuesOf(topK(some, 3).values)).toEqual([7, 3, 3]);
    expect(await valuesOf(topK(columns, 2, { axis: 1, largest: false }).indices)).toEqual([
      [2n, 1n],
      [0n, 1n],
    ]);
    expect(await valuesOf(some.astype('int32').quantile(0.4, { method: 'lower' }))).toBe(2);
    const wrong = [
      some.partition(5),
      some.argpartition([0, -6]),
      some.astype('complex64').partition(5),
      topK(some, 6).values,
      topK(some, 6).indices,
    ];
    for (const each of wrong)
      await expect(each.compute()).rejects.toThrow(
        /^\[\w+\] .* axis 0 of 5 elements: (-6|5)\n.*extent\.test/,
      );
    expect(() => some.partition(8)).toThrow(RangeArgumentError);
    expect(() => topK(some, 9)).toThrow(RangeArgumentError);
    expect(() => some.partition([])).toThrow(ArgumentError);
    const integers = none.astype('int32');
    for (const options of [{ method: 'lower' }, { method: 'inverted_cdf', weights: integers }] as const)
      await expect(integers.quantile(0.5, options).compute()).rejects.toThrow(
        /^\[quantile\] .*of 0 elements/,
      );
    expect(await valuesOf(topK(none, 0).values)).toEqual([]);
  });

  it.each<readonly [string, () => unknown]>([
    ['reshape', () => some.reshape([2, 4])],
    ['matmul', () => some.matmul(lazy(new Float32Array(8)))],
    ['stack', () => stack([some, x.ravel()])],
    ['slice', () => some.slice(x.ravel().greater(0))],
    ['slice', () => x.ravel().slice(some.greater(0))],
    ['take', () => columns.take(nonzero(x.slice(0).greater(0))[0]!, 0)],
    ['unstack', () => unstack(some)],
    ['split', () => split(some, 2)],
    ['repeat', () => some.repeat([1, 2])],
    ['add', () => some.add(lazy(new Float32Array(8)))],
    ['add', () => some.add(x.slice(x.less(0)))],
  ])('is refused by %s, with what to do', (name, act) => {
    expect(act).toThrow(ShapeError);
    expect(act).toThrow(/persist\(\) first/);
    if (name !== 'slice') expect(act).toThrow(new RegExp(`^\\[${name}\\] `));
  });

  it('is refused by loops and files', async () => {
    await expect(some.compute({ to: npy('/nowhere/x.npy') })).rejects.toThrow(ShapeError);
    expect(() => iterate(2, some, (state) => state.mul(2))).toThrow(ShapeError);
  });

  it('may differ from call to call of a compiled function', async () => {
    const selected = compile((a: Lazy) => [a.slice(a.greater(0)), a.sum()]);
    const results = [await selected(Float32Array.of(1, -2, 3)), await selected(Float32Array.of(1, 2, 3))];
    expect(results.map(([kept, sum]) => [[...kept!.data], sum!.item()])).toEqual([
      [[1, 3], 2],
      [[1, 2, 3], 6],
    ]);
    const [stored] = await selected.persist(Float32Array.of(-1, 5, -1));
    expect([stored!.shape, await valuesOf(stored!)]).toEqual([[1], [5]]);
    const total = compile((a: Lazy) => a.slice(a.greater(0)).sum());
    expect((await total(Float32Array.of(1, -2, 4))).item()).toBe(5);
    expect((await total(Float32Array.of(-1, 2, -4))).item()).toBe(2);
  });

  it('comes from masks of fitting sizes alone', () => {
    expect(() => x.slice(lazy([true, false, true]))).toThrow(ShapeError);
    expect(() => x.slice(lazy([true, false]), lazy([true]))).toThrow(ShapeError);
    expect(() => x.slice(positive, 0)).toThrow(ShapeError);
    expect(() => x.compress([1, 0] as never)).toThrow(DTypeError);
    expect(() => x.compress([true, true, true], 0)).toThrow(ShapeError);
    expect(() => x.extract(lazy([true]))).toThrow(ShapeError);
    expect(() => x.extract(2 as never)).toThrow(ArgumentError);
    expect(() => nonzero(2)).toThrow(ShapeError);
  });

  it('has the same bits whatever the number of elements that a thread takes', async () => {
    const long = arange(300_000, 'int64').mul(7919).remainder(1009);
    const kept = long.slice(long.remainder(3).equal(0));
    const [elements, distinct] = await compute([kept, kept.sub(1).sort()]);
    const plain = Array.from({ length: 300_000 }, (_, k) => (k * 7919) % 1009).filter((v) => v % 3 === 0);
    expect(elements.shape).toEqual([plain.length]);
    expect([...elements.data].every((value, k) => Number(value) === plain[k])).toBe(true);
    expect(Number(distinct.at(-1))).toBe(Math.max(...plain) - 1);
  });
});
