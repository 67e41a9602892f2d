/** Pairs of numbers whose quotients and remainders are hard to get right to the bit. */
import { generator } from './random.js';

/** Pairs of a kind that stand next to each other, so that vectors have ordinary ones alone, or others too. */
const STRETCH = 64;

/**
 * Dividends and divisors: near multiples, powers of two and numbers beside them, denormals, zeros and infinities, huge
 * and small quotients, small integers, and random bits.
 */
export function divisionPairs(count: number, seed: number): [Float64Array, Float64Array] {
  const next = generator(seed);
  const [a, b] = [new Float64Array(count), new Float64Array(count)];
  const number = new Float64Array(1);
  const bits = new BigInt64Array(number.buffer);
  const words = new Int32Array(number.buffer);
  /** A number some units in the last place away. */
  const near = (x: number): number => {
    number[0] = x;
    bits[0]! += BigInt(Math.floor(next() * 5) - 2);
    return number[0]!;
  };
  const sign = (): number => (next() < 0.5 ? -1 : 1);
  const sized = (least: number, most: number): number =>
    sign() * (1 + next()) * 2 ** Math.floor(least + next() * (most - least));
  const power = (): number => sign() * 2 ** Math.floor(next() * 60 - 20);
  const random = (): number => {
    words[0] = next() * 2 ** 32;
    words[1] = next() * 2 ** 32;
    return number[0]!;
  };
  const rare = [0, -0, 5e-324, -5e-324, 1e-45, Infinity, -Infinity, NaN, 1.7e308, 3.4e38];
  const oneOf = (): number => rare[Math.floor(next() * rare.length)]!;
  const kinds: (() => [number, number])[] = [
    () => [sized(-5, 20), sized(-5, 5)],
    () => [Math.floor(next() * 1e5), 1 + Math.floor(next() * 300)],
    () => {
      const divisor = sized(-10, 10);
      return [near(Math.floor(next() * 2 ** Math.floor(next() * 22)) * divisor), divisor];
    },
    () => [near(power()), near(power())],
    () => [sized(40, 60), sized(-5, 5)],
    () => [sized(15, 30), sized(-2, 2)],
    () => [sized(-60, -20), sized(0, 40)],
    () => [sized(-1074, -1000), sized(-1074, -1020)],
    () => [sized(-149, -120), sized(-149, -125)],
    () => [next() < 0.1 ? oneOf() : sized(-3, 9), next() < 0.1 ? oneOf() : sized(-3, 3)],
    () => [random(), random()],
  ];
  for (let k = 0; k < count; k++)
    [a[k], b[k]] = kinds[Math.floor(k / STRETCH) % kinds.length]!() as [number, number];
  return [a, b];
}
