/** Arrays updated by index, on every backend, against loops over their elements. */
import { describe, expect, it } from 'vitest';
import { DTypeError, type Lazy, lazy, RangeArgumentError, ShapeError, zeros } from '../../src/index.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';

const numbers = (count: number, step = 1): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => k * step);
const table = (): Lazy => lazy(numbers(12)).reshape([3, 4]);
const ids = Int32Array.of(2, 0, 2, -1);

async function valuesOf(device: string, outputs: readonly Lazy[]): Promise<number[][]> {
  const results = await run(device, outputs);
  return results.map(({ data }) => Array.from(data as Float32Array, Number));
}

/** The result of a loop over the elements at some places, one value for each. */
function looped(
  places: readonly number[],
  values: readonly number[],
  update: (element: number, value: number) => number,
): number[] {
  const result = Array.from(numbers(12));
  places.forEach((place, k) => {
    result[place] = update(result[place]!, values[k % values.length]!);
  });
  return result;
}

const UPDATES = {
  set: (_: number, value: number) => value,
  add: (a: number, b: number) => a + b,
  subtract: (a: number, b: number) => a - b,
  multiply: (a: number, b: number) => a * b,
  min: (a: number, b: number) => Math.min(a, b),
  max: (a: number, b: number) => Math.max(a, b),
} as const;
const names = Object.keys(UPDATES) as (keyof typeof UPDATES)[];

describe.each(backends())('on %s, an update', (device) => {
  it.each(names)('by %s goes to rows, elements, ranges and masks', async (name) => {
    const update = UPDATES[name];
    const values = numbers(16, 3).subarray(1);
    const rows = lazy(numbers(16, 3)).reshape([4, 4]);
    const [byRow, byElement, byRange, byMask] = await valuesOf(device, [
      table().at(ids)[name](rows),
      table()
        .at(ids, Int32Array.of(1, 3, 1, 0))
        [name](lazy(values.slice(0, 4))),
      table().at([1, null], '::-2')[name](5),
      table().at(table().greater(6))[name](4),
    ]);
    const line = [2, 0, 2, 2].flatMap((row) => [0, 1, 2, 3].map((k) => 4 * row + k));
    expect(byRow).toEqual(looped(line, Array.from(numbers(16, 3)), update));
    expect(byElement).toEqual(looped([9, 3, 9, 8], Array.from(values.slice(0, 4)), update));
    expect(byRange).toEqual(looped([7, 5, 11, 9], [5], update));
    expect(byMask).toEqual(looped([7, 8, 9, 10, 11], [4], update));
  });

  it.each(names)(
    'by %s goes to masks of rows, of columns and of more, beside numbers and ranges',
    async (name) => {
      const shape = [2, 3, 4];
      const cube = (): Lazy => lazy(numbers(24)).reshape(shape);
      const bools = (...values: readonly number[]): Lazy => lazy(Uint8Array.from(values)).astype('bool');
      const [planes, rows, columns] = [bools(0, 1), bools(1, 0, 1), bools(0, 1, 1, 0)];
      const cells = cube().slice(0).remainder(5).less(2);
      const isCell = (j: number, k: number): boolean => (4 * j + k) % 5 < 2;
      const isColumn = (k: number): boolean => k === 1 || k === 2;
      const three = lazy(numbers(3, 2));
      const four = lazy(numbers(4, 2));
      type Place = readonly [i: number, j: number, k: number];
      const jobs: readonly (readonly [Lazy, (at: Place) => number | undefined])[] = [
        [cube().at(planes)[name](5), ([i]) => (i === 1 ? 5 : undefined)],
        [cube().at(planes)[name](four), ([i, , k]) => (i === 1 ? 2 * k : undefined)],
        [cube().at(null, rows)[name](four), ([, j, k]) => (j !== 1 ? 2 * k : undefined)],
        [
          cube().at('...', columns)[name](three.expandDims(1)),
          ([, j, k]) => (isColumn(k) ? 2 * j : undefined),
        ],
        [
          cube().at(1, '::-2', columns)[name](7),
          ([i, j, k]) => (i === 1 && j !== 1 && isColumn(k) ? 7 : undefined),
        ],
        // In NumPy, too, the axis of the mask comes first here.
        [
          cube().at(0, null, columns)[name](three),
          ([i, j, k]) => (i === 0 && isColumn(k) ? 2 * j : undefined),
        ],
        [cube().at(null, cells)[name](3), ([, j, k]) => (isCell(j, k) ? 3 : undefined)],
        [cube().at(-1, cells)[name](3), ([i, j, k]) => (i === 1 && isCell(j, k) ? 3 : undefined)],
      ];
      const found = await valuesOf(
        device,
        jobs.map(([job]) => job),
      );
      jobs.forEach(([, valueAt], n) => {
        const expected = Array.from(numbers(24), (element, at) => {
          const value = valueAt([Math.floor(at / 12), Math.floor(at / 4) % 3, at % 4]);
          return value === undefined ? element : UPDATES[name](element, value);
        });
        expect(found[n], `job ${n}`).toEqual(expected);
      });
    },
  );

  it('goes to rows of lists as to those of an array', async () => {
    const rows = lazy(numbers(16, 3)).reshape([4, 4]);
    const listed = [[2, 0, 2, -1]];
    const jobs = names.flatMap((name) => [table().at(listed)[name](rows), table().at(ids)[name](rows)]);
    const found = await valuesOf(device, jobs);
    for (let k = 0; k < found.length; k += 2) expect(found[k]).toEqual(found[k + 1]);
    const nested = [[[0], [-1]]];
    const [inTwo, dropped, clipped] = await valuesOf(device, [
      table()
        .at(nested)
        .set(lazy(numbers(8)).reshape([2, 1, 4])),
      table()
        .at([[0, 3]], { mode: 'drop' })
        .set(7),
      table()
        .at([[0, 30]], { mode: 'clip' })
        .set(7),
    ]);
    expect(inTwo).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7]);
    expect(dropped).toEqual([7, 7, 7, 7, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(clipped).toEqual([7, 7, 7, 7, 4, 5, 6, 7, 7, 7, 7, 7]);
    expect(() =>
      table()
        .at([[0, 3]])
        .set(7),
    ).toThrow(/\[at\.set\].* from -3 to 2 .*: 3/);
    expect((await valuesOf(device, [table().at([[]]).set(7)]))[0]).toEqual(Array.from(numbers(12)));
  });

  it('stands beside other arithmetic, keeps its dtype and changes nothing where nothing is selected', async () => {
    const x = table();
    const [sum, same, whole] = await valuesOf(device, [
      x.mul(2).at(ids).add(1).sum(1),
      x.at([0, 0]).set(7),
      x
        .astype('int8')
        .at(ids)
        .add(lazy(Int8Array.of(127))),
    ]);
    expect(sum).toEqual([16, 44, 88]);
    expect(same).toEqual(Array.from(numbers(12)));
    expect(whole).toEqual(
      [127, -128, -127, -126, 4, 5, 6, 7, -123, -122, -121, -120].map((v, k) =>
        k > 7 ? ((k + 3 * 127 + 128) % 256) - 128 : v,
      ),
    );
  });

  it('keeps -0 where it adds nothing, and NaN where there was one', async () => {
    const x = lazy(Float32Array.of(-0, -0, 1, Number.NaN));
    const [sum] = await valuesOf(device, [x.at(Uint8Array.of(1, 2)).add(lazy(Float32Array.of(0, -1)))]);
    expect(sum).toEqual([-0, 0, 0, Number.NaN]);
  });
});

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

describe.each(devices)('on %s, an update', (device) => {
  it('is refused indices out of range, unless a mode says what they are', async () => {
    const wrong = Int32Array.of(0, 3);
    const set = table().at(wrong).set(0).compute({ device });
    await expect(set).rejects.toThrow(RangeArgumentError);
    await expect(set).rejects.toThrow(/\[at\.set\].* from -3 to 2 .*: 3\n +made at .*updates\.test\.ts/s);
    await expect(table().at(null, Int32Array.of(4)).add(1).compute({ device })).rejects.toThrow(
      /axis 1.*: 4/,
    );
    const { data } = await table().at(wrong, { mode: 'drop' }).set(0).compute({ device });
    expect([...data].map(Number)).toEqual([0, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('groups rows by keys', async () => {
    const groups = table().groupBy(Uint8Array.of(1, 0, 1), 3);
    expect((await groups.sum().compute({ device })).toArray()).toEqual([
      [4, 5, 6, 7],
      [8, 10, 12, 14],
      [0, 0, 0, 0],
    ]);
    expect((await groups.prod().compute({ device })).toArray()).toEqual([
      [4, 5, 6, 7],
      [0, 9, 20, 33],
      [1, 1, 1, 1],
    ]);
    expect((await groups.mean().slice([0, 2]).compute({ device })).toArray()).toEqual([
      [4, 5, 6, 7],
      [4, 5, 6, 7],
    ]);
    expect((await groups.max().slice(1).compute({ device })).toArray()).toEqual([8, 9, 10, 11]);
    expect((await groups.min().slice(1).compute({ device })).toArray()).toEqual([0, 1, 2, 3]);
    expect([...(await groups.count().compute({ device })).data]).toEqual([1n, 2n, 0n]);
  });
});

describe('an update', () => {
  it('by a mask takes options, which say nothing of it', async () => {
    const x = lazy([3, -1, 2]);
    const updated = x.at(x.less(0), { mode: 'clip' }).add(5);
    expect((await updated.compute({ device: 'cpu' })).toArray()).toEqual([3, 4, 2]);
  });

  it('by one mask of two axes goes to the places where both are', async () => {
    const three = lazy(Uint8Array.of(1, 0, 1)).astype('bool');
    const updated = zeros([3, 3])
      .at(three, three)
      .set(lazy([1, 2, 3]).slice(three));
    expect((await updated.compute({ device: 'cpu' })).toArray()).toEqual([
      [1, 0, 0],
      [0, 0, 0],
      [0, 0, 3],
    ]);
  });

  it('refuses values and masks that do not fit', () => {
    const x = table();
    expect(() => x.at(ids).set(lazy(numbers(3)))).toThrow(ShapeError);
    expect(() => x.at(lazy(Uint8Array.of(1, 0)).astype('bool')).set(1)).toThrow(ShapeError);
    const three = lazy(Uint8Array.of(1, 0, 1)).astype('bool');
    expect(() => x.at(null, three).set(1)).toThrow('a mask of the sizes of axes from 1 of (3, 4) on');
    expect(() => x.at(three, null, 0).set(1)).toThrow(ShapeError);
    // The places of two masks meet, which are as many as the data say.
    const square = x.slice(null, [0, 3]);
    expect(() => square.at(three, three.logicalNot()).set(1)).toThrow('persist() first');
    expect(() => x.at(three).set(lazy(numbers(5)))).toThrow('(5,) and (3, 4)');
    const cells = x.reshape([3, 2, 2]).slice(0).greater(1);
    const lines = lazy(numbers(3)).expandDims(1);
    expect(() => x.reshape([3, 2, 2]).at(null, cells).set(lines)).toThrow(
      'values of at most 0 axes, or of all 3',
    );
    expect(() => x.astype('int32').at(0).add(1.5)).toThrow(DTypeError);
    expect(() => x.astype('bool').at(0).subtract(true)).toThrow(DTypeError);
    expect(() => x.astype('int32').at(0).multiply(1.5)).toThrow(DTypeError);
    expect(() => x.at(5).set(1)).toThrow(ShapeError);
    expect(() => x.groupBy(numbers(3), 2)).toThrow(DTypeError);
  });
});
