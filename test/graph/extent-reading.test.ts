/** Reading along axes whose size depends on data: as NumPy reads the array that persist would give. */
import { describe, expect, it } from 'vitest';
import {
  arange,
  argwhere,
  compile,
  compute,
  iterate,
  type Lazy,
  lazy,
  nonzero,
  RangeArgumentError,
  ShapeError,
  split,
  unstack,
  zeros,
} from '../../src/index.js';

const x = lazy(Float32Array.from([3, -1, 2, -5, 0, 7, 2, 3]));
const some = x.slice(x.greater(0)); // 3 2 7 2 3
const none = x.slice(x.greater(100));
const columns = x.reshape([2, 4]).compress([true, false, true, true], 1); // 3 2 -5, 0 2 3
const valuesOf = async (array: Lazy): Promise<unknown> => (await array.compute({ device: 'cpu' })).toArray();

describe('an axis whose size depends on data', () => {
  it('is taken of by numbers, lists and arrays, from its true end', async () => {
    expect(await valuesOf(some.take([0, -1, -5]))).toEqual([3, 3, 3]);
    expect(await valuesOf(some.take(lazy(Int8Array.of(2, -4))))).toEqual([7, 2]);
    expect(await valuesOf(some.take(lazy(new BigUint64Array([2n]))))).toEqual([7]);
    expect(await valuesOf(some.take([[7, -9]], 0, { mode: 'wrap' }))).toEqual([[7, 2]]);
    expect(await valuesOf(some.take([7, -9], 0, { mode: 'clip' }))).toEqual([3, 3]);
    expect(await valuesOf(some.take(nonzero(x.less(0))[0]!))).toEqual([2, 2]);
    expect(await valuesOf(columns.take([-1, 0], 1))).toEqual([
      [-5, 3],
      [3, 0],
    ]);
    expect(await valuesOf(columns.take([1], 0))).toEqual([[0, 2, 3]]);
    expect(await valuesOf(columns.T.take(3))).toBe(2);
    expect(await valuesOf(some.takeAlongAxis(some.argsort()))).toEqual([2, 2, 3, 3, 7]);
    expect(await valuesOf(columns.takeAlongAxis(columns.argsort(0), 0))).toEqual([
      [0, 2, -5],
      [3, 2, 3],
    ]);
    expect(await valuesOf(columns.takeAlongAxis([[-1], [1]], 1))).toEqual([[-5], [2]]);
  });

  it('has its true size in the errors of indices', async () => {
    const wanted = async (array: Lazy, text: RegExp): Promise<void> => {
      const error: unknown = await array.compute({ device: 'cpu' }).catch((each: unknown) => each);
      expect(error).toBeInstanceOf(RangeArgumentError);
      expect((error as Error).message).toMatch(text);
    };
    const at = /made at .*extent-reading/.source;
    await wanted(
      some.take([0, 5]),
      new RegExp(`^\\[take\\] .*-5 to 4 for axis 0 of 5 elements.*: 5\\n.*${at}`),
    );
    await wanted(some.take(lazy(Int32Array.of(-6))), /^\[take\] .*axis 0 of 5 elements.*: -6\n/);
    await wanted(columns.slice(null, 3), /^\[slice\] .*axis 1 of 3 elements.*: 3\n/);
    await wanted(
      columns.slice(lazy(Int32Array.of(0)), lazy(Int32Array.of(-4))),
      /axis 1 of 3 elements.*: -4\n/,
    );
    await wanted(some.takeAlongAxis([6]), /^\[takeAlongAxis\] .*axis 0 of 5 elements.*: 6\n/);
    await wanted(
      some.compress([true, false, false, false, false, true]),
      /^\[compress\] .*of 5 elements.*: 5\n/,
    );
    for (const mode of ['raise', 'wrap', 'clip'] as const)
      await wanted(none.take([0], 0, { mode }), /^\[take\] .*an axis with elements to take: axis 0 of 0/);
    await wanted(none.slice(-1), /axis 0 of 0 elements/);
    expect(await valuesOf(none.take(nonzero(x.greater(100))[0]!))).toEqual([]);
    expect(await valuesOf(none.take([]))).toEqual([]);
    expect(() => some.take([8])).toThrow(/axis 0 of at most 8 elements.*: 8/);
    expect(() => some.slice(-9)).toThrow(ShapeError);
  });

  it('is cut to ranges, whose sizes depend on data, too', async () => {
    expect(await valuesOf(some.slice(0))).toBe(3);
    expect(await valuesOf(some.slice(-3))).toBe(7);
    const ranges = ['1:', ':-1', '1:3', '::2', '::-1', '-2:', '-2::-1', '3:0:-2', '-2:4', '5:', ':2:-1'];
    const results = await compute(ranges.map((range) => some.slice(range)));
    expect(results.map((result) => [...result.data])).toEqual([
      [2, 7, 2, 3],
      [3, 2, 7, 2],
      [2, 7],
      [3, 7, 3],
      [3, 2, 7, 2, 3],
      [2, 3],
      [2, 7, 2, 3],
      [2, 2],
      [2],
      [],
      [3, 2],
    ]);
    expect(some.slice('2:2').shape).toEqual([0]);
    expect((await none.slice('-2:').compute()).shape).toEqual([0]);
    expect(await valuesOf(columns.slice(1, '::-2'))).toEqual([3, 0]);
    expect(await valuesOf(columns.slice('newaxis', '...', [1, null]))).toEqual([
      [
        [2, -5],
        [2, 3],
      ],
    ]);
    expect(await valuesOf(columns.slice(lazy(Int32Array.of(1, 0)), '...', [-1, null]))).toEqual([[3], [-5]]);
    expect(await valuesOf(columns.slice(lazy(Int32Array.of(1, 0)), lazy(Int32Array.of(-1, 0))))).toEqual([
      3, 3,
    ]);
  });

  it('meets where it is cut alike', async () => {
    expect(await valuesOf(some.slice('1:').sub(some.slice(':-1')))).toEqual([-1, 5, -5, 1]);
    expect(
      await valuesOf(some.slice('2:').add(some.slice('1:-1')).add(some.slice('1:').slice('1:'))),
    ).toEqual([16, 11, 8]);
    expect(await valuesOf(some.slice('-3:').sub(some.slice(':3')))).toEqual([4, 0, -4]);
    expect(await valuesOf(some.diff({ n: 2 }))).toEqual([6, -10, 6]);
    expect(await valuesOf(columns.diff())).toEqual([
      [-1, -7],
      [2, 1],
    ]);
    const before = some.cumulativeSum(0, { includeInitial: true });
    expect(await valuesOf(before.slice('1:').sub(some.cumulativeSum()))).toEqual([0, 0, 0, 0, 0]);
    expect(await valuesOf(before.slice(':-1').add(some))).toEqual([3, 5, 12, 14, 17]);
    const padded = some.pad([2, 1]);
    expect(await valuesOf(padded.slice('1:').slice('2:').sub(some))).toEqual([-1, 5, -5, 1, -3]);
    expect(await valuesOf(padded.slice('1:-1').slice('2:').sub(some.slice('1:')))).toEqual([0, 0, 0, 0]);
    expect(await valuesOf(padded.slice('1:').sub(some.pad(1)))).toEqual(Array(7).fill(0));
    expect(() => padded.slice(':2').sub(some.slice(':2'))).toThrow(/one size that depends on data/);
    expect(await valuesOf(none.pad(1).slice('1:-1').add(none))).toEqual([]);
    expect(await valuesOf(some.trapezoid())).toBe(14);
    expect(() => some.slice('1:').sub(x.slice(x.less(0)).slice('1:'))).toThrow(
      /one size that depends on data/,
    );
  });

  it('is selected from by masks of its size', async () => {
    expect(await valuesOf(some.slice(some.greater(2)))).toEqual([3, 7, 3]);
    expect(await valuesOf(some.extract(some.less(3)))).toEqual([2, 2]);
    expect(await valuesOf(columns.compress(columns.sum(0).greater(2), 1))).toEqual([
      [3, 2],
      [0, 2],
    ]);
    expect(await valuesOf(columns.compress([false, true], 0))).toEqual([[0, 2, 3]]);
    expect((await columns.compress([false, false], 0).compute()).shape).toEqual([0, 3]);
    expect(await valuesOf(columns.slice(columns.greater(1)))).toEqual([3, 2, 2, 3]);
    expect(await valuesOf(columns.slice(1, columns.slice(0).less(3)))).toEqual([2, 3]);
    expect(await valuesOf(some.compress([true, false, true]))).toEqual([3, 7]);
    expect(await valuesOf(nonzero(some.greater(2))[0]!)).toEqual([0n, 2n, 4n]);
    expect(await valuesOf(argwhere(columns.greater(1)))).toEqual([
      [0n, 0n],
      [0n, 1n],
      [1n, 1n],
      [1n, 2n],
    ]);
    const twice = some.slice(some.greater(2));
    expect(await valuesOf(twice.slice(twice.less(5)).sum())).toBe(6);
  });

  it('is turned, shifted, repeated, padded and split', async () => {
    expect(await valuesOf(some.flip())).toEqual([3, 2, 7, 2, 3]);
    expect(await valuesOf(columns.flip())).toEqual([
      [3, 2, 0],
      [-5, 2, 3],
    ]);
    expect(await valuesOf(some.roll(7))).toEqual([2, 3, 3, 2, 7]);
    expect(await valuesOf(columns.roll(-1, 1))).toEqual([
      [2, -5, 3],
      [2, 3, 0],
    ]);
    expect(await valuesOf(columns.roll(1))).toEqual([
      [3, 3, 2],
      [-5, 0, 2],
    ]);
    expect(await valuesOf(columns.T.roll(2))).toEqual([
      [-5, 3],
      [3, 0],
      [2, 2],
    ]);
    expect(await valuesOf(some.slice('3:').repeat(2))).toEqual([2, 2, 3, 3]);
    expect(await valuesOf(columns.repeat(2, 0).slice('1:3'))).toEqual([
      [3, 2, -5],
      [0, 2, 3],
    ]);
    expect(
      await valuesOf(
        columns.pad(
          [
            [1, 0],
            [0, 1],
          ],
          { value: 9 },
        ),
      ),
    ).toEqual([
      [9, 9, 9, 9],
      [3, 2, -5, 9],
      [0, 2, 3, 9],
    ]);
    expect(await valuesOf(some.slice('3:').tile([2, 2]))).toEqual([
      [2, 3, 2, 3],
      [2, 3, 2, 3],
    ]);
    expect(await valuesOf(columns.tile([2, 1]).sum(0))).toEqual([6, 8, -4]);
    expect((await columns.tile([0, 2]).compute()).shape).toEqual([0, 6]);
    expect(columns.tile(0).shape).toEqual([2, 0]);
    expect(await valuesOf(columns.rot90())).toEqual([
      [-5, 3],
      [2, 2],
      [3, 0],
    ]);
    expect(await valuesOf(unstack(columns)[1]!)).toEqual([0, 2, 3]);
    expect(await Promise.all(split(some, [1, -1]).map(valuesOf))).toEqual([[3], [2, 7, 2], [3]]);
    expect(await valuesOf(some.add(some.flip()))).toEqual([6, 4, 14, 4, 6]);
  });

  it('is read of arrays without elements, too', async () => {
    const empty = zeros([0, 4]).compress([true, false, true, true], 1);
    const noPlaces = lazy(new Int32Array(0));
    const results = await compute([
      empty.take([0, -1], 1),
      empty.slice(null, '1:'),
      empty.flip(),
      empty.roll(1, 1),
      empty.diff(),
      empty.repeat(2, 1),
      empty.pad([
        [1, 0],
        [0, 0],
      ]),
      empty.slice(empty.greater(0)),
      none.diff(),
      none.slice(none.greater(0)),
      some.tile([1, 1, 2]).slice(noPlaces, noPlaces, [3, -1, 3]),
      some.tile([1, 1, 2]).slice(null, noPlaces, noPlaces),
    ]);
    expect(results.map(({ shape }) => shape)).toEqual([
      [0, 2],
      [0, 2],
      [0, 3],
      [0, 3],
      [0, 2],
      [0, 6],
      [1, 3],
      [0],
      [0],
      [0],
      [0, 2],
      [1, 0],
    ]);
  });

  it('is read in compiled functions, whose sizes differ from call to call', async () => {
    const last = compile((a: Lazy) => {
      const kept = a.slice(a.greater(0));
      return [kept.slice(-1), kept.slice('::-1')];
    });
    const results = [await last(Float32Array.of(1, -2, 3)), await last(Float32Array.of(5, -2, -3))];
    expect(results.map(([end, turned]) => [end!.item(), [...turned!.data]])).toEqual([
      [3, [3, 1]],
      [5, [5]],
    ]);
    await expect(last(Float32Array.of(-1, -2, -3))).rejects.toThrow(/axis 0 of 0 elements/);
  });

  it('is read in loops, and checked before they run where no step changes its size', async () => {
    const added = (index: number): Lazy =>
      iterate(2, zeros([], 'float32'), (state) => state.add(some.slice(index)));
    expect(await valuesOf(added(-3))).toBe(14);
    await expect(added(5).compute()).rejects.toThrow(/\[slice\] .*axis 0 of 5 elements.*: 5/);
    // Of a state that no step changes, too.
    const [sum] = iterate(2, [zeros([], 'float32'), x], ([state, fixed]) => [
      state!.add(fixed!.slice(fixed!.greater(0)).slice(-3)),
      fixed!,
    ]);
    expect(await valuesOf(sum!)).toBe(14);
    const halves = iterate(2, arange(4), (state) => {
      const ends = state.slice(state.greater(1)).slice('-1:').sum();
      return state.add(ends);
    });
    expect(await valuesOf(halves)).toEqual([9, 10, 11, 12]);
  });

  it('is read in loops by indices and of sizes that their steps change, which are looked at', async () => {
    const first = (steps: number): Lazy =>
      iterate(steps, arange(4), (state) => state.sub(state.slice(state.greater(0)).slice(0)).sub(0));
    // 0 1 2 3, less the first that is above 0, until there is none.
    expect(await valuesOf(first(3))).toEqual([-3, -2, -1, 0]);
    await expect(first(4).compute()).rejects.toThrow(
      /\[slice\] expected an axis with elements to take: axis 0 of 0 elements\n +made at .*extent-reading/,
    );
    const chosen = (from: number): Lazy =>
      iterate(3, [lazy(Int32Array.of(0)), zeros([1])], ([i, sum]) => [
        i!.add(from),
        sum!.add(some.take(i!)),
      ])[1]!;
    expect(await valuesOf(chosen(2))).toHaveLength(1);
    await expect(chosen(3).compute()).rejects.toThrow(
      /\[take\] .* from -5 to 4 for axis 0 of 5 elements.*: 6/,
    );
  });

  it('is read in loops at places that a mask of a step chose, from either end', async () => {
    const taken = (step: number, mode: 'raise' | 'wrap'): Lazy =>
      iterate(3, zeros([], 'int64'), (place) => {
        const element = some.take(place.add(step), 0, { mode }).astype('int64');
        return place.add(step).add(element.mul(0));
      });
    expect(await valuesOf(taken(9, 'wrap'))).toBe(27n);
    await expect(taken(-2, 'raise').compute()).rejects.toThrow(/\[take\] .*for axis 0 of 5 elements.*: -6\n/);
    const chosen = iterate(2, arange(4), (state) => {
      const kept = state.slice(state.greater(1));
      const [places] = nonzero(kept.greater(2));
      return state.add(kept.take(places!.add(-2)).sum());
    });
    expect(await valuesOf(chosen)).toEqual([21, 22, 23, 24]);
  });
});
