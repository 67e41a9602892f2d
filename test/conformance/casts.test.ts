/** Casts between every pair of dtypes, promotion and weak scalars, on every backend, against the fixtures. */
import { describe, expect, it, vi } from 'vitest';
import { DTYPES, type DType, isInteger, promote, type Scalar } from '../../src/graph/dtype.js';
import { type Lazy, zeros } from '../../src/index.js';
import { failuresOf, type Prepared, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { fixtures, promotionFixture } from '../support/fixtures.js';
import { fromScalars, toScalars } from '../support/host.js';
import { castScalar, isComplexValue } from '../support/scalar.js';
import { EXACT, mismatch, show } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const promotion = promotionFixture();

describe('promotion', () => {
  it.each(DTYPES)("of %s with every dtype is NumPy's", (a) => {
    const row = promotion.pairs[promotion.dtypes.indexOf(a)]!;
    expect(DTYPES.map((b) => promote(a, b))).toEqual(DTYPES.map((b) => row[promotion.dtypes.indexOf(b)]));
  });

  const scalars = { boolean: true, integer: 1, fraction: 1.5, complex: { re: 0, im: 1 } } as const;
  it.each(DTYPES)("of %s with JavaScript scalars is NumPy's with Python's", (dtype) => {
    const x = toLazy(fromScalars(dtype, [1], [1n]));
    const at = promotion.dtypes.indexOf(dtype);
    for (const kind of Object.keys(scalars) as (keyof typeof scalars)[])
      expect(`${kind} ${x.add(scalars[kind]).dtype}`).toBe(`${kind} ${promotion.weak[kind][at]}`);
  });
});

describe('functions of floats', () => {
  const integers = DTYPES.filter((dtype) => dtype === 'bool' || isInteger(dtype));
  it.each(integers)('take %s with other integers to the smallest float that holds both', (a) => {
    const holding = (b: DType): DType | undefined =>
      (['float16', 'float32', 'float64'] as const).find((f) => promote(a, f) === f && promote(b, f) === f);
    const of = (dtype: DType): Lazy => zeros([1], dtype);
    expect(integers.map((b) => of(a).atan2(of(b)).dtype)).toEqual(integers.map(holding));
  });
});

describe.each(backends())('casts on %s', (device) => {
  const { cases, read } = fixtures('casts');
  it.each(DTYPES)('take %s to every other dtype', async (source) => {
    const prepared = cases
      .filter((c) => c.source === source)
      .map(({ target, input, output }): Prepared => {
        const values = toScalars(read(input));
        return {
          label: `${source} to ${target}`,
          build: () => toLazy(read(input)).astype(target),
          check: (actual) => mismatch(actual, read(output), EXACT, (i) => show(values[i]!)),
        };
      });
    expect(await failuresOf(device, prepared)).toEqual([]);
  });

  it.each(DTYPES)('of %s by way of another dtype are two casts', async (source) => {
    const x = read(cases.find((c) => c.source === source)!.input);
    const prepared = DTYPES.flatMap((via) =>
      DTYPES.map((target): Prepared => {
        const twice = toScalars(x).map((value) => castScalar(castScalar(value, via), target));
        return {
          label: `${via} to ${target}`,
          build: () => toLazy(x).astype(via).astype(target),
          check: (actual) => mismatch(actual, fromScalars(target, x.shape, twice), EXACT),
        };
      }),
    );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });

  it.each(DTYPES)('meet in the promoted dtype when %s is added to every dtype', async (a) => {
    const { a: left, b: right } = promotion.mixed;
    const numbers = (dtype: DType, values: readonly number[]) =>
      fromScalars(
        dtype,
        [values.length],
        values.map((v) => castScalar(BigInt(v), dtype)),
      );
    const size = (value: Scalar): number => (isComplexValue(value) ? value.re : Number(value));
    const prepared = DTYPES.map((b): Prepared => {
      const [x, y] = [numbers(a, left), numbers(b, right)];
      const [p, q] = [toScalars(x).map(size), toScalars(y).map(size)];
      const dtype = promote(a, b);
      const sums = p.map((_, i) => castScalar(p[i]! + q[i]!, dtype));
      return {
        label: `${a} + ${b}`,
        build: () => toLazy(x).add(toLazy(y)),
        check: (actual) => mismatch(actual, fromScalars(dtype, x.shape, sums), EXACT),
      };
    });
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});
