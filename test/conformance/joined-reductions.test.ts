/**
 * Reductions along the axis of a join, which kernels write out as ops of its parts (`fusion/passes/reduce-terms.ts`): of
 * every kind, against the graph as it was built, and to the bit against those of the join in memory where they round as these do.
 */
import { describe, expect, it } from 'vitest';
import { compute, concat, type DType, type Lazy, lazy, stack } from '../../src/index.js';
import { failuresOf, type Prepared, referenceOf, run, toLazy } from '../support/api.js';
import { backends, isSimulated, runsOthers, whyNotOthers } from '../support/backends.js';
import { randomIntegers, randomValues } from '../support/random.js';
import { bytesOf } from '../support/random-steps.js';
import { EXACT, mismatch } from '../support/ulp.js';

const real = (size: number, seed: number, dtype: DType = 'float32'): Lazy =>
  lazy(randomValues(dtype, [size], seed).data, { dtype, shape: [size] }) as Lazy;

/** Parts that are rounded before a sum takes them up, so that no compiler contracts them with it. */
function partsOf(dtype: DType, count: number, size: number): Lazy[] {
  if (dtype === 'bool') {
    const bits = [0, 1, 2].map((k) => toLazy(randomIntegers('int32', [size], k, -2, 2)));
    return Array.from({ length: count }, (_, k) => bits[k % 3]!.add(k >> 1).greater(1));
  }
  const isWhole = dtype.startsWith('int') || dtype.startsWith('uint');
  const x = isWhole ? toLazy(randomIntegers(dtype, [size], count, 0, 3)) : real(size, count, dtype);
  return Array.from({ length: count }, (_, k) => (k % 2 === 0 ? x.add(k % 5) : x.abs().sub(k % 3)));
}

const REDUCTIONS: Readonly<Record<string, (x: Lazy, axis: number) => Lazy>> = {
  sum: (x, axis) => x.sum(axis),
  prod: (x, axis) => x.prod(axis),
  min: (x, axis) => x.min(axis),
  max: (x, axis) => x.max(axis, { keepdims: true }),
  any: (x, axis) => x.astype('bool').any(axis),
  all: (x, axis) => x.astype('bool').all(axis),
  argmin: (x, axis) => x.argmin(axis),
  argmax: (x, axis) => x.argmax(axis),
};

/** Those whose written form rounds in its own way. */
const OTHERS: Readonly<Record<string, (x: Lazy, axis: number) => Lazy>> = {
  mean: (x, axis) => x.mean(axis),
  std: (x, axis) => x.std(axis),
  variance: (x, axis) => x.var(axis, { correction: 1 }),
  norm: (x, axis) => x.norm({ axis }),
  logsumexp: (x, axis) => x.logsumexp(axis),
  softmax: (x, axis) => x.softmax(axis),
  normalised: (x, axis) => x.div(x.norm({ axis, keepdims: true }).add(1)),
};

/** What parts are of a slice. */
const ALIKE: Readonly<Record<string, (x: Lazy) => Lazy>> = {
  slices: (x) => x,
  exponentials: (x) => x.exp(),
  'sums of rows': (x) => x.mul(3).sum(-1),
};

/** Parts one after the other, side by side, and between two axes. */
const JOINS: readonly (readonly [string, number, (parts: readonly Lazy[]) => Lazy])[] = [
  ['rows', 0, (parts) => stack([...parts])],
  ['columns', 1, (parts) => stack([...parts], 1)],
  [
    'planes',
    1,
    (parts) =>
      stack(
        parts.map((part) => part.reshape(-1, 4)),
        1,
      ),
  ],
];

function casesOf(
  reductions: typeof REDUCTIONS,
  dtype: DType,
  counts: readonly number[],
  tolerance: { readonly ulp: number; readonly absolute: number },
): Prepared[] {
  return Object.entries(reductions).flatMap(([name, reduce]) =>
    JOINS.flatMap(([form, axis, join]) =>
      counts.map((count): Prepared => {
        const build = (): Lazy => reduce(join(partsOf(dtype, count, 60)), axis);
        return {
          label: `${name} of ${count} ${form}, ${dtype}`,
          build,
          check: (actual) => mismatch(actual, referenceOf([build()])[0]!, tolerance),
        };
      }),
    ),
  );
}

/** The interpreters take zeros of both signs in another order. */
const isNative = (device: string): boolean => device === 'cpu' || device.startsWith('cuda');

describe.each(backends())('reductions along joins on %s', (device) => {
  const dtypes: readonly DType[] = isSimulated(device)
    ? ['float32', 'float16', 'int32']
    : ['float32', 'float64', 'float16', 'bfloat16', 'int8', 'uint16', 'int32', 'int64', 'bool'];

  it.runIf(isNative(device)).each(dtypes)(
    'of %s have the bits of those of the join in memory',
    async (dtype) => {
      const names = Object.keys(REDUCTIONS).filter((name) => dtype !== 'bool' || name !== 'prod');
      for (const [form, axis, join] of JOINS) {
        for (const count of isSimulated(device) ? [3] : [2, 3, 16]) {
          const whole = join(partsOf(dtype, count, 400));
          const of = (x: Lazy): Lazy[] => names.map((name) => REDUCTIONS[name]!(x, axis));
          const beside = await run(device, [whole, ...of(whole)]);
          const apart = await run(device, of(whole));
          const stored = await run(device, of(toLazy(beside[0]!)));
          for (const [k, name] of names.entries()) {
            const label = `${name} of ${count} ${form}`;
            expect(bytesOf(apart[k]!).equals(bytesOf(stored[k]!)), label).toBe(true);
            expect(bytesOf(apart[k]!).equals(bytesOf(beside[k + 1]!)), `${label} beside the join`).toBe(true);
          }
        }
      }
    },
    300_000,
  );

  it.runIf(isNative(device))(
    'of more floats have the bits that they have beside the join',
    async () => {
      const counts = isSimulated(device) ? [20] : [17, 40, 64];
      for (const dtype of ['float32', 'float16'] as const) {
        for (const [form, axis, join] of JOINS) {
          for (const count of counts) {
            const whole = join(partsOf(dtype, count, 400));
            const sum = whole.sum(axis);
            const [, beside] = await run(device, [whole, sum]);
            const [apart] = await run(device, [sum]);
            expect(bytesOf(apart!).equals(bytesOf(beside!)), `${count} ${form}`).toBe(true);
          }
        }
      }
      const sums = { sum: REDUCTIONS.sum! };
      expect(await failuresOf(device, casesOf(sums, 'float32', counts, { ulp: 64, absolute: 1e-5 }))).toEqual(
        [],
      );
    },
    300_000,
  );

  it('of floats are those of the graph as it was built', async () => {
    const [f32, f16] = [
      { ulp: 64, absolute: 1e-5 },
      { ulp: 4, absolute: 4e-3 },
    ];
    const counts = isSimulated(device) ? [5] : [2, 5, 16];
    expect(await failuresOf(device, casesOf(OTHERS, 'float32', counts, f32))).toEqual([]);
    expect(await failuresOf(device, casesOf(OTHERS, 'float16', [3], f16))).toEqual([]);
  }, 300_000);

  it.runIf(isNative(device))(
    'find places, NaN, zeros of both signs and infinities as those of the join in memory',
    async () => {
      const values = [NaN, 1, -0, 0, Infinity, -Infinity, 2];
      const column = (k: number): Lazy =>
        lazy(Float32Array.from({ length: 343 }, (_, i) => values[Math.floor(i / 7 ** k) % 7]!)) as Lazy;
      const join = stack([column(0).abs(), column(1).neg(), column(2).add(0)]);
      const [stored] = await run(device, [join]);
      const { sum, prod, min, max, argmin, argmax } = REDUCTIONS;
      const exact = [sum, prod, min, max, argmin, argmax];
      const all = [...exact, OTHERS.logsumexp, OTHERS.std].map((reduce) => reduce!);
      const own = await run(
        device,
        all.map((reduce) => reduce(join, 0)),
      );
      const other = await run(
        device,
        all.map((reduce) => reduce(toLazy(stored!), 0)),
      );
      for (const [k, result] of own.entries()) {
        const tolerance = k < exact.length ? EXACT : { ulp: 16, absolute: 1e-5 };
        expect(mismatch(result, other[k]!, tolerance), `${k}`).toBeUndefined();
      }
    },
    300_000,
  );
});

it.runIf(runsOthers)(
  `have the same bits beside other results, within a budget, and in a slice${whyNotOthers}`,
  async () => {
    const x = real(40_000, 7);
    const rows = stack([x.exp(), x.square().mul(0.3), x.sub(1).mul(x), x.sin()]);
    const y = [rows.norm({ axis: 0 }), rows.std(0), rows.softmax(0), rows.logsumexp(0)];
    for (const each of y) {
      const alone = await each.compute({ device: 'cpu' });
      const [beside] = await compute([each, rows, x.mul(2), rows.sum(1)], { device: 'cpu' });
      expect(beside!.data).toEqual(alone.data);
      const tiled = await each.compute({ device: 'cpu', memory: 200_000 });
      expect(tiled.data).toEqual(alone.data);
      if (each.ndim > 1) continue;
      const slice = await each.slice([100, 1100]).compute({ device: 'cpu' });
      expect(slice.data).toEqual(alone.data.slice(100, 1100));
    }
  },
);

it.runIf(runsOthers)(
  `between two axes have the same bits beside what reads the join again${whyNotOthers}`,
  async () => {
    const x = real(3000, 10).reshape(100, 30);
    const planes = stack(
      Array.from({ length: 8 }, (_, k) => (k % 2 === 0 ? x.add(k) : x.mul(k).sin())),
      1,
    );
    for (const reduce of [OTHERS.std!, OTHERS.logsumexp!, OTHERS.norm!]) {
      const y = reduce(planes, 1);
      const alone = await y.compute({ device: 'cpu' });
      const [beside] = await compute([y, planes.sub(y.reshape(100, 1, 30))], { device: 'cpu' });
      expect(beside!.data).toEqual(alone.data);
    }
  },
);

describe.each(['stack', 'concat'] as const)('of what is computed alike of slices, in a %s,', (form) => {
  it.runIf(runsOthers).each(Object.keys(ALIKE))(
    `have the same bits beside one of these: %s${whyNotOthers}`,
    async (name) => {
      for (const count of [12, 24, 57]) {
        const x = real(count * 5, count)
          .reshape(count, 5)
          .sin();
        const parts = Array.from({ length: count }, (_, k) =>
          ALIKE[name]!(form === 'stack' ? x.slice(k) : x.slice([k, k + 1])),
        );
        const joined = form === 'stack' ? stack(parts) : concat(parts);
        for (const reduce of [REDUCTIONS.sum!, OTHERS.std!, OTHERS.logsumexp!]) {
          const result = reduce(joined, 0);
          const alone = await result.compute({ device: 'cpu' });
          for (const other of [parts[3]!, x.slice(3), parts[0]!.add(parts[1]!)]) {
            const [beside] = await compute([result, other], { device: 'cpu' });
            expect(beside!.data, `${count}`).toEqual(alone.data);
          }
        }
      }
    },
  );
});

it.runIf(runsOthers)(`stay as they are under exact where their form is another${whyNotOthers}`, async () => {
  const x = real(1000, 8);
  const rows = stack([x.exp(), x.mul(3), x.sin()]);
  const stored = lazy(await rows.compute({ device: 'cpu' }));
  for (const reduce of [OTHERS.std!, OTHERS.logsumexp!]) {
    const own = await reduce(rows, 0).compute({ device: 'cpu', exact: true });
    expect(own.data).toEqual((await reduce(stored, 0).compute({ device: 'cpu', exact: true })).data);
  }
});

it.runIf(runsOthers)(
  `of concatenated columns and of all elements take the parts${whyNotOthers}`,
  async () => {
    const x = real(500, 9);
    const columns = concat([x.exp().reshape(-1, 1), x.mul(2).reshape(-1, 1), x.reshape(-1, 1)], 1);
    const row = stack([x.exp().reshape(1, -1), x.mul(2).reshape(1, -1), x.reshape(1, -1)], 1);
    for (const build of [
      () => columns.max(),
      () => columns.sum(1),
      () => columns.max([0, 1]),
      () => row.min([0, 1]),
      () => row.argmax(1),
    ]) {
      const [own] = await compute([build()], { device: 'cpu' });
      expect(mismatch(own!, referenceOf([build()])[0]!, { ulp: 8, absolute: 1e-5 })).toBeUndefined();
    }
  },
);
