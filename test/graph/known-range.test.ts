/** Ranges that indices are known to lie in: every element is in the range, and what is known needs no check. */
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { DType } from '../../src/graph/dtype.js';
import { knownRange } from '../../src/graph/known-range.js';
import { isOwnError } from '../../src/host/errors.js';
import { arange, compute, concat, iterate, type Lazy, lazy, nonzero, stack, where } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { Draw, randomIntegers, randomValues } from '../support/random.js';

const SIZE = 6;
const INTEGERS = ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64', 'bool'] as const;

/** What makes another array of six elements of two. */
const OPS: readonly ((draw: Draw) => readonly [name: string, of: (x: Lazy, y: Lazy) => Lazy])[] = [
  (draw) => {
    const [low, high] = [draw.below(9) - 4, draw.below(9) + 2];
    return [`clip ${low} ${high}`, (x) => x.clip(low, high)];
  },
  (draw) => {
    const by = 1 + draw.below(7);
    return [`remainder ${by}`, (x) => x.remainder(by)];
  },
  (draw) => {
    const by = 1 + draw.below(4);
    return [`floorDivide ${by}`, (x) => x.floorDivide(by)];
  },
  (draw) => {
    const dtype = draw.of<DType>([...INTEGERS, 'float32', 'float64']);
    return [dtype, (x) => x.astype(dtype)];
  },
  () => ['add', (x, y) => x.add(y)],
  () => ['subtract', (x, y) => x.astype('int32').sub(y)],
  () => ['multiply', (x, y) => x.mul(y)],
  () => ['minimum', (x, y) => x.minimum(y)],
  () => ['maximum', (x, y) => x.maximum(y)],
  () => ['and', (x, y) => x.astype('int32').bitwiseAnd(y.astype('int32'))],
  () => ['where', (x, y) => where(x.greater(y), x, y)],
  () => ['floor', (x) => x.astype('float64').div(3).floor()],
  () => ['round', (x) => x.astype('float32').mul(0.3).round()],
  () => ['trunc and ceil', (x) => x.astype('float64').mul(0.7).ceil().sub(x.astype('float64').trunc())],
  () => ['argsort', (x) => x.argsort()],
  () => ['argmax', (x) => x.reshape([2, 3]).argmax(1).broadcastTo([3, 2]).reshape([SIZE])],
  () => ['pad', (x) => x.slice([1, 3]).pad([[2, 2]])],
  () => ['join', (x, y) => concat([x.slice([0, 3]), y.slice([2, 5]).astype(x.dtype)])],
  () => ['stack', (x, y) => stack([x.max(), y.min().astype(x.dtype)]).take([0, 1, 0, 1, 1, 0])],
  () => ['take', (x, y) => x.take(y.argsort())],
  () => ['nonzero', (x) => nonzero(x.greater(0))[0]!.sum().broadcastTo([SIZE])],
];

const ENDS = [
  ...[0, 1, -1, 2, 3, 7, 9, 127, -128, 255, 256, 32767, -32768, 65536, 2 ** 31 - 1, -(2 ** 31), 2 ** 32],
  ...[
    2 ** 53 - 1,
    -(2 ** 53),
    2n ** 53n + 1n,
    2 ** 62,
    2 ** 63,
    -(2n ** 63n),
    2n ** 63n - 1n,
    2n ** 64n - 1n,
  ],
] as const;
const FRACTIONS = [0.5, -0.5, 1.5, -1e10, 1e300, -1e300, NaN, Infinity, -Infinity, -0];
const DTYPES = [...INTEGERS, 'float16', 'bfloat16', 'float32', 'float64'] as const;
const BINARY = ['add', 'sub', 'mul', 'minimum', 'maximum', 'remainder', 'floorDivide', 'bitwiseAnd'] as const;

/** Six operations on extreme numbers: every result is in its range. How many ranges are less than their dtypes'. */
async function extremes(draw: Draw, seed: number): Promise<number> {
  const first = (): Lazy => {
    if (draw.below(2) === 0)
      return lazy(Float64Array.from({ length: SIZE }, () => Number(draw.of([...ENDS, ...FRACTIONS]))));
    const values = BigInt64Array.from({ length: SIZE }, () => BigInt.asIntN(64, BigInt(draw.of(ENDS))));
    return draw.below(2) === 0 ? lazy(values) : lazy(new BigUint64Array(values.buffer));
  };
  const steps: readonly ((x: Lazy, y: Lazy) => Lazy)[] = [
    (x) => x.clip(draw.of(ENDS), draw.of(ENDS)),
    (x) => x[draw.of(BINARY)](draw.of([...ENDS, ...FRACTIONS])),
    (x, y) => x[draw.of(BINARY)](y),
    (x) => x.astype(draw.of(DTYPES)),
    (x) => x.astype(draw.of(INTEGERS)),
    (x, y) => where(x.greater(y), x, draw.of(ENDS)),
    (x) => x[draw.of(['floor', 'ceil', 'trunc', 'round'] as const)](),
    (x, y) =>
      x.slice(y.greater(0))[draw.of(['max', 'min', 'argmax', 'argmin'] as const)]().broadcastTo([SIZE]),
  ];
  let [x, y] = [first(), first()];
  const all: Lazy[] = [];
  while (all.length < 6) {
    try {
      const made = draw.of(steps)(x, y);
      [x, y] = [made, draw.below(2) === 0 ? x : y];
      all.push(made);
    } catch (error) {
      // Numbers that the dtype does not hold, bits of floats.
      if (!isOwnError(error)) throw error;
    }
  }
  let known = 0;
  const results = await compute(all.map((each) => (isHalf(each) ? each.astype('float32') : each)));
  for (const [k, { data }] of results.entries()) {
    const { low, high } = knownRange(all[k]!.expr);
    for (const value of data)
      expect(!(value < low) && !(value > high), `seed ${seed}, ${k}: ${value} in ${low} … ${high}`).toBe(
        true,
      );
    if (high - low < 2 ** 31) known++;
  }
  return known;
}

const isHalf = ({ dtype }: Lazy): boolean => dtype === 'float16' || dtype === 'bfloat16';

describe('the range of an array', () => {
  it('has all elements, whatever is computed', async () => {
    let known = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const draw = new Draw(seed);
      const first = (): Lazy => {
        const dtype = draw.of(INTEGERS);
        return draw.below(3) === 0
          ? toLazy(randomValues('float32', [SIZE], seed))
          : toLazy(randomIntegers(dtype, [SIZE], seed + draw.below(99), -3, 90));
      };
      let [x, y] = [first(), first()];
      const names: string[] = [];
      for (let k = 0; k < 6; k++) {
        const [name, of] = draw.of(OPS)(draw);
        if (name === 'and' && (x.dtype.startsWith('float') || y.dtype.startsWith('float'))) continue;
        [x, y] = [of(x, y), x];
        names.push(name);
      }
      const { low, high } = knownRange(x.expr);
      const [{ data }] = (await run('cpu', [x])) as unknown as [{ readonly data: ArrayLike<number> }];
      const values = Array.from(data, Number).filter((value) => !Number.isNaN(value));
      for (const value of values)
        expect(value >= low && value <= high, `seed ${seed}: ${names}: ${value} in ${low} … ${high}`).toBe(
          true,
        );
      if (Number.isFinite(low) && high - low < 200) known++;
    }
    expect(known).toBeGreaterThan(40);
  });

  it('is that of NaN and infinities as integers', async () => {
    const odd = lazy([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2.5]);
    expect(knownRange(odd.clip(3, 7).astype('int32').expr)).toEqual({ low: 0, high: 7 });
    expect((await odd.clip(3, 7).astype('int32').compute()).toArray()).toEqual([0, 7, 3, 3]);
  });

  it('is that of integers of 64 bits which other numbers stand for only nearly', async () => {
    const large = lazy([2 ** 63, 5])
      .minimum(2 ** 63)
      .astype('uint64');
    const wrapped = large.astype('int64').minimum(9);
    expect((await wrapped.compute()).toArray()).toEqual([-(2n ** 63n), 5n]);
    expect(knownRange(wrapped.expr).low).toBe(-(2 ** 63));
    await expect(arange(10).take(wrapped).compute()).rejects.toThrow(
      'indices from -10 to 9 for axis 0 of 10 elements: -9223372036854775808',
    );
    // 2^64 / 9 as a float64 is below the quotient.
    const ninth = lazy(BigUint64Array.of(2n ** 64n - 1n)).floorDivide(9);
    const [divisor, count] = [2 ** 52 - 4, 455n];
    expect((await ninth.floorDivide(divisor).compute()).toArray()).toEqual([count]);
    expect(knownRange(ninth.expr).high).toBeGreaterThanOrEqual(
      Number(await ninth.compute().then((x) => x.item())),
    );
    expect(knownRange(ninth.floorDivide(divisor).expr).high).toBeGreaterThanOrEqual(Number(count));
  });

  it('is found at once, however many ways lead to a node', () => {
    let x = toLazy(randomIntegers('int32', [4], 5, 0, 9));
    for (let k = 0; k < 200; k++) x = x.add(x);
    const before = process.cpuUsage();
    knownRange(x.expr);
    expect(process.cpuUsage(before).user).toBeLessThan(400_000);
  });

  it('has all elements of extreme numbers', async () => {
    let known = 0;
    for (let seed = 1; seed <= 200; seed++) known += await extremes(new Draw(seed), seed);
    expect(known).toBeGreaterThan(100);
  });

  it('needs no check, in loops and elsewhere', () => {
    const table = arange(10);
    const x = toLazy(randomIntegers('int32', [10], 3, 0, 9));
    const real = toLazy(randomValues('float32', [10], 4));
    const known: readonly ((x: Lazy) => Lazy)[] = [
      (y) => table.take(y.argsort()),
      (y) => y.takeAlongAxis(y.argsort()),
      (y) => y.take(y.argmax()).broadcastTo([10]),
      (y) => table.take(y.astype('int32').clip(0, 9)),
      (y) => table.take(y.astype('int32').remainder(10).sub(10)),
      (y) => table.take(y.mul(10).floor().clip(0, 9).astype('int64')),
      (y) =>
        table
          .take(nonzero(y.greater(0))[0]!)
          .sum()
          .broadcastTo([10]),
      (y) => y.at(y.argmin()).set(3),
      (y) => y.astype('int32').bitwiseAnd(7).bincount(10),
    ];
    for (const [k, of] of known.entries())
      for (const y of [x, real]) {
        expect(canonicalize([of(y).expr]).checks, `${k}`).toEqual([]);
        const { expr } = iterate(3, y, (z) => of(z).astype(y.dtype));
        expect(expr.kind === 'loop' && expr.loop.stepChecks, `${k}`).toEqual([]);
      }
    const { expr } = iterate(3, x, (z) => table.take(z).astype('int32'));
    expect(
      expr.kind === 'loop' && expr.loop.stepChecks.map(({ op, from, size }) => [op, from, size]),
    ).toEqual([['take', -10, 10]]);
    expect(canonicalize([table.take(x).expr]).checks).toHaveLength(1);
  });
});
