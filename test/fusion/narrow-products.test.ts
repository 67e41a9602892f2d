/**
 * Programs around products of few terms for few columns, and of few columns altogether: how many kernels they are, and the
 * bytes that these move. None needs a call, and none stores what it computes on the way.
 */
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { printChoice } from '../../src/fusion/passes/contraction-report.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { concat, einsum, type Lazy, maximum, minimum, stack } from '../../src/index.js';
import { describePrograms, type Program, x } from '../support/ordinary-programs.js';

const N = 100_000;

const columns = (rows: Lazy, count: number): Lazy[] =>
  Array.from({ length: count }, (_, k) => rows.slice('...', k));

const PROGRAMS: Readonly<Record<string, Program>> = {
  'an image by a colour matrix': {
    inputs: [x([1080, 1920, 3]), x([3, 3])],
    build: (image, matrix) => image!.matmul(matrix!),
  },
  'an image of bytes by a colour matrix, rounded': {
    inputs: [x([1080, 1920, 3], 'uint8'), x([3, 3])],
    build: (image, matrix) => image!.astype('float32').matmul(matrix!).clip(0, 255).round().astype('uint8'),
  },
  'points, rotated and moved': {
    inputs: [x([N, 3], 'float64'), x([3, 3], 'float64'), x([3], 'float64')],
    build: (points, r, t) => points!.matmul(r!.mT).add(t!),
  },
  'coordinates in rows': {
    inputs: [x([3, 3]), x([3, N])],
    build: (r, points) => r!.matmul(points!).exp(),
  },
  'two rotations, one after the other': {
    inputs: [x([N, 3]), x([3, 3]), x([3, 3])],
    build: (points, r, s) => points!.matmul(r!).matmul(s!),
  },
  'homogeneous points': {
    inputs: [x([N, 4]), x([4, 4])],
    build: (points, matrix) => {
      const y = points!.matmul(matrix!);
      return y.slice(null, [0, 3]).div(y.slice(null, [3, 4]));
    },
    // Three of four columns of a result.
    moved: 1.15,
  },
  'directions of rotated vectors': {
    inputs: [x([N, 3]), x([3, 3])],
    build: (vectors, r) => {
      const y = vectors!.matmul(r!);
      return y.div(y.square().sum(1, { keepdims: true }).sqrt());
    },
  },
  'lengths of vectors, each by a matrix of its own': {
    inputs: [x([N, 3, 3]), x([N, 3])],
    build: (matrices, vectors) => einsum('nij,nj->ni', matrices!, vectors!).square().sum(1).sqrt(),
  },
  'Mahalanobis distances': {
    inputs: [x([N, 8]), x([8]), x([8, 8])],
    build: (rows, mean, precision) => {
      const d = rows!.sub(mean!);
      return d.matmul(precision!).mul(d).sum(1);
    },
  },
  'a density of four dimensions': {
    inputs: [x([N, 4], 'float64'), x([4], 'float64'), x([4, 4], 'float64')],
    build: (rows, mean, precision) => {
      const d = rows!.sub(mean!);
      return einsum('ni,ij,nj->n', d, precision!, d).mul(-0.5).exp();
    },
  },
  'quadratic forms of integers': {
    inputs: [x([N, 3], 'int32'), x([3, 3], 'int32')],
    build: (rows, form) => einsum('ni,ij,nj->n', rows!, form!, rows!),
  },
  'complex pairs by a matrix': {
    inputs: [x([N, 2], 'complex64'), x([2, 2], 'complex64')],
    build: (pairs, matrix) => pairs!.matmul(matrix!).abs(),
  },
  'a product of small matrices for each point': {
    inputs: [x([N, 3, 3]), x([N, 3, 3])],
    build: (a, b) => a!.matmul(b!).add(1),
  },
  'covariances of splats': {
    inputs: [x([N, 3, 3]), x([N, 3])],
    build: (rotations, scales) => {
      const m = rotations!.mul(scales!.slice(null, 'newaxis'));
      return m.matmul(m.mT);
    },
  },
  'the mean error of a linear map': {
    inputs: [x([N, 3]), x([3, 2]), x([N, 2])],
    build: (rows, weights, wanted) => rows!.matmul(weights!).sub(wanted!).square().mean(),
  },
  'brightness beside a colour matrix': {
    inputs: [x([512, 512, 3]), x([3, 3]), x([3])],
    build: (image, matrix, weights) => [image!.matmul(matrix!), image!.matmul(weights!)],
    // A kernel of pixels and one of their channels: both read the image.
    kernels: 2,
    moved: 1.45,
  },
  'overlaps of boxes': {
    inputs: [x([N, 4]), x([N, 4])],
    build: (a, b) => {
      const low = maximum(a!.slice(null, [0, 2]), b!.slice(null, [0, 2]));
      const high = minimum(a!.slice(null, [2, 4]), b!.slice(null, [2, 4]));
      const both = high.sub(low).clip(0).prod(1);
      const area = (box: Lazy): Lazy =>
        box
          .slice(null, [2, 4])
          .sub(box.slice(null, [0, 2]))
          .prod(1);
      return both.div(area(a!).add(area(b!)).sub(both));
    },
  },
  'boxes by centres': {
    inputs: [x([N, 4])],
    build: (boxes) => {
      const [centre, half] = [boxes!.slice(null, [0, 2]), boxes!.slice(null, [2, 4]).mul(0.5)];
      return concat([centre.sub(half), centre.add(half)], 1);
    },
  },
  'inverses of matrices of two rows, written out': {
    inputs: [x([N, 2, 2])],
    build: (matrices) => {
      const [a, b, c, d] = columns(matrices!.reshape(N, 4), 4) as [Lazy, Lazy, Lazy, Lazy];
      const det = a.mul(d).sub(b.mul(c));
      return stack([d, b.neg(), c.neg(), a], -1).div(det.slice(null, 'newaxis')).reshape(N, 2, 2);
    },
  },
};

describePrograms(PROGRAMS);

describe('a small network, whose layers have eight columns', () => {
  const build = (): Lazy =>
    x([N, 8])
      .matmul(x([8, 8]))
      .tanh()
      .matmul(x([8, 8]))
      .tanh();
  const kernelsOf = ({ passes, products }: typeof CPU_TARGET): number =>
    partition(
      runPasses(canonicalize([build().expr]).graph, { passes }),
      products.isReadable,
      undefined,
      products.channels,
    ).steps.length;

  it('is one kernel on the CPU, which computes the columns of a row together', () => {
    expect(kernelsOf(CPU_TARGET)).toBe(1);
  });

  it('is a kernel for each layer on a GPU, which would compute the first one for each column of the second', () => {
    expect(kernelsOf(CUDA_TARGET)).toBe(2);
  });
});

describe('explain() says why a product is written out', () => {
  const choicesOf = (y: Lazy): string[] =>
    y
      .explain({ device: 'cpu' })
      .passes.flatMap(({ choices }) => choices)
      .map(printChoice);

  it('by the arithmetic of a row, or of a column', () => {
    const text = (long: string): string =>
      `ab,bc->ac by a kernel of Weft's own that writes out 3 terms for each element: a ${long} takes 9 multiply-adds, less than to bring it from memory`;
    expect(choicesOf(x([N, 3]).matmul(x([3, 3])))).toEqual([text('row')]);
    expect(choicesOf(x([3, 3]).matmul(x([3, N])))).toEqual([text('column')]);
    expect(choicesOf(x([N, 300]).matmul(x([300, 300])))).toEqual([]);
  });

  it('and why one is stored all the same', () => {
    const turned = Array.from({ length: 6 }).reduce<Lazy>((y) => y.matmul(x([3, 3])), x([N, 3]));
    const stored = choicesOf(turned).filter((text) => text.includes('stores it'));
    expect(stored).toHaveLength(1);
    expect(stored[0]).toMatch(/^%\d+, \(\d+, 3\), by a kernel of Weft's own that stores it: its terms cost/);
  });
});
