/** Routines that do not fit are done by others that can be cut: with the same results, within budgets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Lazy } from '../../src/api/lazy.js';
import type { DType } from '../../src/graph/dtype.js';
import { packedPlaces } from '../../src/graph/packed-places.js';
import { compactedByColumns, permutedByColumns } from '../../src/graph/pairs-by-columns.js';
import { ranksByCounting } from '../../src/graph/ranks-by-counting.js';
import {
  argsortByColumns,
  distinctByColumns,
  orderByColumns,
  sortByColumns,
} from '../../src/graph/sort-by-columns.js';
import { compute, lazy, loadNpy, nonzero, npy, topK, uniqueAll, uniqueCounts } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers, randomValues } from '../support/random.js';
import { evaluateReference } from '../support/reference.js';

const device = 'cpu';

describe('places by words of bits', () => {
  it.each([1, 2, 31, 32, 33, 64, 95, 200])(
    'are those of the elements that are not 0: %i elements',
    (size) => {
      for (const isKept of [(k: number) => k % 3 === 1, () => true, () => false]) {
        const mask = Array.from({ length: size }, (_, k) => isKept(k));
        const data = Uint8Array.from(mask, Number);
        const [places, length] = evaluateReference(
          packedPlaces(toLazy({ dtype: 'bool', shape: [size], data }).expr),
        );
        const kept = mask.flatMap((is, k) => (is ? [k] : []));
        const all = [...kept, ...new Array<number>(size - kept.length).fill(size - 1)];
        expect(Array.from(places!.data as BigInt64Array, Number)).toEqual(all);
        expect(Number(length!.data[0])).toBe(kept.length);
      }
    },
  );
});

describe('a mask larger than the budget', () => {
  const size = 40_001;
  const x = toLazy(randomValues('float32', [size], 7));
  const mask = x.greater(0.5);

  it.each<[string, Lazy, number]>([
    ['places', nonzero(mask)[0]!, 0.8],
    ['the elements of an input', x.slice(mask), 0.8],
    ['a sum of what is selected', x.slice(mask).mul(3).sum(), 0.8],
    [
      'places of rows and columns',
      toLazy(randomValues('float32', [200, 201], 8))
        .greater(0)
        .argwhere(),
      0.8,
    ],
    ['no places', nonzero(x.greater(1e9))[0]!, 0.8],
  ])('selects %s', async (_, output, bytes) => {
    const [whole] = await compute([output], { device });
    const memory = Math.floor(bytes * size);
    expect(output.plan({ device }).peakBytes).toBeGreaterThan(memory);
    expect(output.plan({ device, memory }).peakBytes).toBeLessThanOrEqual(memory);
    const [within] = await compute([output], { device, memory });
    expect(within!.shape).toEqual(whole!.shape);
    expect(within!.data).toEqual(whole!.data);
  });

  it('is planned as it is computed, with its length, and its counts pass in windows', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-mask-'));
    const path = join(folder, 'x.npy');
    const line = toLazy(randomValues('float32', [2 ** 19], 9));
    try {
      await line.compute({ device, to: npy(path) });
      const read = await loadNpy(path);
      const kept = read.slice(read.greater(0.5));
      const memory = '320KiB';
      expect(kept.plan({ device, memory }).peakBytes).toBeLessThanOrEqual(320 * 2 ** 10);
      expect(kept.plan({ device }).peakBytes).toBeGreaterThan(2 ** 21);
      const within = await kept.compute({ device, memory });
      expect(within.data).toEqual((await line.slice(line.greater(0.5)).compute({ device })).data);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has plans for host memory alone: files need sizes', () => {
    const options = { device, to: npy('never-written.npy') };
    const refused = /axes of known sizes: axis 0 of \(≤40001,\), whose size depends on data/;
    expect(() => x.slice(mask).plan(options)).toThrow(refused);
    expect(() => x.slice(mask).explain(options)).toThrow(refused);
  });
});

describe('the first elements of a row larger than the budget', () => {
  const length = 100_003;
  const integers = toLazy(randomIntegers('int32', [2, length], 9, -300, 300));

  it.each([
    ['the largest, of which many are equal', integers, true],
    ['the least', integers.astype('uint8'), false],
    ['beside NaN', integers.astype('float32').sqrt(), true],
    ['the least beside NaN', integers.astype('float64').sqrt(), false],
  ])('are those of its parts: %s', async (_, x, largest) => {
    const { values, indices } = topK(x.mul(1), 100, { largest });
    const whole = await compute([values, indices], { device });
    const memory = Math.floor(values.plan({ device }).peakBytes / 2.5);
    const within = await compute([values, indices], { device, memory });
    for (const [k, { data }] of within.entries()) expect(data).toEqual(whole[k]!.data);
  });
});

describe('elements at ranks by counting', () => {
  const specials = [Number.NaN, Infinity, -Infinity, 0, -0, 1e-45, -1e-45, 5e-324, -5e-324, 1e300];
  const wide = (k: number): number => Math.sin(k * 1.7) * 10 ** (((k * 7) % 60) - 30);
  const floats = Array.from({ length: 997 }, (_, k) => (k % 9 === 0 ? specials[(k / 9) % 10]! : wide(k)));
  const integers = Array.from({ length: 997 }, (_, k) => BigInt(Math.round(120 * Math.sin(k * 1.7))));
  const LARGE: Partial<Record<DType, readonly [bigint, bigint]>> = {
    int64: [76_861_433_640_456_465n, 0n],
    uint64: [76_861_433_640_456_465n, 120n],
    uint8: [1n, 120n],
  };

  it.each(['float32', 'float64', 'float16', 'int64', 'uint64', 'uint8', 'bool'] as const)(
    'are those of the sorted row: %s',
    async (dtype) => {
      const [factor, offset] = LARGE[dtype] ?? [1n, 0n];
      const whole = integers.map((k) => (k + offset) * factor);
      const x = /float/.test(dtype)
        ? lazy(Float64Array.from(floats)).astype(dtype)
        : dtype === 'uint64'
          ? lazy(BigUint64Array.from(whole))
          : lazy(BigInt64Array.from(whole)).astype(dtype);
      const line = await x.compute({ device });
      const sorted = await lazy(line).sort().compute({ device });
      const ranks = [0, 250, 480, 498, 505, 890, 996];
      const rows = lazy(line).reshape([1, 997]).expr;
      const found = await new Lazy(ranksByCounting(rows, ranks)).compute({ device });
      const expected = ranks.map((rank) => sorted.data[rank]);
      expect(Array.from<number | bigint>(found.data as Float64Array)).toEqual(expected);
    },
  );
});

describe('quantiles of a row larger than the budget', () => {
  it('are those of the row at once', async () => {
    const x = toLazy(randomValues('float32', [2, 70_001], 5)).mul(2);
    for (const output of [x.median(1), x.quantile([0.1, 0.99], 1), x.reshape([-1]).median()]) {
      const [whole] = await compute([output], { device });
      const memory = Math.floor(output.plan({ device }).peakBytes / 3);
      const [within] = await compute([output], { device, memory });
      expect(within!.data).toEqual(whole!.data);
    }
  });

  it('are those of its numbers', async () => {
    const x = toLazy(randomValues('float32', [300_001], 6));
    const output = x.less(0.2).where(Number.NaN, x).nanQuantile(0.3);
    const [whole] = await compute([output], { device });
    const memory = Math.floor(output.plan({ device }).peakBytes / 2);
    const [within] = await compute([output], { device, memory });
    expect(within!.data).toEqual(whole!.data);
  });
});

describe('sorting by columns', () => {
  const specials = [Number.NaN, Infinity, -Infinity, 0, -0, 1, -1, -Number.NaN];
  const length = 4099;
  const values = Float64Array.from({ length: 2 * length }, (_, k) =>
    k % 5 === 0 ? specials[(k / 5) % 8]! : Math.round(300 * Math.sin(k * 1.7)),
  );
  const wholes = BigInt64Array.from({ length: 2 * length }, (_, k) =>
    k % 7 === 0 ? -(2n ** 63n) : k % 11 === 0 ? 2n ** 63n - 1n : BigInt(k % 300) * 76_861_433_640_456_465n,
  );
  const FLOATS = ['float32', 'float64', 'float16'] as const;
  const INTEGERS = ['int64', 'uint64', 'int32', 'uint32', 'uint8', 'bool'] as const;

  it.each([...FLOATS, ...INTEGERS])('gives what a sort of the row gives: %s', async (dtype) => {
    const given = FLOATS.some((float) => float === dtype) ? lazy(values) : lazy(wholes);
    const x = lazy(await given.astype(dtype).reshape([2, length]).compute({ device }));
    const line = x.reshape([-1]);
    const [distinct, count] = distinctByColumns(line.sort().expr);
    for (const descending of [false, true]) {
      const [whole, order, sorted, sortedBy] = await compute(
        [
          x.sort(1, { descending }),
          x.argsort(1, { descending }),
          new Lazy(sortByColumns(x.expr, descending)),
          new Lazy(argsortByColumns(x.expr, descending)),
        ],
        { device },
      );
      expect(sorted!.data).toEqual(whole!.data);
      expect(sortedBy!.data).toEqual(order!.data);
    }
    const [whole, values_, length_] = await compute(
      [line.uniqueValues(), new Lazy(distinct), new Lazy(count)],
      { device },
    );
    expect(Number(length_!.data[0])).toBe(whole!.size);
    expect(values_!.data.slice(0, whole!.size)).toEqual(whole!.data);
  });

  it.each([...FLOATS, ...INTEGERS])('puts pairs in order as gathers would: %s', async (dtype) => {
    const given = FLOATS.some((float) => float === dtype) ? lazy(values) : lazy(wholes);
    const line = lazy(await given.astype(dtype).compute({ device }));
    const mask = lazy(values).greater(-200);
    const order = line.argsort();
    const outputs = [
      line.slice(mask),
      line.take(order),
      line.take(order.argsort()),
      new Lazy(compactedByColumns(mask.expr, line.expr)),
      new Lazy(orderByColumns(line.expr, false).elements),
      new Lazy(permutedByColumns(line.expr, order.expr)),
    ];
    const [kept, sorted, back, ...found] = await compute(outputs, { device });
    expect(found[0]!.data.slice(0, kept!.size)).toEqual(kept!.data);
    expect(found[1]!.data).toEqual(sorted!.data);
    expect(found[2]!.data).toEqual(back!.data);
  });

  it('sorts complex numbers', async () => {
    const x = lazy(values).slice([0, length]);
    const z = x.add(lazy(values).slice([length, null]).mul({ re: 0, im: 1 }));
    const [whole, sorted] = await compute([z.sort(), new Lazy(sortByColumns(z.expr, false))], { device });
    expect(sorted!.data).toEqual(whole!.data);
  });
});

describe('a row larger than the budget', () => {
  const x = toLazy(randomIntegers('int16', [90_001], 3, -4000, 4000)).mul(1);
  const floats = x.slice([0, 20_001]).remainder(257).mul(-0.5);
  const within = (output: Lazy): number => Math.floor(output.plan({ device }).peakBytes / 1.6);

  it.each([
    ['sorted', x.sort()],
    ['sorted by its positions', x.argsort()],
    ['partitioned', x.partition(70)],
    ['made distinct', toLazy(randomIntegers('int16', [500_001], 3, -4000, 4000)).uniqueValues()],
  ])('is %s', async (_, output) => {
    const [whole] = await compute([output], { device });
    const [parts] = await compute([output], { device, memory: within(output) });
    expect(parts!.data).toEqual(whole!.data);
  });

  it.each([
    ['counts', Object.values(uniqueCounts(floats))],
    ['places, inverse and counts', Object.values(uniqueAll(floats))],
  ])('is made distinct with %s', async (_, outputs) => {
    const whole = await compute(outputs, { device });
    const memory = Math.max(...outputs.map(within));
    const parts = await compute(outputs, { device, memory });
    for (const [k, { data }] of parts.entries()) expect(data).toEqual(whole[k]!.data);
  });

  it('is one of a few that are sorted, each by itself', async () => {
    const rows = toLazy(randomIntegers('int16', [3, 60_001], 4, -4000, 4000)).mul(1);
    for (const output of [rows.sort(1), rows.argsort(1, { descending: true })]) {
      const memory = Math.floor(output.plan({ device }).peakBytes / 2.5);
      const [whole] = await compute([output], { device });
      const [parts] = await compute([output], { device, memory });
      expect(parts!.data).toEqual(whole!.data);
    }
  });

  it('is sorted in four sweeps over its columns', async () => {
    const text = String(await x.sort().explain({ device, memory: within(x.sort()) }));
    expect(text.match(/sort, in \d+ tiles of sweep \d/g)).toHaveLength(4);
  });
});
