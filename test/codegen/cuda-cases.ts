/**
 * Kernels that between them reach every schedule, mapping, chunk form and index form of the CUDA printers.
 * Small enough to simulate, with shapes that do not divide evenly.
 */
import type { Schedule } from '../../src/codegen/cuda/cuda.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../src/graph/dtype.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { mapCases } from './cuda-map-cases.js';

export interface CudaCase {
  readonly name: string;
  readonly kernel: Kernel;
  /** Another schedule than the kernel's own: to reach one without the size it takes. */
  readonly schedule?: Schedule;
}

const cases: CudaCase[] = [];
const add = (name: string, builder: KernelBuilder, schedule?: Schedule): void => {
  const kernel = builder.build(name.replaceAll(/[^a-z0-9]+/g, '_'));
  cases.push({ name, kernel, ...(schedule === undefined ? {} : { schedule }) });
};

const REDUCTIONS: readonly (readonly [ReductionName, DType])[] = [
  ['sum', 'float32'], ['sum', 'int8'], ['sum', 'complex64'], ['prod', 'float64'], ['min', 'float32'], ['max', 'int16'],
  ['any', 'bool'], ['all', 'float32'], ['argmin', 'float32'], ['argmax', 'uint8'], ['squaredDeviations', 'float32'],
  ['squaredDeviations', 'complex64'], ['logsumexp', 'float32'], ['sum', 'float16'], ['argmax', 'float64'], ['min', 'bool'],
]; // biome-ignore format: a table

const distances = (n: number, m: number, d: number, dtype: DType): KernelBuilder => {
  const b = new KernelBuilder([n, m], [d]);
  const difference = b.map('subtract', b.load(dtype, [d, 0, 1]), b.load(dtype, [0, d, 1]));
  return b.store(b.map('sqrt', b.reduce('sum', b.map('square', difference))));
};

const pairs = {
  kind: 'outer-product',
  axisI: 0,
  axisJ: 1,
  items: { i: 8, j: 8 },
  threads: { i: 16, j: 16 },
  depth: 16,
  fold: 0,
  tile: [],
  slots: 1,
  slotLength: 48,
} as const;

function reductions(): void {
  for (const [reduction, dtype] of REDUCTIONS) {
    const name = reduction.toLowerCase();
    const all = new KernelBuilder([], [40_003]);
    add(`reduce all by ${name} of ${dtype}`, all.store(all.reduce(reduction, all.load(dtype, [1]))));
    const rows = new KernelBuilder([37], [100]);
    add(`reduce rows by ${name} of ${dtype}`, rows.store(rows.reduce(reduction, rows.load(dtype, [100, 1]))));
    const columns = new KernelBuilder([52], [1000]);
    add(
      `reduce columns by ${name} of ${dtype}`,
      columns.store(columns.reduce(reduction, columns.load(dtype, [1, 52]))),
    );
  }
  const sumOf = (
    name: string,
    parallel: number[],
    reduced: number[],
    strides: number[],
    offset = 0,
  ): void => {
    const b = new KernelBuilder(parallel, reduced);
    add(`sum ${name}`, b.store(b.reduce('sum', b.load('float32', strides, { offset }))));
  };
  sumOf('of narrow rows', [3001], [8], [8, 1]);
  sumOf('of very narrow rows', [1001], [3], [3, 1]);
  sumOf('of tall columns', [8], [30_000], [1, 8]);
  sumOf('of two tall columns', [2], [30_000], [1, 2]);
  sumOf('of the middle axis', [5, 64], [33], [33 * 64, 1, 64]);
  sumOf('of the outer axes', [48], [20, 30], [1, 30 * 48 + 16, 48]);
  sumOf('of the inner axes of a box', [20], [30, 44], [30 * 50, 50, 1]);
  sumOf('of flipped rows', [20], [64], [64, -1], 63);
  sumOf('of a broadcast', [20], [64], [1, 0]);
  sumOf('of a single element each', [50], [1], [1, 0]);
  sumOf('of nothing', [50], [0], [1, 1]);
  sumOf('of both strided', [33], [40], [3, 200]);
  sumOf('of short columns', [1024], [8], [1, 1024]);
  {
    const b = new KernelBuilder([33], [260]);
    const x = b.load('float32', [260, 1]);
    const s = b.reduce('sum', x);
    const n = b.constant('float32', 260);
    const mean = b.map('divide', s, n);
    const scale = b.load('float32', [1, 0]);
    add(
      'reduce several with a row epilogue',
      b
        .store(b.map('multiply', mean, scale))
        .store(b.reduce('max', b.map('multiply', x, scale)))
        .store(b.map('multiply', x, scale))
        .store(b.reduce('argmin', x)),
    );
  }
  {
    const b = new KernelBuilder([12], [7000]);
    const x = b.load('float64', [1, 12]);
    add(
      'reduce several columns in slots',
      b
        .store(b.map('sqrt', b.reduce('squaredDeviations', x)))
        .store(b.reduce('max', x))
        .store(b.reduce('argmax', b.map('multiply', x, b.load('float64', [1, 0])))),
    );
  }
  {
    const b = new KernelBuilder([5], [4100]);
    const x = b.load('float32', [4100, 1]);
    const schedule = {
      kind: 'reduce',
      mapping: 'rows',
      threadsP: 2,
      threadsR: 128,
      width: 4,
      itemsP: 1,
      unrollR: 4,
      slotLength: 6144,
      slots: 1,
      staged: false,
    } as const;
    add('reduce rows by several warps', b.store(b.reduce('sum', x)).store(b.reduce('argmax', x)), schedule);
  }
  {
    const b = new KernelBuilder([], [30, 20]);
    add('reduce a strided box', b.store(b.reduce('argmax', b.load('float32', [1, 50]))));
  }
  // Far points have subnormal and zero weights.
  for (const [name, scale] of [
    ['points', 1],
    ['far points', 4],
  ] as const) {
    const b = new KernelBuilder([300], [520]);
    const d = [0, 1, 2].map((k) =>
      b.map(
        'subtract',
        b.load('float32', [3, 0], { offset: k, buffer: 'x' }),
        b.load('float32', [0, 3], { offset: k, buffer: 'y' }),
      ),
    );
    const scaled = scale === 1 ? d : d.map((x) => b.map('multiply', x, b.constant('float32', scale)));
    const squares = scaled.map((x) => b.map('square', x)).reduce((a, c) => b.map('add', a, c));
    add(
      `reduce pairs of ${name}`,
      b.store(
        b.reduce(
          'sum',
          b.map('multiply', b.map('exp', b.map('negative', squares)), b.load('float32', [0, 1])),
        ),
      ),
    );
  }
  add('pairs of rows', distances(130, 72, 20, 'float32'), pairs);
  add('pairs of rows not aligned', distances(65, 67, 33, 'float64'), {
    ...pairs,
    items: { i: 4, j: 4 },
    depth: 8,
    fold: 16,
  });
  {
    const b = new KernelBuilder([3, 70, 64], [5, 6]);
    const x = b.map('multiply', b.load('float32', [2100, 1, 0, 420, 70]), b.load('float32', [0, 1, 0, 0, 0]));
    const y = b.load('int8', [1920, 0, 1, 384, 64]);
    const product = b.map(
      'multiply',
      b.map('add', x, b.cast(y, 'float32')),
      b.load('float32', [0, 0, 0, 6, 1]),
    );
    add(
      'pairs in a batch with three sides',
      b.store(b.reduce('max', product)).store(b.reduce('argmin', product)),
      { ...pairs, axisI: 1, axisJ: 2, items: { i: 4, j: 4 } },
    );
  }
  add('pairs of many rows and few columns', distances(300, 11, 100, 'float32'), {
    ...pairs,
    items: { i: 8, j: 1 },
    depth: 64,
    slotLength: 128,
  });
  add('pairs of few rows and many columns', distances(19, 150, 36, 'float64'), {
    ...pairs,
    items: { i: 2, j: 4 },
    depth: 8,
    fold: 16,
  });
  {
    // Each side lies along another reduced axis; the last slot is shorter.
    const b = new KernelBuilder([20, 70], [16, 3, 24]);
    const x = b.load('float32', [24, 0, 1440, 480, 1]);
    const y = b.load('float32', [0, 16, 1, 1120, 3360]);
    add('pairs of slots in tiles', b.store(b.map('sqrt', b.reduce('sum', b.map('multiply', x, y)))), {
      ...pairs,
      items: { i: 6, j: 6 },
      depth: 32,
      tile: [
        { axis: 2, length: 8 },
        { axis: 4, length: 4 },
      ],
      slots: 4,
      slotLength: 320,
    });
  }
  {
    const b = new KernelBuilder([10, 8], [2500]);
    const isIn = b.cast(b.map('equal', b.load('int64', [0, 0, 1]), b.index([1, 0, 0])), 'float64');
    const y = b.load('float64', [0, 1, 8]);
    add('pairs of slots of few results', b.store(b.reduce('sum', b.map('multiply', isIn, y))), {
      ...pairs,
      items: { i: 1, j: 1 },
      depth: 32,
      fold: 1024,
      slots: 2,
      slotLength: 2048,
    });
  }
  {
    const b = new KernelBuilder([300], [520]);
    const x = b.map('add', b.load('int64', [0, 1]), b.index([1, 2]));
    add(
      'reduce shared elements with indices',
      b.store(b.reduce('sum', x)).store(b.reduce('any', b.map('greater', x, b.constant('int64', 900n)))),
    );
  }
  {
    const b = new KernelBuilder([], [5000]);
    const i = b.cast(b.index([1]), 'float32');
    add('reduce indices alone', b.store(b.reduce('sum', b.map('sin', i))));
  }
  {
    const b = new KernelBuilder([], [12_345]);
    const x = b.load('float32', [1]);
    add('reduce and store elements', b.store(b.reduce('sum', x)).store(b.map('square', x)));
  }
}

function softmax(
  parallel: number[],
  reduced: number[],
  strides: number[],
  dtype: DType = 'float32',
): KernelBuilder {
  const b = new KernelBuilder(parallel, reduced);
  const x = b.load(dtype, strides);
  const e = b.map('exp', b.map('subtract', x, b.reduce('max', x)));
  const y = b.map('divide', e, b.reduce('sum', e));
  return b.store(y, strides);
}

function rows(): void {
  add('rows of softmax', softmax([19], [256], [256, 1]));
  add('rows of softmax not full', softmax([19], [100], [100, 1]));
  add('rows of softmax unaligned', softmax([9], [37], [37, 1]));
  add('rows of softmax short', softmax([301], [8], [8, 1]));
  add('rows of softmax in a block', softmax([70], [1500], [1500, 1]));
  add('rows of softmax in halves', softmax([19], [256], [256, 1], 'float16'));
  const again = {
    kind: 'rows',
    mapping: 'rows',
    threadsP: 1,
    threadsR: 64,
    width: 4,
    chunks: 4,
    sharedChunks: 0,
    held: false,
  } as const;
  add('rows of softmax walked again', softmax([5], [2500], [2500, 1]), again);
  add('rows of softmax in columns walked again', softmax([40], [900], [1, 40]), {
    ...again,
    mapping: 'columns',
    threadsP: 32,
    threadsR: 8,
    width: 1,
  });
  const shared = { ...again, chunks: 2, sharedChunks: 5, held: true } as const;
  add('rows of softmax in shared memory', softmax([5], [1700], [1700, 1]), shared);
  add('rows of softmax of halves in shared memory', softmax([3], [1792], [1792, 1], 'float16'), {
    ...shared,
    threadsR: 32,
    width: 8,
  });
  add('rows of softmax split', softmax([2], [20_000], [20_000, 1]));
  add('rows of softmax of one row', softmax([], [20_001], [1]));
  add('rows of softmax in columns', softmax([100], [70], [1, 100]));
  add('rows of softmax in few columns', softmax([5], [700], [1, 5]));
  add('rows of softmax in two axes', softmax([6, 40], [50], [40 * 50, 1, 40]));
  {
    const b = new KernelBuilder([21], [192]);
    const x = b.load('float32', [192, 1]);
    const n = b.constant('float32', 192);
    const mean = b.map('divide', b.reduce('sum', x), n);
    const variance = b.map('divide', b.reduce('squaredDeviations', x), n);
    const scale = b.map('rsqrt', b.map('add', variance, b.constant('float32', 1e-5)));
    const normal = b.map('multiply', b.map('subtract', x, mean), scale);
    const y = b.map('add', b.map('multiply', normal, b.load('float32', [0, 1])), b.load('float32', [0, 1]));
    add('rows of layer norm', b.store(y).store(mean));
  }
  for (const schedule of [undefined, { ...shared, width: 2, threadsR: 32, chunks: 1, sharedChunks: 3 }]) {
    const length = schedule === undefined ? 64 : 250;
    const b = new KernelBuilder([17], [length]);
    const x = b.load('float64', [length, 1]);
    const n = b.constant('float64', length);
    const centred = b.map('subtract', x, b.map('divide', b.reduce('sum', x), n));
    const spread = b.reduce('max', b.map('abs', centred));
    const share = b.map('divide', centred, spread);
    add(
      `rows in three phases${schedule === undefined ? '' : ' in shared memory'}`,
      b
        .store(b.reduce('sum', b.map('square', share)))
        .store(spread)
        .store(share),
      schedule,
    );
  }
}

/** Tables in shared memory: of every width of entries, several of one kernel, and more than is held. */
function tables(indexOf: (b: KernelBuilder, strides: readonly number[], size: number) => number): void {
  const schedule = { kind: 'table', width: 4, threads: 64, blocks: 3 } as const;
  const of = (size: number, stride: number, dtype: DType, held: number, offset = 0): void => {
    const b = new KernelBuilder([5003]);
    const index = { value: indexOf(b, [1], size), stride, size };
    const last = stride < 0 ? (1 - size) * stride : 0;
    const found = b.gather(dtype, [0], index, { offset: offset + last, buffer: 'table' });
    // Every place of the buffer, so that it is as long as the table where that runs backwards.
    if (last > 0) b.load(dtype, [0], { offset: offset + last, buffer: 'table' });
    const width = Math.min(4, 16 / byteLengthOf(dtype));
    add(`table of ${size} ${dtype} by ${stride}, ${held} held`, b.store(found), {
      ...schedule,
      width,
      held: [held],
      halves: [0],
    });
  };
  of(40, 1, 'float32', 40);
  of(43, 1, 'bool', 43);
  of(301, 1, 'float16', 301, 8);
  of(60, 3, 'int16', 60, 1);
  of(50, -2, 'float64', 50);
  of(64, 1, 'complex128', 64);
  of(500, 1, 'float32', 129);
  of(300, 2, 'complex64', 7, 5);
  const b = new KernelBuilder([37, 64]);
  const [small, long] = [indexOf(b, [64, 1], 9), indexOf(b, [0, 1], 299)];
  const at = (dtype: DType, value: number, size: number, offset = 0): number =>
    b.gather(dtype, [0, 0], { value, stride: 1, size }, { offset, buffer: dtype });
  const between = b.map('add', at('float32', long, 299), at('float32', long, 299, 1));
  add(
    'tables of several dtypes, and two of one buffer',
    b.store(b.map('multiply', between, b.cast(at('int8', small, 9), 'float32'))).store(between),
    { ...schedule, held: [9, 299], halves: [0, 0] },
  );
}

/** A table's rows, columns or elements, by indices that are computed in the kernel. */
function gathers(): void {
  const indexOf = (b: KernelBuilder, strides: readonly number[], size: number): number => {
    const wrapped = b.map('remainder', b.load('int32', strides), b.constant('int32', size));
    return b.cast(wrapped, 'int64');
  };
  const lookUp = new KernelBuilder([1001]);
  const found = lookUp.gather('float32', [0], { value: indexOf(lookUp, [1], 40), stride: 1, size: 40 });
  add(
    'gather elements',
    lookUp.store(lookUp.map('multiply', lookUp.map('exp', found), lookUp.load('float32', [1]))),
  );
  tables(indexOf);
  for (const width of [64, 33]) {
    const rows = new KernelBuilder([90, width]);
    const index = { value: indexOf(rows, [1, 0], 12), stride: width, size: 12 };
    add(
      `gather rows of ${width}`,
      rows.store(rows.map('add', rows.gather('float32', [0, 1], index), rows.load('float32', [width, 1]))),
    );
  }
  const shared = new KernelBuilder([37, 64]);
  const nine = { value: indexOf(shared, [0, 1], 9), stride: 1, size: 9 };
  const scaled = shared.map('exp', shared.gather('float32', [0, 0], nine));
  add(
    'gather columns computed once',
    shared.store(shared.map('multiply', scaled, shared.load('float32', [64, 1]))),
    { kind: 'map', width: 4, unroll: 2, threads: 64 },
  );
  const columns = new KernelBuilder([70, 50]);
  const column = columns.gather('float64', [9, 0], {
    value: indexOf(columns, [0, 1], 9),
    stride: 1,
    size: 9,
  });
  add(
    'gather columns and transpose',
    columns.store(columns.map('add', column, columns.load('float64', [1, 70]))),
  );
  const sums = new KernelBuilder([37], [300]);
  const term = sums.gather('float32', [0, 0], { value: indexOf(sums, [300, 1], 25), stride: 1, size: 25 });
  add(
    'reduce rows of what is gathered',
    sums.store(sums.reduce('sum', term)).store(sums.reduce('max', sums.map('abs', term))),
  );
  const all = new KernelBuilder([], [40_003]);
  add(
    'reduce all of what is gathered',
    all.store(
      all.reduce('sum', all.gather('float32', [0], { value: indexOf(all, [1], 7), stride: 1, size: 7 })),
    ),
  );
  const soft = new KernelBuilder([20], [300]);
  const score = soft.gather('float32', [0, 0], { value: indexOf(soft, [300, 1], 31), stride: 1, size: 31 });
  const weight = soft.map('exp', soft.map('subtract', score, soft.reduce('max', score)));
  add(
    'rows of softmax of what is gathered',
    soft.store(soft.map('divide', weight, soft.reduce('sum', weight))),
  );
  for (const length of [128, 300]) {
    // One index a row, of which all elements of the row are taken.
    const taken = new KernelBuilder([21], [length]);
    const row = taken.gather('float32', [0, 1], {
      value: indexOf(taken, [1, 0], 9),
      stride: length,
      size: 9,
    });
    const share = taken.map('exp', taken.map('subtract', row, taken.reduce('max', row)));
    add(
      `rows of softmax of gathered rows of ${length}`,
      taken.store(taken.map('divide', share, taken.reduce('sum', share))).store(row),
    );
    const summed = new KernelBuilder([21], [length]);
    const line = summed.gather('float32', [0, 1], {
      value: indexOf(summed, [1, 0], 9),
      stride: length,
      size: 9,
    });
    add(`reduce gathered rows of ${length}`, summed.store(summed.reduce('sum', line)));
  }
  const sides = new KernelBuilder([40, 50], [64]);
  const side = (strides: readonly number[]): number => sides.load('float32', strides);
  const difference = sides.map('subtract', side([64, 0, 1]), side([0, 64, 1]));
  const scale = sides.gather('float32', [0, 0, 0], {
    value: indexOf(sides, [0, 0, 1], 5),
    stride: 1,
    size: 5,
  });
  add(
    'reduce pairs scaled by what is gathered',
    sides.store(sides.reduce('sum', sides.map('multiply', difference, scale))),
  );
  const padded = new KernelBuilder([30, 41]);
  const bounds = [{ offset: -2, strides: [0, 1], size: 35 }];
  const inner = { value: indexOf(padded, [1, 0], 6), stride: 35, size: 6 };
  add(
    'gather rows with a margin',
    padded.store(padded.gather('float32', [0, 1], inner, { offset: -2, bounds })),
  );
}

mapCases(add);
gathers();
/** Few rows or columns: warps take reduced elements by turns. */
function pairsByTurns(): void {
  add('pairs of many rows by turns of warps', distances(130, 11, 100, 'float32'), {
    ...pairs,
    items: { i: 8, j: 4 },
    threads: { i: 8, j: 4 },
    depth: 64,
    slotLength: 128,
  });
  add('pairs of few rows by turns of warps', distances(19, 66, 36, 'float64'), {
    ...pairs,
    items: { i: 4, j: 4 },
    threads: { i: 8, j: 8 },
    depth: 16,
    fold: 16,
  });
  add('pairs of many rows by turns of two warps', distances(70, 24, 36, 'float32'), {
    ...pairs,
    items: { i: 8, j: 4 },
    threads: { i: 8, j: 8 },
    depth: 16,
  });
  {
    const b = new KernelBuilder([70, 7], [45]);
    const difference = b.map('subtract', b.load('float32', [1, 0, 70]), b.load('float32', [0, 1, 7]));
    add(
      'several of pairs by turns of warps',
      b.store(b.reduce('max', difference)).store(b.reduce('argmin', difference)),
      { ...pairs, items: { i: 4, j: 4 }, threads: { i: 8, j: 4 }, slotLength: 48 },
    );
  }
}

reductions();
rows();
pairsByTurns();

export const CUDA_CASES: readonly CudaCase[] = cases;
