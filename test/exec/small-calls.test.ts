/**
 * Calls of compiled functions whose program is small, which are computed between memory that is prepared once: each call
 * reads its arguments as they are then, and its results are its own.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  compile,
  type Lazy,
  LinalgError,
  lazy,
  linalg,
  type NDArray,
  placeholder,
} from '../../src/index.js';

const cpu = { device: 'cpu' } as const;
const COUNT = 100;
const filled = (value: number): Float32Array => new Float32Array(COUNT).fill(value);
const ones = filled(1);

/** A function that was called before, so that its next call finds a program. */
async function total(): Promise<(x: Lazy | Float32Array) => Promise<NDArray>> {
  const sum = compile((x: Lazy, y: Lazy) => x.mul(y).sum(), cpu);
  for (let k = 0; k < 3; k++) await sum(ones, ones);
  return (x) => sum(x, ones);
}

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const numbers = (array: NDArray): number[] => Array.from(array.data, Number);

describe('calls of small programs', () => {
  it('read what their arguments hold when they are called', async () => {
    const sum = await total();
    const changing = filled(1);
    const x = lazy(changing);
    for (const value of [2, 3]) {
      changing.fill(value);
      expect(numbers(await sum(x))).toEqual([value * COUNT]);
    }
    const wide = lazy(Float32Array.from({ length: 3 * COUNT }, (_, k) => k));
    expect(numbers(await sum(wide.slice([COUNT, 2 * COUNT])))).toEqual([149.5 * COUNT]);
    expect(numbers(await sum(await lazy(filled(4)).persist(cpu)))).toEqual([4 * COUNT]);
  });

  it('refuse arguments that have lost their memory, are too short or were never there', async () => {
    const sum = await total();
    const moved = filled(2);
    const x = lazy(moved);
    structuredClone(moved.buffer, { transfer: [moved.buffer as ArrayBuffer] });
    await expect(sum(x)).rejects.toThrow(ArgumentError);
    const buffer = Reflect.construct(ArrayBuffer, [
      4 * COUNT,
      { maxByteLength: 8 * COUNT },
    ]) as ArrayBuffer & {
      resize(byteLength: number): void;
    };
    const resized = lazy(new Float32Array(buffer).fill(3));
    expect(numbers(await sum(resized))).toEqual([3 * COUNT]);
    buffer.resize(8 * COUNT);
    expect(numbers(await sum(resized))).toEqual([3 * COUNT]);
    buffer.resize(2 * COUNT);
    await expect(sum(resized)).rejects.toThrow(ArgumentError);
    await expect(sum(placeholder([COUNT], 'float32'))).rejects.toThrow(/placeholder/);
    const freed = await lazy(ones).persist(cpu);
    freed.dispose();
    await expect(sum(freed)).rejects.toThrow(ArgumentError);
    expect(numbers(await sum(ones))).toEqual([COUNT]);
  });

  it('know the arrays of the call before, whatever else ran the program meanwhile', async () => {
    const [sum, same] = [await total(), await total()];
    const [one, other] = [filled(2), filled(3)];
    const [x, y] = [lazy(one), lazy(other)];
    for (let k = 0; k < 3; k++) {
      one.fill(k);
      expect(numbers(await sum(x))).toEqual([k * COUNT]);
      expect(numbers(await sum(x))).toEqual([k * COUNT]);
      expect(numbers(await same(y))).toEqual([3 * COUNT]);
      expect(numbers(await sum(x))).toEqual([k * COUNT]);
      expect(numbers(await y.mul(lazy(ones)).sum().compute(cpu))).toEqual([3 * COUNT]);
      expect(numbers(await sum(x))).toEqual([k * COUNT]);
    }
    structuredClone(one.buffer, { transfer: [one.buffer as ArrayBuffer] });
    await expect(sum(x)).rejects.toThrow(ArgumentError);
    await expect(sum(x)).rejects.toThrow(ArgumentError);
    expect(numbers(await sum(y))).toEqual([3 * COUNT]);
  });

  it('forget the arrays of a call whose arguments were refused before it ran', async () => {
    const both = compile((x: Lazy, y: Lazy) => x.add(y).sum(), cpu);
    const [x, y] = [lazy(filled(2)), await lazy(ones).persist(cpu)];
    for (let k = 0; k < 3; k++) expect(numbers(await both(x, y))).toEqual([3 * COUNT]);
    const freed = await lazy(ones).persist(cpu);
    freed.dispose();
    const other = lazy(filled(5));
    await expect(both(other, freed)).rejects.toThrow(ArgumentError);
    expect(numbers(await both(other, y))).toEqual([6 * COUNT]);
  });

  it('do not keep a large buffer of which an argument was a small part', async () => {
    const sum = await total();
    const sumOfPart = async (byteLength: number): Promise<WeakRef<ArrayBufferLike>> => {
      const part = new Float32Array(new ArrayBuffer(byteLength), 64, COUNT).fill(2);
      for (let k = 0; k < 3; k++) expect(numbers(await sum(part))).toEqual([2 * COUNT]);
      return new WeakRef(part.buffer);
    };
    const buffers = [await sumOfPart(2 ** 22), await sumOfPart(2 ** 23)];
    for (let k = 0; k < 5; k++) {
      await new Promise((resolve) => setImmediate(resolve));
      gc();
    }
    expect(buffers.map((buffer) => buffer.deref() === undefined)).toEqual([true, true]);
  });

  it('find arrays in the heap of the engine, which moves them until their memory is known', async () => {
    const twice = compile((x: Lazy) => x.mul(2), cpu);
    const small = lazy(Float32Array.of(1, 2, 3));
    const garbage: object[] = [];
    for (let k = 0; k < 2000; k++) {
      garbage.push(new Float32Array(8), new Array(100));
      if (k % 200 === 0) garbage.length = 0;
      expect(numbers(await twice(small))).toEqual([2, 4, 6]);
    }
  });

  it('give results of their own', async () => {
    const parts = compile((x: Lazy) => [x.sum(), x.slice([0, 3]), x.mul(2)], cpu);
    const all: NDArray[][] = [];
    for (let k = 0; k < 4; k++) all.push((await parts(filled(k))) as NDArray[]);
    for (const [k, [sum, first, double]] of all.entries()) {
      expect(numbers(sum!)).toEqual([k * COUNT]);
      expect(numbers(first!)).toEqual([k, k, k]);
      expect(numbers(double!)).toEqual(new Array(COUNT).fill(2 * k));
      expect(Object.isFrozen(sum!.shape)).toBe(true);
    }
    const arrays = all.flat().map(({ data }) => data);
    expect(new Set(arrays).size).toBe(arrays.length);
    expect(new Set(arrays.map(({ buffer }) => buffer)).size).toBe(arrays.length);
  });

  it('give equal results in one memory, and those without elements in memory that may be moved away', async () => {
    const parts = compile(
      (x: Lazy) => [x.sum(), x.add(x.sum()).sum(), x.sum().reshape([1]), x.slice([0, 0])],
      cpu,
    );
    for (let k = 0; k < 4; k++) {
      const [sum, other, again, none] = (await parts(ones)) as [NDArray, NDArray, NDArray, NDArray];
      expect([sum, again, other].map((one) => numbers(one)[0])).toEqual([
        COUNT,
        COUNT,
        COUNT + COUNT * COUNT,
      ]);
      expect(again.data.buffer).toBe(sum.data.buffer);
      expect(other.data.buffer).not.toBe(sum.data.buffer);
      expect(none.shape).toEqual([0]);
      structuredClone(none.data, { transfer: [none.data.buffer as ArrayBuffer] });
    }
  });

  it('tell of calls that fail, and go on', async () => {
    const solve = compile((a: Lazy, b: Lazy) => linalg.solve(a, b), cpu);
    const square = (...values: number[]): Lazy => lazy(Float64Array.from(values), { shape: [2, 2] });
    const b = Float64Array.of(2, 4);
    for (let k = 0; k < 3; k++) {
      expect(numbers(await solve(square(2, 0, 0, 2), b))).toEqual([1, 2]);
      await expect(solve(square(1, 1, 1, 1), b)).rejects.toThrow(LinalgError);
    }
  });
});
