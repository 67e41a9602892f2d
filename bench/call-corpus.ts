/**
 * The calls by which the model of their times is held: expressions of matrices, of lines and of rows, each of which plans
 * some calls, of several dtypes and sizes. Held out are sizes in between, to which no rate was fitted. Sizes can also be
 * drawn at random (`drawnCalls`): the same ones from the same seed.
 */
import {
  bincount,
  type DType,
  fft,
  histogram,
  isin,
  type Lazy,
  linalg,
  ndimage,
  nonzero,
  placeholder,
  type SparseMatrix,
  sparse,
  topK,
  uniqueCounts,
} from '../src/index.js';
import { generator } from '../test/support/random.js';
import {
  type Draw,
  drawnLengths,
  drawnMatrices,
  drawnPlanes,
  drawnRows,
  drawnTransforms,
} from './drawn-sizes.js';

export interface CallCase {
  readonly family: string;
  readonly dtype: DType;
  readonly size: string;
  readonly build: () => readonly Lazy[];
}

type Build = (...arrays: Lazy[]) => readonly Lazy[];

const REAL: readonly DType[] = ['float32', 'float64'];
const ORDERED: readonly DType[] = ['float32', 'float64', 'int32', 'int64', 'float16', 'uint8'];
const INEXACT: readonly DType[] = ['float32', 'float64', 'complex64', 'complex128'];
const COMPLEX: readonly DType[] = ['complex64', 'complex128'];

/** Shapes of the first array, as text: others are made of it. */
const LINES = ['100', '3000', '100000', '3000000'];
const MANY_ROWS = ['64x100', '2000x500', '20x50000', '30000x64', '4x1000000'];
const MATRICES = ['8x8', '40x40', '150x150', '500x500', '1200x1200'];
const STACKS = ['2000x4x4', '500x16x16', '100x64x64'];
const HELD_LINES = ['700', '20000', '1000000'];
const HELD_ROWS = ['300x200', '5000x40', '16x200000'];
const HELD_MATRICES = ['16x16', '80x80', '300x300', '800x800'];
const HELD_STACKS = ['3000x8x8', '200x32x32'];

interface Family {
  readonly dtypes: readonly DType[];
  readonly sizes: readonly string[];
  readonly held: readonly string[];
  /** Sizes at random. */
  readonly drawn: Draw;
  readonly build: Build;
}

const lines = (dtypes: readonly DType[], build: Build): Family => ({
  dtypes,
  sizes: LINES,
  held: HELD_LINES,
  drawn: drawnLengths(50, 6e6),
  build,
});
const rows = (dtypes: readonly DType[], build: Build): Family => ({
  dtypes,
  sizes: MANY_ROWS,
  held: HELD_ROWS,
  drawn: drawnRows,
  build,
});
const matrices = (
  dtypes: readonly DType[],
  build: Build,
  most = Number.POSITIVE_INFINITY,
  isTall = false,
): Family => {
  const isWithin = (size: string): boolean => Number(size.split('x').at(-1)) <= most;
  return {
    dtypes,
    sizes: [...MATRICES, ...STACKS].filter(isWithin),
    held: [...HELD_MATRICES, ...HELD_STACKS].filter(isWithin),
    drawn: drawnMatrices(Math.min(1500, most), isTall),
    build,
  };
};
const partsOf = (results: object): readonly Lazy[] => Object.values(results) as Lazy[];

/** So many elements in rows of equal length. */
function matrixOf(data: Lazy, perRow = 8): SparseMatrix {
  const stored = data.shape[0]!;
  const count = Math.max(1, Math.floor(stored / perRow));
  const starts = placeholder([count + 1], 'int32');
  return sparse.csr({ data, indices: placeholder([stored], 'int32'), indptr: starts }, [count, count]);
}

const FAMILIES: Readonly<Record<string, Family>> = {
  'sort of a line': lines(ORDERED, (x) => [x!.sort()]),
  'sort of rows': rows(ORDERED, (x) => [x!.sort(1)]),
  'order of a line': lines(ORDERED, (x) => [x!.argsort()]),
  'order of rows': rows(REAL, (x) => [x!.argsort(1)]),
  'median of rows': rows(REAL, (x) => [x!.median(1)]),
  'largest of rows': rows(REAL, (x) => partsOf(topK(x!, 10))),
  'median of a line': lines(REAL, (x) => [x!.median()]),
  'largest of a line': lines(REAL, (x) => partsOf(topK(x!, 10))),
  'running sum of a line': lines(['float32', 'float64', 'int32', 'float16'], (x) => [x!.cumulativeSum()]),
  'running sum of rows': rows(REAL, (x) => [x!.cumulativeSum(1)]),
  'running sum of columns': rows(REAL, (x) => [x!.cumulativeSum(0)]),
  'running maximum of rows': rows(REAL, (x) => [x!.cumulativeMax(1)]),
  'counts of keys': lines(['int32', 'int64'], (x) => [bincount(x!, 1000)]),
  histogram: lines(REAL, (x) => [histogram(x!, 100, { range: [0, 1] })[0]]),
  places: lines(['bool'], (x) => [nonzero(x!)[0]!]),
  'members of a set': lines(['int32', 'int64'], (x) => [isin(x!, x!.slice([0, 50]))]),
  'distinct elements': lines(['int32', 'float64'], (x) => partsOf(uniqueCounts(x!))),
  labels: rows(['bool'], (x) => [ndimage.label(x!).labels]),
  'Fourier transform of rows': {
    dtypes: COMPLEX,
    sizes: ['1000x64', '100x1024', '10x65536', '100x1000', '60x1009', '1x1048576'],
    held: ['500x256', '30x8192', '200x360', '2x262144'],
    drawn: drawnTransforms((n) => n),
    build: (x) => [fft.fft(x!)],
  },
  'real transform of rows': {
    dtypes: REAL,
    sizes: ['1000x64', '100x1024', '10x65536', '100x1000', '60x1009'],
    held: ['500x256', '30x8192', '200x360'],
    drawn: drawnTransforms((n) => n),
    build: (x) => [fft.rfft(x!)],
  },
  'real of transforms': {
    dtypes: COMPLEX,
    sizes: ['1000x33', '100x513', '10x32769', '100x501'],
    held: ['500x129', '30x4097', '200x181'],
    drawn: drawnTransforms((n) => Math.floor(n / 2) + 1),
    build: (x) => [fft.irfft(x!)],
  },
  'transform of planes': {
    dtypes: COMPLEX,
    sizes: ['64x64', '512x512', '1024x1024'],
    held: ['128x256', '720x600'],
    drawn: drawnPlanes,
    build: (x) => [fft.fft2(x!)],
  },
  product: matrices(['float32', 'float64', 'complex64', 'complex128', 'float16'], (x, y) => [x!.matmul(y!)]),
  'product of rows': {
    dtypes: ['float32', 'float64', 'complex64', 'complex128', 'float16'],
    sizes: ['300x40', '40x3000'],
    held: ['1000x20', '200x2000'],
    drawn: drawnPlanes,
    build: (x, y) => [x!.matmul(y!.matrixTranspose())],
  },
  'product with a vector': matrices(REAL, (x, y) => [x!.matmul(y!.slice('...', [0, 1]))]),
  'product of its transpose': matrices(REAL, (x) => [x!.matrixTranspose().matmul(x!)]),
  solve: matrices(INEXACT, (x, y) => [linalg.solve(x!, y!.slice('...', [0, 1]))]),
  'solve many': matrices(REAL, (x, y) => [linalg.solve(x!, y!)]),
  inverse: matrices(INEXACT, (x) => [linalg.inv(x!)]),
  determinant: matrices(REAL, (x) => [linalg.det(x!)]),
  lu: matrices(REAL, (x) => partsOf(linalg.lu(x!))),
  cholesky: matrices(INEXACT, (x) => [linalg.cholesky(x!)]),
  qr: matrices(INEXACT, (x) => partsOf(linalg.qr(x!)), 1500, true),
  eigh: matrices(INEXACT, (x) => partsOf(linalg.eigh(x!)), 500),
  eigvalsh: matrices(REAL, (x) => [linalg.eigvalsh(x!)], 500),
  svd: matrices(INEXACT, (x) => partsOf(linalg.svd(x!)), 300, true),
  svdvals: matrices(REAL, (x) => [linalg.svdvals(x!)], 500),
  eig: matrices(REAL, (x) => partsOf(linalg.eig(x!)), 300),
  'least squares': matrices(REAL, (x, y) => [linalg.lstsq(x!, y!.slice('...', [0, 1])).x], 300),
  exponential: matrices(REAL, (x) => [linalg.expm(x!)], 300),
  'sparse product': lines(REAL, (x) => [
    matrixOf(x!).matmul(placeholder([Math.max(1, Math.floor(x!.shape[0]! / 8))], x!.dtype)),
  ]),
  'sparse product of columns': lines(REAL, (x) => [
    matrixOf(x!).matmul(placeholder([Math.max(1, Math.floor(x!.shape[0]! / 8)), 16], x!.dtype)),
  ]),
  'sparse transpose': lines(REAL, (x) => partsOf(arraysOf(matrixOf(x!).T))),
  'sparse sum': lines(REAL, (x, y) => partsOf(arraysOf(matrixOf(x!).add(matrixOf(y!))))),
  'sparse rows': lines(REAL, (x) => [matrixOf(x!).sum(0)]),
  'sparse columns': lines(REAL, (x) => partsOf(arraysOf(matrixOf(x!).columns(0, 5)))),
  'sparse above another': lines(REAL, (x, y) =>
    partsOf(arraysOf(sparse.vstack([matrixOf(x!), matrixOf(y!)]))),
  ),
  attention: {
    dtypes: ['float32'],
    sizes: ['2x64x32', '4x512x64', '1x2048x64'],
    held: ['3x200x32', '2x1000x64'],
    drawn: (next) => {
      const [batch, length] = [1 + Math.floor(6 * next()), Math.round(64 * 40 ** next())];
      return `${batch}x${length}x${next() < 0.5 ? 32 : 64}`;
    },
    build: (x, y) => [x!.matmul(y!.matrixTranspose()).softmax(-1).matmul(x!)],
  },
  'dense of sparse': {
    dtypes: REAL,
    sizes: ['100', '3000', '30000'],
    held: ['700', '10000'],
    drawn: drawnLengths(50, 40_000),
    build: (x) => [matrixOf(x!).toDense()],
  },
};

const arraysOf = ({ data, indices, indptr }: SparseMatrix): object => ({ data, indices, indptr });

/** A case of a family; undefined: there is no such family. */
export function callCase(family: string, dtype: DType, size: string): CallCase | undefined {
  const build = FAMILIES[family]?.build;
  const given = (): Lazy => placeholder(size.split('x').map(Number), dtype);
  return build && { family, dtype, size, build: () => build(given(), given()) };
}

const casesOf = (sizesOf: (family: Family, dtype: DType) => readonly string[]): CallCase[] =>
  Object.entries(FAMILIES).flatMap(([name, family]) =>
    family.dtypes.flatMap((dtype) =>
      sizesOf(family, dtype).map((size): CallCase => callCase(name, dtype, size)!),
    ),
  );

/** Cases that rates were fitted to, or those in between. */
export const callCases = (isHeldOut: boolean): CallCase[] =>
  casesOf(({ sizes, held }) => (isHeldOut ? held : sizes));

/** So many cases of each family and dtype with sizes at random, in random order: time for a part of them has some of all. */
export function drawnCalls(count: number, seed: number): CallCase[] {
  const next = generator(seed);
  const cases = casesOf(({ drawn }) => Array.from({ length: count }, () => drawn(next)));
  return cases
    .map((one) => ({ one, key: next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);
}
