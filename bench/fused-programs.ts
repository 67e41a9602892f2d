/**
 * Programs of several parts that are one kernel, or few: attention, products that are only reduced, formulas written
 * out, joins, neighbours, masks. `peers-fusion.py` has the same ones as users of the peers write them.
 */
import { arange, type DType, type Lazy, stack, where } from '../src/index.js';
import { lorenzStep, rgbToHsv } from './joined-expressions.js';
import { elementCount, makeWorkload as make, type Size, type Workload } from './workload.js';

const HALVES = ['float16', 'bfloat16'] as const;
/** Calls that wait for one another on the device alone. */
const INNER = 8;

export function fusedPrograms(size: Size): Workload[] {
  const [long, cube] = [size(2 ** 27, 2000), size([512, 512, 512], [10, 11, 12])];
  const [states, image] = [[3, size(10 ** 7, 1000)], size([8192, 8192, 3], [64, 65, 3])];
  const [samples, banded] = [[size(4_000_000, 4000), size(64, 8)], size(2 ** 28, 2 ** 14)];
  const of = (shape: readonly number[], rest: object = {}) => [{ shape, seed: 1, ...rest }];
  return [
    ...attentions(size([16, 4096, 64], [2, 40, 16])),
    ...attentions(size([8, 16384, 128], [2, 300, 32])),
    ...[64, 256, 1024].map((width) => cosines([size(16384, 200), width], 'float32')),
    cosines([size(16384, 200), 256], 'bfloat16'),
    make('covariance', samples, of(samples), covariance, { bytes: 8 * elementCount(samples) }),
    make('runge_kutta', states, of(states, { low: -10, high: 30 }), lorenzStep, {
      bytes: 8 * elementCount(states),
    }),
    make('rgb_to_hsv', image, of(image), rgbToHsv, { bytes: 8 * elementCount(image) }),
    make('rgb_to_hsv_uint8', image, of(image, { high: 256, dtype: 'uint8' }), rgbToHsv, {
      bytes: 5 * elementCount(image),
    }),
    make('stencil27', cube, of(cube), stencil27, { bytes: 8 * elementCount(cube) }),
    make('rolling_z_score', [long, 64], of([long]), rollingZScore(64), { bytes: 8 * long }),
    make('bands_16', [banded], of([banded]), bands(16), { dtype: 'int64', bytes: 4 * banded }),
  ];
}

function attentions(shape: readonly number[]): Workload[] {
  const [heads, rows, width] = shape as [number, number, number];
  const one = (dtype: DType, isCausal: boolean): Workload =>
    make(
      isCausal ? 'attention_causal' : 'attention',
      shape,
      [1, 2, 3].map((seed) => ({ shape, seed, low: -1, high: 1, dtype })),
      (q, k, v) => attention(q!, k!, v!, isCausal),
      { dtype, flops: (isCausal ? 2 : 4) * heads * rows ** 2 * width, inner: INNER },
    );
  return [...HALVES.flatMap((dtype) => [one(dtype, false), one(dtype, true)]), one('float32', false)];
}

function attention(q: Lazy, k: Lazy, v: Lazy, isCausal: boolean): Lazy {
  const [rows, width] = q.shape.slice(-2) as [number, number];
  const scores = q.matmul(k.mT).div(Math.sqrt(width));
  if (!isCausal) return scores.softmax(-1).matmul(v);
  const place = arange(rows, { dtype: 'int64' });
  const before = place.reshape([rows, 1]).greaterEqual(place);
  return where(before, scores, Number.NEGATIVE_INFINITY).softmax(-1).matmul(v);
}

/** Of each row the largest cosine with any, itself included. */
function cosines(shape: readonly number[], dtype: DType): Workload {
  const [rows, width] = shape as [number, number];
  const expression = (x: Lazy): Lazy => {
    const lengths = x.square().sum(1).sqrt();
    return x.matmul(x.T).div(lengths.expandDims(1)).div(lengths).max(1);
  };
  const input = { shape, seed: 1, low: -1, high: 1, dtype };
  return make('cosine_row_max', shape, [input], expression, { dtype, flops: 2 * rows ** 2 * width });
}

function covariance(x: Lazy): Lazy {
  const centred = x.sub(x.mean(0));
  return centred.T.matmul(centred).div(x.shape[0]! - 1);
}

/** Weights of a neighbour by how many of its three places differ. */
const WEIGHTS = [-128 / 30, 14 / 30, 3 / 30, 1 / 30];

/** A Laplacian of 27 points on a torus (O'Reilly and Beck, 2006), and a step of diffusion with it. */
function stencil27(x: Lazy): Lazy {
  const near = [-1, 0, 1];
  const terms = near.flatMap((i) =>
    near.flatMap((j) =>
      near.map((k) => {
        const differing = Math.abs(i) + Math.abs(j) + Math.abs(k);
        return x.roll([i, j, k], [0, 1, 2]).mul(WEIGHTS[differing]!);
      }),
    ),
  );
  return x.add(terms.reduce((sum, term) => sum.add(term)).mul(0.1));
}

/** How many deviations an element is above the mean of the `width` elements that end with it. */
const rollingZScore =
  (width: number) =>
  (x: Lazy): Lazy => {
    const count = x.size - width + 1;
    const mean = (of: Lazy): Lazy =>
      Array.from({ length: width }, (_, k) => of.slice([k, k + count]))
        .reduce((sum, each) => sum.add(each))
        .div(width);
    const average = mean(x);
    const deviation = mean(x.square()).sub(average.square()).sqrt();
    return x
      .slice([width - 1, null])
      .sub(average)
      .div(deviation);
  };

const bands =
  (count: number) =>
  (x: Lazy): Lazy =>
    stack(
      Array.from({ length: count }, (_, k) =>
        x
          .greaterEqual(k / count)
          .logicalAnd(x.less((k + 1) / count))
          .sum(),
      ),
    );
