/**
 * Property: what a reduction gives depends on itself alone. Each is computed alone, then beside random
 * siblings (reductions over the same and over other axes, maps of its input and of its argument, values that
 * read its result), with the same bits.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { generator, randomValues } from '../support/random.js';

const SHAPES: readonly (readonly number[])[] = [
  [500, 500],
  [301, 77],
  [1000],
  [140_001],
  [40, 5003],
  [2100, 40],
  [17, 3, 640],
  [6, 130, 9, 5],
];
const REDUCTIONS = ['sum', 'mean', 'std', 'var', 'prod', 'logsumexp', 'norm'] as const;
const RUNS = 120;
const SEED = 20_261_123;

type Axes = readonly number[];

/** One element of a list. */
const pick = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() * list.length)]!;

function axesOf(next: () => number, ndim: number): Axes {
  const axes = Array.from({ length: ndim }, (_, k) => k).filter(() => next() < 0.6);
  return axes.length === 0 ? [Math.floor(next() * ndim)] : axes;
}

/** What is reduced, of an array and another of its shape. */
const ARGUMENTS: readonly (readonly [string, (x: Lazy, y: Lazy) => Lazy])[] = [
  ['x', (x) => x],
  ['x.exp()', (x) => x.exp()],
  ['x.mul(y)', (x, y) => x.mul(y)],
  ['x.sub(y).abs()', (x, y) => x.sub(y).abs()],
  ['x.mul(row)', (x, y) => x.mul(y.slice(...y.shape.slice(1).map(() => [0, 1] as const)))],
  ['x.T', (x) => x.transpose()],
  ['chain', (x, y) => x.mul(0.5).tanh().add(y).sin().mul(x).add(y.square()).sigmoid()],
  ['x.slice', (x) => x.slice([1, null])],
  ['float64', (x) => x.astype('float64')],
];

type Sibling = (x: Lazy, argument: Lazy, value: Lazy, axes: Axes, other: Axes) => Lazy;
const SIBLINGS: readonly (readonly [string, Sibling])[] = [
  ['x.add(1)', (x) => x.add(1)],
  ['argument', (_, argument) => argument.mul(2)],
  ['chain of argument', (_, argument) => argument.mul(2).exp().add(1).sqrt().log1p().mul(argument).sub(3)],
  ['sum along the same axes', (_, argument, _v, axes) => argument.square().sum(axes)],
  [
    'sum of what is read in two ways',
    (_, argument, _v, axes) => {
      const isSquare = argument.ndim === 2 && argument.shape[0] === argument.shape[1];
      return (isSquare ? argument.mul(argument.transpose()) : argument.mul(3)).sum(axes);
    },
  ],
  ['max along the same axes', (_, argument, _v, axes) => argument.max(axes)],
  ['variance of x', (x) => x.var()],
  ['sum of x along other axes', (x, _a, _v, _axes, other) => x.sum(other)],
  ['norm along other axes', (_, argument, _v, _axes, other) => argument.norm(2, other)],
  ['softmax', (_, argument) => argument.softmax(-1)],
  ['use of the value', (_, _a, value) => value.mul(3).add(1)],
  [
    'argument less its mean',
    (_, argument, _v, axes) => argument.sub(argument.mean(axes, { keepdims: true })),
  ],
  [
    'argument over its norm',
    (_, argument, _v, axes) => argument.div(argument.norm({ axis: axes, keepdims: true })),
  ],
  ['x.T', (x) => x.transpose().add(1)],
];

const bitsOf = (data: ArrayBufferView): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

describe.each(backends().filter((device) => device === 'cpu'))('a reduction on %s', (device) => {
  it.each(['sum', 'mean', 'std'] as const)(
    '%s of all gives the same bits beside x.add(1), also exactly',
    async (method) => {
      const { data } = randomValues('float32', [500, 500], 3);
      const x = lazy(data as Float32Array, { shape: [500, 500] });
      for (const exact of [false, true]) {
        const alone = await x[method]().compute({ device, exact });
        const [beside] = await compute([x[method](), x.add(1)], { device, exact });
        expect(beside.item()).toBe(alone.item());
      }
    },
  );

  it(`gives the same bits beside others as alone, ${RUNS} times from seed ${SEED}`, async () => {
    const next = generator(SEED);
    const failures: string[] = [];
    for (let k = 0; k < RUNS; k++) {
      const shape = pick(next, SHAPES);
      const [x, y] = [1, 2].map((seed) => {
        const { data } = randomValues('float32', shape, 10 * k + seed);
        return lazy(data as Float32Array, { shape: [...shape] });
      }) as [Lazy, Lazy];
      const [name, argumentOf] = pick(next, ARGUMENTS);
      const argument = argumentOf(x, y);
      const method = pick(next, REDUCTIONS);
      const axes = axesOf(next, argument.ndim);
      const value = method === 'norm' ? argument.norm(2, axes) : argument[method](axes);
      const chosen = Array.from({ length: 1 + Math.floor(next() * 3) }, () => pick(next, SIBLINGS));
      const siblings = chosen.map(([, make]) => make(x, argument, value, axes, axesOf(next, argument.ndim)));
      const [alone] = await run(device, [value]);
      const place = Math.floor(next() * (siblings.length + 1));
      const beside = await run(device, siblings.toSpliced(place, 0, value));
      if (Buffer.compare(bitsOf(alone!.data), bitsOf(beside[place]!.data)) !== 0)
        failures.push(
          `${name} [${shape}] .${method}([${axes}]) beside ${chosen.map(([label]) => label).join(', ')}`,
        );
    }
    expect(failures).toEqual([]);
  }, 300_000);
});
