/**
 * Programs of `random-company.ts` with joins of 2 to 66 slices of an array: of slices as they are, computed alike, in turns of
 * one another, or beside a row, in their order and permuted; of reductions of them, and of what else reads their parts.
 */
import { isComplex } from '../../src/graph/dtype.js';
import { concat, type Lazy, stack, unstack } from '../../src/index.js';
import { type AxisDraw, type Kind, type Made, type Maker, sizeOf } from './company-kinds.js';

const OPS = ['sin', 'exp', 'abs', 'square', 'negative', 'cos', 'tanh'] as const;

/** A slice of the array that is joined: its number, and the row beside it. */
type Part = (slices: readonly Lazy[], k: number, row: Lazy) => Lazy;

function partOf(draw: AxisDraw, dtype: Lazy['dtype']): readonly [string, Part] {
  const op = draw.of(OPS.filter((each) => each !== 'abs' || !isComplex(dtype)));
  return draw.of<readonly [string, Part]>([
    ['x[k]', (slices, k) => slices[k]!],
    [`${op}(x[k])`, (slices, k) => slices[k]![op]()],
    [`${op}(x[k]) w`, (slices, k, row) => slices[k]![op]().mul(row)],
    ['x[k] w + w', (slices, k, row) => slices[k]!.mul(row).add(row)],
    ['(k + 1) x[k] + w', (slices, k, row) => slices[k]!.mul(k + 1).add(row)],
    [`k odd ? x[k] w : ${op}(x[k])`, (slices, k, row) => (k % 2 ? slices[k]!.mul(row) : slices[k]![op]())],
    [
      'k > 0 ? (x[k] - x[k - 1]) w : x[0]',
      (slices, k, row) => (k > 0 ? slices[k]!.sub(slices[k - 1]!).mul(row) : slices[k]!),
    ],
  ]);
}

const ORDERS: readonly (readonly [string, (k: number, count: number) => number])[] = [
  ['', (k) => k],
  ['', (k) => k],
  [', backwards', (k, count) => count - 1 - k],
  [', at 7 k', (k, count) => (7 * k) % count],
  [', at 2 k', (k, count) => (2 * k) % count],
];

/** A join of slices, and some of its parts. */
function joined(x: Lazy, y: Lazy, draw: AxisDraw): readonly Made[] | undefined {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  const count = x.shape[axis]!;
  if (count < 2 || count > 66) return undefined;
  const slices = unstack(x, axis);
  const { shape } = slices[0]!;
  const wide = shape.map((size) => (draw.next() < 0.7 ? size : 1));
  const beside = y.dtype === x.dtype && sizeOf(wide) <= sizeOf(y.shape) ? 'y' : 'x';
  const row = (beside === 'y' ? y : x)
    .flatten()
    .slice([0, sizeOf(wide)])
    .reshape(wide);
  const [text, part] = partOf(draw, x.dtype);
  const [suffix, place] = draw.of(ORDERS);
  const parts = slices.map((_, k) => part(slices, place(k, count), row));
  const along = draw.below(shape.length + 1);
  const isStack = shape.length === 0 || draw.next() < 0.7;
  const into = isStack ? along : draw.below(shape.length);
  const join = (some: readonly Lazy[]): Lazy => (isStack ? stack(some, into) : concat(some, into));
  const isHalved = count > 3 && draw.next() < 0.2;
  const half = count >> 1;
  const halves = isHalved ? [parts.slice(0, half), parts.slice(half)].map(join) : [];
  const whole = isHalved ? concat(halves, into) : join(parts);
  const form = `${isHalved ? 'halves of ' : ''}${isStack ? 'stack' : 'concat'} along ${into} of ${text}, x taken apart along ${axis}, w = ${beside} as [${wide}]${suffix}`;
  const [one, other] = [draw.below(count), draw.below(count)];
  const all: readonly Made[] = [
    [form, whole],
    [`part ${one} of ${form}`, parts[one]!],
    [`parts ${one} + ${other} of ${form}`, parts[one]!.add(parts[other]!)],
    [`Σ of part ${one} of ${form}`, parts[one]!.sum()],
    [`sums of all parts of ${form}`, stack(parts.map((each) => each.sum()))],
    ...halves.map((each, k): Made => [`half ${k} of ${form}`, each]),
  ];
  return [all[0]!, ...all.slice(1).filter(() => draw.next() < 0.4)];
}

const reduced: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const real = isComplex(x.dtype) ? [] : (['logsumexp', 'max', 'argmax'] as const);
  const method = draw.of(['sum', 'sum', 'sum', 'mean', 'std', 'var', 'prod', 'norm', ...real] as const);
  const axes = draw.next() < 0.25 ? x.shape.map((_, axis) => axis) : draw.axes(x);
  const keepdims = draw.next() < 0.3;
  if (method === 'argmax') return [`argmax(x, ${axes[0]})`, x.argmax(axes[0]!)];
  const text = `${method}(x, [${axes}]${keepdims ? ', keepdims' : ''})`;
  return [text, method === 'norm' ? x.norm(2, axes, { keepdims }) : x[method](axes, { keepdims })];
};

const mapped: Maker = (x, _y, draw) => {
  const op = draw.of(['square', 'negative', 'sin'] as const);
  return [`${op}(x)`, x[op]()];
};

const scaled: Maker = (x, _y, draw) => {
  const [factor, more] = [draw.of([2, 0.3]), draw.of([0, 1])];
  return [`x * ${factor} + ${more}`, x.mul(factor).add(more)];
};

const centred: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axes = draw.axes(x);
  return [`x - mean(x, [${axes}])`, x.sub(x.mean(axes, { keepdims: true }))];
};

const softmaxed: Maker = (x, _y, draw) => {
  if (x.ndim === 0 || isComplex(x.dtype)) return undefined;
  const axis = draw.axis(x);
  return [`softmax(x, ${axis})`, x.softmax(axis)];
};

const added: Maker = (x, y) =>
  `${x.shape}` === `${y.shape}` && x.dtype === y.dtype ? ['x + y', x.add(y)] : undefined;

const sliced: Maker = (x, _y, draw) => {
  if (x.ndim === 0) return undefined;
  const axis = draw.axis(x);
  const size = x.shape[axis]!;
  if (size < 3) return undefined;
  const range = draw.of([
    [0, 2],
    [1, null],
    [null, -1],
    [null, null, 2],
    [size >> 1, null],
  ] as const);
  const all = x.shape.map((_, k) => (k === axis ? range : ([null, null] as const)));
  return [`x[${range} along ${axis}]`, x.slice(...(all as Parameters<Lazy['slice']>))];
};

const turned: Maker = (x, _y, draw) => {
  if (x.ndim < 2) return undefined;
  const [from, to] = [draw.axis(x), draw.axis(x)];
  return from === to ? undefined : [`moveaxis(x, ${from}, ${to})`, x.moveaxis(from, to)];
};

export const JOINS: Kind = {
  shapes: [
    ...[
      [17, 24, 5],
      [24, 100],
      [40, 33, 1],
      [33, 47, 2],
      [37, 1000],
      [1000, 18],
    ],
    ...[
      [2, 30, 16],
      [64, 17],
      [20, 5, 16],
      [66, 33],
      [31, 2],
      [3, 500],
    ],
    ...[
      [9, 40, 3],
      [500, 4],
      [5, 12, 7],
      [17, 2000],
      [100, 2, 20],
      [16, 300],
    ],
    ...[
      [4, 16, 65],
      [19, 1],
      [1, 25, 50],
      [8, 8, 8],
      [2, 60_000],
      [50, 21],
    ],
    ...[
      [2, 45, 2],
      [5, 37, 1],
      [1, 5, 47],
      [61, 2, 1],
      [33, 46],
      [54, 17, 5],
    ],
    ...[
      [2, 2, 63],
      [5, 39],
      [40, 3, 3],
      [1, 64, 5],
      [2, 35, 16],
      [18, 18],
    ],
  ],
  dtypes: ['float32', 'float32', 'float32', 'float64', 'float16', 'bfloat16', 'complex64'],
  makers: [
    ...[reduced, reduced, reduced, reduced, reduced, reduced, mapped, scaled, scaled],
    ...[centred, softmaxed, added, sliced, sliced, turned],
  ],
  group: joined,
  members: [5, 9],
  results: [2, 4],
};
