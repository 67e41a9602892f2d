/**
 * Functions of arrays with an axis whose size depends on data: the bits, shapes and dtypes that they give of the same
 * elements in an array of known sizes, which other tests hold beside NumPy's.
 */
import { describe, expect, it } from 'vitest';
import { type DType, isFloat } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { isOwnError } from '../../src/host/errors.js';
import {
  compute,
  type Lazy,
  lazy,
  lexsort,
  nonzero,
  split,
  topK,
  uniqueAll,
  uniqueCounts,
  uniqueInverse,
  unstack,
} from '../../src/index.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { sizeOf, toScalars } from '../support/host.js';
import { Draw } from '../support/random.js';
import { BETWEEN, SELECTING } from '../support/random-orders.js';

/** An array of such a size, another one of the same, and one that they were chosen from. */
interface Given {
  readonly x: Lazy;
  readonly y: Lazy;
  readonly whole: Lazy;
}
type Case = (given: Given, draw: Draw, axis: number) => Lazy | readonly Lazy[];

const SETS: Readonly<Record<string, Case>> = {
  uniqueValues: ({ x }) => x.uniqueValues(),
  uniqueCounts: ({ x }) => Object.values(uniqueCounts(x)),
  uniqueInverse: ({ x }) => Object.values(uniqueInverse(x)),
  uniqueAll: ({ x }) => Object.values(uniqueAll(x)),
  union: ({ x, whole }) => x.union(whole.add(1)),
  'union of two': ({ x, y }) => x.union(y),
  intersect: ({ x, y, whole }) => [x.intersect(y), x.intersect(whole), whole.intersect(y)],
  setdiff: ({ x, y, whole }) => [x.setdiff(y), x.setdiff(whole), whole.setdiff(y)],
  isin: ({ x, y, whole }, draw) => {
    const invert = draw.below(2) === 0;
    return [x.isin(y, { invert }), whole.isin(y, { invert })];
  },
};

const ORDERS: Readonly<Record<string, Case>> = {
  ravel: ({ x }) => [x.ravel(), x.flatten().cumulativeMax(0)],
  'sort of all': ({ x }, draw) => x.sort(null, { descending: draw.below(2) === 0 }),
  'argsort of all': ({ x }, draw) => x.argsort(null, { descending: draw.below(2) === 0 }),
  'searchsorted by places': ({ x, whole }) => x.ravel().searchsorted(whole, x.argsort(null)),
  digitize: ({ x, whole }, draw) => {
    const edges = x.astype('float64').sort(null, { descending: draw.below(2) === 0 });
    return whole.digitize(edges, { right: draw.below(2) === 0 });
  },
  partition: ({ x }, draw, axis) => {
    const kth = draw.of([0, -1, [0, -1], [1]]);
    return [x.partition(kth, axis), x.argpartition(kth, axis), x.argpartition(0, draw.below(x.ndim))];
  },
  topK: ({ x }, draw, axis) =>
    [axis, draw.below(x.ndim)].flatMap((along) =>
      Object.values(topK(x, draw.below(3), { axis: along, largest: draw.below(2) === 0 })),
    ),
  lexsort: ({ x, y }, draw, axis) => [
    lexsort([y, x], draw.below(x.ndim)),
    lexsort([x, y.greater(3), x.less(4)], axis),
  ],
  'a scan of all': ({ x }) => x.cumulativeMax(null),
  searchsorted: ({ x, y, whole }, draw) => {
    const side = draw.of(['left', 'right'] as const);
    const line = x.sort(null);
    return [line.searchsorted(whole, null, { side }), line.searchsorted(y, null, { side })];
  },
};

const axesOf = (x: Lazy, draw: Draw): number | number[] | null =>
  draw.of([null, draw.below(x.ndim), x.ndim > 1 ? [0, x.ndim - 1] : [0]]);

const QUANTILES: Readonly<Record<string, Case>> = {
  median: ({ x }, draw) => {
    const [axes, keepdims] = [axesOf(x, draw), draw.below(2) === 0];
    return [x.median(axes, { keepdims }), x.nanMedian(axes, { keepdims })];
  },
  quantile: ({ x }, draw) => {
    const methods = isFloat(x.dtype) ? [...BETWEEN, ...SELECTING] : BETWEEN;
    const options = { keepdims: draw.below(2) === 0, method: draw.of(methods) };
    const [q, axes] = [draw.of([0.5, 0, 1, [0.25, 0.75], [0.1, 0.5, 0.99]]), axesOf(x, draw)];
    return [x.quantile(q, axes, options), x.nanQuantile(q, axes, options)];
  },
  percentile: ({ x }, draw) => x.percentile([0, 30, 100], axesOf(x, draw)),
  'quantile by weights': ({ x }, draw) => {
    const weights = x.astype('bool').astype('float64').add(1);
    const [axes, values] = [axesOf(x, draw), isFloat(x.dtype) ? x : x.astype('float64')];
    const options = { method: 'inverted_cdf', weights } as const;
    return [values.quantile([0, 0.4, 1], axes, options), values.nanQuantile(0.5, axes, options)];
  },
};

const RANGES = ['1:', ':-1', '::2', '::-1', '-3:', '1:-1', '-2::-2', ':4', '3:0:-1', '-4:3', ':2:-1', '2:2'];

const wholeTo = (axis: number): null[] => Array<null>(axis).fill(null);

const READING: Readonly<Record<string, Case>> = {
  ranges: ({ x }, _, axis) => RANGES.map((range) => x.slice(...wholeTo(axis), range)),
  'ranges of ranges': ({ x }, draw, axis) =>
    x
      .slice(...wholeTo(axis), draw.of(RANGES.slice(0, -1)))
      .slice(...wholeTo(axis), draw.of(RANGES))
      .flip(axis),
  'what stands beside each other': ({ x }, _, axis) => {
    const [later, earlier] = ['1:', ':-1'].map((range) => x.slice(...wholeTo(axis), range)) as [Lazy, Lazy];
    return [later.add(earlier), x.diff({ axis, n: 2 }), x.slice('...', '::-1').add(x)];
  },
  turned: ({ x }, draw, axis) => [x.flip(), x.flip(axis), x.flip(draw.below(x.ndim))],
  rolled: ({ x }, draw, axis) => [x.roll(draw.below(20) - 10), x.roll(draw.below(20) - 10, axis)],
  'in their order': ({ x, y }, draw, axis) => {
    const other = draw.below(x.ndim);
    return [
      x.takeAlongAxis(y.argsort(axis), axis),
      x.takeAlongAxis(x.argsort(other, { descending: true }), other),
    ];
  },
  'by masks': ({ x, y }, draw, axis) => {
    const least = draw.below(5);
    const others = [...x.shape.keys()].filter((k) => k !== axis);
    const mask = y.astype('float64').sum(others).greater(least);
    const chosen = x.compress(mask, axis);
    return [x.slice(y.greater(least)), x.extract(x.less(4)), chosen, chosen.flip(axis).cumulativeMax(axis)];
  },
  'places of others than 0': ({ x }) => [...nonzero(x), x.argwhere(), ...nonzero(x.slice('::2'))],
  'by places': ({ x, y }, _, axis) => {
    const others = [...x.shape.keys()].filter((k) => k !== axis);
    const [places] = nonzero(y.astype('float64').sum(others).less(9));
    return [x.take(places!, axis), x.slice(...wholeTo(axis), places!)];
  },
  'beside the axis': ({ x }, draw, axis) => {
    const other = [...x.shape.keys()].find((k) => k !== axis && x.shape[k]! > 0);
    if (other === undefined) return x;
    const index = draw.below(x.shape[other]!);
    return [
      x.take([index, -1], other),
      x.slice(...wholeTo(other), index),
      ...unstack(x, other),
      ...split(x, [1], other),
      x.takeAlongAxis(lazy(Int32Array.of(index)).reshape(x.shape.map(() => 1)), other),
    ];
  },
  'with others around them': ({ x }, draw, axis) => [
    x.pad(
      x.shape.map(() => [draw.below(3), draw.below(3)] as const),
      {
        value: x.dtype === 'bool' ? draw.below(2) === 0 : 3,
      },
    ),
    x.repeat(draw.below(4), axis),
    x.repeat(2),
  ],
};

/** Of an axis with elements. */
const OF_ELEMENTS: Readonly<Record<string, Case>> = {
  'by indices': ({ x }, draw, axis) => {
    const indices = lazy(Int32Array.from({ length: 6 }, () => draw.below(40) - 20));
    return (['wrap', 'clip'] as const).flatMap((mode) => [
      x.take(indices.reshape([2, 3]), axis, { mode }),
      x.slice(...wholeTo(axis), indices, { mode }),
      x.takeAlongAxis(indices.reshape(x.shape.map((_, k) => (k === axis ? 6 : 1))), axis, { mode }),
    ]);
  },
  'by its ends': ({ x }, _, axis) => [
    x.slice(...wholeTo(axis), 0),
    x.slice(...wholeTo(axis), -1),
    x.take([0, -1], axis),
    x.slice('newaxis', ...wholeTo(axis), -1, '...'),
    x.slice(...wholeTo(axis), lazy(Int8Array.of(-1, 0))),
  ],
  'by several indices': ({ x }, draw) => {
    const of = (): Lazy => lazy(Int32Array.from({ length: 3 }, () => draw.below(2) - 1));
    return x.slice(...x.shape.map(() => of()), { mode: 'wrap' });
  },
};

const CASES: Readonly<Record<string, Case>> = {
  ...SETS,
  ...ORDERS,
  ...QUANTILES,
  ...READING,
  ...OF_ELEMENTS,
};

const DTYPES = ['float32', 'int32', 'uint8', 'float64', 'int64', 'bool', 'float16'] as const;
const SHAPES = [
  [9],
  [40],
  [1],
  [2],
  [3, 4],
  [4, 3],
  [2, 3, 4],
  [3, 1],
  [1, 5],
  [3, 2, 1],
  [0, 4],
  [4, 0],
] as const;

/** Few different numbers, so that some are equal; those that sorts put last, and others that are not equal to themselves. */
function numbers(draw: Draw, dtype: DType, count: number): number[] {
  const rare = isFloat(dtype)
    ? [Number.NaN, -0, 0, Number.POSITIVE_INFINITY]
    : dtype === 'uint8'
      ? [255]
      : [1];
  return Array.from({ length: count }, () => (draw.below(6) === 0 ? draw.of(rare) : draw.below(7)));
}

function givenOf(draw: Draw): {
  readonly whole: Lazy;
  readonly choose: (x: Lazy) => Lazy;
  readonly axis: number;
} {
  const [dtype, shape]: [DType, number[]] = [draw.of(DTYPES), [...draw.of(SHAPES)]];
  const count = shape.reduce((product, size) => product * size, 1);
  const whole = lazy(Float64Array.from(numbers(draw, dtype, count)))
    .reshape(shape)
    .astype(dtype);
  const axis = draw.below(shape.length);
  const rate = draw.below(5);
  const kept = Uint8Array.from({ length: shape[axis]! }, () => (draw.below(4) < rate ? 1 : 0));
  const mask = lazy(kept).astype('bool');
  return { whole, axis, choose: (x) => x.compress(mask, axis) };
}

const known = async (...arrays: Lazy[]): Promise<Lazy[]> =>
  (await compute(arrays, { device: 'cpu' })).map((array) => lazy(array as unknown as Lazy));

/** Those of a seed, which are the same for every case and backend. */
const knownOf: Promise<Lazy[]>[] = [];

describe.each(backends())('arrays of sizes that depend on data on %s', (device) => {
  const times = device.startsWith('cuda') ? 3 : 15;
  it.each(Object.entries(CASES))(`%s: as of known sizes, ${times} times`, async (name, make) => {
    for (let seed = 1; seed <= times; seed++) {
      const { whole, choose, axis } = givenOf(new Draw(seed));
      const other = whole.astype('float64').add(1).astype(whole.dtype);
      const made = { x: choose(whole), y: choose(other), whole };
      knownOf[seed] ??= known(made.x, made.y, whole);
      const [x, y, all] = await knownOf[seed]!;
      if (name in OF_ELEMENTS && x!.size === 0) continue;
      const wanted = await outcomeOf(device, () => make({ x: x!, y: y!, whole: all! }, new Draw(seed), axis));
      // Interpreters look at no indices.
      if (wanted === 'RangeArgumentError' && !/^(cpu|cuda)/.test(device)) continue;
      const found = await outcomeOf(device, () => make(made, new Draw(seed), axis));
      // Of no elements, whose number a call does not know, there is NaN in the place of an error.
      if (wanted === 'ShapeError' && typeof found !== 'string' && whole.size > 0) {
        const none = found.map(([dtype, shape]) => [dtype, shape, Array(sizeOf(shape)).fill(Number.NaN)]);
        expect(found, `seed ${seed}: ${whole}`).toEqual(none);
      } else expect(found, `seed ${seed}: ${whole}`).toEqual(wanted);
    }
  });
});

type Found = readonly [dtype: string, shape: Shape, values: readonly unknown[]];

/** The results, or the name of the error. */
async function outcomeOf(device: string, make: () => Lazy | readonly Lazy[]): Promise<string | Found[]> {
  try {
    const results = await run(device, [make()].flat());
    return results.map((array): Found => [array.dtype, array.shape, toScalars(array)]);
  } catch (error) {
    if (!isOwnError(error)) throw error;
    return error.name;
  }
}
