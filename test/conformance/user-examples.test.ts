/**
 * The examples of other libraries' guides as functions of scalars, on every backend: CuPy's user-defined kernels
 * (squared difference, its L2 norm), Numba's `vectorize` and `reduce`, Game of Life, forces between bodies.
 */
import { describe, expect, it } from 'vitest';
import { arange, elementwise, erf, type Lazy, lazy, reduction, roll } from '../../src/index.js';
import { backends } from '../support/backends.js';

const [rate, vol] = [0.1, 0.2];
const devices = backends().filter((device) => device === 'cpu' || device.startsWith('cuda'));

describe.each(devices)('examples of guides on %s', (device) => {
  const elements = async (x: Lazy): Promise<number[]> =>
    Array.from((await x.compute({ device })).data, Number);

  it("are CuPy's: a squared difference, generic in its dtypes, and an L2 norm along an axis", async () => {
    const squaredDifference = elementwise((x: number, y: number) => (x - y) * (x - y));
    const x = arange(10, undefined, undefined, { dtype: 'float32' }).reshape([2, 5]);
    const y = arange(5, undefined, undefined, { dtype: 'float32' });
    expect(await elements(squaredDifference(x, y))).toEqual([0, 0, 0, 0, 0, 25, 25, 25, 25, 25]);
    expect(await elements(squaredDifference(x, 5))).toEqual([25, 16, 9, 4, 1, 0, 1, 4, 9, 16]);
    const norm = reduction({
      identity: 0,
      map: (a: number) => a * a,
      combine: (a: number, b: number) => a + b,
      finish: (a: number) => Math.sqrt(a),
    });
    expect(await elements(norm(x, 1))).toEqual([Math.fround(Math.sqrt(30)), Math.fround(Math.sqrt(255))]);
  });

  it("are Numba's: vectorize of a relative difference, reduce by a sum and by a maximum", async () => {
    const relative = elementwise((a: number, b: number) => (2 * (a - b)) / (a + b));
    const [a, b] = [lazy(new Float64Array([1, 2, 6])), lazy(new Float64Array([1, 6, 2]))];
    expect(await elements(relative(a, b))).toEqual([0, -1, 1]);
    const sum = reduction({ identity: 0, combine: (p: number, q: number) => p + q });
    expect(await elements(sum(arange(1234)))).toEqual([760761]);
    const most = reduction({
      identity: Number.NEGATIVE_INFINITY,
      combine: (p: number, q: number) => Math.max(p, q),
    });
    expect(await elements(most(a))).toEqual([6]);
  });

  it('are a Game of Life: a glider moves by one in four steps', async () => {
    const lives = elementwise((cell: number, around: number) => {
      switch (around) {
        case 2:
          return cell;
        case 3:
          return 1;
        default:
          return 0;
      }
    });
    const step = (cells: Lazy): Lazy => {
      let around: Lazy = lazy(0, { dtype: 'int32' });
      for (const down of [-1, 0, 1])
        for (const right of [-1, 0, 1])
          if (down !== 0 || right !== 0) around = around.add(roll(cells, [down, right], [0, 1]));
      return lives(cells, around);
    };
    const glider = [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let cells: Lazy = lazy(new Int32Array(glider)).reshape([5, 5]);
    for (let k = 0; k < 4; k++) cells = lazy((await step(cells).compute({ device })).data).reshape([5, 5]);
    expect(await elements(cells)).toEqual(
      await elements(roll(lazy(new Int32Array(glider)).reshape([5, 5]), [1, 1], [0, 1])),
    );
  });

  it('are a Mandelbrot set by an escape loop, in one kernel with its counts', async () => {
    const steps = (a: number, b: number): number => {
      let [x, y, n] = [0, 0, 0];
      while (n < 30 && x * x + y * y <= 4) {
        [x, y] = [x * x - y * y + a, 2 * x * y + b];
        n++;
      }
      return n;
    };
    const [re, im] = [48, 32].map((n) => Array.from({ length: n }, (_, k) => (4 * k) / n - 2.1)) as [
      number[],
      number[],
    ];
    const counts = elementwise(steps)(lazy(re), lazy(im).expandDims(1)).sum(1);
    expect(counts.explain({ device }).steps).toHaveLength(1);
    const wanted = im.map((b) => re.reduce((sum, a) => sum + steps(a, b), 0));
    expect(await elements(counts)).toEqual(wanted);
  });

  it('are the prices of Black and Scholes, with a function of Weft’s among the captures', async () => {
    const phi = erf as unknown as (x: number) => number;
    const prices = elementwise(
      (s: number, k: number, t: number): [number, number] => {
        const cumulated = (x: number): number => 0.5 * (1 + phi(x / Math.SQRT2));
        const d1 = (Math.log(s / k) + (rate + 0.5 * vol ** 2) * t) / (vol * Math.sqrt(t));
        const d2 = d1 - vol * Math.sqrt(t);
        const paid = k * Math.exp(-rate * t);
        return [s * cumulated(d1) - paid * cumulated(d2), paid * cumulated(-d2) - s * cumulated(-d1)];
      },
      { captures: { phi: erf, rate, vol } },
    );
    const [call, put] = prices(lazy([42, 100, 60]), lazy([40, 100, 65]), lazy([0.5, 1, 0.25])) as [
      Lazy,
      Lazy,
    ];
    // Hull, "Options, Futures, and Other Derivatives", has 4.76 and 0.81 for the first.
    expect(await elements(call)).toEqual([4.759422, 13.26967, 1.125937].map((x) => expect.closeTo(x, 3)));
    expect(await elements(put)).toEqual([0.808599, 3.753418, 4.521081].map((x) => expect.closeTo(x, 3)));
  });

  it('are forces between bodies, in one kernel', async () => {
    const force = elementwise((x: number, y: number, mass: number) => {
      const d = y - x;
      const square = d * d + 0.01;
      return (mass * d) / (square * Math.sqrt(square));
    });
    const places = [0, 1, 3, 7];
    const masses = [1, 2, 1, 4];
    const x = lazy(Float64Array.from(places));
    const forces = force(x.expandDims(1), x, lazy(Float64Array.from(masses))).sum(1);
    expect(forces.explain({ device }).steps).toHaveLength(1);
    const wanted = places.map((p) =>
      places.reduce((sum, q, k) => sum + (masses[k]! * (q - p)) / ((q - p) ** 2 + 0.01) ** 1.5, 0),
    );
    expect(await elements(forces)).toEqual(wanted.map((value) => expect.closeTo(value, 10)));
  });
});
