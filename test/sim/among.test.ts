/** Whether integers are among those of a long set, on a GPU: by bits of the set's range, and by a hash table where it is wide. */
import { describe, expect, it } from 'vitest';
import { lazy } from '../../src/index.js';

/** No multiple of what a thread reads at once. */
const SIZE = 2 ** 18 + 5;
const SEED = 20261127;

/** Uniform numbers of 32 bits by a linear congruential generator. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  };
}

const TYPES = {
  int8: Int8Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const;

/** By dtype: spans of sets, some of which are beyond a table for so many elements, and where they begin. */
const CASES: readonly (readonly [keyof typeof TYPES, span: number, from: bigint, count: number])[] = [
  ['int8', 40, -20n, 4096],
  ['uint16', 30_000, 35_000n, 4100],
  ['int32', 4 * SIZE, -300_000n, 5000],
  ['int32', 2 ** 32, -(2n ** 31n), 5003],
  ['uint32', 2000, 2n ** 32n - 2000n, 4096],
  ['int64', 50_000, -(2n ** 63n), 4097],
  ['uint64', 2 ** 64, 0n, 4111],
  ['uint64', 2 ** 40, 2n ** 63n - 2n ** 39n, 4099],
];

describe('integers among those of a long set', () => {
  it.each(CASES)(
    `of %s in a span of %d from %d, %d of them, are found, seed ${SEED}`,
    async (dtype, span, from, count) => {
      const next = generator(SEED + count);
      const some = (): bigint => from + BigInt(Math.floor((next() / 2 ** 32) * span));
      const own = TYPES[dtype];
      const array = (size: number, value: (k: number) => bigint): Int32Array => {
        const made = new own(size) as Int32Array;
        const isWide = made instanceof BigInt64Array || (made as object) instanceof BigUint64Array;
        for (let k = 0; k < size; k++) made[k] = (isWide ? value(k) : Number(value(k))) as number;
        return made;
      };
      const set = array(count, (k) => (k === 7 ? from : k === 9 ? from + BigInt(span) - 1n : some()));
      // A third from the set, others in and beside its span, round the ends of the dtype.
      const x = array(SIZE, (k) =>
        k % 3 === 0 ? BigInt(set[next() % count]!) : k % 3 === 1 ? some() : some() + BigInt(span) / 2n,
      );
      const known = new Set<number | bigint>(set);
      for (const invert of [false, true]) {
        const sought = lazy(x).isin(lazy(set), { invert });
        const { steps } = await sought.explain({ device: 'cuda' });
        expect(steps.some(({ name }) => name === 'among')).toBe(true);
        const { data } = await sought.compute({ device: 'cuda' });
        let wrong = 0;
        for (let k = 0; k < SIZE; k++) if (Boolean(data[k]) === (known.has(x[k]!) === invert)) wrong++;
        expect(wrong).toBe(0);
      }
    },
  );

  it('is a search in the kernel around it within a budget, of few elements, and of fewer than the set has', async () => {
    const set = lazy(Int32Array.from({ length: 5000 }, (_, k) => 3 * k));
    const x = lazy(Int32Array.from({ length: SIZE }, (_, k) => k));
    const names = async (options: object): Promise<string[]> =>
      (
        await x
          .isin(set)
          .sum()
          .explain({ device: 'cuda', ...options })
      ).steps.map(({ name }) => name);
    expect(await names({})).toContain('among');
    expect(await names({ memory: 2 ** 20 })).not.toContain('among');
    const few = await x.slice([0, 1000]).isin(set).explain({ device: 'cuda' });
    expect(few.steps.map(({ name }) => name)).not.toContain('among');
    const inSet = async (size: number): Promise<boolean> => {
      const { steps } = await x.isin(lazy(new Int32Array(size))).explain({ device: 'cuda' });
      return steps.some(({ name }) => name === 'among');
    };
    expect([await inSet(SIZE), await inSet(SIZE + 1)]).toEqual([true, false]);
    expect(
      Number(
        (
          await x
            .isin(set)
            .sum()
            .compute({ device: 'cuda', memory: 2 ** 20 })
        ).item(),
      ),
    ).toBe(5000);
  });
});
