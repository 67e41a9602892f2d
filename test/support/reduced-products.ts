/** Products of which only reductions are wanted: the programs of `test/fusion/reduced-products.test.ts` and simulated ones. */

import type { Lazy } from '../../src/api/lazy.js';
import { type DType, lazy } from '../../src/index.js';

/** Elements around 0, the same for a seed. */
export function numbers(shape: readonly number[], seed: number, dtype: DType = 'float32'): Lazy {
  const count = shape.reduce((n, size) => n * size, 1);
  const data = Float32Array.from({ length: count }, (_, k) => Math.sin(1 + seed + k * 1.37) * 2);
  return lazy(data, { shape: [...shape] }).astype(dtype);
}

export interface ReducedProduct {
  readonly name: string;
  /** The factors' shapes; of one, the product is with its transpose. */
  readonly shapes: readonly (readonly number[])[];
  readonly dtype?: DType;
  /** The result, of the product; `x` is the first factor. */
  readonly of: (product: Lazy, x: Lazy) => Lazy;
  /** Whether it is computed on a simulated GPU, too. */
  readonly isSimulated?: true;
}

const squaredNorms = (x: Lazy): Lazy => x.square().sum(-1);

/** Of half a MiB and more. */
export const REDUCED_PRODUCTS: readonly ReducedProduct[] = [
  {
    name: 'row maxima',
    shapes: [
      [500, 9],
      [9, 384],
    ],
    of: (p) => p.max(1),
  },
  {
    name: 'column maxima',
    isSimulated: true,
    shapes: [
      [300, 9],
      [9, 1000],
    ],
    of: (p) => p.max(0),
  },
  {
    name: 'places of row minima',
    shapes: [
      [501, 7],
      [7, 355],
    ],
    of: (p) => p.argmin(1),
  },
  {
    name: 'the place of the largest',
    isSimulated: true,
    shapes: [
      [512, 8],
      [8, 256],
    ],
    of: (p) => p.argmax(),
  },
  {
    name: 'logsumexp of rows',
    shapes: [
      [450, 5],
      [5, 320],
    ],
    of: (p) => p.logsumexp(1),
  },
  {
    name: 'a squared norm',
    shapes: [
      [512, 6],
      [6, 256],
    ],
    of: (p) => p.square().sum(),
  },
  {
    name: 'a sum of absolute values of odd sizes',
    isSimulated: true,
    shapes: [
      [551, 6],
      [6, 263],
    ],
    of: (p) => p.abs().sum(),
  },
  {
    name: 'counts above a threshold',
    shapes: [
      [512, 6],
      [6, 256],
    ],
    of: (p) => p.greater(1).sum(1),
  },
  {
    name: 'whether any is NaN',
    shapes: [
      [512, 6],
      [6, 256],
    ],
    of: (p) => p.isnan().any(),
  },
  {
    name: 'the nearest of cosines',
    shapes: [[400, 12]],
    of: (p, x) => {
      const norms = squaredNorms(x).sqrt();
      return p
        .div(norms.reshape([-1, 1]))
        .div(norms)
        .argmin(1);
    },
  },
  {
    name: 'least distances',
    isSimulated: true,
    shapes: [[400, 3]],
    of: (p, x) => squaredNorms(x).reshape([-1, 1]).add(squaredNorms(x)).sub(p.mul(2)).min(1),
  },
  {
    name: 'a kernel matrix times a vector',
    isSimulated: true,
    shapes: [[400, 4]],
    of: (p, x) =>
      squaredNorms(x)
        .reshape([-1, 1])
        .add(squaredNorms(x))
        .sub(p.mul(2))
        .mul(-0.1)
        .exp()
        .matmul(x.slice([], [0, 2])),
  },
  {
    name: 'a softmax of rows, of which the largest',
    shapes: [
      [512, 6],
      [6, 256],
    ],
    of: (p) => p.softmax(1).max(1),
  },
  {
    name: 'a product with an addend and a bias',
    isSimulated: true,
    shapes: [
      [512, 6],
      [6, 256],
    ],
    of: (p) => p.mul(0.5).add(1).maximum(0).max(1),
  },
  {
    name: 'rows of a stack',
    isSimulated: true,
    shapes: [
      [3, 256, 8],
      [3, 8, 200],
    ],
    of: (p) => p.max(-1),
  },
  {
    name: 'small matrices of a stack',
    isSimulated: true,
    shapes: [
      [190, 24, 8],
      [190, 8, 32],
    ],
    of: (p) => p.max([-1, -2]),
  },
  {
    name: 'halves',
    isSimulated: true,
    shapes: [
      [512, 16],
      [16, 600],
    ],
    dtype: 'bfloat16',
    of: (p) => p.max(1),
  },
  {
    name: 'float64',
    shapes: [
      [2000, 6],
      [6, 64],
    ],
    dtype: 'float64',
    of: (p) => p.logsumexp(1),
  },
  {
    name: 'complex numbers',
    shapes: [
      [512, 6],
      [6, 256],
    ],
    dtype: 'complex64',
    of: (p) => p.abs().max(1),
  },
];

export function reducedProduct({ shapes, dtype, of }: ReducedProduct): { product: Lazy; reduced: Lazy } {
  const [x, y] = shapes.map((shape, k) => numbers(shape, k, dtype)) as [Lazy, Lazy?];
  const product = x.matmul(y ?? x.mT);
  return { product, reduced: of(product, x) };
}
