/**
 * Work: how much a call does, in counts that its time grows with: itself, its rows, the elements that it passes over, the
 * operations of its algorithm (multiply-adds, comparisons, butterflies), and on a GPU the steps of a row that wait for one
 * another. Rates of the same calls (`exec/targets/cpu-call-rates.ts`, `cuda-call-rates.ts`) make a time of it. A line of the
 * table for each routine.
 */

import { sidesOfWarp } from '../../codegen/cuda/routines/block-matrices.js';
import { comparisonsOfRow } from '../../codegen/cuda/routines/row-sort.js';
import { SCAN_COLUMNS, SCAN_THREADS, SCAN_WARPS, WARP_ROW } from '../../codegen/cuda/routines/scan.js';
import { lookBackReads } from '../../codegen/cuda/routines/scan-look-back.js';
import { WARP } from '../../codegen/cuda/routines/small-numbers.js';
import { parametersOfBins, parametersOfSums } from '../../graph/bin-parameters.js';
import { byteLengthOf, type DType, isComplex, isFloat } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { SMALL_ROWS } from '../../graph/linear-routines.js';
import type { RoutineName } from '../../graph/routines.js';
import { SCAN_OPS, scanTile } from '../../graph/scan-tiles.js';
import type { BufferArray, RoutineStep } from './call.js';

export interface CallWork {
  /** The way of its algorithm, where rates of several differ: `sum of columns`. */
  readonly way: string;
  /** Of ways whose rates differ on a GPU alone, before the others: `one side`. */
  readonly cudaWay?: string;
  /** Whether matrices have few rows, for which the CPU has other routines. */
  readonly isSmall: boolean;
  /** Whether rows are matrices, for each of which a library for GPUs has a call. */
  readonly isStack: boolean;
  /** Of its numbers: those of a sparse matrix, not their places. */
  readonly dtype: DType;
  /** Rows, matrices, bins: of each, work is begun. */
  readonly rows: number;
  /** Of a row, one after the other whatever does them: columns that are factored, terms of a sum. */
  readonly steps: number;
  readonly elements: number;
  readonly operations: number;
  /** Of a GPU, whose blocks are filled up: those of tiny matrices are many times as many. */
  readonly cudaOperations?: number;
  /** Steps of all rows on a GPU, where a row has several of each: of right sides. */
  readonly rounds?: number;
  /** Of a row's operations, those that follow one another on a GPU: all, where none are named. */
  readonly chain?: number;
}

type WorkOf = (step: RoutineStep) => Partial<CallWork>;

const sizeOf = ({ shape }: BufferArray): number => sizeOfShape(shape);
const lengthOf = (array: BufferArray | undefined): number => array?.shape[0] ?? 0;
const allOf = (arrays: readonly BufferArray[]): number =>
  arrays.reduce((sum, array) => sum + sizeOf(array), 0);

/** A line, or rows of lines: of each element so many operations. */
const linesOf =
  (each: (length: number) => number = () => 0, way = ''): WorkOf =>
  ({ operands: [x] }) => {
    const length = x!.shape.at(-1) ?? 1;
    const elements = sizeOf(x!);
    return { way, rows: elements / Math.max(1, length), elements, operations: elements * each(length) };
  };
const compared = (length: number): number => Math.log2(Math.max(2, length));

/** Rows in order: merged twice as long each time; a GPU's that fit a block are filled up, and a thread has several elements. */
const sorted: WorkOf = (step) => {
  const { dtype, shape } = step.operands[0]!;
  const length = shape.at(-1) ?? 1;
  const work = linesOf(compared)(step);
  const indexBytes = step.call === 'argsort' ? 4 : 0;
  const inBlock = comparisonsOfRow({ dtype, descending: false, indexBytes }, length);
  return inBlock === undefined
    ? { ...work, steps: Math.ceil(compared(length)) ** 2 }
    : {
        ...work,
        steps: inBlock.byThread,
        cudaOperations: (sizeOfShape(shape) / Math.max(1, length)) * inBlock.all,
      };
};

/** A scan: along the middle axis of three. On a GPU a warp has a short line, a block a longer one. */
const scanned: WorkOf = (step) => {
  const { operands, parameters } = step;
  const x = operands[0]!;
  const [outer, length, inner] = x.shape as readonly [number, number, number];
  const op = SCAN_OPS[parameters[0]!]!;
  const work = { rows: outer * inner, elements: sizeOf(x) };
  if (inner > 1) return { ...work, way: `${op} of columns`, ...columnTiles(step) };
  return { ...work, way: op, steps: length / (length <= WARP_ROW ? WARP : SCAN_THREADS) };
};

/** A row's load, in steps of a warp: those of further rows are under way meanwhile. */
const LOAD_OF_STEP = 0.376;

/**
 * Columns on a GPU: a block has a tile of 32, and goes through all of it where the axis ends before; each of its warps has
 * some rows one after the other. A tile that looks back reads what those before it have published.
 */
function columnTiles({ operands, call }: RoutineStep): Partial<CallWork> {
  const { dtype, shape } = operands[0]!;
  const [outer, length, inner] = shape as readonly [number, number, number];
  const tile = scanTile(dtype, inner);
  const tiles = Math.ceil(length / tile);
  const ofWarp = tile / SCAN_WARPS;
  return {
    steps: ofWarp + LOAD_OF_STEP * Math.min(length, ofWarp),
    cudaOperations: outer * tiles * tile * SCAN_COLUMNS * Math.ceil(inner / SCAN_COLUMNS),
    chain: tiles > 1 && operands.length === 1 && call === 'scan' ? lookBackReads(tiles) : 0,
  };
}

/** Operations of an element in a transform of n: one for each factor 2, and as many as others are large. */
function transformed(n: number): number {
  let [rest, sum] = [n, 0];
  for (let factor = 2; rest > 1 && factor * factor <= rest; )
    if (rest % factor === 0) [rest, sum] = [rest / factor, sum + Math.max(1, factor - 1)];
    else factor++;
  return sum + (rest > 1 ? Math.max(1, rest - 1) : 0);
}

/** The greatest prime factor. */
function greatestFactor(n: number): number {
  let rest = n;
  for (let factor = 2; factor * factor <= rest; )
    if (rest % factor === 0) rest /= factor;
    else factor++;
  return rest;
}
/** From this prime on cuFFT takes twice as long, and from that on it pads lines, and transforms three times. */
const LARGE_PRIME = 29;
const PADDED_PRIME = 128;

/** Transforms whose lines leave the caches of a core. */
const LONG_LINE = 2 ** 13;
/** Lines of complex128 up to here are one block's of a GPU, if they are powers of two. */
const LINE_OF_BLOCK = 2 ** 14;
/** Lines of several factors up to here are transformed at once. */
const MIXED_LINE = 2 ** 10;

const transform =
  (dimsOf: (step: RoutineStep) => readonly number[]): WorkOf =>
  (step) => {
    const dims = dimsOf(step);
    const elements = sizeOf(step.operands[0]!);
    const each = dims.reduce((sum, n) => sum + transformed(n), 0);
    const n = sizeOfShape(dims);
    const way = n > LONG_LINE ? 'long' : '';
    const cudaWay = dims.length > 1 ? 'planes' : cudaWayOfLine(n, step);
    const rows = elements / Math.max(1, n);
    const operations = elements * each;
    const points = step.call === 'irfft' ? 2 * elements : elements;
    const cudaOperations = cudaWay.startsWith('padded') ? points : operations;
    return { way, cudaWay, rows, steps: n, elements, operations, cudaOperations };
  };

function cudaWayOfLine(n: number, { call, operands: [x] }: RoutineStep): string {
  const greatest = greatestFactor(n);
  // A padded line is more than twice as long, and may be a long one where this is none yet.
  if (greatest >= PADDED_PRIME) return n <= LONG_LINE && 2 * n > LONG_LINE ? 'padded long' : 'padded';
  if (greatest >= LARGE_PRIME) return 'primes';
  if (greatest > 2) return n > MIXED_LINE ? 'mixed' : '';
  if (call !== 'fft' || n <= LONG_LINE) return '';
  return n <= LINE_OF_BLOCK && byteLengthOf(x!.dtype) === 16 ? 'of a block' : 'powers';
}

/** Stacks of matrices, by the multiply-adds of one. */
const matrices =
  (
    each: (step: RoutineStep) => number,
    wayOf: (step: RoutineStep) => string = () => '',
    stepsOf: (sides: Sides) => number = (two) => Math.min(...two),
  ): WorkOf =>
  (step) => {
    const count = lengthOf(step.operands[0]);
    return {
      way: wayOf(step),
      isSmall: Math.max(...sides(step)) <= SMALL_ROWS,
      isStack: true,
      rows: count,
      steps: stepsOf(sides(step)),
      elements: allOf([...step.operands, ...step.results]),
      operations: count * each(step),
    };
  };
type Sides = readonly [number, number];
const sides = ({ operands: [a] }: RoutineStep): Sides => [a!.shape[1]!, a!.shape[2]!];
const least = (step: RoutineStep): number => Math.min(...sides(step));
const area = (step: RoutineStep): number => sides(step)[0] * sides(step)[1];
/** Of the time of a step, the part that each further row of a lane adds. */
const FURTHER_ROW = 0.15;

/** A triangle in a block: its warps solve some right sides each, one after the other, by a step for each column. */
function substituted(step: RoutineStep): Pick<CallWork, 'chain' | 'rounds'> {
  const [count, [all, n]] = [lengthOf(step.operands[0]), sides(step)];
  const each = n * (1 + FURTHER_ROW * (Math.ceil(n / WARP) - 1));
  return { chain: each * sidesOfWarp(n, all), rounds: each * count * all };
}
/** Rows up to which cuSOLVER takes twice as long for each column of QR. */
const FEW_ROWS = 128;
/** Elements of reflectors, which a thread goes through one after the other. */
const reflected = (step: RoutineStep): number => least(step) * (sides(step)[1] - least(step) / 2);
const withVectors = ({ parameters }: RoutineStep): string => (parameters.at(-1) === 1 ? 'vectors' : '');

/** Stored elements of rows: of all matrices together. */
const stored =
  (at = 0, each: (step: RoutineStep) => number = () => 0): WorkOf =>
  (step) => {
    const elements = lengthOf(step.operands[at + 1]);
    return { rows: lengthOf(step.operands[at]) - 1, elements, operations: elements * each(step) };
  };
const merged: WorkOf = ({ operands }) => ({ rows: lengthOf(operands[0]) - 1, elements: allOf(operands) });

/** Elements that are looked for in a set. */
const sought: WorkOf = ({ operands: [x, set] }) => ({ rows: sizeOf(set!), elements: sizeOf(x!) });

const WORK: Readonly<Record<RoutineName, WorkOf>> = {
  sort: sorted,
  argsort: sorted,
  ranks: linesOf(),
  top: linesOf(),
  scan: scanned,
  scanTotals: scanned,
  scanBefore: scanned,
  bins: ({ operands: [keys, values], parameters, maps }) => {
    const { op, bins, width } = parametersOfBins('bins', parameters);
    const elements = values === undefined ? sizeOf(keys!) : Math.max(sizeOf(keys!), sizeOf(values));
    const cudaWay = maps?.prologue === undefined ? '' : 'mapped';
    return { way: op, cudaWay, rows: bins * width, elements };
  },
  binSums: ({ operands: [, values], parameters }) => {
    const { bins, width } = parametersOfSums(parameters);
    return { rows: bins * width, elements: sizeOf(values!) };
  },
  histogram: ({ operands: [keys], parameters }) => {
    const { bins } = parametersOfBins('histogram', parameters);
    const elements = sizeOf(keys!);
    return { rows: bins, elements, operations: elements * compared(bins) };
  },
  compact: ({ operands: [mask, values] }) => ({
    way: values === undefined ? 'places' : '',
    elements: sizeOf(mask!),
  }),
  distinct: linesOf(),
  unique: linesOf(compared),
  uniqueCounts: linesOf(compared),
  // Labels are joined along paths that lengthen with the narrowest way across.
  components: (step) => {
    const [image] = step.operands;
    const across = sizeOf(image!) / Math.max(1, ...image!.shape);
    return { ...linesOf()(step), operations: sizeOf(image!) * Math.log2(1 + across) };
  },
  labels: linesOf(),
  members: sought,
  among: sought,
  runProducts: ({ operands: [rows, ends] }) => ({ rows: lengthOf(ends), elements: sizeOf(rows!) }),
  fft: transform(({ operands: [x] }) => x!.shape.slice(1, -1)),
  rfft: transform(({ operands: [x] }) => x!.shape.slice(1)),
  irfft: transform(({ parameters: [n] }) => [n!]),
  attention: ({ operands: [q, k, v], parameters: [, isCausal] }) => {
    const [batch, m, inner] = q!.shape as readonly [number, number, number];
    const scores = batch * m * k!.shape[1]!;
    const operations = scores * (inner + v!.shape[2]!);
    // Of causal scores blocks of about a half are left out.
    const cudaOperations = isCausal === 1 ? operations / 2 : operations;
    return { rows: batch * m, steps: k!.shape[1]!, elements: scores, operations, cudaOperations };
  },
  writeRow: ({ operands: [x, , row], isInPlace }) => ({ elements: sizeOf(isInPlace === true ? row! : x!) }),
  kernel: ({ operands, results }) => ({ elements: allOf([...operands, ...results]) }),
  sparseProduct: stored(1, ({ operands: [dense] }) => dense!.shape[1]!),
  sparseTriangularSolve: stored(1, ({ operands: [b] }) => b!.shape[2]!),
  sparseSolve: merged,
  sparseRows: ({ operands: [starts], parameters: [bound] }) => ({ rows: lengthOf(starts), elements: bound! }),
  sparseDense: (step) => ({ ...stored()(step), operations: sizeOf(step.results[0]!) }),
  sparseGather: merged,
  sparseTranspose: stored(),
  sparseElements: ({ operands: [row], parameters: [rows] }) => ({ rows: rows!, elements: lengthOf(row) }),
  sparseOrder: merged,
  sparseLu: merged,
  sparseMatmulCounts: merged,
  sparseMatmul: merged,
  sparseMergeCounts: merged,
  sparseMerge: merged,
  sparseCombine: merged,
  sparseKept: merged,
  sparseKron: ({ results: [starts, places] }) => ({ rows: lengthOf(starts) - 1, elements: lengthOf(places) }),
  sparseSelectCounts: merged,
  sparseSelect: merged,
  lu: matrices((step) => area(step) * least(step)),
  luFactors: matrices((step) => area(step) * least(step)),
  luParts: matrices(() => 0),
  inverse: matrices((step) => area(step) * least(step)),
  determinants: ({ operands: [lu] }) => ({ rows: lengthOf(lu), elements: lengthOf(lu) * lu!.shape[1]! }),
  smallDeterminants: matrices((step) => (area(step) * least(step)) / 3),
  pivotOrder: ({ operands: [pivots], results: [order] }) => ({
    rows: lengthOf(pivots),
    steps: pivots!.shape[1]!,
    elements: sizeOf(pivots!) + sizeOf(order!),
  }),
  luSolve: matrices(
    (step) => area(step) * sides(step)[1],
    () => '',
    ([, n]) => n,
  ),
  solve: (step) => {
    const [[rows], sidesOfStep] = [sides(step), step.operands[1]!.shape[2]!];
    // Threads have a row each: at each step right sides follow one another, columns of the matrix 24 times as fast.
    const chain = rows * (sidesOfStep + rows / 24);
    return { ...matrices(() => area(step) * (rows + 2 * sidesOfStep))(step), chain };
  },
  cholesky: matrices((step) => (area(step) * least(step)) / 3),
  triangularSolve: (step) => ({
    ...matrices(
      () => (area(step) * sides(step)[1]) / 2,
      ({ parameters }) => (parameters[2] === 1 ? 'unit diagonal' : ''),
      ([, n]) => n,
    )(step),
    ...substituted(step),
    cudaWay: sides(step)[0] === 1 ? 'one side' : '',
  }),
  qr: (step) => ({
    ...matrices((each) => 2 * area(each) * least(each))(step),
    chain: reflected(step),
    cudaWay: sides(step)[1] <= FEW_ROWS ? 'few rows' : '',
  }),
  qrParts: matrices((step) => 4 * area(step) * least(step)),
  // The columns of Q that threads have behind their first find the reflectors in a cache.
  qOfQr: (step) => ({
    ...matrices((each) => 2 * area(each) * each.parameters[0]!)(step),
    chain: (reflected(step) * (1 + Math.ceil(step.parameters[0]! / WARP))) / 2,
  }),
  eigh: matrices((step) => 9 * area(step) * least(step), withVectors),
  expm: matrices((step) => 15 * area(step) * least(step)),
  eig: matrices((step) => 25 * area(step) * least(step), withVectors),
  svd: matrices((step) => 12 * area(step) * least(step), withVectors),
  leastSquares: matrices((step) => 4 * area(step) * (least(step) + step.operands[1]!.shape[1]!)),
};

/** Gathering rows in bins. */
const BINNED: ReadonlySet<string> = new Set<RoutineName>(['bins', 'histogram', 'binSums']);

const NONE = { way: '', isSmall: false, isStack: false, steps: 0, elements: 0, operations: 0 };

/** The work of a routine. */
export function routineWork(step: RoutineStep): CallWork {
  const arrays = [...step.operands, ...step.results];
  const { dtype } = arrays.find((array) => isFloat(array.dtype) || isComplex(array.dtype)) ?? arrays[0]!;
  const work = { ...NONE, dtype, rows: 1, ...WORK[step.call](step) };
  // Bins with maps were measured apart on a GPU alone.
  const isMapped = step.maps?.prologue !== undefined && !BINNED.has(step.call);
  return isMapped ? { ...work, way: `${work.way} mapped`.trim() } : work;
}

/** `1,000 rows, 1,000,000 elements, 20,000,000 operations`. */
export function printWork({ way, isSmall, rows, elements, operations }: CallWork): string {
  const counts = { rows, elements, operations };
  const kind = [way, isSmall ? 'small' : ''].filter((word) => word !== '').join(' ');
  const text = Object.entries(counts).flatMap(([name, count]) =>
    count === 0 ? [] : [`${Number(count.toPrecision(3)).toLocaleString('en')} ${name}`],
  );
  return `${kind === '' ? '' : `${kind}: `}${text.join(', ')}`;
}
