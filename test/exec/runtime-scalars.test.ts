/** Numbers of an expression that come with each run: another number needs no other plan, and results keep their bits. */
import { afterEach, describe, expect, it } from 'vitest';
import { clearPrograms, keptPrograms } from '../../src/exec/run/program.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { DType, Scalar } from '../../src/graph/dtype.js';
import { compile, elementwise, iterate, type Lazy, lazy, where } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { generator, randomIntegers, randomValues } from '../support/random.js';

const CPU = { device: 'cpu' } as const;
const x = toLazy(randomValues('float32', [40, 30], 1));
const y = toLazy(randomValues('float32', [40, 30], 2));

afterEach(clearPrograms);

const bytesOf = async (result: Lazy): Promise<Uint8Array> => {
  const { data } = await result.compute(CPU);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
};

/** Programs of graphs of one size, as nodes of all of them. */
const plannedNodes = (): number => keptPrograms().nodes;

/** By name, expressions of two numbers. */
const CHAINS: Readonly<Record<string, (c: number, d: number) => Lazy>> = {
  'a map': (c, d) => x.mul(c).add(d),
  'a long chain': (c, d) => x.mul(c).add(d).tanh().sub(c).div(d).maximum(c),
  'a reduction': (c, d) => x.mul(c).sum(1).add(d),
  'two reductions': (c, d) => x.sub(c).exp().mean(0).mul(d).sum(),
  'a choice': (c, d) => where(x.greater(c), y, d),
  'a comparison of two numbers': (c, d) => x.greater(c).logicalAnd(x.less(d)).any(0),
  'bounds of a clip': (c, d) => x.clip(Math.min(c, d), Math.max(c, d)),
  'a power': (c, d) => x.abs().pow(c).mul(d),
  'a product': (c, d) => x.matmul(y.T).mul(c).add(d),
  'a standardization': (c, d) => x.sub(c).div(x.std(0).add(d)),
  'a slice of a join': (c, d) =>
    x
      .mul(c)
      .slice([0, 20])
      .add(y.slice([20, 40]))
      .mul(d),
  'a function of scalars': (c, d) =>
    elementwise((v: number) => (v > c ? v * d : c), { captures: { c, d } })(x) as Lazy,
  'a loop': (c, d) => iterate(5, x, (s) => s.mul(c).add(d)) as Lazy,
  'a scan': (c, d) => x.mul(c).cumulativeSum(1).add(d),
  'a sort': (c, d) => x.mul(c).sort(1).add(d),
};

describe('another number in an expression', () => {
  it.each(Object.entries(CHAINS))('plans nothing anew in %s', async (_, chain) => {
    await chain(1.25, 0.75).compute(CPU);
    const planned = plannedNodes();
    const random = generator(5);
    const numbers = Array.from({ length: 12 }, () => [0.3 + 2.6 * random(), 0.3 + 2.6 * random()] as const);
    const found: Uint8Array[] = [];
    for (const [c, d] of numbers) found.push(await bytesOf(chain(c, d)));
    expect(plannedNodes()).toBe(planned);
    for (const [k, [c, d]] of numbers.entries()) {
      clearPrograms();
      expect(found[k]).toEqual(await bytesOf(chain(c, d)));
    }
  });

  it('plans once where many are computed at a time', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, k) =>
        x
          .mul(k + 0.5)
          .add(0.3)
          .compute(CPU),
      ),
    );
    expect(plannedNodes()).toBe(canonicalize([x.mul(0.5).add(0.3).expr]).graph.nodes.length);
  });

  it('reaches a compiled function that another expression of its structure planned', async () => {
    const f = compile((v: Lazy) => v.mul(3.25).add(0.5));
    const g = compile((v: Lazy) => v.mul(7.25).add(1.5));
    const wanted = [await bytesOf(x.mul(3.25).add(0.5)), await bytesOf(x.mul(7.25).add(1.5))];
    for (let k = 0; k < 3; k++) {
      const [first, second] = [await f(x), await g(x)];
      expect([await bytesOf(lazy(first)), await bytesOf(lazy(second))]).toEqual(wanted);
    }
  });

  it('counts where an op has a way of its own for it', async () => {
    const values = [2, 3, 2.5, 1, 0.5, 2, 3, 7];
    for (const c of values) {
      const found = await bytesOf(x.pow(c));
      clearPrograms();
      expect(found).toEqual(await bytesOf(x.pow(c)));
    }
    clearPrograms();
    for (const c of values) await x.pow(c).compute(CPU);
    const nodes = canonicalize([x.pow(3).expr]).graph.nodes.length;
    expect(plannedNodes()).toBe(3 * nodes); // 1, 2, and all others
  });

  it('is told apart from an equal one that an op needs itself', async () => {
    const places = toLazy(randomValues('float32', [64], 3))
      .mul(4)
      .astype('int64');
    const clipped = (low: number): Lazy =>
      where(places.less(low), places.add(9), places).maximum(low).minimum(8).mul(2);
    for (const low of [0, 1, 2]) {
      const found = await bytesOf(clipped(low));
      const data = (await places.compute(CPU)).data as BigInt64Array;
      const wanted = BigInt64Array.from(data, (v) => {
        const moved = v < BigInt(low) ? v + 9n : v;
        const above = moved < BigInt(low) ? BigInt(low) : moved;
        return 2n * (above > 8n ? 8n : above);
      });
      expect(found).toEqual(new Uint8Array(wanted.buffer));
    }
  });

  it('is a part of the program where a loop of elements is given an integer', async () => {
    const start = toLazy(randomIntegers('int32', [9], 4, 0, 1000));
    const f = (step: number): Lazy => {
      const fall = (v: number): number => {
        let n = v;
        while (n > 20) n -= step;
        return n;
      };
      return elementwise(fall, { captures: { step } })(start) as Lazy;
    };
    const found: Uint8Array[] = [];
    for (let step = 2; step < 6; step++) found.push(await bytesOf(f(step)));
    for (let step = 2; step < 6; step++) {
      clearPrograms();
      expect(found[step - 2]).toEqual(await bytesOf(f(step)));
    }
  });
});

const SPECIAL: Readonly<Record<string, readonly Scalar[]>> = {
  float: [
    0,
    -0,
    1,
    -1,
    2,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    1e-45,
    3.1,
    1e30,
  ],
  integer: [0, 1, -1, 2, 3, 127, -128],
  wide: [0n, 1n, -1n, 2n, 2n ** 53n + 1n, -(2n ** 62n), 7n],
  bool: [true, false],
};
const specialsOf = (dtype: DType): readonly Scalar[] => {
  if (dtype === 'bool') return SPECIAL.bool!;
  if (dtype === 'int64') return SPECIAL.wide!;
  return dtype.startsWith('int') ? SPECIAL.integer! : SPECIAL.float!;
};

describe('results', () => {
  it.each(['float32', 'float64', 'float16', 'bfloat16', 'int8', 'int32', 'int64', 'bool'] as const)(
    'have the bits of a program of their own, with special numbers beside %s',
    async (dtype) => {
      const seed = 20261126;
      const random = generator(seed);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
      const arithmetic = ['add', 'sub', 'mul', 'maximum', 'minimum', 'pow'] as const;
      const ops =
        dtype === 'bool'
          ? (['logicalAnd', 'logicalOr', 'logicalXor'] as const)
          : arithmetic.slice(0, dtype.startsWith('int') ? 5 : 6);
      const data = toLazy(randomValues('float32', [3, 70], 6))
        .mul(4)
        .astype(dtype);
      for (let round = 0; round < 12; round++) {
        const steps = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
          op: pick(ops),
          isFirst: random() < 0.3,
        }));
        const reduces = dtype !== 'bool' && random() < 0.4;
        const build = (numbers: readonly Scalar[]): Lazy => {
          let value: Lazy = data;
          for (const [k, { op, isFirst }] of steps.entries()) {
            const number = lazy(numbers[k]!).astype(dtype);
            const [a, b] = isFirst ? [number, value] : [value, number];
            value = (a as unknown as Record<string, (other: Lazy) => Lazy>)[op]!(b);
          }
          return reduces ? value.max(1) : value;
        };
        const draws = Array.from({ length: 6 }, () => steps.map(() => pick(specialsOf(dtype))));
        clearPrograms();
        const found: Uint8Array[] = [];
        for (const numbers of draws) found.push(await bytesOf(build(numbers)));
        for (const [k, numbers] of draws.entries()) {
          clearPrograms();
          const text = `seed ${seed} round ${round}: ${steps.map(({ op }) => op).join()} ${numbers.map(String).join()}`;
          expect(found[k], text).toEqual(await bytesOf(build(numbers)));
        }
      }
    },
  );
});
