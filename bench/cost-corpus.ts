/**
 * The kernels by which the model of their times on a GPU is held: those that its constants were fitted to, of families,
 * dtypes and sizes, and random ones of other families and shapes that it was not (`held-out`).
 */
import { type DType, type Lazy, where } from '../src/index.js';
import { generator } from '../test/support/random.js';

export interface CostCase {
  readonly family: string;
  readonly dtype: DType;
  /** Of both arrays. */
  readonly shape: readonly number[];
  readonly build: (x: Lazy, y: Lazy) => Lazy;
}

type Families = Readonly<Record<string, (x: Lazy, y: Lazy) => Lazy>>;

/** Expressions of arrays of rows: all have about as many elements as those. */
const FITTED: Families = {
  scale: (x) => x.mul(3).add(1),
  'add two': (x, y) => x.add(y),
  polynomial: (x) => x.mul(0.3).add(1).mul(x).add(2).mul(x).add(3).mul(x).add(5),
  functions: (x) => x.sin().exp().mul(x.cos()),
  quotient: (x, y) => x.div(y.abs().add(1)).sqrt(),
  choice: (x, y) => where(x.greater(y), x, y.mul(2)),
  compare: (x, y) => x.less(y),
  'sum of all': (x) => x.abs().sum(),
  'sum of rows': (x) => x.mul(2).sum(1),
  'sum of columns': (x) => x.mul(2).sum(0),
  'max of rows': (x) => x.max(1),
  argmax: (x) => x.argmax(1),
  variance: (x) => x.var(1),
  softmax: (x) => x.softmax(1),
  standardize: (x) => x.sub(x.mean(1, { keepdims: true })).div(x.std(1, { keepdims: true }).add(1)),
  transpose: (x) => x.T.add(1),
  'beside its transpose': (x) => x.slice([0, 16], [0, 16]).add(x.slice([0, 16], [0, 16]).T),
  columns: (x) => x.slice([0, x.shape[0]!, 2]).mul(2),
  stencil: (x) =>
    x
      .slice([2])
      .add(x.slice([1, -1]))
      .add(x.slice([0, -2])),
  'plane stencil': (x) =>
    x
      .slice([1, -1], [2])
      .add(x.slice([1, -1], [0, -2]))
      .add(x.slice([2], [1, -1]))
      .sub(x.slice([1, -1], [1, -1])),
  'row beside': (x) => x.sub(x.slice([0, 1])),
  'column beside': (x) => x.mul(x.slice([0, x.shape[0]!], [0, 1])),
  distances: (x) =>
    x
      .slice([0, 256], [0, 8])
      .reshape([-1, 1, 8])
      .sub(x.slice([0, 256], [0, 8]))
      .square()
      .sum(2),
};
const DTYPES: readonly DType[] = ['float32', 'float64', 'float16'];

/** The kernels that the constants were fitted to; the largest have 2^most elements. */
export function fittedCases(most: number): CostCase[] {
  const sizes: readonly (readonly [elements: number, rows: number])[] = [
    [14, 7],
    [18, 4],
    [18, 13],
    [22, 11],
    [most, 10],
    [most, most - 8],
  ];
  return DTYPES.flatMap((dtype) =>
    sizes
      .filter(([elements]) => elements <= most)
      .flatMap(([elements, rows]) =>
        Object.entries(FITTED).map(([family, build]) => ({
          family,
          dtype,
          shape: [2 ** rows, 2 ** (elements - rows)],
          build,
        })),
      ),
  );
}

/** Expressions of arrays of three axes. */
const HELD_OUT: Families = {
  'activation of three': (x, y) => x.mul(0.8).tanh().add(1).mul(y).mul(0.5),
  logarithm: (x) => x.abs().add(1).log().mul(x),
  hypotenuse: (x, y) => x.mul(x).add(y.mul(y)).sqrt(),
  'rational function': (x, y) => x.mul(y).add(1).div(x.sub(y).square().add(2)),
  clip: (x) => x.clip(0.1, 0.6),
  halves: (x) => x.astype('float16').astype('float32').add(1),
  'inside of a box': (x) => x.slice([1, -1], [1, -1], [1, -1]).mul(2),
  flip: (x) => x.flip(2).add(1),
  'axes in turn': (x) => x.transpose([2, 0, 1]).mul(2),
  'outer sum': (x) => x.slice([0, 1]).add(x.slice([0, x.shape[0]!], [0, 1])),
  'every third': (x) => x.slice([0, x.shape[0]!], [0, x.shape[1]!], [0, x.shape[2]!, 3]).add(1),
  'sum of the middle axis': (x) => x.sum(1),
  'mean of the first axis': (x, y) => x.mul(y).mean(0),
  'norm of rows': (x) => x.square().sum(2).sqrt(),
  'least of all': (x, y) => x.sub(y).min(),
  'count of all': (x, y) => x.greater(y).sum(),
  'largest of planes': (x) => x.max([1, 2]),
  'share of rows': (x) => x.div(x.abs().sum(2, { keepdims: true }).add(1)),
  'log of sums': (x) => x.logsumexp(2),
  'seven neighbours': (x) =>
    x
      .slice([1, -1], [1, -1], [1, -1])
      .mul(-6)
      .add(x.slice([2], [1, -1], [1, -1]))
      .add(x.slice([0, -2], [1, -1], [1, -1]))
      .add(x.slice([1, -1], [2], [1, -1]))
      .add(x.slice([1, -1], [0, -2], [1, -1]))
      .add(x.slice([1, -1], [1, -1], [2]))
      .add(x.slice([1, -1], [1, -1], [0, -2])),
};
const HELD_OUT_DTYPES: readonly DType[] = ['float32', 'float32', 'float64', 'float16', 'bfloat16', 'int32'];
/** Functions of integers are those of float64, and halves of halves nothing. */
const FLOATS_ONLY = ['activation of three', 'logarithm', 'clip', 'halves', 'share of rows', 'log of sums'];

/** Kernels that no constant was fitted to: families by turns, random dtypes and shapes. */
export function heldOutCases(count: number, seed: number, most: number): CostCase[] {
  const next = generator(seed);
  const families = Object.entries(HELD_OUT);
  return Array.from({ length: count }, (_, k) => {
    const [family, build] = families[k % families.length]!;
    const dtypes = FLOATS_ONLY.includes(family) ? ['float32', 'float64'] : HELD_OUT_DTYPES;
    const dtype = dtypes[Math.floor(next() * dtypes.length)] as DType;
    const elements = 2 ** (10 + (most - 10) * next());
    const outer = 3 + Math.floor(30 * next());
    const inner = Math.max(4, Math.round((elements / outer) ** (0.2 + 0.6 * next())));
    const middle = Math.max(4, Math.round(elements / outer / inner));
    return { family, dtype, shape: [outer, middle, inner], build };
  });
}
