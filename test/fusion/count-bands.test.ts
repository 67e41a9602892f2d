/** Counts within neighbouring bands compare each element once with each bound. */
import { describe, expect, it } from 'vitest';
import { compute, explain, type Lazy, lazy, placeholder } from '../../src/index.js';

const device = 'cpu';
const X = placeholder([100_000], 'float32');
const band = (x: Lazy, low: number, high: number): Lazy => x.greaterEqual(low).logicalAnd(x.less(high)).sum();
const bands = (x: Lazy, bounds: readonly number[]): Lazy[] =>
  bounds.slice(1).map((high, k) => band(x, bounds[k]!, high));
const SIXTEEN = Array.from({ length: 17 }, (_, k) => k / 16);

/** Comparisons of the kernels, and their names and the bytes that they read. */
function workOf(outputs: readonly Lazy[]): { comparisons: number; kernels: number; bytesRead: number } {
  const { steps } = explain(outputs, { device });
  const text = steps.map((step) => step.text).join('\n');
  return {
    comparisons: text.match(/= (greater|less)(Equal)? /g)!.length,
    kernels: steps.length,
    bytesRead: steps.reduce((sum, step) => sum + step.bytesRead, 0),
  };
}

describe('counts of elements', () => {
  it('in 16 neighbouring bands are one kernel that compares 17 times', () => {
    expect(workOf(bands(X, SIXTEEN))).toEqual({ comparisons: 17, kernels: 1, bytesRead: 400_000 });
  });

  it('in bands that share no bounds stay as they are', () => {
    expect(workOf([band(X, 0, 1), band(X, 2, 3), band(X, 4, 5)]).comparisons).toBe(6);
    expect(workOf([band(X, 0, 1)]).comparisons).toBe(2);
  });

  it('are those that each band has alone, with NaN, infinities and zeros of either sign', async () => {
    const values = [NaN, Infinity, -Infinity, -0, 0, 0.25, 0.5, 0.5, 0.75, 1, -1, 2];
    const x = lazy(new Float32Array(values));
    const closed = (low: number, high: number): Lazy => x.greater(low).logicalAnd(x.lessEqual(high)).sum();
    for (const [build, wanted] of [
      [() => bands(x, [-Infinity, 0, 0.5, 1, Infinity]), [2, 3, 3, 2]],
      [() => [closed(-Infinity, 0), closed(0, 0.5), closed(0.5, 1), closed(1, Infinity)], [3, 3, 2, 2]],
      [() => [band(x, 0, 0.5), band(x, 0.5, 0.5), band(x, 0.5, 1), band(x, 1, 0)], [3, 0, 3, 0]],
      [() => [band(x, 0, Number.NaN), band(x, 0, 1), band(x, 1, 2)], [0, 6, 1]],
    ] as const) {
      const counts = await compute(build(), { device });
      expect(counts.map((count) => Number(count.item()))).toEqual(wanted);
      const alone = await Promise.all(build().map((each) => each.compute({ device })));
      expect(counts).toEqual(alone);
    }
  });

  it('are counted along an axis, of integers, and in no elements', async () => {
    const x = lazy(new Int32Array(60).map((_, k) => k % 7)).reshape(3, 20);
    const along = (low: number, high: number): Lazy => x.greaterEqual(low).logicalAnd(x.less(high)).sum(1);
    const [first, second, third] = await compute([along(0, 2), along(2, 4), along(4, 7)], { device });
    expect([first, second, third].map((each) => [...(each!.data as BigInt64Array)].map(Number))).toEqual([
      [6, 6, 6],
      [6, 6, 6],
      [8, 8, 8],
    ]);
    const none = lazy(new Float32Array(0));
    expect((await compute(bands(none, [0, 1, 2, 3]), { device })).map((each) => Number(each.item()))).toEqual(
      [0, 0, 0],
    );
  });
});
