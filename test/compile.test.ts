/**
 * compile(): traces by signature, arguments and results of every form, captured arrays, refusals; on the CPU.
 */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  type ArrayArgument,
  compile,
  DeviceError,
  type Lazy,
  lazy,
  MemoryError,
  NDArray,
  persist,
  ShapeError,
  zeros,
} from '../src/index.js';

const device = 'cpu';
const ramp = (n: number, scale = 1): Float32Array => Float32Array.from({ length: n }, (_, i) => i * scale);

/** A function that counts how often it is called. */
function counted(): { readonly dot: (x: Lazy, y: Lazy) => Lazy; readonly calls: () => number } {
  let calls = 0;
  const dot = (x: Lazy, y: Lazy): Lazy => {
    calls++;
    return x.mul(y).sum();
  };
  return { dot, calls: () => calls };
}

describe('a compiled function', () => {
  it('reads a view that follows the length of its buffer as it is at the call', async () => {
    const Resizable = ArrayBuffer as unknown as new (
      byteLength: number,
      options: { maxByteLength: number },
    ) => ArrayBuffer & { resize(byteLength: number): void };
    const buffer = new Resizable(16, { maxByteLength: 64 });
    const view = new Float32Array(buffer);
    view.set([1, 2, 3, 4]);
    const next = compile((x: Lazy) => x.add(1), { device });
    for (const length of [4, 4, 2, 4]) {
      buffer.resize(4 * length);
      const under = next(view);
      buffer.resize(64);
      expect((await under).data).toEqual(Float32Array.from({ length }, (_, k) => view[k]! + 1));
      buffer.resize(16);
    }
  });

  it('reads a view of shared memory that grows as it was at the call, as any compute does', async () => {
    const Growable = SharedArrayBuffer as unknown as new (
      byteLength: number,
      options: { maxByteLength: number },
    ) => SharedArrayBuffer & { grow(byteLength: number): void };
    const next = compile((x: Lazy) => x.add(1), { device });
    for (const call of [next, (x: Float32Array) => lazy(x).add(1).compute({ device })]) {
      for (const length of [4, 4, 5]) {
        const buffer = new Growable(4 * length, { maxByteLength: 64 });
        const under = call(new Float32Array(buffer));
        buffer.grow(64);
        expect((await under).data).toEqual(new Float32Array(length).fill(1));
      }
    }
  });

  it('is traced once, and computes with the elements of each call', async () => {
    const { dot, calls } = counted();
    const f = compile(dot, { device });
    for (const scale of [1, 2, 3]) {
      const out = await f(ramp(5), ramp(5, scale));
      expect(out).toBeInstanceOf(NDArray);
      expect([out.dtype, out.shape, out.item()]).toEqual(['float32', [], 30 * scale]);
    }
    expect(calls()).toBe(1);
  });

  it('gives results in the form of what the function gives, lists and objects in each other', async () => {
    const f = compile((x: Lazy) => ({ now: { x, twice: x.mul(2) }, sums: [x.sum(), [x.max()]] }) as const, {
      device,
    });
    for (const scale of [1, 2]) {
      const { now, sums } = await f(ramp(3, scale));
      expect(now.twice.toArray()).toEqual([0, 2 * scale, 4 * scale]);
      expect([sums[0].item(), sums[1][0].item(), Object.keys(now)]).toEqual([
        3 * scale,
        2 * scale,
        ['x', 'twice'],
      ]);
    }
    const kept = await f.persist(ramp(3));
    expect((await kept.sums[1][0].compute()).item()).toBe(2);
    const wrong = (x: Lazy) => ({ now: { x, n: 1 } });
    const refused = compile(wrong as unknown as () => Lazy, { device })(...([ramp(3)] as unknown as []));
    await expect(refused).rejects.toThrow(/a Lazy as result now\.n: 1/);
  });

  it('takes typed arrays, lists, data with a layout, results and handles alike', async () => {
    const { dot, calls } = counted();
    const f = compile(dot, { device });
    const data = ramp(3);
    const result = await lazy(data).add(0).compute({ device });
    const forms: ArrayArgument[] = [data, { data, shape: [3] }, result, lazy(data), ramp(9).subarray(0, 3)];
    for (const form of forms) expect((await f(form, form)).item()).toBe(5);
    expect(calls()).toBe(1);
    expect((await f([1, 2], [3, 4])).item()).toBe(11);
    expect(calls()).toBe(2); // a list is float64
  });

  it('is traced again for another dtype, shape, layout or place', async () => {
    const { dot, calls } = counted();
    const f = compile(dot, { device });
    const x = new Float32Array([1, 2, 3, 4]);
    const square = { data: x, shape: [2, 2] };
    const turned = { data: x, shape: [2, 2], strides: [1, 2] };
    using stored = await lazy(square).persist({ device });
    expect((await f(x, x)).item()).toBe(30);
    expect((await f(square, square)).item()).toBe(30);
    expect((await f(square, turned)).item()).toBe(1 + 6 + 6 + 16);
    expect((await f(square, stored)).item()).toBe(30);
    expect((await f(Float64Array.from(x), x)).item()).toBe(30);
    expect(calls()).toBe(5);
    for (const y of [square, turned, stored]) await f(square, y);
    expect(calls()).toBe(5);
  });

  it('reads strided arrays from where they begin', async () => {
    const f = compile((x: Lazy) => x.mul(10), { device });
    const view = (offset: number): ArrayArgument => ({
      data: ramp(12),
      shape: [2, 2],
      strides: [-3, 2],
      offset,
    });
    expect((await f(view(3))).toArray()).toEqual([
      [30, 50],
      [0, 20],
    ]);
    expect((await f(view(9))).toArray()).toEqual([
      [90, 110],
      [60, 80],
    ]);
  });

  it('reads the part of an argument that it uses', async () => {
    const f = compile((x: Lazy) => x.slice([2, 4]).add(x.slice(-1)), { device });
    expect([...(await f(ramp(6))).data]).toEqual([7, 8]);
    expect([...(await f(ramp(6, 2))).data]).toEqual([14, 16]);
  });

  it('gives results in the form that the function gives', async () => {
    const list = compile((x: Lazy) => [x.min(), x.max()] as const, { device });
    const [low, high] = await list(ramp(4));
    expect([low.item(), high.item()]).toEqual([0, 3]);
    const named = compile((x: Lazy) => ({ mean: x.mean(), same: x, empty: zeros([0, 2]) }), { device });
    const { mean, same, empty } = await named(ramp(4));
    expect([mean.item(), same.toArray(), empty.shape]).toEqual([1.5, [0, 1, 2, 3], [0, 2]]);
  });

  it('hands other arguments to the function, and is traced for each of their values', async () => {
    let calls = 0;
    const f = compile(
      (x: Lazy, axis: number, keepdims?: boolean) => {
        calls++;
        return x.sum(axis, { keepdims });
      },
      { device },
    );
    const x = { data: ramp(6), shape: [2, 3] };
    expect((await f(x, 0, undefined)).toArray()).toEqual([3, 5, 7]);
    expect((await f(x, 1, true)).toArray()).toEqual([[3], [12]]);
    expect((await f(x, 0, undefined)).toArray()).toEqual([3, 5, 7]);
    expect(calls).toBe(2);
    const scaled = compile((y: Lazy, by: number) => y.mul(by), { device });
    const out = await scaled(new Float32Array([1, 2]), 0.5);
    expect([out.dtype, ...out.data]).toEqual(['float32', 0.5, 1]);
    expect([...(await scaled(new Float32Array([1, 2]), Number.NaN)).data]).toEqual([Number.NaN, Number.NaN]);
  });

  it('reads captured arrays as they are at each call', async () => {
    const weights = new Float32Array([1, 2, 3]);
    const f = compile((x: Lazy) => x.mul(weights).sum(), { device });
    expect((await f(ramp(3))).item()).toBe(8);
    weights[2] = 10;
    expect((await f(ramp(3))).item()).toBe(22);
  });

  it('persists results, and takes them again', async () => {
    const step = compile((x: Lazy, v: Lazy) => ({ x: x.add(v), v: v.mul(0.5) }), { device });
    let state: { x: Lazy; v: Lazy } = { x: lazy(ramp(3)), v: lazy(new Float32Array([8, 8, 8])) };
    for (let i = 0; i < 4; i++) state = await step.persist(state.x, state.v);
    expect([state.x.device, ...(await state.x.compute()).data]).toEqual(['cpu', 15, 16, 17]);
    expect([...(await state.v.compute()).data]).toEqual([0.5, 0.5, 0.5]);
  });

  it('computes what is still to be computed together with the function', async () => {
    const { dot, calls } = counted();
    const f = compile(dot, { device });
    const x = lazy(ramp(3)).add(1);
    expect((await f(x, ramp(3))).item()).toBe(8);
    using stored = await f.persist(x, ramp(3));
    expect((await stored.compute()).item()).toBe(8);
    expect(calls()).toBe(2);
    const keep = compile((y: Lazy) => y.greater(1), { device });
    expect((await keep(lazy(new Uint8Array([0, 3]), { dtype: 'bool' }).add(1))).toArray()).toEqual([
      false,
      true,
    ]);
  });

  it('has many calls under way', async () => {
    const { dot, calls } = counted();
    const f = compile(dot, { device });
    const outs = await Promise.all(Array.from({ length: 50 }, (_, k) => f(ramp(4), ramp(4, k))));
    expect(outs.map((out) => out.item())).toEqual(outs.map((_, k) => 14 * k));
    expect(calls()).toBe(1);
  });

  it('gives each call results of its own, however small and whichever turn they are handed over in', async () => {
    const f = compile((x: Lazy) => [x.sum(), x.mul(2), x.greater(1), x.max()], { device });
    await f(ramp(3));
    const sizes = [3, 16, 17];
    const outs = await Promise.all(
      Array.from({ length: 150 }, (_, k) => f(ramp(sizes[k % 3]!, k)).then((all) => [k, all] as const)),
    );
    for (const [k, [sum, twice, isLarge, most]] of outs) {
      const x = ramp(sizes[k % 3]!, k);
      expect(sum!.item()).toBe(x.reduce((a, b) => a + b));
      expect(twice!.data).toEqual(x.map((v) => 2 * v));
      expect(isLarge!.data).toEqual(Uint8Array.from(x, (v) => Number(v > 1)));
      expect(most!.item()).toBe(x.at(-1));
    }
    const buffers = outs.flatMap(([, all]) => all.map(({ data }) => data.buffer));
    expect(new Set(buffers).size).toBe(4 * 150);
    expect(outs[0]![1].map(({ data }) => data.buffer.byteLength)).toEqual([4, 12, 3, 4]);
  });

  it('keeps the traces of the signatures used last', async () => {
    const { dot, calls } = counted();
    const f = compile(dot, { device });
    for (let n = 1; n <= 17; n++) await f(ramp(n), ramp(n));
    await f(ramp(17), ramp(17));
    await f(ramp(2), ramp(2));
    expect(calls()).toBe(17);
    await f(ramp(1), ramp(1));
    expect(calls()).toBe(18);
  });

  it('gives the bits that compute gives', async () => {
    const softmax = (x: Lazy): Lazy => x.softmax(1).log1p();
    const data = ramp(60, 0.37);
    const f = compile(softmax, { device });
    const expected = await softmax(lazy(data, { shape: [6, 10] })).compute({ device });
    for (let i = 0; i < 3; i++) expect((await f({ data, shape: [6, 10] })).data).toEqual(expected.data);
  });

  it('explains and plans what a call does', async () => {
    const dot = (x: Lazy, y: Lazy): Lazy => x.mul(y).sum();
    const f = compile(dot, { device });
    const direct = dot(lazy(ramp(4)), lazy(ramp(4)));
    expect(f.explain(ramp(4), ramp(4)).toString()).toBe(direct.explain({ device }).toString());
    expect(f.plan(ramp(4), ramp(4)).peakBytes).toBe(direct.plan({ device }).peakBytes);
  });

  it('does not read the elements of what it was traced with', async () => {
    const f = compile((x: Lazy) => x.add(1), { device });
    f.explain(new Float32Array([5, 5]));
    expect([...(await f(new Float32Array([1, 2]))).data]).toEqual([2, 3]);
  });
});

describe('compile refuses', () => {
  const x = ramp(3);
  const array = (value: unknown): ArrayArgument => value as ArrayArgument;

  it.each<[string, () => unknown]>([
    ['what is no function', () => compile(lazy(x) as unknown as () => Lazy)],
    ['options that it does not know', () => compile((y: Lazy) => y, { signal: 1 } as object)],
    ['a memory that is no size', () => compile((y: Lazy) => y, { memory: 'much' })],
  ])('%s', (_, act) => {
    expect(act).toThrow(ArgumentError);
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'a function that awaits',
      () => compile((async (y: Lazy) => y) as unknown as (y: Lazy) => Lazy, { device })(x),
      /a Lazy as what the function gives: a Promise .*await nothing/,
    ],
    [
      'a function that gives data',
      () => compile(((y: Lazy) => [y, x]) as unknown as (y: Lazy) => Lazy, { device })(x),
      /a Lazy as result 1: Float32Array/,
    ],
    [
      'a function that gives nothing',
      () => compile(((_: Lazy) => undefined) as unknown as (y: Lazy) => Lazy, { device })(x),
      /a Lazy as what the function gives: undefined/,
    ],
    [
      'too few arguments',
      () => compile((y: Lazy, z: Lazy) => y.add(z), { device })(...([x] as unknown as [Lazy, Lazy])),
      /2 arguments: 1/,
    ],
    [
      'an object that is no array',
      () => compile((y: Lazy) => y, { device })(array({})),
      /a typed array, nested lists/,
    ],
    [
      'a function as an argument',
      () => compile((y: Lazy) => y, { device })(array(() => x)),
      /a typed array, nested lists/,
    ],
  ])('%s', async (_, act, message) => {
    await expect(act()).rejects.toThrow(message);
    await expect(act()).rejects.toThrow(ArgumentError);
  });

  it('a function that computes', async () => {
    let inner: Promise<unknown> = Promise.resolve();
    const f = compile(
      (y: Lazy) => {
        inner = y.sum().compute({ device });
        inner.catch(() => undefined);
        return y;
      },
      { device },
    );
    await f(x);
    await expect(inner).rejects.toThrow(/a function that builds a graph: one that computes/);
  });

  it("shapes that do not fit, with the function's own error, and tries again", async () => {
    const f = compile((y: Lazy, z: Lazy) => y.add(z), { device });
    await expect(f(ramp(3), ramp(4))).rejects.toThrow(ShapeError);
    expect([...(await f(ramp(2), ramp(2))).data]).toEqual([0, 2]);
  });

  it('devices that do not exist, budgets that nothing fits into, and arrays that are gone', async () => {
    await expect(compile((y: Lazy) => y.add(1), { device: 'tpu' })(x)).rejects.toThrow(DeviceError);
    const tight = compile((y: Lazy) => y.matmul(y).matmul(y), { device, memory: 1 });
    await expect(tight({ data: ramp(64 * 64), shape: [64, 64] })).rejects.toThrow(MemoryError);
    const f = compile((y: Lazy) => y.add(1), { device });
    await f(ramp(8));
    const data = new Float32Array(8);
    const later = lazy(data);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    await expect(f(later)).rejects.toThrow(ArgumentError);
    const [stored] = await persist([ramp(8)], { device });
    await f(stored);
    stored.dispose();
    await expect(f(stored)).rejects.toThrow(/disposed/);
  });

  it('an error that names the line of the function', async () => {
    const f = compile((y: Lazy) => y.matmul(y).matmul(y), { device, memory: 1 });
    await expect(f({ data: ramp(64 * 64), shape: [64, 64] })).rejects.toThrow(/compile\.test\.ts/);
  });
});
