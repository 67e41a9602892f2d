/** Values and kinds of programs of `random-company.ts`: what each is drawn from. */
import type { DType } from '../../src/graph/dtype.js';
import { concat, type Lazy, lazy, stack, where } from '../../src/index.js';
import { Draw } from './random.js';

/** What programs are drawn from. */
export interface Kind {
  readonly shapes: readonly (readonly number[])[];
  readonly dtypes: readonly DType[];
  readonly makers: readonly Maker[];
  /** Makes several values at once: the states of a loop, a join and parts of it. */
  readonly group?: (x: Lazy, y: Lazy, draw: AxisDraw) => readonly Made[] | undefined;
  readonly members: readonly [least: number, more: number];
  readonly results: readonly [least: number, more: number];
}

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
  [64, 64],
  [2000, 3],
  [3, 2000],
  [7, 16],
  [1, 900],
  [33, 8, 100],
];
/** Elements of a value at most, and of both operands of a product together. */
export const MOST_ELEMENTS = 600_000;

export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, n) => size * n, 1);

export class AxisDraw extends Draw {
  /** Some of the axes of an array, at least one. */
  axes({ ndim }: Lazy): number[] {
    const axes = Array.from({ length: ndim }, (_, axis) => axis).filter(() => this.next() < 0.5);
    return axes.length === 0 && ndim > 0 ? [this.below(ndim)] : axes;
  }

  axis({ ndim }: Lazy): number {
    return this.below(ndim);
  }
}

/** A value, and its expression over `x` and `y`. */
export type Made = readonly [text: string, value: Lazy];

/** A value made of a drawn one, another one, and draws; undefined where they do not fit. */
export type Maker = (x: Lazy, y: Lazy, draw: AxisDraw) => Made | undefined;

export const broadcasts = (a: Lazy, b: Lazy): boolean =>
  a.shape.toReversed().every((size, k) => {
    const other = b.shape.at(-1 - k) ?? 1;
    return size === other || size === 1 || other === 1;
  });

const UNARY = ['exp', 'sin', 'tanh', 'square', 'sqrt', 'abs', 'sigmoid', 'negative', 'log1p', 'cos'] as const;
const BINARY = ['add', 'sub', 'mul', 'div', 'maximum'] as const;
const REDUCTIONS = ['sum', 'mean', 'std', 'var', 'prod', 'logsumexp', 'norm', 'max'] as const;

const unary: Maker = (x, _y, draw) => {
  const op = draw.of(UNARY);
  const bounded = op === 'exp' ? x.tanh() : op === 'sqrt' || op === 'log1p' ? x.abs() : x;
  return [`${op}(x)`, bounded[op]()];
};

const binary: Maker = (x, y, draw) => {
  const op = draw.of(BINARY);
  return broadcasts(x, y) ? [`x ${op} y`, x[op](op === 'div' ? y.abs().add(1) : y)] : undefined;
};

const chain: Maker = (x) => ['chain(x)', x.mul(0.5).tanh().add(0.25).sin().mul(x).add(1).square().sigmoid()];

const scalar: Maker = (x, _y, draw) => {
  const factor = draw.of([2, 0.3, -1.5]);
  return [`x * ${factor} + 1`, x.mul(factor).add(1)];
};

const transpose: Maker = (x) => (x.ndim < 2 ? undefined : ['x.T', x.transpose()]);

const moved: Maker = (x) => (x.ndim < 3 ? undefined : ['moveaxis(x, 0, -1)', x.moveaxis(0, -1)]);

const sliced: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  const range = draw.of([
    [1, null],
    [null, -1],
    [null, null, 2],
    [null, null, -1],
    [0, 30],
  ] as const);
  if (x.shape[axis]! < 4) return undefined;
  const all = x.shape.map((_, k) => (k === axis ? range : ([null, null] as const)));
  return [`x[${range} along ${axis}]`, x.slice(...(all as Parameters<Lazy['slice']>))];
};

const reshaped: Maker = (x, _y, draw) => {
  const size = sizeOf(x.shape);
  const divisor = draw.of([2, 3, 4, 5, 8, 10, 50].filter((n) => size % n === 0 && size > n));
  const shape = draw.of([
    [-1],
    ...(divisor === undefined
      ? []
      : [
          [divisor, -1],
          [-1, divisor],
        ]),
  ]);
  return [`x.reshape(${shape})`, x.reshape(shape)];
};

const pairs: Maker = (x, y) => {
  if (x.ndim === 0 || y.ndim === 0) return undefined;
  const column = x.flatten().slice([0, 500]).reshape(-1, 1);
  const row = y.flatten().slice([0, 300]).reshape(1, -1);
  return ['x[:500, None] - y[None, :300]', column.sub(row)];
};

/** Differences of points of a few coordinates, each with each. */
const points: Maker = (x, y, draw) => {
  const size = draw.of([2, 3, 10, 20]);
  const rows = Math.min(200, ...[x, y].map(({ shape }) => Math.floor(sizeOf(shape) / size)));
  if (rows < 2) return undefined;
  const [a, b] = [x, y].map((v) =>
    v
      .flatten()
      .slice([0, rows * size])
      .reshape(rows, size),
  ) as [Lazy, Lazy];
  const distances = a.expandDims(1).sub(b.expandDims(0)).square().sum(-1);
  const text = `Σ (a[i, k] - b[j, k])², k < ${size}`;
  // A reduction takes short sums in where nobody else reads them: they are not wanted beside it.
  return size > 16 ? [text, distances] : [`min over j of ${text}`, distances.min(1)];
};

const padded: Maker = (x) => (x.ndim === 0 ? undefined : ['pad(x, 1)', x.pad(1)]);

const rolled: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  return [`roll(x, 1, ${axis})`, x.roll(1, axis)];
};

const stencil: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  return [`x + roll(x, 1, ${axis}) + roll(x, -1, ${axis})`, x.add(x.roll(1, axis)).add(x.roll(-1, axis))];
};

const joined: Maker = (x, y, draw) => {
  if (x.ndim === 0 || x.dtype !== y.dtype || `${x.shape}` !== `${y.shape}`) return undefined;
  return draw.next() < 0.5
    ? [`concat([x, y])`, concat([x, y.mul(2)], 0)]
    : [`stack([x, y], -1)`, stack([x, y.mul(2)], -1)];
};

const chosen: Maker = (x, y) =>
  broadcasts(x, y) ? ['where(x > 0, x, y)', where(x.greater(0), x, y)] : undefined;

const taken: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  const size = x.shape[axis]!;
  const indices = Array.from({ length: Math.min(size, 60) }, (_, k) => (7 * k) % size);
  return [`take(x, 7k, ${axis})`, x.take(indices, axis)];
};

const cast: Maker = (x, _y, draw) => {
  const dtype = draw.of(['float64', 'float16', 'bfloat16', 'float32'] as const);
  return [`${dtype}(x)`, x.astype(dtype)];
};

const reduced: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const method = draw.of(REDUCTIONS);
  const axes = draw.axes(x);
  const keepdims = draw.next() < 0.3;
  const text = `${method}(x, [${axes}]${keepdims ? ', keepdims' : ''})`;
  return [text, method === 'norm' ? x.norm(2, axes, { keepdims }) : x[method](axes, { keepdims })];
};

const softmaxed: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  return draw.next() < 0.7
    ? [`softmax(x, ${axis})`, x.softmax(axis)]
    : [`logSoftmax(x, ${axis})`, x.logSoftmax(axis)];
};

const standardized: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axes = draw.axes(x);
  const centred = x.sub(x.mean(axes, { keepdims: true }));
  return draw.next() < 0.5
    ? [`x - mean(x, [${axes}])`, centred]
    : [`(x - mean(x, [${axes}])) / std`, centred.div(x.std(axes, { keepdims: true }).add(0.1))];
};

const deviation: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axes = draw.axes(x);
  return [
    `Σ (x - mean(x))² over [${axes}]`,
    x
      .sub(x.mean(axes, { keepdims: true }))
      .square()
      .sum(axes),
  ];
};

const product: Maker = (x, y, draw) => {
  if (x.ndim !== 2 || y.ndim !== 2) return undefined;
  const forms: [string, Lazy, Lazy][] = [
    ['x @ y', x, y],
    ['x @ y.T', x, y.transpose()],
    ['x.T @ y', x.transpose(), y],
    ['x @ x.T', x, x.transpose()],
    ['x.T @ x', x.transpose(), x],
  ];
  const [text, a, b] = draw.of(forms);
  const isFit = a.shape[1] === b.shape[0] && a.shape[0]! * b.shape[1]! <= MOST_ELEMENTS;
  return isFit && a.shape[0]! * b.shape[1]! * a.shape[1]! <= 3e8 ? [text, a.matmul(b)] : undefined;
};

const attention: Maker = (x, y) => {
  if (x.ndim !== 2 || `${x.shape}` !== `${y.shape}` || x.shape[0]! > 600 || x.shape[1]! > 256)
    return undefined;
  return ['softmax(x @ y.T) @ y', x.matmul(y.transpose()).mul(0.1).softmax(-1).matmul(y)];
};

const scanned: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  return [`cumsum(x, ${axis})`, x.cumulativeSum(axis)];
};

const segmented: Maker = (x) => {
  if (x.ndim === 0) return undefined;
  const rows = x.shape[0]!;
  const ids = lazy(Int32Array.from({ length: rows }, (_, k) => (k * 31) % 5));
  return ['segmentSum(x, ids, 5)', x.segmentSum(ids, 5)];
};

/** Each as often as it is drawn. */
export const MAKERS: readonly Maker[] = [
  ...[unary, unary, binary, binary, chain, scalar, transpose, transpose, moved, sliced, reshaped, pairs],
  ...[points, padded, rolled, stencil, joined, chosen, taken, cast, softmaxed, softmaxed, standardized],
  ...[reduced, reduced, reduced, reduced, reduced, reduced, deviation],
  ...[product, product, attention, scanned, segmented],
];

export const ORDINARY: Kind = {
  shapes: SHAPES,
  dtypes: ['float32'],
  makers: MAKERS,
  members: [4, 9],
  results: [2, 3],
};

/** Arrays with short axes. */
const SHORT_AXES: readonly (readonly number[])[] = [
  ...[
    [37, 5, 11, 3],
    [2000, 3],
    [3, 5000, 2],
    [16, 16, 40],
    [300, 4, 4],
    [8, 8, 8, 8],
    [2, 3, 4, 5, 6],
  ],
  ...[
    [5000, 2],
    [4, 9000],
    [1200, 10],
    [9, 700, 7],
    [5, 5, 800],
    [64, 3, 32, 2],
    [10, 10, 10, 10],
  ],
  ...[
    [600, 6, 1, 6],
    [100, 12, 30],
    [2, 40_000],
    [40_000, 4],
    [17, 3, 640],
    [12, 500],
    [1, 7, 900],
  ],
];

const shortSum: Maker = (x, _y, draw) => {
  const short = x.shape.flatMap((size, axis) => (size <= 16 ? [axis] : []));
  if (short.length === 0) return undefined;
  const axes = [draw.of(short)];
  const more = draw.of(short);
  if (!axes.includes(more) && x.shape[axes[0]!]! * x.shape[more]! <= 16) axes.push(more);
  const method = draw.of(['sum', 'sum', 'sum', 'mean', 'prod', 'max'] as const);
  const keepdims = draw.next() < 0.3;
  return [`${method}(x, [${axes}]${keepdims ? ', keepdims' : ''})`, x[method](axes, { keepdims })];
};

/** A map of two reductions over the same axes. */
const twoReductions: Maker = (x, y, draw) => {
  if (x.ndim === 0) return undefined;
  const axes = draw.axes(x);
  const [one, other] = [draw.of(REDUCTIONS), draw.of(['sum', 'mean', 'min'] as const)];
  const from = `${x.shape}` === `${y.shape}` ? y : x.square();
  const first = one === 'norm' ? x.norm(2, axes) : x[one](axes);
  return [`${one}(x, [${axes}]) - ${other}(y or x², [${axes}])`, first.sub(from[other](axes))];
};

/** An array beside a row, column or other part of it that others share. */
const partner: Maker = (x, y, draw) => {
  if (x.ndim < 2 || y.ndim === 0) return undefined;
  const shape = x.shape.map((size) => (draw.next() < 0.5 ? size : 1));
  const size = sizeOf(shape);
  if (size > sizeOf(y.shape)) return undefined;
  const part = y.flatten().slice([0, size]).reshape(shape);
  const op = draw.of(['mul', 'add', 'sub'] as const);
  return [`x ${op} y as [${shape}]`, x[op](part)];
};

/** An array beside a reduction of its own. */
const beside: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axes = draw.axes(x);
  const method = draw.of(['sum', 'mean', 'max', 'var'] as const);
  const op = draw.of(['mul', 'sub'] as const);
  return [`x ${op} ${method}(x, [${axes}])`, x[op](x[method](axes, { keepdims: true }))];
};

const permuted: Maker = (x, _y, draw) => {
  if (x.ndim < 2) return undefined;
  const axes = Array.from({ length: x.ndim }, (_, axis) => axis);
  for (let k = axes.length - 1; k > 0; k--) {
    const other = draw.below(k + 1);
    [axes[k], axes[other]] = [axes[other]!, axes[k]!];
  }
  return [`x.transpose(${axes})`, x.transpose(axes)];
};

/** Axes joined, or one of them split. */
const regrouped: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  const size = x.shape[axis]!;
  const divisor = draw.of([2, 3, 4, 5, 8, 16].filter((n) => size % n === 0 && size > n));
  const isJoined = x.ndim > axis + 1 && (divisor === undefined || draw.next() < 0.5);
  if (!isJoined && divisor === undefined) return undefined;
  const [own, more] = isJoined ? [[size * x.shape[axis + 1]!], 2] : [[size / divisor!, divisor!], 1];
  const shape = [...x.shape.slice(0, axis), ...own, ...x.shape.slice(axis + more)];
  return [`x.reshape(${shape})`, x.reshape(shape)];
};

/** Sums of several axes of sums of maps, with views between. */
export const HARSH: Kind = {
  shapes: [...SHORT_AXES, ...SHAPES],
  dtypes: ['float32', 'float32', 'float32', 'float64', 'float16', 'bfloat16'],
  makers: [
    ...[unary, binary, binary, chain, scalar, transpose, permuted, permuted, regrouped, regrouped, sliced],
    ...[shortSum, shortSum, shortSum, reduced, reduced, reduced, reduced, twoReductions, twoReductions],
    ...[partner, partner, beside, beside, cast, stencil, joined, taken, points, softmaxed, standardized],
  ],
  members: [4, 11],
  results: [2, 4],
};

/** Beside a row, which a library may add to a product. */
const biased: Maker = (x, y) => {
  if (x.ndim !== 2 || sizeOf(y.shape) < x.shape[1]!) return undefined;
  return ['x + y as a row', x.add(y.flatten().slice([0, x.shape[1]!]).reshape(-1))];
};

const activated: Maker = (x, _y, draw) =>
  draw.next() < 0.5 ? ['relu(x)', x.maximum(0)] : ['gelu(x)', x.gelu({ approximate: 'tanh' })];

/** Products, what libraries fuse into them, and views of both. */
export const PRODUCTS: Kind = {
  shapes: [
    [48, 50],
    [64, 64],
    [150, 250],
    [33, 8],
    [7, 160],
    [130, 96],
  ],
  dtypes: ['float32', 'float32', 'float64', 'float16', 'bfloat16'],
  makers: [
    ...[product, product, product, product, transpose, transpose, biased, biased, activated, scalar],
    ...[binary, binary, unary, cast, sliced, reshaped, reduced, reduced, softmaxed, attention, joined],
  ],
  members: [4, 8],
  results: [2, 3],
};
