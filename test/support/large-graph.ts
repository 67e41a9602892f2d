/**
 * Random graphs over arrays of some hundred thousand elements: large enough to be cut into tiles, of the
 * kinds of work that people do on large arrays. Used by tests of budgets, which compare bits between budgets.
 */
import { chunked, concat, type Lazy, lazy, stack } from '../../src/index.js';
import { generator } from './random.js';

export interface LargeGraph {
  readonly results: readonly Lazy[];
  /** The graph as it was drawn, for messages. */
  readonly steps: readonly string[];
}

interface Others {
  /** Of the matrix' shape, of its shape transposed, and square of as many columns. */
  readonly other: Lazy;
  readonly turned: Lazy;
  readonly small: Lazy;
}
type Step = (x: Lazy, others: Others) => Lazy;

/** Each takes a matrix of many rows and gives one of the same shape, or a smaller result. */
const STEPS: Readonly<Record<string, Step>> = {
  exp: (x) => x.mul(0.1).exp(),
  add: (x, { other }) => x.add(other),
  'add a row': (x, { other }) => x.add(other.slice([0, 1])),
  'subtract the mean of columns': (x) => x.sub(x.mean(0)),
  standardize: (x) => x.sub(x.mean(0)).div(x.std(0).add(1)),
  'softmax of rows': (x) => x.softmax(1),
  'divide by the sum of rows': (x) => x.div(x.abs().sum(1, { keepdims: true }).add(1)),
  'multiply by a matrix': (x, { small }) => x.matmul(small),
  'multiply by a transposed matrix': (x, { small }) => x.matmul(small.transpose()),
  'shifted differences': (x) => concat([x.slice('1:').sub(x.slice(':-1')), x.slice(':1')]),
  'add a transposed matrix': (x, { turned }) => x.add(turned.transpose()),
  'multiply a transposed matrix': (x, { turned, small }) => x.add(turned.transpose().matmul(small)),
  'softmax of columns': (x) => x.softmax(0),
  'swap halves of columns': (x) => {
    const half = x.shape[1]! >> 1;
    return concat([x.slice([null], [half, null]), x.slice([null], [null, half])], 1);
  },
  flip: (x) => x.flip(0),
  'flip columns': (x) => x.flip(1),
  roll: (x) => x.roll(1, 0),
  float64: (x) => x.astype('float64').mul(x).astype('float32'),
  where: (x, { other }) => x.greater(0).where(x, other),
  index: (x) => x.add(x.argmax(1).expandDims(1).astype('float32')),
};
const ENDS: Readonly<Record<string, (x: Lazy) => Lazy>> = {
  itself: (x) => x,
  sum: (x) => x.sum(),
  'sum of columns': (x) => x.sum(0),
  'sum of rows': (x) => x.sum(1),
  'largest of columns': (x) => x.max(0),
  variance: (x) => x.var(0),
  'argmin of all': (x) => x.argmin(),
  'matrix of products': (x) => x.transpose().matmul(x),
  transpose: (x) => x.transpose().add(1),
  half: (x) => x.astype('float16'),
  columns: (x) => x.slice([null], [1, x.shape[1]! - 1]),
  'sum of some columns': (x) => x.slice([null], [null, x.shape[1]! >> 1]).sum(0),
  'stacked with itself': (x) => stack([x, x.neg()], -1),
  'pairs of columns first': (x) => {
    const [rows, columns] = [x.shape[0]!, x.shape[1]! >> 1];
    const even = x.slice([null], [null, 2 * columns]);
    return even.reshape([rows, columns, 2]).permuteDims([2, 1, 0]).mul(2);
  },
};
const SHAPES: readonly (readonly [number, number])[] = [
  [32768, 16],
  [8192, 48],
  [100_003, 4],
  [3000, 130],
  [257, 1025],
  [1025, 257],
  [24, 20_000],
];

/** The graph of a seed; its arrays in pieces, so that they are not in memory as a whole, or fewer rows. */
export function largeGraph(
  seed: number,
  { inPieces = false, scale = 1 }: { readonly inPieces?: boolean; readonly scale?: number } = {},
): LargeGraph {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const [most, columns] = pick(SHAPES);
  const rows = Math.ceil(most * scale);
  const matrix = (n: number): Lazy => {
    const data = new Float32Array(n * columns);
    for (let k = 0; k < data.length; k++) data[k] = random() * 4 - 2;
    if (!inPieces) return lazy(data).reshape([n, columns]);
    const cut = Math.floor(data.length / 3);
    return chunked([data.subarray(0, cut), data.subarray(cut)], [n, columns]);
  };
  const [first, other] = [matrix(rows), matrix(rows)];
  const turned = matrix(rows).reshape([columns, rows]);
  // A matrix of very many columns is multiplied by nothing of that size.
  const isWide = columns > 2000;
  const others = { other, turned, small: matrix(isWide ? 1 : columns) };
  const ends = Object.keys(ENDS).filter((name) => !(isWide && /products/.test(name)));
  const names = Object.keys(STEPS).filter((name) => !(isWide && /multiply/.test(name)));
  const steps = [`${rows} x ${columns}`];
  let x = first;
  const count = 1 + Math.floor(random() * 4);
  for (let k = 0; k < count; k++) {
    const name = pick(names);
    steps.push(name);
    x = STEPS[name]!(x, others);
  }
  const results = Array.from({ length: 1 + Math.floor(random() * 2) }, () => {
    const name = pick(ends);
    steps.push(`→ ${name}`);
    return ENDS[name]!(x);
  });
  return { results, steps };
}
