/**
 * Large results of the CPU, which become typed arrays when their elements are asked for, and are let go of in
 * time.
 */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hostBytesOf, memory, trim } from '../src/exec/native/native.js';
import {
  ArgumentError,
  arange,
  compile,
  compute,
  type Lazy,
  lazy,
  type NDArray,
  nonzero,
  persist,
} from '../src/index.js';

const CPU = { device: 'cpu' } as const;
const LARGE = 2 ** 19; // of float64: 4 MiB
const inUse = (): number => memory().find(({ device }) => device === 'cpu')!.inUse;

describe('a large result', () => {
  it('is an array like any other', async () => {
    const [x, again] = await compute([arange(LARGE).add(1), arange(LARGE).add(1)], CPU);
    expect([x.shape, x.dtype, x.strides, x.offset, x.size]).toEqual([[LARGE], 'float64', [1], 0, LARGE]);
    expect(x.byteLength).toBe(8 * LARGE);
    expect(Object.keys(x)).toContain('data');
    expect(x.data).toBe(x.data);
    expect(x.data.length).toBe(LARGE);
    expect([x.at(0), x.at(-1)]).toEqual([1, LARGE]);
    // Equal expressions are computed once, and share memory.
    expect(again.data.buffer).toBe(x.data.buffer);
    expect({ ...again }.data).toBe(again.data);
    expect(structuredClone({ ...x }).data).toEqual(x.data);
  });

  it('is computed with before and after its elements were looked at', async () => {
    const double = compile((x: Lazy) => x.mul(2), CPU);
    const once = await double(arange(LARGE));
    const twice = await double(lazy(once));
    const thrice = await double(twice);
    expect([once.at(-1), twice.at(-1), thrice.at(-1)]).toEqual([2, 4, 8].map((k) => k * (LARGE - 1)));
  });

  it('has its elements as any object over it', async () => {
    const x = await arange(LARGE).add(1).compute(CPU);
    const [derived, proxy] = [Object.create(x), new Proxy(x, {})];
    expect(derived.data).toBe(x.data);
    expect(proxy.data).toBe(x.data);
    expect(Object.freeze(await arange(LARGE).add(1).compute(CPU)).data.at(-1)).toBe(LARGE);
  });

  it('keeps its memory while its elements are looked at', async () => {
    const { data } = await arange(LARGE).mul(3).compute(CPU);
    for (let i = 0; i < 40; i++) await arange(LARGE).mul(5).compute(CPU);
    expect(data[LARGE - 1]).toBe(3 * (LARGE - 1));
  });

  it('keeps its memory while somebody has it, though others are collected', async () => {
    const times = compile((x: Lazy, factor: number) => x.mul(factor), CPU);
    const x = lazy(Float64Array.from({ length: LARGE }, (_, k) => k));
    const kept: NDArray[] = [];
    for (let i = 0; i < 60; i++) {
      const result = await times(x, i % 7);
      if (i % 12 === 5) kept.push(result);
    }
    const at = [0, 1, LARGE - 1];
    expect(kept.map((each) => at.map((k) => each.at(k)))).toEqual(
      [5, 17, 29, 41, 53].map((i) => at.map((k) => k * (i % 7))),
    );
  });

  it('is given back once nobody has it, looked at or not', async () => {
    const step = compile((x: Lazy) => x.add(1), CPU);
    const x = lazy(new Float32Array(2 ** 24)); // 64 MiB
    let most = 0;
    let looked = 0;
    for (let i = 0; i < 42; i++) {
      const result = await step(x);
      if (i % 3 === 0) looked += Number(result.at(i));
      await setImmediate();
      most = Math.max(most, inUse());
    }
    expect(looked).toBe(14);
    // Results of 2.6 GiB in all.
    expect(most).toBeLessThan(0.75 * 2 ** 30);
  });

  it('takes turns with others in the memory of a few, from the system once', async () => {
    const step = compile((x: Lazy) => x.add(1), CPU);
    const x = lazy(new Float32Array(2 ** 23)); // 32 MiB
    await trim('cpu');
    const used = inUse();
    const held: number[] = [];
    for (let i = 0; i < 60; i++) {
      await step(x);
      held.push(memory().find(({ device }) => device === 'cpu')!.held - used);
    }
    // Of 60 results of 32 MiB. Those that collections of young objects passed twice, beside other tests, wait for one of
    // the whole heap: it is asked for when they are eight, 256 MiB, and V8 marks while as many more may come.
    const [middle, most] = [30, 59].map((k) => held.toSorted((a, b) => a - b)[k]);
    expect(middle).toBeLessThanOrEqual(8 * 2 ** 25);
    expect(most).toBeLessThanOrEqual(16 * 2 ** 25);
  });
});

describe('a result whose size depends on data', () => {
  const LENGTH = 2 ** 20; // the bound of its int64 positions is 8 MiB
  const places = compile((x: Lazy) => nonzero(x)[0]!, CPU);
  const withOnes = (count: number): Float32Array => new Float32Array(LENGTH).fill(1, LENGTH - count);

  it.each([0, 3, 512, 513, 4000])('of %i elements has the memory of the bound no more', async (count) => {
    await places(withOnes(count));
    const before = inUse();
    const result = await places(withOnes(count));
    expect(inUse() - before).toBeLessThan(2 ** 20);
    expect([...result.data]).toEqual(Array.from({ length: count }, (_, k) => BigInt(LENGTH - count + k)));
    expect(result.shape).toEqual([count]);
  });

  it('is two results that share the bound, of which one is large and one small', async () => {
    const [one, other] = await compute(
      [nonzero(lazy(withOnes(LENGTH)))[0]!, nonzero(lazy(withOnes(5)))[0]!],
      CPU,
    );
    const [again, same] = await compute(
      [nonzero(lazy(withOnes(5)))[0]!, nonzero(lazy(withOnes(5)))[0]!],
      CPU,
    );
    expect([one.size, other.size, again.size, same.size]).toEqual([LENGTH, 5, 5, 5]);
    expect([one.at(-1), other.at(0), again.at(0), same.at(-1)]).toEqual([
      LENGTH - 1,
      LENGTH - 5,
      LENGTH - 5,
      LENGTH - 1,
    ]);
  });
});

describe('bytes on the host', () => {
  it('are refused of a buffer that is none, or was disposed', async () => {
    const [x] = await persist([arange(LARGE)], CPU);
    const buffer = {
      device: 'cpu',
      byteLength: 8,
      disposed: false,
      share: (): never => expect.unreachable(),
      dispose: () => {},
    };
    expect(() => hostBytesOf(buffer)).toThrow(ArgumentError);
    x.dispose();
  });
});
