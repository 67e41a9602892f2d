/** Routines of the CPU that move the elements of sparse matrices, of every dtype and width of indices. */
import { expect, it } from 'vitest';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { createProgram, type RoutineSpec, routineWorkspace, run } from '../../src/exec/native/native.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import { compute, explain, type Lazy, lazy, ones } from '../../src/index.js';
import { referenceOf, toLazy } from '../support/api.js';
import { generator, randomIntegers } from '../support/random.js';

const cpu = { device: 'cpu' } as const;
const DTYPES = [
  'bool',
  'int16',
  'uint64',
  'float16',
  'float32',
  'float64',
  'complex64',
  'complex128',
] as const;

/** Elements in no order, of which some are at one place. */
interface Elements {
  readonly shape: readonly [number, number];
  readonly row: readonly number[];
  readonly col: readonly number[];
}

function randomElements(seed: number, shape: readonly [number, number], count: number): Elements {
  const next = generator(seed);
  const line = (below: number): number[] =>
    Array.from({ length: count }, () => Math.floor(next() ** 2 * below));
  return { shape, row: line(shape[0]), col: line(shape[1]) };
}

/** Numbers of the elements in the order of the matrix, and where rows begin. */
function inOrder({ shape: [rows, columns], row, col }: Elements) {
  const order = row.map((_, k) => k);
  order.sort((a, b) => row[a]! * columns + col[a]! - (row[b]! * columns + col[b]!) || a - b);
  const isFirst = (k: number): boolean => {
    const [own, last] = [order[k]!, order[k - 1]];
    return last === undefined || row[own] !== row[last] || col[own] !== col[last];
  };
  const places = order.filter((_, k) => isFirst(k));
  const starts = new Int32Array(rows + 1);
  for (const k of places) starts[row[k]! + 1]!++;
  for (let k = 0; k < rows; k++) starts[k + 1]! += starts[k]!;
  return { order, isFirst, places, starts };
}

const linesOf = ({ indptr, indices, data }: SparseMatrix): Lazy[] => [indptr, indices, data];

type Line = Readonly<Record<'data', NodeJS.TypedArray>>;
const bytesOf = ({ data }: Line): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Computes pairs of arrays at once, which have to be equal bit by bit; gives those that come first. */
async function equalLines(pairs: readonly (readonly [Lazy, Lazy])[], seed: number): Promise<Line[]> {
  const lines = (await compute(pairs.flat(), cpu)) as readonly Line[];
  for (let k = 0; k < lines.length; k += 2)
    expect(bytesOf(lines[k]!).equals(bytesOf(lines[k + 1]!)), `seed ${seed}, pair ${k / 2}`).toBe(true);
  return lines.filter((_, k) => k % 2 === 0);
}

const SIZES = [
  [1, [7, 5], 30],
  [2, [1, 40], 200],
  [3, [60, 1], 50],
  [4, [300, 90], 40_000],
] as const;

it.each(DTYPES)('%s: elements, transposes and rows of matrices are those of their lists', async (dtype) => {
  for (const [seed, shape, count] of dtype === 'float32' ? SIZES : SIZES.slice(-1)) {
    const isLong = seed % 2 === 0;
    const given = randomElements(seed, shape, count);
    const { order, isFirst, places, starts } = inOrder(given);
    const data = toLazy(randomIntegers(dtype, [count], seed, 0, 3));
    const index = (line: readonly number[]) =>
      isLong ? BigInt64Array.from(line, BigInt) : Int32Array.from(line);
    const a = sparse.coo({ data, row: index(given.row), col: index(given.col) }, shape);
    // Sums by a list, in the dtype of the elements.
    const sums = data.take(Int32Array.from(order));
    const ends = order.flatMap((_, k) => (isFirst(k) ? [k] : []));
    const summed = sparse.csr(
      { data: sums, indices: new Int32Array(count), indptr: Int32Array.from([...ends, count]) },
      [ends.length, 1],
    );
    const turned = sparse.coo({ data, row: index(given.col), col: index(given.row) }, [shape[1], shape[0]]);
    const half = shape[0] >> 1;
    const parts = [a.rows(half), a.rows(0, half)];
    const under = sparse.vstack(parts).T;
    const moved = Int32Array.from({ length: shape[0] }, (_, k) => (k + half) % shape[0]);
    const pairs = [
      [a.T, turned],
      [a.takeRows(moved).T, under],
      [sparse.hstack(parts.map((part) => part.T)), under],
    ] as const;
    const lines = pairs.flatMap(([own, other]) => {
      const others = linesOf(other);
      return linesOf(own).map((line, k) => [line, others[k]!] as const);
    });
    const ofLists = [
      [a.indptr, lazy(starts)],
      [a.indices, lazy(Int32Array.from(places, (k) => given.col[k]!))],
      [a.data, summed.matmul(ones([1], { dtype }))],
    ] as const;
    await equalLines([...ofLists, ...lines], seed);
  }
});

it.each(['float32', 'float64'] as const)(
  '%s: special numbers are moved, added up and combined as by the nodes of other targets',
  async (dtype) => {
    const special = [1.5, -0, 0, -2, 0.1, -0, 1e30, Number.NaN, Number.POSITIVE_INFINITY, 5e-324, -1e-40];
    const matrix = (seed: number): SparseMatrix => {
      const { row, col, shape } = randomElements(seed, [40, 30], 300);
      const data = lazy(Float64Array.from(row, (at, k) => special[(at + 3 * k) % special.length]!));
      const index = { row: Int32Array.from(row), col: Int32Array.from(col) };
      return sparse.coo({ data: data.astype(dtype), ...index }, shape);
    };
    const [a, b] = [matrix(5), matrix(6)];
    const combined = [a.add(b), a.subtract(b), a.multiply(b)];
    for (const { data } of combined)
      expect((await explain([data], cpu)).toString()).toContain('\n  sparseCombine ');
    const kept = [
      a.columns(0, 9),
      a.columns(4, 30),
      a.columns(29, 30),
      a.tril(3),
      b.map((x) => x.greater(0)),
    ];
    for (const { data } of kept.slice(0, 4))
      expect((await explain([data], cpu)).toString()).toContain('\n  sparseKept ');
    const moved = [a.T, sparse.hstack([a, b]), sparse.vstack([b, a]), a.takeRows([3, 0, 39, 3])];
    const lines = [a, ...combined, ...kept, ...moved].flatMap(linesOf);
    const expected = referenceOf(lines);
    // Lines end where matrices do; those of the reference go on up to their bounds.
    for (const [k, { data }] of (await compute(lines, cpu)).entries())
      expect(data, `line ${k}`).toEqual(expected[k]!.data.slice(0, data.length));
  },
);

it('rows that threads write in stretches, and column sums, are those of a plan that does not hold the lines', async () => {
  const seed = 11;
  const given = randomElements(seed, [3000, 300], 40_000);
  const index = { row: Int32Array.from(given.row), col: Int32Array.from(given.col) };
  const next = generator(seed);
  // Of up to 17 orders of magnitude, so that values are no whole multiples of one unit.
  const data = Float64Array.from(given.row, () => (next() - 0.5) * 10 ** (17 * next() - 8));
  const a = await sparse.coo({ data, ...index }, given.shape).persist(cpu);
  const b = await a.T.rows(0, 299)
    .T.map((x) => x.mul(0.3))
    .persist(cpu);
  const other = sparse.hstack([
    b,
    sparse.csr({ data: [], indices: [], indptr: new Int32Array(3001) }, [3000, 1]),
  ]);
  const matrices = [a.add(other), a.columns(20, 200), a.greater(other), a.notEqual(other)];
  const jobs = matrices.flatMap(linesOf);
  const whole = (await compute([...jobs, a.sum(0)], cpu)) as readonly Line[];
  const within = { ...cpu, memory: 400_000 };
  const elements = matrices.map(({ data }) => data);
  expect((await explain(elements, within)).toString()).not.toMatch(/\n {2}sparse(Combine|Kept) /);
  const parts = (await compute([...jobs, a.sum(0)], within)) as readonly Line[];
  for (const [k, line] of whole.entries())
    expect(bytesOf(line).equals(bytesOf(parts[k]!)), `seed ${seed}, line ${k}`).toBe(true);
});

/** Where rows begin, and the end. */
function startsOf(rows: readonly (readonly unknown[])[]): number[] {
  const starts = [0];
  for (const row of rows) starts.push(starts.at(-1)! + row.length);
  return starts;
}

it('rows of other matrices, of which each thread counts a stretch, are theirs', async () => {
  const seed = 23;
  const next = generator(seed);
  const [rows, columns] = [3000, 50];
  const row = () => Array.from({ length: Math.floor(next() ** 3 * 20) }, () => Math.floor(next() * columns));
  const host = Array.from({ length: rows }, row);
  const ends = startsOf(host);
  const indices = Int32Array.from(host.flat());
  const data = Float64Array.from(indices, (_, k) => k + 1);
  const given = sparse.csr({ data, indices, indptr: Int32Array.from(ends) }, [rows, columns]);
  const a = await given.persist(cpu);
  const numbers = Int32Array.from({ length: 9000 }, () => Math.floor(next() * rows));
  const tripled = [...host.keys(), ...host.keys(), ...host.keys()];
  const elements = (k: number): number[][] =>
    host[k]!.map((column, place) => [column, data[ends[k]! + place]!]);
  // Of unknown lengths, so that lines do not follow one another.
  const few = a.map((values) => values.add(0)).columns(0, columns);
  const jobs: readonly (readonly [SparseMatrix, readonly number[][][]])[] = [
    [a.takeRows(numbers), Array.from(numbers, elements)],
    [a.rows(500, 2800), tripled.slice(500, 2800).map(elements)],
    [sparse.vstack([few, a, few]), tripled.map(elements)],
    [
      sparse.hstack([few, a]),
      host.map((_, k) => [
        ...elements(k),
        ...elements(k).map(([column, value]) => [column! + columns, value!]),
      ]),
    ],
  ];
  for (const [matrix, expected] of jobs) {
    const lines = (await compute(linesOf(matrix), cpu)) as readonly Line[];
    const [starts, places, values] = lines.map(({ data: line }) => Array.from(line as Float64Array, Number));
    expect(starts, `seed ${seed}`).toEqual(startsOf(expected));
    expect(
      places!.map((column, k) => [column, values![k]!]),
      `seed ${seed}`,
    ).toEqual(expected.flat());
  }
});

it('rows that overlap, which no checked matrix has, are written within the results', async () => {
  const [rows, stored] = [9, 6];
  const bound = 2 * stored;
  const begins = (isOdd: number) =>
    Int32Array.from({ length: rows + 1 }, (_, k) => (k % 2 === isOdd ? stored : 0));
  const ofMatrix = (isOdd: number) => [begins(isOdd), new Int32Array(stored), new Float64Array(stored)];
  const operands = [...ofMatrix(0), ...ofMatrix(1)];
  const [real, index] = [dtypeCode('float64'), dtypeCode('int32')];
  const sizes = [4 * (rows + 1), 4 * bound, 8 * bound];
  const step: RoutineSpec = {
    kind: 'routine',
    name: 'sparseCombine',
    numbers: [real, index, index, rows, stored, stored, bound, 0, 0, 0],
    operands: [0, 1, 2, 3, 4, 5],
    results: [6, 7, 8],
    workspace: 9,
  };
  const { most } = routineWorkspace(step);
  const program = createProgram({
    device: 'cpu',
    arenaByteLength: most,
    images: [],
    buffers: [
      ...operands.map(({ byteLength }) => ({ role: 'input', byteLength, offset: -1 }) as const),
      ...sizes.map((byteLength) => ({ role: 'output', byteLength, offset: -1 }) as const),
      { role: 'temporary', byteLength: most, offset: 0 },
    ],
    steps: [step],
  });
  const { outputs } = await run(program, operands, { outputs: sizes.map(() => 'host') });
  const starts = new Int32Array(outputs[0] as ArrayBuffer);
  expect(
    [...starts].every((start, k) => start >= (starts[k - 1] ?? 0) && start <= bound),
    `${starts}`,
  ).toBe(true);
});

it('columns of 64 bits beside an odd number of float32 elements are in order', async () => {
  const size = 2 ** 33;
  const col = [size - 1, 5, size - 1, 7, 5].map(BigInt);
  const shape = [1, size] as const;
  const data = lazy([1, 2, 3, 4, 5]).astype('float32');
  const a = sparse.coo({ data, row: new Int32Array(5), col: BigInt64Array.from(col) }, shape);
  const [indptr, indices, values] = await compute(linesOf(a), cpu);
  expect([...indptr!.data].map(Number)).toEqual([0, 3]);
  expect([...indices!.data]).toEqual([5n, 7n, BigInt(size - 1)]);
  expect(values!.data).toEqual(Float32Array.of(7, 4, 4));
});

it.each([
  [3, 2 ** 33, [0, 4]],
  [1, 2 ** 31 + 1, [2, 6]],
  [2 ** 32, 2 ** 32 + 5, []],
])('columns %d to %d are those of indices of int32', async (first, end, kept) => {
  const index = { indices: Int32Array.of(0, 3, 7), indptr: Int32Array.of(0, 3) };
  const a = sparse.csr({ data: [1, 2, 3], ...index }, [1, 2 ** 33]).columns(first, end);
  const lines = await compute(linesOf(a), cpu);
  const values = kept.length === 0 ? [] : [2, 3];
  expect(lines.map(({ data }) => Array.from<number | bigint, number>(data, Number))).toEqual([
    [0, kept.length],
    kept,
    values,
  ]);
});

it('the CPU moves rows and elements itself, and gathers elements one by one where a plan does not hold them', async () => {
  const a = await sparse.diags([1, 2, 3], [-1, 0, 1], [4000, 4000]).persist(cpu);
  const index = a.data.mul(300).astype('int32');
  const doubled = a.map((data) => data.mul(2));
  const few = doubled.takeRows([5, 5, 1]);
  const sums = ({ data, indices, indptr }: SparseMatrix) => [data.sum(), indices.max(), indptr.max()];
  const jobs = [
    [doubled.T, 'sparseTranspose'],
    [few, 'sparseGather'],
    [sparse.hstack([doubled, a]), 'sparseGather'],
    [sparse.coo({ data: doubled.data, row: index, col: index }, a.shape), 'sparseElements'],
  ] as const;
  for (const [job, routine] of jobs)
    expect((await explain(sums(job), cpu)).toString()).toContain(`\n  ${routine} `);
  const within = { ...cpu, memory: 64 * 1024 };
  expect((await explain(sums(few), within)).toString()).not.toContain('sparseGather ');
  const [whole, tiled] = [await compute(sums(few), cpu), await compute(sums(few), within)];
  expect(tiled.map((each) => each.item())).toEqual(whole.map((each) => each.item()));
});

/** Ops of two elements. */
const PAIRED = {
  add: (x: number, y: number) => x + y,
  subtract: (x: number, y: number) => x - y,
  multiply: (x: number, y: number) => x * y,
  notEqual: (x: number, y: number) => x !== y,
  less: (x: number, y: number) => x < y,
  greater: (x: number, y: number) => x > y,
} as const;

type Row = readonly (readonly [column: number, value: number])[];

/** Starts, columns and elements of an op of two matrices, rows of which are in order. */
function paired(op: keyof typeof PAIRED, a: readonly Row[], b: readonly Row[]) {
  const rows = a.map((own, row) => {
    const [x, y] = [new Map(own), new Map(b[row])];
    const columns = [...new Set([...x.keys(), ...y.keys()])].sort((i, j) => i - j);
    return columns.flatMap((column): (readonly [number, number | boolean])[] => {
      if (op === 'multiply' && !(x.has(column) && y.has(column))) return [];
      const value = PAIRED[op](x.get(column) ?? 0, y.get(column) ?? 0);
      return value === false ? [] : [[column, value]];
    });
  });
  const all = rows.flat();
  return [startsOf(rows), all.map(([column]) => column), all.map(([, value]) => Number(value))];
}

it.each([
  ['a few', 3, 30],
  ['blocks of rows', 500, 40],
  ['stretches of two threads', 1500, 450],
])(
  'matrices that store the same places, or all but one, are combined as others: %s',
  async (_, rows, most) => {
    const seed = 31;
    const next = generator(seed);
    const special = [1.5, 0, -2, 0.1, 1e30, Number.NaN, Number.POSITIVE_INFINITY, 5e-324];
    const drawn = (): number => special[Math.floor(next() * special.length)]!;
    const columnsOf = (): number[] => {
      const columns = Array.from({ length: Math.floor(next() * most) }, () => Math.floor(next() * 2 * most));
      return [...new Set(columns)].sort((x, y) => x - y);
    };
    const host = Array.from({ length: rows }, columnsOf);
    const filled = (isMoved = (_row: number, _last: boolean): boolean => false): Row[] =>
      host.map((columns, row) =>
        columns.map(
          (column, k) => [isMoved(row, k === columns.length - 1) ? 2 * most : column, drawn()] as const,
        ),
      );
    const [first, last] = [
      host.findIndex((row) => row.length > 0),
      host.findLastIndex((row) => row.length > 0),
    ];
    const matrixOf = (own: readonly Row[]): Promise<SparseMatrix> => {
      const all = own.flat();
      const index = {
        indices: Int32Array.from(all, ([column]) => column),
        indptr: Int32Array.from(startsOf(own)),
      };
      const data = Float64Array.from(all, ([, value]) => value);
      return sparse
        .csr({ data, ...index }, [rows, 2 * most + 1])
        .sumDuplicates()
        .persist(cpu);
    };
    const own = filled();
    const a = await matrixOf(own);
    const others = [
      filled(),
      filled((row, isLast) => row === first && isLast),
      filled((row, isLast) => row === last && isLast),
    ];
    for (const [k, other] of others.entries()) {
      const b = await matrixOf(other);
      for (const op of Object.keys(PAIRED) as (keyof typeof PAIRED)[]) {
        const lines = (await compute(linesOf(a[op](b)), cpu)) as readonly Line[];
        const expected = paired(op, own, other);
        // Zeros of either sign, and NaN, are told apart.
        const areSame = lines.map(({ data }, line) => {
          const wanted = expected[line]!;
          return wanted.length === data.length && wanted.every((x, at) => Object.is(Number(data[at]), x));
        });
        expect(areSame, `seed ${seed}, ${op}, ${k}`).toEqual([true, true, true]);
      }
    }
  },
);
