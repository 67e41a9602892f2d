/**
 * Large results of the CPU, which become typed arrays when their elements are asked for, and are let go of in
 * time.
 */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hostBytesOf, memory } from '../src/exec/native/native.js';
import { ArgumentError, arange, compile, compute, type Lazy, lazy, persist } from '../src/index.js';

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

  it('keeps its memory while its elements are looked at', async () => {
    const { data } = await arange(LARGE).mul(3).compute(CPU);
    for (let i = 0; i < 40; i++) await arange(LARGE).mul(5).compute(CPU);
    expect(data[LARGE - 1]).toBe(3 * (LARGE - 1));
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
    // Results of 2.6 GiB in all; a little more than 1 GiB may wait for the collector.
    expect(most).toBeLessThan(2 * 2 ** 30);
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
