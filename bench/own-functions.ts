/**
 * Functions of the user's own that `own-functions-cpu.ts` measures: of two float64 numbers from 0 to 1, or of two int32
 * numbers from 0 to 31. Each is the text that JavaScript runs as well.
 */
type Function2 = (x: number, y: number) => number;

const FLOATS: Readonly<Record<string, Function2>> = {
  squared_difference: (x, y) => (x - y) * (x - y),
  difference_or_root: (x, y) => {
    const z = (x - y) * (x - y);
    return z > 0.5 ? Math.sqrt(z) : z;
  },
  relative_difference: (x, y) => (2 * (x - y)) / (x + y),
  gaussian: (x, y) => Math.exp(-0.5 * x * x) * Math.cos(y),
  power: (x, y) => (x + 1) ** y,
  mandelbrot: (x, y) => {
    const [a, b] = [3 * x - 2, 3 * y - 1.5];
    let [re, im, n] = [0, 0, 0];
    while (n < 100 && re * re + im * im <= 4) {
      const next = re * re - im * im + a;
      im = 2 * re * im + b;
      re = next;
      n++;
    }
    return n;
  },
  halvings: (x, y) => {
    let [z, n] = [1 + 1000 * x, 0];
    while (z > y) {
      z *= 0.5;
      n++;
    }
    return n;
  },
  common_divisor: (x, y) => {
    let [a, b] = [Math.floor(1e5 * x), Math.floor(1e5 * y)];
    while (b !== 0) [a, b] = [b, a % b];
    return a;
  },
};

/** Loops around loops of integers, whose limits are rounded floats. */
const NESTED_FLOATS: Readonly<Record<string, Function2>> = {
  pair_remainders: (x, y) => {
    const [n, k] = [Math.floor(16 * x), 2 + Math.floor(8 * y)];
    let sum = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) sum += (i * j) % k;
    return sum;
  },
  primes_below: (x) => {
    const n = Math.floor(64 * x);
    let count = 0;
    for (let p = 2; p < n; p++) {
      let isPrime = true;
      for (let d = 2; d * d <= p; d++) {
        if (p % d === 0) {
          isPrime = false;
          break;
        }
      }
      if (isPrime) count++;
    }
    return count;
  },
  longest_collatz: (x) => {
    const n = Math.floor(16 * x);
    let longest = 0;
    for (let s = 1; s <= n; s++) {
      let [v, steps] = [s, 0];
      while (v !== 1) {
        v = v % 2 === 0 ? v / 2 : 3 * v + 1;
        steps++;
      }
      longest = Math.max(longest, steps);
    }
    return longest;
  },
  circle_points: (x) => {
    const r = Math.floor(16 * x);
    let count = 0;
    for (let i = 0; i <= r; i++) for (let j = 0; j <= r; j++) if (i * i + j * j <= r * r) count++;
    return count;
  },
  xor_sum: (x, y) => {
    const n = Math.floor(6 * y + 6 * x);
    let sum = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) sum += i ^ j;
    return sum;
  },
  power_sums: (x, y) => {
    const [n, m] = [Math.floor(8 * x), 3 + Math.floor(1000 * y)];
    let sum = 0;
    for (let i = 1; i <= n; i++) {
      let [base, e, power] = [i, 13 + i, 1];
      while (e > 0) {
        if (e & 1) power = (power * base) % m;
        base = (base * base) % m;
        e >>= 1;
      }
      sum += power;
    }
    return sum;
  },
};

/** Loops around loops of integers, whose limits are integers. */
const NESTED_INTEGERS: Readonly<Record<string, Function2>> = {
  divisor_sums: (x) => {
    let sum = 0;
    for (let i = 1; i < x; i++) for (let d = 1; d <= i; d++) if (i % d === 0) sum += d;
    return sum;
  },
  coprime_pairs: (x) => {
    let count = 0;
    for (let i = 1; i < x; i++) {
      for (let j = 1; j < 16; j++) {
        let [a, b] = [i, j];
        while (b !== 0) [a, b] = [b, a % b];
        if (a === 1) count++;
      }
    }
    return count;
  },
  digit_sums: (x, y) => {
    let sum = 0;
    for (let i = 0; i < x; i++) for (let v = i * i + y; v > 0; v = Math.floor(v / 10)) sum += v % 10;
    return sum;
  },
  bit_counts: (x, y) => {
    let count = 0;
    for (let i = y; i < x + 16; i++) for (let v = i; v !== 0; v &= v - 1) count++;
    return count;
  },
  generator_walks: (x, y) => {
    let [state, sum] = [y, 0];
    for (let i = 0; i < x; i++) {
      state = (1103 * state + 12345) % 65536;
      for (let j = 0; j < state % 8; j++) sum += (state >> j) & 1;
    }
    return sum;
  },
  right_triangles: (x) => {
    let count = 0;
    for (let a = 1; a < x; a++) {
      for (let b = a; b < 16; b++) {
        let c = b;
        while (c * c < a * a + b * b) c++;
        if (c * c === a * a + b * b) count++;
      }
    }
    return count;
  },
};

/** Each function, and the dtype of its arguments. */
export const OWN_FUNCTIONS: readonly {
  readonly name: string;
  readonly dtype: 'float64' | 'int32';
  readonly fn: Function2;
}[] = [
  ...Object.entries({ ...FLOATS, ...NESTED_FLOATS }).map(([name, fn]) => ({
    name,
    dtype: 'float64' as const,
    fn,
  })),
  ...Object.entries(NESTED_INTEGERS).map(([name, fn]) => ({ name, dtype: 'int32' as const, fn })),
];
