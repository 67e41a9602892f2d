/** The search for the units of a tile, from where they are expected. */
import { describe, expect, it } from 'vitest';
import { firstWhere, lastWhere } from '../../src/exec/tiles/sweep-windows.js';

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, k) => first + k);

describe('the search for units', () => {
  it('finds the same wherever it begins', () => {
    for (const low of [0, 3])
      for (const high of range(low, low + 9))
        for (const bound of range(low - 2, high + 2))
          for (const near of [undefined, ...range(low - 3, high + 3)]) {
            const least = Math.max(low, Math.min(high, bound));
            expect(firstWhere(low, high, (n) => n >= bound, near)).toBe(least);
            expect(lastWhere(low, high, (n) => n <= bound, near)).toBe(least);
          }
  });

  it('asks twice where units are as expected, and a few times more where they are near', () => {
    const asked = (near?: number): number => {
      let times = 0;
      const holds = (n: number): boolean => {
        times++;
        return n >= 777_777;
      };
      expect(firstWhere(0, 2 ** 20, holds, near)).toBe(777_777);
      return times;
    };
    expect([777_777, 777_776, 777_780].map((near) => asked(near))).toEqual([2, 2, 5]);
    expect(asked()).toBe(20);
  });
});
