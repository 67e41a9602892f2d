/**
 * Running through the handle on the CPU: compute, several results, persist, explain, abort, and refusals at
 * compute.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  compute,
  DeviceError,
  explain,
  full,
  Lazy,
  lazy,
  MemoryError,
  memory,
  NDArray,
  persist,
  plan,
  profile,
  ShapeError,
  zeros,
} from '../src/index.js';

const device = 'cpu';
const x = lazy(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3] });

const withoutCounts = !existsSync('/proc/meminfo');
const why = withoutCounts ? ' (skipped: the system does not say how much is free)' : '';

describe('compute', () => {
  it('gives an NDArray', async () => {
    const out = await x.mul(2).sum(0).compute({ device });
    expect(out).toBeInstanceOf(NDArray);
    expect([out.dtype, out.shape, [...out.data]]).toEqual(['float32', [3], [10, 14, 18]]);
    expect(String(out)).toBe('[10. 14. 18.]');
  });

  it('gives several results in order, data among them', async () => {
    const [low, high, same] = await compute([x.min(), x.max(), [1, 2]], { device });
    expect([low.item(), high.item(), same.toArray()]).toEqual([1, 6, [1, 2]]);
    expect(await compute([], { device })).toEqual([]);
  });

  it('gives results by name, and in lists and objects in each other', async () => {
    const { low, mean } = await compute({ low: x.min(), mean: x.mean() }, { device });
    expect([low.item(), mean.item()]).toEqual([1, 3.5]);
    const nested = await compute({ data: [1, 2], sums: [x.sum(0), x.sum(1)], more: { n: 5 } }, { device });
    expect(nested.data.toArray()).toEqual([1, 2]); // a list of numbers is one array
    expect(nested.sums.map((each) => each.toArray())).toEqual([
      [5, 7, 9],
      [6, 15],
    ]);
    expect([nested.more.n.item(), await compute({}, { device })]).toEqual([5, {}]);
    const rows = await compute({ rows: [[low, 2], [3]] }, { device });
    expect(rows.rows.map((row) => (row instanceof NDArray ? 'array' : row.length))).toEqual([2, 'array']);
    const profiled = await profile({ sum: x.sum() }, { device });
    expect(profiled.result.sum.item()).toBe(21);
    const { kept } = await persist({ kept: x.mul(2) }, { device });
    expect([kept.device, (await kept.max().compute()).item()]).toEqual(['cpu', 12]);
    expect(explain({ a: x.sum(), b: x.max() }, { device }).steps.length).toBeGreaterThan(0);
    expect(plan({ a: x.sum() }, { device }).peakBytes).toBe(plan([x.sum()], { device }).peakBytes);
  });

  it('refuses objects that hold anything else', async () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const wrong of [{ a: 'x' }, { a: new Map() }, new Map(), { a: null }, circle, 5, null]) {
      await expect(compute(wrong as never, { device })).rejects.toThrow(ArgumentError);
    }
  });

  it('gives the elements of any dtype as JavaScript data', async () => {
    const values = [true, 2n, { re: 1, im: -1 }, 0.5];
    const results = await compute(
      values.map((value) => lazy([value]).repeat(2)),
      { device },
    );
    expect(results.map((result) => result.toArray())).toEqual(values.map((value) => [value, value]));
    const half = await lazy([0.1]).astype('float16').compute({ device });
    expect(half.item()).toBe(0.0999755859375);
  });

  it('gives arrays without elements', async () => {
    const out = await zeros([0, 3]).add(1).compute({ device });
    expect([out.shape, out.data.length, `${out}`]).toEqual([[0, 3], 0, '[]']);
  });

  it('reads strided and broadcast data where it is', async () => {
    const data = new Float64Array([0, 1, 2, 3, 4, 5]);
    const view = lazy({ data, shape: [2, 2], strides: [-3, 2], offset: 3 });
    expect((await view.add(0).compute({ device })).toArray()).toEqual([
      [3, 5],
      [0, 2],
    ]);
  });

  it.each<[string, () => Promise<unknown>, unknown]>([
    ['an unknown device', () => x.compute({ device: 'tpu' }), DeviceError],
    ['a device that is no text', () => x.compute({ device: 1 as unknown as string }), ArgumentError],
    ['an unknown option', () => x.compute({ devise: 'cpu' } as object), ArgumentError],
    ['one array without a list', () => compute(x as unknown as Lazy[]), ArgumentError],
    ['ragged data', () => compute([[[1], [1, 2]]]), ShapeError],
  ])('rejects %s', async (_, act, error) => {
    await expect(act()).rejects.toThrow(error as new () => Error);
  });

  it('rejects an array that lost its memory after it was wrapped', async () => {
    const data = new Float32Array(8);
    const later = lazy(data).add(1);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    await expect(later.compute({ device })).rejects.toThrow(ArgumentError);
  });

  it.skipIf(withoutCounts)(
    `rejects a result without host memory, before the system ends the process${why}`,
    async () => {
      const sum = (path: string, entry: RegExp): number =>
        [...readFileSync(path, 'utf8').matchAll(entry)].reduce(
          (total, [, count]) => total + Number(count),
          0,
        );
      // All memory of the machine, whatever others use of it; a virtual machine may begin without some.
      const all =
        sum('/proc/zoneinfo', /^ *present +(\d+)$/gm) * 4096 +
        sum('/proc/meminfo', /^SwapTotal: *(\d+) kB$/gm) * 1024;
      const large = full([all + 2 ** 30], 1, { dtype: 'int8' });
      const { rss, heapTotal } = process.memoryUsage();
      // For the case that it begins to fill memory that is not there.
      const abort = new AbortController();
      const watch = setInterval(() => {
        if (process.memoryUsage.rss() > rss + 2 ** 29) abort.abort();
      }, 10);
      const running = large.persist({ device, signal: abort.signal });
      const refused: unknown = await running
        .catch((error: unknown) => error)
        .finally(() => clearInterval(watch));
      expect(refused).toBeInstanceOf(MemoryError);
      const said = /expected \d+ bytes of host memory: about (\d+) are available/.exec(String(refused));
      expect(Number(said?.[1])).toBeLessThanOrEqual(all - heapTotal);
    },
  );

  it("rejects with the signal's reason", async () => {
    const reason = new Error('enough');
    await expect(x.compute({ device, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('persist', () => {
  it('keeps results on the device, until they are freed', async () => {
    const kept = await x.add(1).persist({ device });
    expect([kept instanceof Lazy, kept.device, kept.shape, kept.dtype]).toEqual([
      true,
      'cpu',
      [2, 3],
      'float32',
    ]);
    expect((await kept.sum().compute()).item()).toBe(27);
    const view = kept.slice(0);
    kept.dispose();
    kept.dispose();
    for (const array of [kept, view, kept.sum()]) {
      await expect(array.compute()).rejects.toThrow(ArgumentError);
      await expect(array.persist()).rejects.toThrow(
        '[compute] expected arrays that were not disposed of: 6 elements of float32 on cpu',
      );
    }
  });

  it('gives equal results memory that is freed with the last of them', async () => {
    const inUse = (): number => memory().find((use) => use.device === device)!.inUse;
    const before = inUse();
    const size = 2 ** 20;
    const equal = () => arange(size, { dtype: 'float32' }).add(1);
    for (const order of [
      [0, 1, 2],
      [2, 0, 1],
      [1, 2, 0],
    ]) {
      const kept = await persist([equal(), equal(), equal().reshape([2, size / 2])], { device });
      expect(inUse() - before).toBeLessThan(8 * size);
      for (const [gone, k] of order.entries()) {
        kept[k]!.dispose();
        kept[k]!.dispose();
        await expect(kept[k]!.max().compute()).rejects.toThrow(ArgumentError);
        for (const left of order.slice(gone + 1))
          expect((await kept[left]!.max().compute()).item()).toBe(size);
      }
      expect(inUse()).toBe(before);
    }
  });

  it('keeps several, empty ones included', async () => {
    const [a, b] = await persist([arange(3), zeros([0])], { device });
    expect([a.device, b.device]).toEqual(['cpu', undefined]);
    expect((await compute([a.add(1), b], { device })).map((out) => out.toArray())).toEqual([[1, 2, 3], []]);
  });
});

describe('explain', () => {
  it('tells what compute would do, as text and as JSON', () => {
    const explanation = x.exp().sum(0).explain({ device });
    expect(String(explanation)).toContain('exp');
    expect(JSON.parse(JSON.stringify(explanation))).toMatchObject({ device: 'cpu' });
    expect(String(explain([x.sum(), x.max()], { device }))).toContain('cpu');
  });
  it('refuses what compute refuses', () => {
    expect(() => x.explain({ device: 'tpu' })).toThrow(DeviceError);
    expect(() => x.explain({ devise: 'cpu' } as object)).toThrow(ArgumentError);
  });
});
