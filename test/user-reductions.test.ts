/** reduction(): monoids of the user's own, of numbers and of lists, over any axes; the tree, dtypes, errors. */
import { describe, expect, it } from 'vitest';
import { ArgumentError, arange, DTypeError, type Lazy, lazy, reduction, scan } from '../src/index.js';

const device = 'cpu';
const elements = async (x: Lazy): Promise<number[]> => Array.from((await x.compute({ device })).data, Number);
const y = lazy(Float64Array.from({ length: 3000 }, (_, i) => Math.sin(i) + 5)).reshape([3, 1000]);

type Moments = readonly [count: number, mean: number, squares: number];
/** Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979. */
const moments = reduction({
  identity: [0, 0, 0],
  map: (x: number): Moments => [1, x, 0],
  combine: ([n, m, s]: Moments, [k, l, t]: Moments): Moments => {
    if (n + k === 0) return [0, 0, 0];
    const d = l - m;
    return [n + k, m + (d * k) / (n + k), s + t + (d * d * n * k) / (n + k)];
  },
  finish: ([n, m, s]: Moments): [number, number] => [m, s / n],
});
type Best = readonly [value: number, index: number];
const largest = reduction({
  identity: [Number.NEGATIVE_INFINITY, -1],
  map: (x: number, i: number): Best => [x, i],
  combine: (a: Best, b: Best): Best => (b[0] > a[0] ? b : a),
});
const norm = reduction({
  identity: 0,
  map: (x: number) => x * x,
  combine: (a: number, b: number) => a + b,
  finish: (a: number) => Math.sqrt(a),
});

describe('reduction', () => {
  it('has the values of built-in ones: a norm, mean and variance, the largest with its index', async () => {
    const [mean, variance] = moments(y, 1);
    expect(await elements(mean)).toEqual((await elements(y.mean(1))).map((v) => expect.closeTo(v, 13)));
    expect(await elements(variance)).toEqual((await elements(y.var(1))).map((v) => expect.closeTo(v, 13)));
    const [best, at] = largest(y, arange(1000), 1);
    expect(await elements(best)).toEqual(await elements(y.max(1)));
    expect(await elements(at)).toEqual(await elements(y.argmax(1)));
    expect(await elements(norm(lazy([3, 4])))).toEqual([5]);
  });

  it('goes over all axes, some of them, and keeps them', async () => {
    const x = arange(24).reshape([2, 3, 4]).astype('float64');
    for (const axis of [null, -1, [0, 2]]) {
      const wanted = x.mul(x).sum(axis).sqrt();
      expect(await elements(norm(x, axis))).toEqual(
        (await elements(wanted)).map((v) => expect.closeTo(v, 12)),
      );
      expect(norm(x, axis).shape).toEqual(wanted.shape);
      expect(norm(x, { axis, keepdims: true }).shape).toEqual(x.sum(axis, { keepdims: true }).shape);
    }
  });

  it('combines neighbours in their order, by a tree of any number of elements', async () => {
    // Composition of affine functions is associative, and does not commute.
    type Affine = readonly [scale: number, offset: number];
    const composed = reduction({
      identity: [1, 0],
      map: (x: number): Affine => [2, x],
      combine: ([a, b]: Affine, [c, d]: Affine): Affine => [(a * c) % 8191, (b * c + d) % 8191],
      finish: ([, offset]: Affine) => offset,
    });
    for (const n of [1, 2, 16, 17, 300, 4099]) {
      let offset = 0;
      for (let k = 0; k < n; k++) offset = (2 * offset + (k % 7)) % 8191;
      expect(await elements(composed(arange(n).remainder(7)))).toEqual([offset]);
    }
  });

  it('gives the identity of no elements, and keeps dtypes', async () => {
    expect(await elements(norm(lazy(new Float32Array(0))))).toEqual([0]);
    expect(await elements(largest(lazy(new Float64Array(0)).reshape([2, 0]), 0, 1)[1])).toEqual([-1, -1]);
    expect(norm(lazy(new Float32Array(3))).dtype).toBe('float32');
    const total = reduction({ identity: 0, combine: (a: number, b: number) => a + b });
    expect(total(lazy(new Int32Array(3))).dtype).toBe('int32');
    const halves = reduction({ identity: 0, combine: (a: number, b: number) => (2 * a + 2 * b) / 2 });
    expect(halves(lazy(new Int32Array([1, 2]))).dtype).toBe('float64');
  });

  it('has the same bits within a budget', async () => {
    const x = lazy(Float32Array.from({ length: 2 ** 18 }, (_, i) => Math.sin(i))).reshape([64, 4096]);
    const whole = await elements(norm(x, 1));
    const { data } = await norm(x, 1).compute({ device, hostMemory: 2 ** 21 });
    expect(Array.from(data, Number)).toEqual(whole);
  });

  it('refuses what is not in the language, and accumulators that do not fit', () => {
    const of =
      (monoid: object): (() => unknown) =>
      () =>
        reduction(monoid as never)(lazy([1, 2]));
    expect(of({ identity: 0, combine: (a: number, b: number) => a + b + y.size })).toThrow(
      /: y\.size \(give it/,
    );
    expect(of({ identity: [0, 0], combine: (a: number, b: number) => a + b })).toThrow(
      /a number: an array at line 1/,
    );
    expect(of({ identity: [0, 0], map: (x: number) => x, combine: (a: Best) => a })).toThrow(
      /2 numbers from map.*: 1/,
    );
    expect(of({ identity: 0, combine: (a: number, b: number) => [a, b] })).toThrow(/1 numbers from combine/);
    expect(of({ identity: 0, start: 1 })).toThrow(
      /fields identity, map, combine, finish, captures, name: start/,
    );
    expect(of({ identity: 'a', combine: (a: number) => a })).toThrow(ArgumentError);
    expect(() => norm(lazy([1]), 2)).toThrow(RangeError);
    expect(() => norm(lazy([1]), 0, 1 as never)).toThrow(ArgumentError);
    expect(() =>
      reduction({ identity: 0, combine: (a: number, b: number) => a << b })(lazy([{ re: 1, im: 0 }])),
    ).toThrow(DTypeError);
  });
});

describe('scan', () => {
  it('refuses an axis that has to be named, and options that it lacks', () => {
    const total = scan({ identity: 0, combine: (a: number, b: number) => a + b });
    expect(() => total(lazy([[1, 2]]))).toThrow(/an axis, or null for all elements: the shape \(1, 2\)/);
    expect(() => total(lazy([[1, 2]]), 2)).toThrow(RangeError);
    expect(() => total(lazy([1]), { exclusive: 1 } as never)).toThrow(/exclusive and reverse to be true/);
    expect(() => total(lazy([1]), { keepdims: true } as never)).toThrow(ArgumentError);
    expect(() => scan({ identity: 0, combine: (a: number) => a + y.size })).toThrow(/\[scan\].*y\.size/);
  });
});
