/**
 * elementwise(): functions of scalars in JavaScript's syntax as functions of arrays. Values and kernels, dtypes,
 * the forms that tools print, and errors with their places. Random functions: `conformance/element-functions`.
 */
import { describe, expect, it } from 'vitest';
import { ArgumentError, DTypeError, elementwise, erf, type Lazy, lazy, ShapeError } from '../src/index.js';

const device = 'cpu';
const elements = async (x: Lazy): Promise<number[]> => Array.from((await x.compute({ device })).data, Number);
const x = lazy(new Float64Array([-2, -0.5, 0, 1, 2.5]));
const y = lazy(new Float64Array([1, 2, 3, 4, 5]));
type Unary = (x: number) => number;
/** A function from its text, as a tool prints it. */
const printed = (text: string): Unary => new Function(`return ${text}`)() as Unary;

describe('values', () => {
  it('are those of the function, in one kernel with what is around it', async () => {
    const squared = (a: number, b: number): number => (a - b) * (a - b);
    const distance = elementwise(squared)(x, y).sum(0).sqrt();
    expect(await elements(distance)).toEqual([Math.sqrt(3 * 9 + 2 * 6.25)]);
    expect(distance.explain({ device }).steps).toHaveLength(1);
  });

  it('come of branches, early returns, local functions, arrays and short loops', async () => {
    const fn = (a: number, b: number): number => {
      if (a < -1) return -1;
      const cube = (t: number): number => t ** 3;
      const powers = [1, a, a * a];
      let sum = 0;
      for (let k = 0; k < powers.length; k++) sum += powers[k]! * (k + 1);
      if (a > 0) sum += cube(b);
      else if (a === 0) sum = 0.5;
      return sum > 100 || b === 4 ? -sum : sum;
    };
    const wanted = [-2, -0.5, 0, 1, 2.5].map((a, k) => fn(a, k + 1));
    expect(await elements(elementwise(fn)(x, y))).toEqual(wanted);
  });

  it('come of switch, whose cases fall through, and of for … of', async () => {
    const fn = printed(`(a, b) => {
      let sum = 0;
      switch (b) {
        case 1:
          sum += 1;
        case Math.sign(a) + 1:
          sum += 10;
          break;
        default:
          sum += 100;
        case 4:
          if (a > 0) break;
          sum += 1000;
      }
      for (const each of [a, b, sum]) {
        if (each < 0) continue;
        if (each > 50) break;
        sum += each;
      }
      for (let k = 0; k < b; k++) {
        switch (k) {
          case 3:
            return -sum;
          case 1:
            continue;
          case 2:
            sum *= 2;
        }
        sum++;
      }
      return sum;
    }`) as (a: number, b: number) => number;
    const wanted = [-2, -0.5, 0, 1, 2.5].map((a, k) => fn(a, k + 1));
    expect(await elements(elementwise(fn)(x, y))).toEqual(wanted);
  });

  it('have all functions of Math that are pure', async () => {
    const zeros = elementwise((a: number) => Math.clz32(a));
    const given = [0, 1, 2, 255, 256, 2 ** 31, 2 ** 32, -1, 1.5, Number.NaN];
    expect(await elements(zeros(lazy(Float64Array.from(given))))).toEqual(given.map(Math.clz32));
    const half = elementwise(printed('(a) => Math.f16round(a)'));
    expect(await elements(half(lazy(new Float64Array([0.1, 70000, -1e-9]))).astype('float64'))).toEqual([
      0.0999755859375,
      Infinity,
      -0,
    ]);
  });

  it('keeps the last 32 bits of Math.imul, as JavaScript does', async () => {
    const [x, y] = [
      [2 ** 24, 2 ** 24, 2 ** 31, 2 ** 32 + 5, -1, 1e9, -3.5],
      [254, 128, 2, 7, 2 ** 31, 1e9, 3],
    ] as const;
    const product = elementwise((a: number, b: number) => Math.imul(a, b));
    const wanted = x.map((a, k) => Math.imul(a, y[k]!));
    expect(await elements(product(lazy(Float64Array.from(x)), lazy(Float64Array.from(y))))).toEqual(wanted);
    const hash = (a: number, n: number): number => {
      let h = 1;
      for (let k = 0; k < n; k++) h = Math.imul(h ^ a, 16_777_619);
      return h;
    };
    const steps = x.map((_, k) => 9 + k);
    expect(
      await elements(elementwise(hash)(lazy(Float64Array.from(x)), lazy(Float64Array.from(steps)))),
    ).toEqual(x.map((a, k) => hash(a, steps[k]!)));
  });

  it('broadcast, also of a function that leaves out an argument, of no elements and of a scalar', async () => {
    const first = elementwise((a: number, _b: number) => a + 1);
    expect(first(lazy([[1], [2]]), lazy([1, 2, 3])).shape).toEqual([2, 3]);
    expect(await elements(first(lazy([[1], [2]]), lazy([1, 2, 3])))).toEqual([2, 2, 2, 3, 3, 3]);
    expect(await elements(first(lazy(new Float32Array(0)), 1))).toEqual([]);
    expect(first(lazy(2), 3).shape).toEqual([]);
    expect(() => first(lazy([1, 2]), lazy([1, 2, 3]))).toThrow(ShapeError);
  });

  it('compute the index of an assigned element once, before the value', async () => {
    const fn = (a: number): number => {
      const list = [a, 2, 3, 4];
      let i = 0;
      list[i++]! += 5;
      list[i++]!++;
      list[i] = i = 3;
      return list[0]! + 10 * list[1]! + 100 * list[2]! + 1000 * list[3]! + 10_000 * i;
    };
    expect(await elements(elementwise(fn)(x))).toEqual([-2, -0.5, 0, 1, 2.5].map(fn));
  });

  it('are several where the function returns a list', async () => {
    const [sum, difference] = elementwise((a: number, b: number): [number, number] => [a + b, a - b])(x, y);
    expect(await elements(sum)).toEqual([-1, 1.5, 3, 5, 7.5]);
    expect(await elements(difference)).toEqual([-3, -2.5, -3, -3, -2.5]);
  });

  it('use what was given: numbers, lists, records, plain functions, functions of Weft and of elementwise', async () => {
    const [limit, weights, scale] = [1, [0.5, 0.25], { by: 4 }];
    const half = (t: number): number => t / 2;
    const clipped = elementwise((t: number) => Math.min(t, limit), { captures: { limit } });
    const inner = clipped as unknown as Unary;
    const special = erf as unknown as Unary;
    const fn = (t: number): number => inner(half(t)) * weights[0]! + special(t) * weights[1]! * scale.by;
    const f = elementwise(fn, { captures: { inner: clipped, half, weights, special: erf, scale } });
    const wanted = [-2, -0.5, 0, 1, 2.5].map(async (t) => {
      const [e] = await elements(erf(lazy([t])));
      return Math.min(t / 2, 1) * 0.5 + e! * 0.25 * 4;
    });
    expect(await elements(f(x))).toEqual(await Promise.all(wanted));
  });

  it('have the special cases of JavaScript: remainders, powers, roundings, zeros, NaN as a condition', async () => {
    const special = [0.5, -0.5, -0, 2.5, -7.25, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 33 + 5];
    const fns: Unary[] = [
      (t) => t % 3,
      (t) => (t % -2) ** 1,
      (t) => 1 ** t,
      (t) => Math.round(t),
      (t) => 1 / Math.sign(t),
      (t) => (t ? 1 : 2),
      (t) => (!t ? 1 : 2),
      (t) => t | 0,
      (t) => t >>> 1,
      (t) => ~t << 3,
      (t) => Number(t > 0) + +(t > 1),
      (t) => (t && 3) || 4,
      (t) => Math.hypot(t, 1, 2),
      (t) => Math.max(t, 1, 2),
    ];
    for (const fn of fns)
      expect(await elements(elementwise(fn)(lazy(special)))).toEqual(special.map((t) => fn(t)));
  });
});

describe('bitwise operators', () => {
  it('take numbers of any size modulo 2^32, as JavaScript does', async () => {
    const large = [
      2 ** 31,
      2 ** 32 + 5,
      2 ** 53,
      2 ** 63 + 2 ** 20,
      2 ** 63,
      1.064684655495887e20,
      2 ** 84,
      1e300,
    ];
    const numbers = [0, -0, 0.5, 1.9, 3.99, ...large, Number.POSITIVE_INFINITY].flatMap((t) => [t, -t]);
    for (const fn of [(t) => t | 0, (t) => t >>> 3, (t) => t ^ 5, (t) => ~t, (t) => t << 2] as Unary[])
      for (const data of [Float64Array.from([...numbers, Number.NaN]), Float32Array.from(numbers)])
        expect(await elements(elementwise(fn)(lazy(data)))).toEqual(Array.from(data, (t) => fn(t)));
  });
});

describe('loops that depend on data', () => {
  const mandelbrot = (a: number, b: number): number => {
    let [re, im, k] = [0, 0, 0];
    while (k < 40 && re * re + im * im <= 4) {
      [re, im] = [re * re - im * im + a, 2 * re * im + b];
      k++;
    }
    return k;
  };
  const grid = Array.from({ length: 90 }, (_, k) => -2 + k / 30);

  it('end for each element by itself, in the kernel of what is around them', async () => {
    const counts = elementwise(mandelbrot)(lazy(grid), lazy(grid).expandDims(1)).sum(0);
    const wanted = grid.map((a) => grid.reduce((sum, b) => sum + mandelbrot(a, b), 0));
    expect(await elements(counts)).toEqual(wanted);
    expect(counts.explain({ device }).steps).toHaveLength(1);
  });

  it('count in 32 bits, in which remainders of counters by constants are', async () => {
    const fn = (a: number): number => {
      let [sum, k] = [0, 2];
      while (k < 300 && sum < a) {
        if (k < 1) sum += 1000;
        sum += (k % 7) - (k % -4) + 1;
        k++;
      }
      return sum;
    };
    const limits = [-1, 0, 3.5, 40, 1e6];
    const sums = elementwise(fn)(lazy(new Float64Array(limits)));
    expect(await elements(sums)).toEqual(limits.map(fn));
    const [step] = sums.explain({ device }).steps;
    // Neither `k < 1` nor the sign of `k` is asked for; that of the remainder by -4 is.
    expect(step!.text).toMatch(/const 7 : int32[^{]*\{ while[^{]*remainder/);
    expect(step!.text.match(/= (less|greater) /g)).toHaveLength(3);
    expect(step!.text).not.toContain('1000');
  });

  it('may stand in each other, under conditions, and be left by break, continue and return', async () => {
    const fn = (a: number, b: number): number => {
      let [sum, rounds] = [0, 0];
      if (a > 0) {
        do {
          if (++rounds % 3 === 0) continue;
          for (let t = a; t < b; t *= 2) {
            if (sum > 50) return -rounds;
            if (t > 3) break;
            sum += t;
          }
        } while (rounds < 2 * b);
      }
      return sum + rounds;
    };
    const wanted = [-2, -0.5, 0, 1, 2.5].map((a, k) => fn(a, k + 1));
    expect(await elements(elementwise(fn)(x, y))).toEqual(wanted);
  });

  it('carry arrays, and have the dtype that holds their variables in every step', async () => {
    const fibonacci = (n: number): number => {
      const last = [0, 1];
      for (let k = 0; k < n; k++) {
        const sum = last[0]! + last[1]!;
        last[0] = last[1]!;
        last[1] = sum;
      }
      return last[0]!;
    };
    expect(await elements(elementwise(fibonacci)(lazy(new Int32Array([0, 1, 10, 70]))))).toEqual([
      0, 1, 55, 190392490709135,
    ]);
    const halved = elementwise((t: number) => {
      let s = 0;
      while (t > 1) {
        t /= 2;
        s += t;
      }
      return s;
    });
    expect(halved(lazy(new Float32Array(2))).dtype).toBe('float32');
    expect(halved(lazy(new Float32Array(2)).astype('float16')).dtype).toBe('float16');
    expect(
      await elements(halved(lazy(new Float32Array([8, 3])).astype('float16')).astype('float32')),
    ).toEqual([7, 2.25]);
  });

  it('run on elements alone, not on what is beside them in memory or in a pad', async () => {
    const count = elementwise((t: number) => {
      let k = 0;
      while (t !== 1) {
        t = t % 2 === 0 ? t / 2 : 3 * t + 1;
        k++;
      }
      return k;
    });
    const collatz = count(lazy([27, 6, 7]));
    expect(await elements(collatz.pad(2))).toEqual([0, 0, 111, 8, 16, 0, 0]);
    expect(await elements(count(lazy([[27], [6]])).sum(0))).toEqual([119]);
    const some = lazy([1, 2, 3]);
    expect(() => count(some.slice(some.greater(1)))).toThrow(/axes of known sizes for a loop/);
  });

  it('that cannot end are refused', () => {
    expect(() =>
      elementwise((t: number) => {
        for (;;) t += 1;
      }),
    ).toThrow(/a loop that ends/);
  });
});

describe('dtypes', () => {
  it('are those of promotion, in which literals, counters and comparisons are weak', () => {
    const of = (fn: Unary, dtype: 'float32' | 'int32' | 'int8' | 'float16' | 'bool'): string =>
      elementwise(fn)(lazy([1], { dtype })).dtype;
    expect(of((t) => t * 2 + 0.5, 'float32')).toBe('float32');
    expect(of((t) => t * 2, 'int8')).toBe('int8');
    expect(of((t) => t / 2, 'int32')).toBe('float64');
    expect(of((t) => t * 0.5, 'int32')).toBe('float64');
    expect(of((t) => (t > 0 ? t * 2 : 0), 'float16')).toBe('float16');
    expect(of((t) => t * Number(t > 1), 'float32')).toBe('float32');
    expect(of((t) => Math.fround(t), 'int32')).toBe('float32');
    expect(of((t) => (t ? 1 : 2), 'bool')).toBe('int64');
    expect(elementwise((t: number) => t > 0)(x).dtype).toBe('bool');
  });

  it('of a scalar argument are weak', async () => {
    const f = elementwise((a: number, b: number) => a * b);
    const result = f(lazy(new Float32Array([1, 2])), 0.1);
    expect(result.dtype).toBe('float32');
    expect(await elements(result)).toEqual([Math.fround(0.1), 2 * Math.fround(0.1)]);
  });

  it('that an operator does not take are refused at the call, with the place in the function', () => {
    const f = elementwise((a: number, b: number) => a < b);
    expect(() => f(lazy([{ re: 1, im: 2 }]), 1)).toThrow(DTypeError);
    expect(() => f(lazy([{ re: 1, im: 2 }]), 1)).toThrow(
      /\[less\] expected .* at line 1, column \d+ of the function/,
    );
  });
});

describe('forms that tools print', () => {
  const named = { limit: 2, double: (t: number): number => 2 * t };
  it.each([
    ['function (x) { return x + limit }'],
    ['x => x + limit'],
    ['(x) => { var y = x; { var y; } return limit, y + 2, y + limit }'],
    ['(x) => x + mod_1.limit'],
    ['(x) => (0, mod_1.double)(x) - x + limit'],
    ['(x)=>(0,__vite_ssr_import_0__.double)(x) - x + __vite_ssr_import_0__.limit'],
    ['(x) => { const f = /* @__PURE__ */ __name((t) => t + limit, "f"); return f(x); }'],
    ['(x) => { function f(t) { return t + limit; } __name(f, "f"); return f(x); }'],
    ['(x) => { let y; return y = x, !0 && (y += limit), !1 || y }'],
    ['x=>{for(var a=x,i=0;i<2;i++)a++;return a}'],
    ['({ f(x) { return x + limit } }).f'],
    ['(x       , _y = 3         )         => x + limit'],
  ])('%s', async (text) => {
    expect(await elements(elementwise(printed(text), { captures: named })(x))).toEqual([0, 1.5, 2, 3, 4.5]);
  });
});

describe('errors', () => {
  const bad =
    (text: string): (() => unknown) =>
    () =>
      elementwise(printed(text));
  it.each([
    [
      '(x) => x * outer',
      /names that the function can see: outer \(give it: \{ captures: \{ outer \} \}\) at line 1, column 12/,
    ],
    [
      '(x) => {\n  return x +\n    outer;\n}',
      /at line 3, column 5 of the function[\s\S]*\n {2} {4}outer;\n {2} {4}\^$/,
    ],
    ['function f(x) { return f(x - 1) }', /a function that does not call itself: f/],
    ['(x) => { const f = (t) => f(t); return f(x) }', /a function that does not call itself/],
    ['(x) => ({ x })', /: an object at line 1, column 9/],
    ["(x) => 'x'", /: a string at/],
    ['(x) => `text`', /: a string at/],
    ['async (x) => x', /not async/],
    ['function* (x) { yield x }', /no generator/],
    ['(...x) => 1', /parameters by name/],
    ['({ x }) => x', /a parameter by name/],
    ['(x) => Math.sqrt(x, 2)', /1 argument of Math.sqrt: 2/],
    ['(x) => Math.random() * x', /a pure function: Math.random/],
    ['(x) => Math.sum(x)', /a function or constant of Math that arrays have: Math.sum/],
    ['(x) => { if (x > 0) return 1 }', /a value returned on every path/],
    ['(x) => { let y; if (x > 0) y = 1; return y }', /y has none on some paths/],
    ['(x) => { const y = 1; y = x; return y }', /a variable that may change: the constant y/],
    ['(x) => { counter = x; return x }', /nothing outside of it changes/],
    ['(x) => [1, 2][2]', /an index from 0 to 1: 2/],
    ['(x) => { switch (x) { case 1: return 1 } }', /a value returned on every path/],
    ['(x) => { switch (x) { case x > 1: return 1 } }', /numbers: === of a boolean and a number/],
    ['(x) => { for (const y of x) return y }', /an array to go through/],
    ['(x) => { for (const y in x) return y }', /: for … in at/],
    ['(x) => { outer: for (;;) break outer }', /: a label at/],
    ['(x) => { try { return x } finally {} }', /: try at/],
    ['(x) => x.toFixed(2)', /functions, not methods/],
    ['(x) => (x > 0) === 1', /=== of a boolean and a number/],
    ['(x) => x ?? 1', /\?\?/],
    ['(x) => new Float64Array(x)', /: new at/],
    ['class {}', /a class/],
  ])('%s', (text, message) => {
    expect(bad(text)).toThrow(ArgumentError);
    expect(bad(text)).toThrow(message);
  });

  it('say that bound and native functions have no source', () => {
    expect(() => elementwise(Math.sqrt)).toThrow(/source can be read: sqrt without/);
    expect(() => elementwise(((t: number) => t).bind(null))).toThrow(/bound and native functions have none/);
    expect(() => elementwise(3 as never)).toThrow(/a function of scalars: a number/);
  });

  it('name the place in the file, and have the trace of the caller', () => {
    const outer = 2;
    let error: unknown;
    try {
      elementwise((t: number) => t * outer);
    } catch (thrown) {
      error = thrown;
    }
    expect((error as Error).message).toMatch(/of the function, (given at )?\S*elementwise\.test\.ts:\d+/);
    expect((error as Error).stack).not.toMatch(/language\/source/);
  });

  it('say how many arguments there are', () => {
    const f = elementwise((a: number, b: number) => a + b, { name: 'total' }) as (...args: number[]) => Lazy;
    expect(() => f(1)).toThrow('[total] expected 2 arguments: 1');
  });
});
