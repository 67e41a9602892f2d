/**
 * Reading by indices: shapes, errors, and what it becomes. That values are right on every backend is in
 * `conformance`.
 */
import { describe, expect, it } from 'vitest';
import { ArgumentError, DTypeError, RangeArgumentError, ShapeError } from '../../src/host/errors.js';
import { arange, compile, compute, iterate, type Lazy, lazy, ones, take, zeros } from '../../src/index.js';

const table = lazy(
  Float32Array.from({ length: 12 }, (_, i) => i),
  { shape: [3, 4] },
);

describe('take', () => {
  it('puts the axes of the indices in the place of the axis', () => {
    expect(table.take([[0, 1]], 0).shape).toEqual([1, 2, 4]);
    expect(table.take(2, 1).shape).toEqual([3]);
    expect(table.take([5]).shape).toEqual([1]);
    expect(take(table, new Uint8Array([1, 2]), -1).shape).toEqual([3, 2]);
  });

  it.each<[string, () => Lazy, new (message: string) => Error, string]>([
    ['floats', () => table.take(lazy([1.5])), DTypeError, "[take] expected indices of an integer dtype: float64 (round and cast them: .astype('int64'))"],
    ['masks', () => table.take(lazy([true])), DTypeError, '[take] expected indices of an integer dtype: bool'],
    ['fractions', () => table.take([0, 0.5]), ArgumentError, '[take] expected integers as indices: 0.5'],
    ['ragged lists', () => table.take([[0], [1, 2]]), ShapeError, '[take] expected lists of equal lengths'],
    ['axes that are not there', () => table.take([0], 2), RangeError as never, '[take] expected an axis from -2 to 1: 2'],
    ['empty axes', () => zeros([0, 3]).take([0], 0), ShapeError, '[take] expected an axis with elements to take: axis 0 of (0, 3)'],
    [
      'lists of indices out of range',
      () => table.take([[0, 3]], 0),
      RangeArgumentError,
      '[take] expected indices from -3 to 2 for axis 0 of 3 elements: 3',
    ],
    ['modes', () => table.take([0], 0, { mode: 'near' as never }), ArgumentError, '[take] expected a mode'],
    ['values without their mode', () => table.take([0], 0, { fillValue: 1 }), ArgumentError, "{ mode: 'fill' }"],
    [
      'values that the dtype does not hold',
      () => table.astype('int8').take([0], 0, { mode: 'fill', fillValue: 0.5 }),
      DTypeError,
      '[take] expected values that int8 holds: float64',
    ],
    [
      'arrays as values',
      () => table.take([0], 0, { mode: 'fill', fillValue: lazy([1, 2, 3]) as never }),
      ShapeError,
      '[take] expected fillValue to be a scalar: (3,)',
    ],
  ])('refuses %s where they are written', (_, build, kind, message) => {
    expect(build).toThrow(kind);
    expect(build).toThrow(message);
  }); // biome-ignore format: a table

  it('rejects indices out of range before anything runs, with the line of the take', async () => {
    const far = table.exp().take(new Int32Array([0, 3, 1]), 0);
    const message =
      /^\[take\] expected indices from -3 to 2 for axis 0 of 3 elements: 3\n.*indexing\.test\.ts/;
    for (const run of [() => far.compute(), () => far.sum().persist(), () => compute([table, far])]) {
      await expect(run()).rejects.toThrow(RangeArgumentError);
      await expect(run()).rejects.toThrow(message);
    }
    await expect(table.take(new Int8Array([-4])).compute()).resolves.toMatchObject({ shape: [1] });
    await expect(table.take(new Int8Array([-13])).compute()).rejects.toThrow('axis 0 of 12 elements: -13');
  });

  it('rejects lists of numbers that int64 does not hold, in every mode', () => {
    const far = [2n ** 64n] as unknown as number[];
    for (const mode of ['raise', 'wrap', 'clip', 'fill'] as const) {
      expect(() => table.take(far, 0, { mode })).toThrow(RangeArgumentError);
      expect(() => table.takeAlongAxis([far], 0, { mode })).toThrow(/: 18446744073709551616$/);
    }
    for (const mode of ['raise', 'wrap', 'clip', 'drop'] as const) {
      expect(() => table.put(far, 9, { mode })).toThrow(RangeArgumentError);
      expect(() => table.at([far], { mode }).set(9)).toThrow(RangeArgumentError);
    }
    expect(() => table.take([-(2n ** 63n)] as unknown as number[], 0, { mode: 'clip' })).not.toThrow();
  });

  it('looks at the indices of each call of a compiled function', async () => {
    const pick = compile((x: Lazy, i: Lazy) => x.take(i).mul(2));
    const x = new Float32Array([1, 2, 3]);
    expect((await pick(x, new Int32Array([2, 0]))).toArray()).toEqual([6, 2]);
    await expect(pick(x, new Int32Array([1, 3]))).rejects.toThrow('axis 0 of 3 elements: 3');
    expect((await pick(x, new Int32Array([-1, 1]))).toArray()).toEqual([6, 4]);
  });

  it('looks in the steps of a loop at indices that they change, and ahead at others', async () => {
    const start = [lazy(new Int32Array([0])), ones([1])] as const;
    const step =
      (mode: 'raise' | 'wrap') =>
      ([i, sum]: readonly [Lazy, Lazy]): [Lazy, Lazy] => [
        i.add(1).astype('int32'),
        sum.add(table.take(i, undefined, { mode })),
      ];
    await expect(iterate(13, start, step('raise'))[1].compute()).rejects.toThrow(
      '[take] expected indices from -12 to 11 for axis 0 of 12 elements: 12',
    );
    for (const mode of ['raise', 'wrap'] as const)
      expect((await iterate(12, start, step(mode))[1].compute()).item()).toBe(67);
    const fixed = iterate(2, ones([2]), (s) => s.add(table.take(new Int32Array([1, 40]))));
    await expect(fixed.compute()).rejects.toThrow('axis 0 of 12 elements: 40');
  });

  it('looks at indices that a loop captures before it takes from its states', async () => {
    const turned = (indices: Lazy): Lazy =>
      iterate(3, arange(3), (x) => iterate(1, x, (y) => y.take(indices.mul(1), 0)));
    expect((await turned(lazy(Int32Array.of(1, 2, 0))).compute()).toArray()).toEqual([0, 1, 2]);
    expect((await turned(lazy(Int32Array.of(0, 0, 2))).compute()).toArray()).toEqual([0, 0, 2]);
    await expect(turned(lazy(Int32Array.of(0, 3, 2))).compute()).rejects.toThrow('axis 0 of 3 elements: 3');
    // Of a state that no step changes, too.
    const fixed = (indices: Lazy): Lazy =>
      iterate(3, [indices, arange(3)], ([i, x]) => [i, iterate(1, x, (y) => y.take(i.mul(1), 0))])[1];
    expect((await fixed(lazy(Int32Array.of(1, 2, 0))).compute()).toArray()).toEqual([0, 1, 2]);
    await expect(fixed(lazy(Int32Array.of(0, 3, 2))).compute()).rejects.toThrow('axis 0 of 3 elements: 3');
  });

  it('is one kernel with the arithmetic around it, and no copy of the table', () => {
    const i = lazy(new Int32Array(100));
    const large = lazy(new Float32Array(1000), { shape: [250, 4] });
    const looked = large.transpose().take(i.mul(2), 1).neg().exp().sum(0);
    const { steps, bytesWritten } = looked.explain({ device: 'cpu' });
    expect(steps).toHaveLength(1);
    expect(bytesWritten).toBe(400);
  });

  it('does not write over what it still reads', async () => {
    const x = await lazy(new Float32Array([1, 2, 3]))
      .add(0)
      .persist({ device: 'cpu' });
    const turned = x.mul(2).add(x.mul(2).take([2, 1, 0]));
    expect((await turned.compute()).toArray()).toEqual([8, 8, 8]);
  });
});
