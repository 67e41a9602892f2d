/** Functions of warps in kernels that are functions: on the CPU, the simulated GPU and GPUs. */
import { describe, expect, it } from 'vitest';
import { lazy } from '../../src/api/creation.js';
import { arange } from '../../src/api/ranges.js';
import { backends } from '../support/backends.js';
import { lanesOf, PARTS, placesAbove, rowSums } from '../support/warp-kernels.js';

const devices = backends().filter((name) => name === 'cpu' || name.startsWith('cuda'));

/** `lanesOf` in JavaScript: a list of 48 numbers for each part. */
function expectedLanes(x: readonly number[]): Record<(typeof PARTS)[number], number[]> {
  const each = (of: (at: number, lane: number, warp: readonly number[]) => number): number[] =>
    x.map((_, at) => of(at, at % 32, x.slice(at < 32 ? 0 : 32, at < 32 ? 32 : 48)));
  const maskOf = (warp: readonly number[], holds: (value: number) => boolean): number =>
    warp.reduce((mask, value, lane) => (holds(value) && lane < 31 ? mask | (1 << lane) : mask), 0);
  const folded = (of: (a: number, b: number) => number): number[] =>
    each((_, _lane, warp) => warp.reduce(of));
  return {
    lane: each((_, lane) => 3200 + lane),
    shfl: each((_, _lane, warp) => warp[3]!),
    shflOfFour: each((_, lane, warp) => warp[lane - (lane % 4) + ((lane + 1) % 4)]!),
    up: each((_, lane, warp) => warp[lane < 2 ? lane : lane - 2]!),
    down: each((_, lane, warp) => warp[(lane % 8) + 3 < 8 ? lane + 3 : lane]!),
    xor: each((_, lane, warp) => warp[lane ^ 5]!),
    ballot: each((_, _lane, warp) => maskOf(warp, (value) => value % 3 === 0)),
    any: each((_, _lane, warp) => (warp.some((value) => value > 90) ? 1 : 0)),
    all: each(() => 1),
    matchAny: each((_, lane, warp) => maskOf(warp, (value) => value % 5 === warp[lane]! % 5)),
    matchAll: each((at) => (at < 32 ? 1 : 0)),
    add: folded((a, b) => a + b),
    least: folded((a, b) => Math.min(a, b)),
    most: folded((a, b) => Math.max(a, b)),
    and: each((_, _lane, warp) => warp.map((value) => value | 64).reduce((a, b) => a & b)),
    or: folded((a, b) => a | b),
    bits: folded((a, b) => a ^ b),
    ofSome: each((_, lane, warp) =>
      warp[lane]! % 3 === 0 ? warp.filter((value) => value % 3 === 0).length : -1,
    ),
    active: each(() => 1),
  };
}

describe.each(devices)('functions of warps on %s', (device) => {
  it('exchange, vote, match and reduce among the lanes of a mask', async () => {
    const x = Array.from({ length: 48 }, (_, k) => (k * 37) % 97);
    const y = (await lanesOf(lazy(Int32Array.from(x))).compute({ device })).data as Int32Array;
    const found = Object.fromEntries(PARTS.map((part, k) => [part, [...y.slice(48 * k, 48 * k + 48)]]));
    expect(found).toEqual(expectedLanes(x));
  });

  it('reduce rows of any dtype that CUDA shuffles', async () => {
    const numbers = arange(6 * 70)
      .reshape([6, 70])
      .remainder(11)
      .sub(5);
    // Each is compiled by itself.
    for (const dtype of device === 'cpu'
      ? (['float16', 'float32', 'float64', 'int64'] as const)
      : (['float16'] as const)) {
      const x = numbers.astype(dtype);
      expect(await rowSums(x).compute({ device })).toEqual(await x.sum(1).compute({ device }));
    }
  });

  it('find places with one atomic addition of a warp', async () => {
    const x = Float32Array.from({ length: 150 }, (_, k) => Math.sin(k));
    const { places, count } = placesAbove(x);
    const [found, [n]] = [
      await places.compute({ device }),
      (await count.compute({ device })).data,
    ] as never as [{ data: Int32Array }, Int32Array];
    const wanted = [...x.keys()].filter((k) => x[k]! > 0);
    expect([...found.data.slice(0, n)].sort((a, b) => a - b)).toEqual(wanted);
  });
});
