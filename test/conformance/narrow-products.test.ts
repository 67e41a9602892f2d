/**
 * Products of few terms for few columns, which kernels write out (`fusion/passes/narrow-products.ts`): of every dtype, in
 * every order of axes and through views, against the sum over all indices; with what follows them, against the graph
 * as it was built. Bits do not depend on what is computed beside them, on budgets or on the part that is wanted.
 */
import { describe, expect, it } from 'vitest';
import { DTYPES, type DType } from '../../src/graph/dtype.js';
import { compute, einsum, type Lazy, lazy } from '../../src/index.js';
import { failuresOf, type Prepared, toLazy } from '../support/api.js';
import { backends, isSimulated, runsOthers, whyNotOthers } from '../support/backends.js';
import { randomIntegers, randomValues } from '../support/random.js';
import {
  buildContraction,
  type Contraction,
  contractionValue,
  textOf,
} from '../support/random-contractions.js';
import { sharedReferenceOf } from '../support/shared-reference.js';
import { mismatch } from '../support/ulp.js';

/** Subscripts, and the size of each label in the order of the alphabet. */
const PRODUCTS: readonly (readonly [string, readonly number[]])[] = [
  ['ab,bc->ac', [350, 3, 3]],
  ['ab,cb->ac', [350, 3, 3]],
  ['ab,bc->ca', [260, 4, 4]],
  ['ab,bc->ac', [3, 3, 350]],
  ['ab,bc->ac', [2, 16, 520]],
  ['ab,bc->ac', [130, 8, 8]],
  ['ab,b->a', [1100, 5]],
  ['abc,acd->abd', [120, 3, 3, 3]],
  ['abc,ac->ab', [520, 2, 3]],
  ['abc,cd->abd', [20, 30, 3, 2]],
  ['ab,ab->a', [1030, 7]],
  ['ab,bc,ac->a', [1030, 3, 3]],
];

function caseOf([subscripts, sizes]: (typeof PRODUCTS)[number], dtype: DType, seed: number): Prepared {
  const [left, right] = subscripts.split('->') as [string, string];
  const labelsOf = (text: string): number[] => [...text].map((letter) => letter.charCodeAt(0) - 97);
  const inputs = left.split(',').map(labelsOf);
  const operands = inputs.map((labels, k) => {
    const shape = labels.map((label) => sizes[label]!);
    return randomIntegers(dtype, shape, seed + k, -1, 2);
  });
  const isViewed = seed % 2 === 1;
  const contraction: Contraction = {
    subscripts,
    operands,
    sizes,
    inputs,
    output: labelsOf(right),
    steps: inputs.map((labels) => labels.map((_, axis) => (isViewed ? [-1, 2, 1][axis]! : 1))),
    orders: inputs.map((labels) => (isViewed ? [...labels.keys()].reverse() : [...labels.keys()])),
    precision: undefined,
    inLists: false,
    isImplicit: false,
  };
  return {
    label: `${subscripts} of ${sizes}, ${dtype}${isViewed ? ', views' : ''}`,
    build: () => buildContraction(contraction),
    check: (actual) => {
      const [received, wanted] = [textOf(actual), textOf(contractionValue(contraction))];
      return received === wanted ? undefined : `${received}, not ${wanted}`;
    },
  };
}

const real = (shape: number[], seed: number, dtype: DType = 'float32'): Lazy =>
  lazy(randomValues(dtype, shape, seed).data, { dtype, shape }) as Lazy;

/** Programs around such products, by the names of what people call them. */
const PROGRAMS: Readonly<Record<string, () => Lazy>> = {
  'points, rotated and moved': () =>
    real([700, 3], 1)
      .matmul(real([3, 3], 2))
      .add(real([3], 3)),
  'pixels of bytes by a colour matrix': () =>
    toLazy(randomIntegers('uint8', [24, 30, 3], 4))
      .astype('float32')
      .matmul(real([3, 3], 5))
      .clip(0, 255)
      .round()
      .astype('uint8'),
  'Mahalanobis distances': () => {
    const d = real([400, 8], 6).sub(real([8], 7));
    return d
      .matmul(real([8, 8], 8))
      .mul(d)
      .sum(1);
  },
  'quadratic forms': () => {
    const x = real([600, 3], 9);
    return einsum('ni,ij,nj->n', x, real([3, 3], 10), x);
  },
  'directions of rotated vectors': () => {
    const y = real([500, 3], 11).matmul(real([3, 3], 12));
    return y.div(y.square().sum(1, { keepdims: true }).sqrt());
  },
  'five rotations, one after the other': () => {
    let x = real([500, 3], 13);
    for (let k = 0; k < 5; k++) x = x.matmul(real([3, 3], 14 + k)).tanh();
    return x;
  },
  'a matrix for each point': () => {
    const m = real([300, 3, 3], 20);
    return m.matmul(m.mT).matmul(real([300, 3, 1], 21));
  },
  'distances of all pairs of rotated points': () => {
    const y = real([400, 3], 22).matmul(real([3, 3], 23));
    return y
      .slice(null, 'newaxis')
      .sub(real([40, 3], 24))
      .square()
      .sum(-1);
  },
  'homogeneous points': () => {
    const y = real([300, 4], 25).matmul(real([4, 4], 26));
    return y.slice(null, [0, 3]).div(y.slice(null, [3, 4]).square().add(1));
  },
  'planes of colours': () =>
    real([3, 3], 27)
      .matmul(real([3, 700], 28))
      .exp(),
  'largest scores': () =>
    real([700, 4], 29)
      .exp()
      .matmul(real([4, 2], 30))
      .max(0),
};

describe.each(backends())('narrow products on %s', (device) => {
  const dtypes = isSimulated(device) ? (['float16', 'float32', 'int32'] as const) : DTYPES;

  it.each(dtypes)(
    'of %s are the sums over all indices',
    async (dtype) => {
      const cases = PRODUCTS.flatMap((product, k) =>
        [2 * k, 2 * k + 1].map((seed) => caseOf(product, dtype, seed)),
      );
      expect(
        await failuresOf(device, isSimulated(device) ? cases.filter((_, k) => k % 3 === 0) : cases),
      ).toEqual([]);
    },
    300_000,
  );

  it('give with what follows them what the graph gives as it was built', async () => {
    const cases = Object.entries(PROGRAMS).map(
      ([label, build]): Prepared => ({
        label,
        build,
        check: (actual) =>
          mismatch(actual, sharedReferenceOf(device, [build()], label)[0]!, { ulp: 16, absolute: 1e-4 }),
      }),
    );
    expect(await failuresOf(device, cases)).toEqual([]);
  }, 300_000);
});

it.runIf(runsOthers)(
  `have the same bits beside other results, within a budget, and in a slice${whyNotOthers}`,
  async () => {
    const x = real([6000, 3], 31);
    const y = x.matmul(real([3, 3], 32)).add(1);
    const alone = await y.compute({ device: 'cpu' });
    const [beside] = await compute([y, x.mul(2), y.sum(0), y.square().sum(1)], { device: 'cpu' });
    expect(beside!.data).toEqual(alone.data);
    const tiled = await y.compute({ device: 'cpu', memory: 40_000 });
    expect(tiled.data).toEqual(alone.data);
    const slice = await y.slice([100, 1100]).compute({ device: 'cpu' });
    expect(slice.data).toEqual(alone.data.slice(300, 3300));
  },
);
