/**
 * Property: what a reduction gives depends on itself alone. Each is computed alone, then beside random
 * siblings (reductions over the same and over other axes, maps of its input and of its argument, values that
 * read its result), with the same bits.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
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
  [4100, 36],
  [150, 2500],
  [48, 50],
];
const REDUCTIONS = ['sum', 'mean', 'std', 'var', 'prod', 'logsumexp', 'norm'] as const;
/** The simulated GPU compiles each kernel for a second. */
const runsOn = (device: string): number => (device === 'cpu' ? 240 : 40);

type Axes = readonly number[];

/** One element of a list. */
const pick = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() * list.length)]!;

function axesOf(next: () => number, ndim: number): Axes {
  const axes = Array.from({ length: ndim }, (_, k) => k).filter(() => next() < 0.6);
  return axes.length === 0 ? [Math.floor(next() * ndim)] : axes;
}

/** The first 48 rows of two arrays, each with each. */
function pairsOf(x: Lazy, y: Lazy): Lazy {
  const [a, b] = [x, y].map((array) => array.flatten().slice([0, 480]).reshape(-1, 10));
  return a!.expandDims(1).sub(b!.expandDims(0));
}

const columnOf = (x: Lazy): Lazy => x.flatten().slice([0, 500]).reshape(-1, 1);
const rowOf = (x: Lazy): Lazy => x.flatten().slice([0, 700]).reshape(1, -1);

/** The reduced values, of an array and another of its shape. */
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
  ['float16', (x) => x.astype('float16')],
  ['every second', (x) => x.slice([null, null, 2])],
  ['float16 and x', (x, y) => y.astype('float16').mul(x)],
];

/**
 * Arguments that lie elsewhere once they are stored than what they are computed from. Beside a kernel that
 * has them stored a reduction reads them there, which is another reduction; so no sibling reads them by
 * element.
 */
const ARGUMENTS_OF_TWO: typeof ARGUMENTS = [
  ['of pairs', (x, y) => pairsOf(x, y).square()],
  ['Gaussian of pairs', (x, y) => pairsOf(x, y).square().negative().exp()],
  ['table', (x, y) => columnOf(x).sub(rowOf(y)).square().negative().exp()],
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
  ['mean along the same axes', (_, argument, _v, axes) => argument.mean(axes)],
  ['sum of float64 along the same axes', (_, argument, _v, axes) => argument.astype('float64').sum(axes)],
  ['sum of float16 along the same axes', (_, argument, _v, axes) => argument.astype('float16').sum(axes)],
  ['logsumexp along the same axes', (_, argument, _v, axes) => argument.logsumexp(axes)],
  [
    'argument, standardized',
    (_, argument, _v, axes) => {
      const centred = argument.sub(argument.mean(axes, { keepdims: true }));
      return centred.div(argument.std(axes, { keepdims: true }));
    },
  ],
  [
    'argument over its greatest',
    (_, argument, _v, axes) => argument.div(argument.max(axes, { keepdims: true })),
  ],
  [
    'deviation of the mean',
    (_, argument, _v, axes) =>
      argument
        .sub(argument.mean(axes, { keepdims: true }))
        .abs()
        .mean(axes),
  ],
];

/** Those that leave an argument where it is. */
const REDUCING: ReadonlySet<string> = new Set([
  'x.add(1)',
  'sum along the same axes',
  'max along the same axes',
  'mean along the same axes',
  'variance of x',
  'use of the value',
  'x.T',
]);

const given = (name: string): number | undefined =>
  process.env[name] === undefined ? undefined : Number(process.env[name]);
const SEED = given('WEFT_PROPERTY_SEED') ?? 20_261_123;

const bitsOf = (data: ArrayBufferView): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'a reduction on %s',
  (device) => {
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

    it('of arrays that lie in two ways gives the same bits beside one of another of them', async () => {
      const [straight, across] = [1, 2].map((seed) => randomValues('float32', [16 * 353], seed).data);
      const x = lazy(straight as Float32Array).reshape(16, 353);
      const y = lazy(across as Float32Array)
        .reshape(353, 16)
        .transpose();
      const sum = x.add(y).sum(1);
      const alone = await sum.compute({ device });
      const [, beside] = await compute([y.sub(x).sum(1), sum], { device });
      expect(bitsOf(beside.data)).toEqual(bitsOf(alone.data));
    });

    it.each([
      [26, 4999],
      [301, 77],
      [3, 20_001],
      [700, 12],
    ])(
      'of %i rows, each times what three vectors make, gives the same bits beside that',
      async (rows, length) => {
        const vectorsOf = (size: number): Lazy[] =>
          [1, 2, 3].map((seed) => lazy(randomValues('float32', [size], seed).data as Float32Array));
        const x = lazy(randomValues('float32', [rows, length], 4).data as Float32Array, {
          shape: [rows, length],
        });
        for (const axis of [0, 1]) {
          const [a, b, c] = vectorsOf(axis === 0 ? rows : length) as [Lazy, Lazy, Lazy];
          const rest = a.sub(b.mul(a.mul(b).sum())).sub(c);
          const sum = x.mul(axis === 0 ? rest.reshape(rows, 1) : rest).sum(axis);
          const alone = await sum.compute({ device });
          const [beside] = await compute([sum, rest, rest.square().sum(), rest.sub(1).max()], { device });
          expect(bitsOf(beside.data)).toEqual(bitsOf(alone.data));
        }
      },
    );

    it('of rows that move along one of two axes gives the same bits beside what moves along both', async () => {
      const [rows, count, length] = [2, 40, 3000];
      const valuesOf = (shape: readonly number[], seed: number): Lazy =>
        lazy(randomValues('float32', shape, seed).data as Float32Array, { shape: [...shape] });
      const everySecond = (seed: number): Lazy =>
        valuesOf([count, 2 * length], seed).slice(null, [null, null, 2]);
      const rest = everySecond(1).sub(valuesOf([count, length], 2));
      const shared = rest.mul(everySecond(3)).mul(valuesOf([count, length], 4));
      const sum = valuesOf([rows, 1, length], 5).mul(shared).sum([1, 2]);
      const alone = await sum.compute({ device });
      const [beside] = await compute([sum, rest, rest.square().sum()], { device });
      expect(bitsOf(beside.data)).toEqual(bitsOf(alone.data));
    });

    it(`gives the same bits beside others as alone, from seed ${SEED}`, async () => {
      const next = generator(SEED);
      const failures: string[] = [];
      for (let k = 0; k < runsOn(device); k++) {
        const shape = pick(next, SHAPES);
        const [x, y] = [1, 2].map((seed) => {
          const { data } = randomValues('float32', shape, 10 * k + seed);
          return lazy(data as Float32Array, { shape: [...shape] });
        }) as [Lazy, Lazy];
        const isOfTwo = next() < 0.2;
        const [name, argumentOf] = pick(next, isOfTwo ? ARGUMENTS_OF_TWO : ARGUMENTS);
        const candidates = isOfTwo ? SIBLINGS.filter(([label]) => REDUCING.has(label)) : SIBLINGS;
        const argument = argumentOf(x, y);
        const method = pick(next, REDUCTIONS);
        const axes = axesOf(next, argument.ndim);
        const value = method === 'norm' ? argument.norm(2, axes) : argument[method](axes);
        const chosen = Array.from({ length: 1 + Math.floor(next() * 3) }, () => pick(next, candidates));
        const siblings = chosen.map(([, make]) =>
          make(x, argument, value, axes, axesOf(next, argument.ndim)),
        );
        const exact = next() < 0.25;
        const [alone] = await compute([value], { device, exact });
        const place = Math.floor(next() * (siblings.length + 1));
        const beside = await compute(siblings.toSpliced(place, 0, value), { device, exact });
        if (Buffer.compare(bitsOf(alone!.data), bitsOf(beside[place]!.data)) !== 0)
          failures.push(
            `${name} [${shape}] .${method}([${axes}])${exact ? ' exactly' : ''} beside ${chosen.map(([label]) => label).join(', ')}`,
          );
      }
      expect(failures).toEqual([]);
    }, 300_000);
  },
);
