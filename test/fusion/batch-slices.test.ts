/** What is computed alike for several slices of one array is computed once for all of them. */
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { concat, type DType, type Lazy, placeholder, stack } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';

const array = (shape: readonly number[], dtype: DType = 'float32'): Lazy => placeholder(shape, { dtype });
const COUNT = 12;
const each = <T>(make: (k: number) => T): T[] => Array.from({ length: COUNT }, (_, k) => make(k));
const f = (x: Lazy): Lazy => x.mul(2).exp().add(1).log();

interface Program {
  readonly input: Lazy;
  readonly build: (x: Lazy) => Lazy | Lazy[];
  readonly kernels: number;
}

const IMAGES = array([COUNT, 300, 200]);
const PROGRAMS: Readonly<Record<string, Program>> = {
  'a stack of maps': { input: IMAGES, build: (x) => stack(each((k) => f(x.slice(k)))), kernels: 1 },
  'chunks of a line': {
    input: array([COUNT * 5000]),
    build: (x) => concat(each((k) => f(x.slice([k * 5000, (k + 1) * 5000])))),
    kernels: 1,
  },
  'chunks with others between them': {
    input: array([COUNT * 2 * 5000]),
    build: (x) =>
      concat(
        each((k) =>
          f(x.slice([2 * k * 5000, (2 * k + 1) * 5000]))
            .sum()
            .reshape([1]),
        ),
      ),
    kernels: 1,
  },
  'frames that overlap': {
    input: array([COUNT * 5000]),
    build: (x) => stack(each((k) => f(x.slice([k * 4000, k * 4000 + 8000])).sum())),
    kernels: 1,
  },
  'hundreds of frames': {
    input: array([299 * 256 + 1024]),
    build: (x) => stack(Array.from({ length: 300 }, (_, k) => f(x.slice([k * 256, k * 256 + 1024])).sum())),
    kernels: 1,
  },
  'sums of slices': { input: IMAGES, build: (x) => stack(each((k) => f(x.slice(k)).sum())), kernels: 1 },
  'sums of columns': { input: IMAGES, build: (x) => stack(each((k) => f(x.slice(k)).sum(0))), kernels: 1 },
  'sums of halves': {
    input: array([COUNT, 300, 200], 'float16'),
    build: (x) => stack(each((k) => x.slice(k).sum(1, { dtype: 'float32' }))),
    kernels: 1,
  },
  'extremes of rows': {
    input: IMAGES,
    build: (x) => stack(each((k) => x.slice(k).max(1).sub(x.slice(k).min(1)))),
    kernels: 1,
  },
  'softmax of rows': { input: IMAGES, build: (x) => stack(each((k) => x.slice(k).softmax(1))), kernels: 1 },
  'slices that are bent by one vector': {
    input: IMAGES,
    build: (x) =>
      stack(
        each((k) =>
          x
            .slice(k)
            .mul(array([200]))
            .tanh(),
        ),
      ),
    kernels: 1,
  },
  'statistics of bands, wanted apart': {
    input: IMAGES,
    build: (x) => each((k) => x.slice(k).std()),
    kernels: 2,
  },
  'sums of several kinds, wanted apart': {
    input: IMAGES,
    build: (x) => each((k) => [x.slice(k).max(), x.slice(k).square().sum().sqrt()]).flat(),
    kernels: 3,
  },
  'sums of slices in another order': {
    input: IMAGES,
    build: (x) => stack(each((k) => f(x.slice(COUNT - 1 - k)).sum())),
    kernels: 2,
  },
  'a sum of sums': {
    input: IMAGES,
    build: (x) => each((k) => f(x.slice(k)).sum()).reduce((a, b) => a.add(b)),
    kernels: 2,
  },
};

const TARGETS = { 'the CPU': CPU_TARGET.passes, CUDA: CUDA_TARGET.passes } as const;
const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);
const expressionsOf = (made: Lazy | Lazy[]) => [made].flat().map(({ expr }) => expr);

describe.each(Object.entries(TARGETS))('on %s', (_, passes) => {
  it.each(Object.entries(PROGRAMS))('%s', (name, { input, build, kernels }) => {
    const { steps } = partitionOf(expressionsOf(build(input)), { passes });
    expect(steps).toHaveLength(kernels);
    const traffic = steps.map((step) => {
      if (step.kind !== 'kernel') throw new Error('no kernel');
      return trafficOf(step.kernel.kernel);
    });
    const moved = traffic.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
    const read = name.includes('between') ? bytesOf([input]) / 2 : bytesOf([input]);
    expect(moved).toBeLessThanOrEqual(1.05 * (read + bytesOf([build(input)].flat())));
  });

  it.each<[string, () => Lazy | Lazy[]]>([
    ['slices at other distances', () => stack([0, 1, 3].map((k) => f(IMAGES.slice(k)).sum()))],
    ['columns', () => stack(each((k) => f(array([50_000, COUNT]).slice(null, k)).sum()))],
    [
      'rows of what is transposed',
      () => stack(each((k) => f(array([50_000, COUNT]).transpose().slice(k)).sum())),
    ],
    [
      'slices of which each has a number of its own',
      () =>
        stack(
          each((k) =>
            IMAGES.slice(k)
              .mul(k + 2)
              .sum(),
          ),
        ),
    ],
    ['two results', () => [0, 1].map((k) => f(IMAGES.slice(k)).sum())],
    ['rows that are read again', () => each((k) => IMAGES.slice(k).softmax(1))],
  ])('%s stay apart', (_name, build) => {
    const expressions = expressionsOf(build());
    const { graph } = canonicalize(expressions);
    const without = runPasses(graph, { passes: passes.filter(({ name }) => name !== 'batch-slices') });
    expect(runPasses(graph, { passes, verify: true })).toEqual(without);
  });
});

it('leaves products of slices to their library, one by one', () => {
  const x = array([COUNT, 64, 64]);
  const products = stack(each((k) => x.slice(k).matmul(x.slice(k).transpose())));
  const { steps } = partitionOf(expressionsOf(products), { passes: CUDA_TARGET.passes });
  expect(steps.filter(({ kind }) => kind === 'call')).toHaveLength(COUNT);
});
