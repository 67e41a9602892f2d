/** Results of sizes that depend on data, which stay on a GPU: the bytes that are there, whatever the size, without a plan for it. */
import { afterEach, expect, it, vi } from 'vitest';
import { DeviceError, MemoryError } from '../../src/host/errors.js';
import {
  compile,
  compute,
  type Lazy,
  lazy,
  limitMemory,
  nonzero,
  persist,
  synchronize,
  trim,
} from '../../src/index.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

// Few bytes are large enough to be cut before they come to the host.
vi.mock('../../src/exec/run/true-sizes.js', async (original) => ({
  ...(await original<object>()),
  LEAST_CUT_BYTES: 2 ** 15,
}));

const N = 4000;
const device = { device: 'cuda:0' } as const;
const ramp = Float32Array.from({ length: N }, (_, k) => ((k * 7919) % N) / N);
const below = (count: number): Float32Array => Float32Array.of(count / N);
const inUse = (): number => describeSimulator().devices[0]!.inUse;
const counted = (call: string): number => describeSimulator().counts[call] ?? 0;

afterEach(() => {
  setFaults([]);
  expect(takeProblems()).toEqual([]);
});

it('are the first bytes of what was computed: a copy of few, the memory of many', async () => {
  const chosen = compile((x: Lazy, limit: Lazy) => x.slice(x.less(limit)), device);
  const x = await lazy(ramp).persist(device);
  // The program, and the copy of a result of another size.
  for (const count of [10, 20]) (await chosen.persist(x, lazy(below(count)))).dispose();
  await synchronize('cuda:0');
  const before = inUse();
  for (const [count, copies] of [
    [0, 0],
    [1, 1],
    [1234, 1],
    [1700, 0],
    [N, 0],
  ] as const) {
    setFaults([]);
    const result = await chosen.persist(x, lazy(below(count)));
    await synchronize('cuda:0');
    expect(result.shape).toEqual([count]);
    expect([counted('cuMemcpyDtoDAsync_v2'), counted('nvrtcCompileProgram')]).toEqual([copies, 0]);
    expect((await result.compute()).data).toEqual(ramp.filter((v) => v < below(count)[0]!));
    result.dispose();
  }
  await synchronize('cuda:0');
  expect(inUse()).toBe(before);
  x.dispose();
});

it('wherever the axis is, of several results and rows, and of no elements', async () => {
  const x = lazy(ramp).reshape([50, 80]);
  const rows = x.sum(1).greater(39.5);
  const columns = x.sum(0).greater(26);
  const outputs = [
    x.compress(rows, 0),
    x.compress(rows, 0).mul(2),
    x.compress(columns, 1),
    lazy(new Float32Array(0)).reshape([50, 0]).compress(rows, 0),
    x.slice(x.greater(2)),
  ];
  const there = await compute(outputs, { device: 'cpu' });
  const stored = await persist(outputs, device);
  for (const [k, result] of stored.entries()) {
    expect(result.shape).toEqual(there[k]!.shape);
    expect((await result.compute()).data).toEqual(there[k]!.data);
    result.dispose();
  }
});

it('where a copy waits for memory, and where there is none', async () => {
  const long = Float64Array.from({ length: 400_000 }, (_, k) => k);
  const x = await lazy(long).persist(device);
  const chosen = compile((x: Lazy, limit: Lazy) => x.slice(x.less(limit)), device);
  const limited = (count: number): Lazy => lazy(Float64Array.of(count));
  const result = await chosen.persist(x, limited(140_001));
  expect((await result.compute()).data).toEqual(long.subarray(0, 140_001));
  const before = inUse();
  setFaults([{ call: 'cuMemAllocFromPoolAsync', nth: 0, status: 2 }]);
  await expect(chosen.persist(x, limited(135_000))).rejects.toThrow(MemoryError);
  setFaults([]);
  await synchronize('cuda:0');
  expect(inUse()).toBe(before);
  for (const array of [x, result]) array.dispose();
});

it('come to the host alone, where their bounds are large, in tiles where there is no room for those', async () => {
  const long = Float64Array.from({ length: 40_000 }, (_, k) => (k * 7919) % 40_000);
  const x = lazy(long);
  const chosen = (count: number): Lazy => x.slice(x.less(count));
  const before = inUse();
  for (const count of [0, 3, 39_000]) {
    const outputs = [chosen(count), x.sum(), nonzero(x.less(count))[0]!];
    const there = await compute(outputs, { device: 'cpu' });
    for (const [k, result] of (await compute(outputs, device)).entries()) {
      expect(result.shape).toEqual(there[k]!.shape);
      expect(result.data).toEqual(there[k]!.data);
    }
  }
  const tiled = await chosen(3).compute({ ...device, memory: 2 ** 19 });
  expect(tiled.data).toEqual(long.filter((value) => value < 3));
  await synchronize('cuda:0');
  expect(inUse()).toBe(before);
});

it('of compiled functions as well, call by call, and whole where a budget has no room for them', async () => {
  const long = Float64Array.from({ length: 40_000 }, (_, k) => (k * 7919) % 40_000);
  const choose = (x: Lazy, limit: Lazy) => [x.slice(x.less(limit)), x.sum(), nonzero(x.less(limit))[0]!];
  const before = inUse();
  for (const options of [device, { ...device, memory: 2 ** 19 }]) {
    const chosen = compile(choose, options);
    for (const count of [3, 0, 39_000, 3]) {
      setFaults([]);
      const limit = Float64Array.of(count);
      const there = await compute(choose(lazy(long), lazy(limit)), { device: 'cpu' });
      const found = await chosen(long, limit);
      for (const [k, result] of found.entries()) {
        expect(result.shape).toEqual(there[k]!.shape);
        expect(result.data).toEqual(there[k]!.data);
      }
      // Copies of the first bytes of two results, where those are few.
      const copies = options === device && count === 3 ? 2 : 0;
      expect(counted('cuMemcpyDtoDAsync_v2')).toBe(copies);
    }
  }
  await synchronize('cuda:0');
  expect(inUse()).toBe(before);
});

it('where the limit of the process has no room for a copy beside what was computed', async () => {
  const long = Float64Array.from({ length: 400_000 }, (_, k) => k);
  const x = await lazy(long).persist(device);
  const chosen = compile((x: Lazy, limit: Lazy) => x.slice(x.less(limit)), device);
  await trim('cuda:0');
  // The bound has 3.2 MB, the part 1.1.
  await limitMemory(inUse() + 4_000_000, 'cuda:0');
  const result = await chosen.persist(x, lazy(Float64Array.of(135_001)));
  expect((await result.slice([0, 10]).compute()).data).toEqual(long.subarray(0, 10));
  expect([result.size, (await result.max().compute()).item()]).toEqual([135_001, 135_000]);
  for (const array of [x, result]) array.dispose();
  await limitMemory(null, 'cuda:0');
});

it('or not at all: what was computed is given back where a copy fails', async () => {
  const x = lazy(ramp);
  const parts = (): Promise<Lazy[]> =>
    persist([x.slice(x.less(0.01)), x.slice(x.less(0.9)), x.mul(2)], device);
  for (const part of await parts()) part.dispose();
  await synchronize('cuda:0');
  const before = inUse();
  setFaults([{ call: 'cuMemcpyDtoDAsync_v2', nth: 0, status: 1 }]);
  await expect(parts()).rejects.toThrow(DeviceError);
  setFaults([]);
  await synchronize('cuda:0');
  expect(inUse()).toBe(before);
});
