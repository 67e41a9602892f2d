/** Halves as numbers: every bit pattern, and rounding to nearest even. */
import { describe, expect, it } from 'vitest';
import {
  fromBfloat16Bits,
  fromFloat16Bits,
  toBfloat16,
  toBfloat16Bits,
  toFloat16,
  toFloat16Bits,
} from '../../src/graph/half.js';

describe.each([
  ['float16', fromFloat16Bits, toFloat16Bits, toFloat16, 0x7c00],
  ['bfloat16', fromBfloat16Bits, toBfloat16Bits, toBfloat16, 0x7f80],
] as const)('%s', (_, fromBits, toBits, round, infinity) => {
  it('keeps every value that it has', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = fromBits(bits);
      if (Number.isNaN(value)) expect((bits & 0x7fff) > infinity).toBe(true);
      else if (toBits(value) !== bits || !Object.is(round(value), value))
        expect.fail(`bits ${bits}, value ${value}`);
    }
  });

  it('rounds what lies between two values to the nearer, and halves to even', () => {
    for (let bits = 0; bits < infinity - 1; bits += 7) {
      const [low, high] = [fromBits(bits), fromBits(bits + 1)];
      const middle = low + (high - low) / 2;
      const even = bits % 2 === 0 ? low : high;
      const got = [
        round(middle),
        round(middle - (high - low) / 8),
        round(middle + (high - low) / 8),
        -round(-middle),
      ];
      if (!got.every((value, k) => value === [even, low, high, even][k])) expect.fail(`bits ${bits}: ${got}`);
    }
  });

  it('overflows to infinity', () => {
    expect([round(1e39), round(-1e39), toBits(-Infinity)]).toEqual([Infinity, -Infinity, infinity | 0x8000]);
    expect(round(NaN)).toBeNaN();
  });
});
