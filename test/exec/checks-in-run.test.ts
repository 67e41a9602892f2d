/** Keys that the run of their sums looks through, instead of a pass ahead of it. */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Watcher, watch } from '../../src/exec/run/watch.js';
import { compile, compute, type Lazy, lazy, npy, RangeArgumentError, zeros } from '../../src/index.js';

const ROWS = 2 ** 13;
const BINS = 50;
const CPU = { device: 'cpu' } as const;

const keysWith = (wrong?: number): Int32Array => {
  const keys = Int32Array.from({ length: ROWS }, (_, k) => ((k * 7919) % (2 * BINS)) - BINS);
  if (wrong !== undefined) keys[ROWS - 3] = wrong;
  return keys;
};
const VALUES = Float32Array.from({ length: ROWS }, (_, k) => Math.fround(Math.sin(k)));
const sums = (keys: Lazy, values: Lazy): Lazy => zeros([BINS], { dtype: 'float32' }).at(keys).add(values);

/** The sums, rounded once. */
function expected(keys: Int32Array, values: Float32Array): Float32Array {
  const bins = new Float64Array(BINS);
  for (const [k, key] of keys.entries()) bins[key < 0 ? key + BINS : key]! += values[k]!;
  return Float32Array.from(bins);
}

/** How many computes a function begins. */
async function computesOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const compute: Watcher['compute'] = () => {
    count++;
    return { chosen: () => {}, running: () => {}, ended: () => {} };
  };
  watch({ compute, batch: () => ({ jobFailed: () => {}, ended: () => {} }) });
  await work();
  watch(undefined);
  return count;
}

describe('keys of sums on the CPU', () => {
  afterEach(() => watch(undefined));

  it('have no pass of their own', async () => {
    const keys = keysWith();
    const result = sums(lazy(keys), lazy(VALUES));
    expect(await computesOf(() => result.compute(CPU))).toBe(1);
    expect((await result.compute(CPU)).data).toEqual(expected(keys, VALUES));

    const compiled = compile(sums, CPU);
    await compiled(lazy(keys), lazy(VALUES));
    expect(await computesOf(() => compiled(lazy(keys), lazy(VALUES)))).toBe(1);
    // Those of a view have one, and so has an index of the sums.
    const flipped = sums(lazy(keys).flip(), lazy(VALUES));
    expect(await computesOf(() => flipped.compute(CPU))).toBe(2);
    const taken = sums(lazy(keys), lazy(VALUES)).take(lazy(Int32Array.of(3)));
    expect(await computesOf(() => taken.compute(CPU))).toBe(2);
  });

  it('are found in runs at the same time as others, beside other results, and not once a run is cancelled', async () => {
    const right = sums(lazy(keysWith()), lazy(VALUES));
    const { data } = await right.compute(CPU);
    const compiled = compile(sums, CPU);
    await compiled(lazy(keysWith()), lazy(VALUES));
    const wrongOf = (turn: number): number => BINS + turn;
    const settled = await Promise.allSettled(
      Array.from({ length: 16 }, (_, turn) => {
        const keys = lazy(turn % 2 === 0 ? keysWith() : keysWith(wrongOf(turn)));
        return turn % 4 < 2 ? compiled(keys, lazy(VALUES)) : sums(keys, lazy(VALUES)).compute(CPU);
      }),
    );
    for (const [turn, one] of settled.entries()) {
      if (one.status === 'fulfilled') expect([turn % 2, one.value.data]).toEqual([0, data]);
      else
        expect([turn % 2, String(one.reason)]).toEqual([1, expect.stringMatching(`: ${wrongOf(turn)}\\b`)]);
    }
    const wrong = sums(lazy(keysWith(BINS)), lazy(VALUES));
    await expect(compute([right, wrong], CPU)).rejects.toThrow(
      `expected indices from ${-BINS} to ${BINS - 1} for axis 0`,
    );
    const controller = new AbortController();
    const running = wrong.compute({ ...CPU, signal: controller.signal });
    controller.abort();
    await expect(running).rejects.toThrow('aborted');
  });

  it('are looked through ahead of a run that writes a file, or that leaves its results on a device', async () => {
    const path = join(tmpdir(), `weft-checks-${process.pid}.npy`);
    const result = sums(lazy(keysWith(BINS)), lazy(VALUES));
    await expect(result.compute({ ...CPU, to: npy(path) })).rejects.toThrow(RangeArgumentError);
    expect(existsSync(path)).toBe(false);
    expect(await computesOf(() => sums(lazy(keysWith()), lazy(VALUES)).persist(CPU))).toBe(2);
  });

  it.each([
    ['float32', VALUES],
    ['infinite', VALUES.map((v, k) => (k === 7 ? Number.POSITIVE_INFINITY : v))],
    ['far apart', VALUES.map((v, k) => (k % 2 === 0 ? v : v * 1e-38))],
  ])('are found where they are out of range: %s', async (_, values) => {
    for (const [wrong, dtype] of [
      [BINS, 'int32'],
      [-BINS - 1, 'int64'],
    ] as const) {
      const keys = lazy(keysWith(wrong)).astype(dtype);
      const stored = lazy(await keys.compute(CPU));
      const result = sums(stored, lazy(values));
      const error = await result.compute(CPU).catch((found: unknown) => found);
      expect(error).toBeInstanceOf(RangeArgumentError);
      expect(String(error)).toMatch(`${wrong}`);
      expect(String(error)).toMatch('checks-in-run.test.ts');
      const compiled = compile(sums, CPU);
      const right = lazy(await lazy(keysWith()).astype(dtype).compute(CPU));
      const before = await compiled(right, lazy(values));
      await expect(compiled(stored, lazy(values))).rejects.toThrow(RangeArgumentError);
      expect((await compiled(right, lazy(values))).data).toEqual(before.data);
    }
  });
});
