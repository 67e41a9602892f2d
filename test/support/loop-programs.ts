/**
 * Programs for `programs.ts` that loop: stencils and other bodies of one kernel, bodies of several kernels,
 * products, states by turns, kept states, loops in loops, conditions.
 */
import { arange, iterate, type Lazy, lazy, stack, where, whileLoop, zeros } from '../../src/index.js';
import { toLazy } from './api.js';
import type { Program } from './program.js';
import { randomIntegers, randomValues } from './random.js';

type Arrays = (dtype: Parameters<typeof randomIntegers>[0], ...shape: number[]) => Lazy;

/** Arrays that differ within a program and are the same in every run. */
function arrays(): { readonly integers: Arrays; readonly values: Arrays } {
  let seed = 700_000;
  return {
    integers: (dtype, ...shape) => toLazy(randomIntegers(dtype, shape, ++seed, -3, 3)),
    values: (dtype, ...shape) => toLazy(randomValues(dtype, shape, ++seed)),
  };
}

/** A step of heat through a plate that is cold around, in numbers that are exact. */
function diffused(f: Lazy): Lazy {
  const p = f.pad(1);
  const around = p
    .slice([null, -2], [1, -1])
    .add(p.slice([2, null], [1, -1]))
    .add(p.slice([1, -1], [null, -2]))
    .add(p.slice([1, -1], [2, null]));
  return f.mul(4).sub(around).remainder(1024);
}

/** The same inside a border that stays. */
function held(f: Lazy): Lazy {
  const inner = f.slice([1, -1], [1, -1]);
  const around = f.slice([null, -2], [1, -1]).add(f.slice([2, null], [1, -1]));
  return f.add(around.sub(inner.mul(2)).pad(1)).remainder(512);
}

export const LOOP_PROGRAMS: readonly Program[] = [
  ...[1, 2, 3, 17].map((n) => ({
    name: `diffusion on a plate, ${n} steps`,
    build: () => {
      const { integers } = arrays();
      return [
        iterate(n, integers('float32', 37, 45), diffused),
        iterate(n, integers('float64', 5, 8), diffused),
      ];
    },
  })),
  {
    name: 'diffusion inside a border, larger than a block',
    build: () => {
      const { integers } = arrays();
      return [iterate(21, integers('float32', 70, 150), held), iterate(9, integers('int32', 33, 200), held)];
    },
  },
  {
    name: 'stencils along a line, of waves and of two fields',
    build: () => {
      const { integers } = arrays();
      const side = (x: Lazy): Lazy =>
        x
          .pad([[1, 1]])
          .slice([2, null])
          .add(x.pad([[1, 1]]).slice([null, -2]));
      const [now] = iterate(25, [integers('float32', 300), integers('float32', 300)], ([x, before]) => [
        side(x).sub(before).remainder(256),
        x,
      ]);
      const { u, v } = iterate(
        6,
        { u: integers('float64', 40, 12), v: integers('float64', 40, 12) },
        (s) => ({
          u: diffused(s.u).add(s.v).remainder(128),
          v: s.v.sub(s.u).remainder(128),
        }),
      );
      return [now, u, v];
    },
  },
  {
    name: 'rings and reversals, which read far away',
    build: () => {
      const { integers } = arrays();
      const x = integers('int64', 23, 7);
      return [
        iterate(10, x, (y) => y.roll(1, 0).add(y.roll(-1, 1)).remainder(1000)),
        iterate(5, x, (y) => y.slice([null, null, -1]).sub(1)),
      ];
    },
  },
  {
    name: 'maps of every element by itself, with constants and the number of the step',
    build: () => {
      const { integers } = arrays();
      const [x, w] = [integers('int32', 1000), integers('int32', 1000)];
      return [
        iterate(7, x, (y, i) => y.mul(w.add(2)).add(i).remainder(97)),
        iterate(4, integers('float16', 33), (y) => y.add(0.5)),
        iterate(3, x.greater(0), (y) => y.logicalNot()),
      ];
    },
  },
  {
    name: 'the number of the step in stencils and in maps, on several tiles and after other loops',
    build: () => {
      const { integers } = arrays();
      const [x, y] = [integers('float32', 37, 145), integers('float64', 60)];
      const numbered = (z: Lazy, i: Lazy): Lazy => diffused(z).add(i.remainder(5).astype('float32'));
      return [
        iterate(19, x, numbered),
        iterate(12, x, numbered, { every: 6 }),
        iterate(3, x, (z, i) => iterate(9, z, (u, j) => diffused(u).add(j.mul(2).add(i).astype('float32')))),
        iterate(600, y, (z, i) => z.add(i.astype('float64')).remainder(128)),
        ...iterate(10, [x, x.add(1)], ([u, v], i) => [numbered(u, i), v.sub(u).remainder(64)]),
      ];
    },
  },
  {
    name: 'the number of the step in the dtype of the state, with and without a fraction',
    build: () => {
      const { integers } = arrays();
      const dtypes = [
        'uint8',
        'int16',
        'int32',
        'uint64',
        'float16',
        'bfloat16',
        'float32',
        'float64',
      ] as const;
      const counted = dtypes.map((dtype) =>
        iterate(5, integers(dtype, 20), (x, i) => x.add(i.mul(2).sub(x))),
      );
      const halves = iterate(5, integers('float32', 20), (x, i) => x.mul(i.mul(0.5)).add(i.div(4)));
      const complex = iterate(3, integers('complex64', 5), (x, i) => x.add(i));
      const below = whileLoop(
        (x) => x.sum().less(500),
        (x, i) => x.add(where(i.greater(3), i, 1)),
        integers('float32', 7),
      );
      return [...counted, halves, complex, below];
    },
  },
  {
    name: 'bodies of several kernels, of reductions and of products',
    tolerance: 1e-5,
    build: () => {
      const { values } = arrays();
      const a = values('float32', 24, 24);
      const power = iterate(8, values('float32', 24), (x) => {
        const y = a.matmul(x);
        return y.div(y.square().sum().sqrt());
      });
      const rows = iterate(3, values('float64', 12, 50), (x) => x.sub(x.mean(1, { keepdims: true })).tanh());
      const product = iterate(5, values('float32', 24, 24), (x) => a.matmul(x).mul(0.2));
      return [power, rows, product];
    },
  },
  {
    name: 'states that take each other’s places, or are equal',
    build: () => {
      const { integers } = arrays();
      const [x, y] = [integers('int32', 50), integers('int32', 50)];
      return [
        ...iterate(5, [x, y], ([a, b]) => [b, a.add(b)]),
        ...iterate(4, [x, y], ([a, b]) => [b, a]),
        ...iterate(3, [x, y], ([a, b]) => [a.sub(b), a.sub(b)]),
        ...iterate(3, [x.reshape([5, 10]), y], ([a, b]) => [b.reshape([5, 10]), a.reshape([50])]),
        iterate(3, x, () => y),
      ];
    },
  },
  {
    name: 'states that are kept on the way',
    build: () => {
      const { integers } = arrays();
      const { x, n } = iterate(
        11,
        { x: integers('float32', 9, 11), n: lazy(0) },
        (s) => ({ x: diffused(s.x), n: s.n.add(1) }),
        { every: 3 },
      );
      return [x, n, iterate(6, integers('float32', 64, 64), diffused, { every: 2 }).sum(0)];
    },
  },
  {
    name: 'results that go on, start values that are computed',
    build: () => {
      const { integers } = arrays();
      const x = integers('float64', 30, 20);
      const y = iterate(3, x.add(1).transpose(), diffused);
      return [y.add(y.sum(0)), y.slice([2, 5]), iterate(2, y, diffused), stack([y, y.mul(2)])];
    },
  },
  {
    name: 'loops in loops',
    build: () => {
      const { integers } = arrays();
      const x = integers('int64', 40);
      const nested = iterate(3, x, (y, i) =>
        iterate(4, y, (z) => z.add(y).add(i).remainder(101)).slice([null, null, -1]),
      );
      const kept = iterate(2, x, (y) => iterate(4, y, (z) => z.add(1), { every: 2 }).sum(0));
      return [nested, kept];
    },
  },
  {
    name: 'steps that read, update and count by what they compute',
    build: () => {
      const { integers } = arrays();
      const next = lazy(Int32Array.from({ length: 60 }, (_, k) => (k * 7 + 11) % 60));
      const weights = integers('float32', 60);
      const [places, sums] = iterate(9, [next, weights], ([p, s]) => [
        next.take(p.sub(60)),
        s.add(weights.take(p)).remainder(64),
      ]);
      const visits = iterate(5, [next, zeros([60], 'int32')], ([p, n]) => [
        next.take(p),
        n.at(p).add(1).add(p.bincount(60).astype('int32')),
      ]);
      const nested = iterate(3, next, (p) => iterate(4, p, (q) => next.take(q)).takeAlongAxis(p));
      const kept = iterate(8, next, (p) => next.take(p).put(p.slice([0, 3]), 5), { every: 4 });
      const [end, steps] = whileLoop(
        ([p]) => p.notEqual(40).any(),
        ([p, n]) => [next.take(p), n.add(1)],
        [lazy(Int32Array.of(11)), lazy(0)],
      );
      return [places, sums, ...visits, nested, kept, end, steps];
    },
  },
  {
    name: 'long loops of several kernels, and of what is kept',
    build: () => {
      const { integers } = arrays();
      const x = integers('int32', 40);
      const turn = (y: Lazy): Lazy => y.slice([null, null, -1]).add(1).remainder(1000);
      const several = iterate(71, x, (y, i) => turn(y).add(i.astype('int32')));
      return [several, iterate(140, x, turn), iterate(150, x, turn, { every: 75 })];
    },
  },
  {
    name: 'conditions: steps of Collatz and bisection, at most so many',
    build: () => {
      const { integers } = arrays();
      const collatz = (start: number): Lazy =>
        whileLoop(
          ([x]) => x.notEqual(1),
          ([x, n]) => [where(x.remainder(2).equal(0), x.floorDivide(2), x.mul(3).add(1)), n.add(1)],
          [lazy(BigInt(start)), lazy(0n)],
        )[1];
      const growing = whileLoop(
        (x) => x.max().less(1000),
        (x) => x.mul(2).add(1),
        integers('int32', 60),
        { max: 6 },
      );
      const never = whileLoop(
        (x) => x.max().greater(1000),
        (x) => x.add(1),
        integers('float32', 60),
      );
      const sums = iterate(4, arange(20), (x) =>
        whileLoop(
          (y) => y.sum().less(500),
          (y) => y.add(1),
          x,
        ).div(2),
      );
      return [collatz(27), collatz(1), collatz(6), growing, never, sums, zeros([3])];
    },
  },
];
