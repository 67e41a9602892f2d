/** Arrays put side by side whose sizes depend on data. */
import { describe, expect, it } from 'vitest';
import {
  append,
  arange,
  compute,
  concat,
  type Lazy,
  lazy,
  ShapeError,
  stack,
  zeros,
} from '../../src/index.js';

const x = lazy(Float32Array.from([3, -1, 2, -5, 0, 7, 2, 3])).reshape([2, 4]);
const some = x.slice(x.greater(0)); // 3 2 7 2 3
const others = x.slice(x.less(0)); // -1 -5
const none = x.slice(x.greater(100));
const columns = x.compress([true, false, true, true], 1); // 3 2 -5, 0 2 3
const valuesOf = async (array: Lazy): Promise<unknown> => (await array.compute({ device: 'cpu' })).toArray();

describe('arrays of sizes that depend on data', () => {
  it('stand one after the other, among others of known sizes', async () => {
    const joined = concat([others, lazy([9, 8]), none, some]);
    expect(`${joined}`).toBe('Lazy float64 (≤26,)');
    expect((await (joined.sizes[0] as Lazy).compute()).item()).toBe(9);
    expect(await valuesOf(joined)).toEqual([-1, -5, 9, 8, 3, 2, 7, 2, 3]);
    expect(await valuesOf(joined.sort())).toEqual([-5, -1, 2, 2, 3, 3, 7, 8, 9]);
    expect(await valuesOf(joined.cumulativeSum())).toEqual([-1, -6, 3, 11, 14, 16, 23, 25, 28]);
    expect(await valuesOf(joined.mean())).toBeCloseTo(28 / 9, 12);
    expect(await valuesOf(concat([none, none]))).toEqual([]);
  });

  it('stand one after the other along any axis, and behind each other where they have one size', async () => {
    expect(await valuesOf(concat([columns, x, columns.neg()], 1))).toEqual([
      [3, 2, -5, 3, -1, 2, -5, -3, -2, 5],
      [0, 2, 3, 0, 7, 2, 3, -0, -2, -3],
    ]);
    expect(await valuesOf(concat([columns, columns.add(1)]))).toEqual([
      [3, 2, -5],
      [0, 2, 3],
      [4, 3, -4],
      [1, 3, 4],
    ]);
    expect(await valuesOf(stack([some, some.mul(2)]))).toEqual([
      [3, 2, 7, 2, 3],
      [6, 4, 14, 4, 6],
    ]);
    expect(await valuesOf(stack([some, some], 1).sum(0))).toEqual([17, 17]);
  });

  it('are appended to, and appended', async () => {
    expect(await valuesOf(append(some, [1, 2]))).toEqual([3, 2, 7, 2, 3, 1, 2]);
    expect(await valuesOf(append([[1], [2]], others))).toEqual([1, 2, -1, -5]);
    expect(await valuesOf(append(x.compress([false, true], 0), [[1, 1, 1, 1]], 0))).toEqual([
      [0, 7, 2, 3],
      [1, 1, 1, 1],
    ]);
  });

  it('are one line of elements in C order, whichever axis is the one whose size depends on data', async () => {
    const rows = x.compress([false, true], 0);
    expect(await valuesOf(concat([rows, others], null))).toEqual([0, 7, 2, 3, -1, -5]);
    expect(await valuesOf(concat([columns, some], null))).toEqual([3, 2, -5, 0, 2, 3, 3, 2, 7, 2, 3]);
  });

  it('stand side by side along a new axis without elements, too', async () => {
    const none = zeros([0, 2, 1]).add(some);
    expect(`${stack([none, none], 2)}`).toBe('Lazy float64 (0, 2, 2, ≤8)');
    expect((await stack([none, none], 2).compute({ device: 'cpu' })).shape).toEqual([0, 2, 2, 5]);
    expect((await concat([none, none]).compute({ device: 'cpu' })).shape).toEqual([0, 2, 5]);
  });

  it('meet where they are joined alike', async () => {
    const a = concat([some, others, lazy([1])]);
    const b = concat([some.mul(10), others, lazy([5])]);
    expect(await valuesOf(a.add(b))).toEqual([33, 22, 77, 22, 33, -2, -10, 6]);
    expect(() => a.add(concat([others, some, lazy([1])]))).toThrow(
      /^\[add\] .*one size that depends on data/,
    );
  });

  it('are joined in parts where there are many', async () => {
    const parts = Array.from({ length: 40 }, (_, k) => (k % 3 === 0 ? lazy([k]) : some.add(k)));
    const expected = parts.flatMap((_, k) => (k % 3 === 0 ? [k] : [3, 2, 7, 2, 3].map((value) => value + k)));
    expect(await valuesOf(concat(parts))).toEqual(expected);
  });

  it('are read by the kernel around them: no part is stored that begins at a known place', async () => {
    const { steps } = concat([some, lazy([1, 2])])
      .mul(2)
      .sum()
      .explain({ device: 'cpu' });
    expect(steps.map(({ kind }) => kind)).toEqual(['kernel', 'call', 'kernel']);
  });

  it('have the same bits on long lines', async () => {
    const long = arange(100_000, 'int64').mul(7919).remainder(1009);
    const parts = [long.slice(long.remainder(3).equal(0)), long, long.slice(long.less(10))];
    const [joined, total] = await compute([concat(parts), concat(parts).sum()]);
    const plain = Array.from({ length: 100_000 }, (_, k) => (k * 7919) % 1009);
    const wanted = [...plain.filter((v) => v % 3 === 0), ...plain, ...plain.filter((v) => v < 10)];
    expect(joined.shape).toEqual([wanted.length]);
    expect([...joined.data].every((value, k) => Number(value) === wanted[k])).toBe(true);
    expect(Number(total.item())).toBe(wanted.reduce((sum, value) => sum + value, 0));
  });

  it.each<readonly [string, () => unknown]>([
    ['concat', () => concat([columns, x.compress([true, false, true, false], 1)])],
    ['concat', () => concat([columns, x])],
    ['concat', () => concat([columns, x.compress([true, false], 0)], 1)],
    ['stack', () => stack([some, others])],
    ['stack', () => stack([some, lazy(new Float32Array(8))])],
    ['append', () => append(columns, x, 0)],
  ])('are refused by %s where sizes have to be equal, with what to do', (name, act) => {
    expect(act).toThrow(ShapeError);
    expect(act).toThrow(new RegExp(`^\\[${name}\\] .*persist\\(\\) first`));
  });
});
