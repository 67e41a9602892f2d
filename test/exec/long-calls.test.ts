/**
 * Calls of compiled functions whose program runs on threads of the CPU: each reads the arrays that it is given, its results
 * are its own, and what is refused is refused as in calls of others.
 */
import { describe, expect, it } from 'vitest';
import { computeTargetOf, devicesOf } from '../../src/exec/run/compute-target.js';
import { LongCalls } from '../../src/exec/run/long-calls.js';
import { programOf } from '../../src/exec/run/program.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
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
/** Takes longer than to wake a thread. */
const COUNT = 2 ** 20;
const filled = (value: number): Float32Array => new Float32Array(COUNT).fill(value);
const numbers = (array: NDArray): number[] => Array.from(array.data, Number);

/** A function that was called before, so that its next call finds a program. */
async function called<Output>(
  fn: (x: Lazy) => Output,
): Promise<(x: Lazy | Float32Array) => Promise<NDArray>> {
  const compiled = compile(fn as (x: Lazy) => Lazy, cpu);
  for (let k = 0; k < 3; k++) await compiled(filled(1));
  return compiled;
}

async function callsOf(...results: readonly Lazy[]): Promise<LongCalls | undefined> {
  const canonical = canonicalize(results.map(({ expr }) => expr));
  const program = await programOf(canonical, computeTargetOf(devicesOf(canonical, cpu), cpu, 'host'));
  return LongCalls.of(
    program,
    results.map(({ expr }) => expr),
    canonical,
  );
}

describe('calls of long programs', () => {
  it('are of the CPU, and of programs that do not fail by their values', async () => {
    expect(await callsOf(lazy(filled(1)).sum())).toBeInstanceOf(LongCalls);
    const square = lazy(new Float64Array(300 * 300)).reshape([300, 300]);
    expect(await callsOf(linalg.inv(square))).toBeUndefined();
    const inverse = compile((x: Lazy) => linalg.inv(x).sum(), cpu);
    const ones = new Float64Array(300 * 300);
    for (let k = 0; k < 300; k++) ones[k * 301] = 1;
    for (let k = 0; k < 2; k++) expect(numbers(await inverse(lazy(ones).reshape([300, 300])))).toEqual([300]);
    await expect(inverse(square)).rejects.toThrow(LinalgError);
  });

  it('read the arrays that they are given, as a whole or in part, several calls at once', async () => {
    const sum = await called((x) => x.sum());
    const wide = lazy(new Float32Array(3 * COUNT).fill(2, COUNT).fill(5, 2 * COUNT));
    const [changing, ...others] = [
      filled(3),
      wide.slice([COUNT, 2 * COUNT]),
      wide.slice([2 * COUNT, 3 * COUNT]),
    ];
    const all = await Promise.all(
      [changing, ...others, await lazy(filled(4)).persist(cpu)].map((x) => sum(x)),
    );
    expect(all.map((each) => numbers(each)[0]! / COUNT)).toEqual([3, 2, 5, 4]);
    changing.fill(7);
    expect(numbers(await sum(changing))).toEqual([7 * COUNT]);
  });

  it('give results of their own, large and small ones, some of them equal', async () => {
    const parts = await called((x) => ({
      twice: x.mul(2),
      sum: x.sum(),
      again: x.mul(2),
      none: x.slice([0, 0]),
    }));
    const [one, other] = (await Promise.all([parts(filled(1)), parts(filled(2))])) as unknown as Record<
      'twice' | 'sum' | 'again' | 'none',
      NDArray
    >[];
    expect([one!, other!].map(({ sum }) => numbers(sum))).toEqual([[COUNT], [2 * COUNT]]);
    expect([one!, other!].map(({ twice, again }) => [twice.data[COUNT - 1], again.data[0]])).toEqual([
      [2, 2],
      [4, 4],
    ]);
    expect([one!.twice.shape, one!.none.shape]).toEqual([[COUNT], [0]]);
    expect(Object.isFrozen(one!.sum.shape)).toBe(true);
  });

  it('refuse arrays that have lost their memory, are too short or were never there', async () => {
    const sum = await called((x) => x.mul(3).sum());
    const moved = filled(2);
    const x = lazy(moved);
    structuredClone(moved.buffer, { transfer: [moved.buffer as ArrayBuffer] });
    await expect(sum(x)).rejects.toThrow(ArgumentError);
    const buffer = Reflect.construct(ArrayBuffer, [
      4 * COUNT,
      { maxByteLength: 8 * COUNT },
    ]) as ArrayBuffer & { resize(byteLength: number): void };
    const resized = lazy(new Float32Array(buffer).fill(3));
    const running = sum(resized);
    buffer.resize(2 * COUNT);
    expect(numbers(await running)).toEqual([9 * COUNT]);
    await expect(sum(resized)).rejects.toThrow(ArgumentError);
    await expect(sum(placeholder([COUNT], 'float32'))).rejects.toThrow(/placeholder/);
    const freed = await lazy(filled(1)).persist(cpu);
    freed.dispose();
    await expect(sum(freed)).rejects.toThrow(ArgumentError);
    expect(numbers(await sum(filled(1)))).toEqual([3 * COUNT]);
  });
});
