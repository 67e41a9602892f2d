/**
 * Samples: the operands that a call is timed on by itself (`inspect/call-times.ts`), for its time must not need the data
 * of the job, nor touch them. A row for each routine says what its operands are like, so that it computes what it was
 * made for: indices lie in range, sparse rows have equal lengths, a matrix has factors. Where data decide how much work
 * there is and no sample can stand for them, the row says so instead.
 */
import { parametersOfBins, parametersOfSums } from '../../graph/bin-parameters.js';
import { type DType, isInteger } from '../../graph/dtype.js';
import type { RoutineName } from '../../graph/routines.js';
import { firstGathered, GATHER_WAYS } from '../../graph/sparse-routines.js';
import type { BufferArray, ElementMap, RoutineStep } from './call.js';

export type Sample =
  /** Floats from `from` up to below `from` + 1, by default 0; integers of random bits; booleans, half of them true. */
  | { readonly kind: 'uniform'; readonly from?: number }
  /** Random integers from 0 up to below a number. */
  | { readonly kind: 'below'; readonly below: number }
  /** Equally spaced, from 0 up to and with a number: starts of rows, edges. */
  | { readonly kind: 'starts'; readonly upTo: number }
  /** The same without the 0: ends of runs. */
  | { readonly kind: 'ends'; readonly upTo: number }
  /** Equally spaced columns, up to below a number, of the stored elements of so many rows, whose starts are `starts`. */
  | { readonly kind: 'columns'; readonly rows: number; readonly below: number }
  /** Square matrices with a diagonal that is larger than the rest of its row: they have factors of all kinds. */
  | { readonly kind: 'dominant' }
  /** Pivots that exchange no row: k + 1 in column k. */
  | { readonly kind: 'pivots' };

/** The data of a buffer that a call reads; without a shape, as many elements as the buffer has. */
export interface SampledOperand {
  readonly buffer: number;
  readonly dtype: DType;
  readonly shape?: readonly number[];
  readonly sample: Sample;
}

/** How a call is timed by itself. */
export interface CallSamples {
  readonly operands: readonly SampledOperand[];
  /** How the data are that its time depends on. */
  readonly on?: string | undefined;
}

/** The samples of a routine's operands, or the reason for which none stand for them. */
type Samples = readonly Sample[] | string;

interface SampleRow {
  readonly of: (step: RoutineStep) => Samples;
  /** Of data that times depend on, how those are on which it is timed; without it, they hardly depend on any. */
  readonly on?: string;
}

export const UNIFORM: Sample = { kind: 'uniform' };
const DOMINANT: Sample = { kind: 'dominant' };
const PIVOTS: Sample = { kind: 'pivots' };
const below = (number: number): Sample => ({ kind: 'below', below: Math.max(1, number) });

const ANY: SampleRow = { of: ({ operands }) => operands.map(() => UNIFORM) };
const anyOn = (on: string): SampleRow => ({ ...ANY, on });
const these = (...samples: readonly Sample[]): SampleRow => ({ of: () => samples });
const untimed = (reason: string): SampleRow => ({ of: () => reason });

const EQUAL_ROWS = 'rows of equal length';
const PLACES_DECIDE = 'where elements are stored decides how much it computes';

const lengthOf = (array: BufferArray | undefined): number => array?.shape[0] ?? 0;

/** Starts, and columns up to below a number, of rows whose stored elements `at` is the first operand of. */
function rowsOf({ operands }: RoutineStep, at: number, columns: number): readonly [Sample, Sample] {
  const [rows, stored] = [lengthOf(operands[at]) - 1, lengthOf(operands[at + 1])];
  const longest = Math.ceil(stored / Math.max(1, rows));
  return [
    { kind: 'starts', upTo: stored },
    { kind: 'columns', rows, below: Math.max(1, columns, longest) },
  ];
}

const MEMBERS: SampleRow = {
  of: ({ operands: [, set] }) => [below(2 * lengthOf(set)), { kind: 'starts', upTo: 2 * lengthOf(set) - 1 }],
  on: 'elements in random order, half of them members',
};

const isOfFloats = ({ dtype }: BufferArray): boolean => dtype.startsWith('float') || dtype === 'bfloat16';

export const SAMPLES: Readonly<Record<RoutineName, SampleRow>> = {
  sort: anyOn('elements in random order'),
  argsort: {
    of: ({ parameters: [, , most = 0], operands }) => operands.map(() => (most > 0 ? below(most) : UNIFORM)),
    on: 'elements in random order',
  },
  ranks: anyOn('elements in random order'),
  top: anyOn('elements in random order'),
  scan: ANY,
  scanTotals: ANY,
  scanBefore: ANY,
  bins: {
    of: ({ parameters, operands }) => [
      below(parametersOfBins('bins', parameters).bins),
      ...operands.slice(1).map(({ dtype }) => (dtype === 'int32' ? below(1) : UNIFORM)),
    ],
    on: 'keys in random order',
  },
  binSums: {
    of: ({ parameters }) => [below(parametersOfSums(parameters).bins), UNIFORM],
    on: 'keys in random order',
  },
  histogram: {
    of: ({ operands: [keys, edges, ...values] }) => {
      const upTo = isOfFloats(keys!) ? 1 : lengthOf(edges) - 1;
      const ofKeys = isOfFloats(keys!) ? UNIFORM : below(upTo);
      return [ofKeys, { kind: 'starts', upTo }, ...values.map(() => UNIFORM)];
    },
    on: 'keys in random order',
  },
  compact: anyOn('a random half of the elements'),
  distinct: anyOn('elements that differ'),
  unique: anyOn('elements that differ, in random order'),
  uniqueCounts: anyOn('elements that differ, in random order'),
  components: anyOn('a mask with half of its elements'),
  labels: anyOn('a mask with half of its elements'),
  members: MEMBERS,
  among: MEMBERS,
  runProducts: {
    of: ({ operands: [rows] }) => [UNIFORM, { kind: 'ends', upTo: lengthOf(rows) }],
    on: 'runs of equal length',
  },
  fft: ANY,
  rfft: ANY,
  irfft: ANY,
  attention: ANY,
  writeRow: { of: ({ operands: [x] }) => [UNIFORM, below(x!.shape[1]!), UNIFORM] },
  kernel: untimed('data may decide what a kernel of a user does'),
  sparseProduct: {
    of: (step) => [UNIFORM, ...rowsOf(step, 1, lengthOf(step.operands[0])), UNIFORM],
    on: EQUAL_ROWS,
  },
  sparseTriangularSolve: {
    of: (step) => [
      UNIFORM,
      ...rowsOf(step, 1, lengthOf(step.operands[4])),
      UNIFORM,
      { kind: 'uniform', from: 1 },
    ],
    on: EQUAL_ROWS,
  },
  sparseSolve: untimed('its factors are those of one matrix'),
  sparseRows: {
    of: ({ parameters: [stored] }) => [{ kind: 'starts', upTo: stored! }],
    on: EQUAL_ROWS,
  },
  sparseDense: { of: (step) => [...rowsOf(step, 0, step.parameters[0]!), UNIFORM], on: EQUAL_ROWS },
  sparseGather: {
    of: (step) => {
      const { operands, parameters } = step;
      const first = firstGathered(parameters[0]!);
      const matrices = Array.from({ length: (operands.length - first) / 3 }, (_, k) => first + 3 * k);
      const rows = lengthOf(operands[first]) - 1;
      const longest = Math.ceil(lengthOf(operands[first + 1]) / Math.max(1, rows));
      if (GATHER_WAYS[parameters[0]!] === 'chosen' && lengthOf(operands[0]) * longest > parameters[1]!)
        return 'the rows that it takes decide how many elements there are';
      const chosen = first === 0 ? [] : [below(rows)];
      return [...chosen, ...matrices.flatMap((at) => [...rowsOf(step, at, 1), UNIFORM])];
    },
    on: EQUAL_ROWS,
  },
  sparseTranspose: { of: (step) => [...rowsOf(step, 0, step.parameters[0]!), UNIFORM], on: EQUAL_ROWS },
  sparseElements: {
    of: ({ parameters: [rows, columns] }) => [below(rows!), below(columns!), UNIFORM],
    on: 'elements in random order',
  },
  sparseOrder: untimed(PLACES_DECIDE),
  sparseLu: untimed(PLACES_DECIDE),
  sparseMatmulCounts: untimed(PLACES_DECIDE),
  sparseMatmul: untimed(PLACES_DECIDE),
  sparseMergeCounts: {
    of: (step) => [
      ...rowsOf(step, 0, lengthOf(step.operands[1])),
      ...rowsOf(step, 2, lengthOf(step.operands[3])),
    ],
    on: EQUAL_ROWS,
  },
  sparseMerge: untimed(PLACES_DECIDE),
  sparseCombine: {
    of: (step) => {
      const { operands, parameters } = step;
      const [ofBoth, columns, bound] = parameters as readonly [number, number, number];
      const stored = [lengthOf(operands[1]), lengthOf(operands[4])];
      const most = ofBoth === 1 ? Math.min(...stored) : stored[0]! + stored[1]!;
      if (bound < most) return PLACES_DECIDE;
      return [...rowsOf(step, 0, columns), UNIFORM, ...rowsOf(step, 3, columns), UNIFORM];
    },
    on: EQUAL_ROWS,
  },
  sparseKept: {
    of: (step) => {
      const [, first, count] = step.parameters as readonly [number, number, number];
      return [...rowsOf(step, 0, first + count), ...step.operands.slice(2).map(() => UNIFORM)];
    },
    on: EQUAL_ROWS,
  },
  sparseKron: {
    of: (step) => {
      const { operands, parameters } = step;
      const ofA = rowsOf(step, 0, lengthOf(operands[1]));
      return [...ofA, UNIFORM, ...rowsOf(step, 3, parameters[0]!), UNIFORM];
    },
    on: EQUAL_ROWS,
  },
  sparseSelectCounts: {
    of: ({ operands: [, mask] }) => [{ kind: 'starts', upTo: lengthOf(mask) }, UNIFORM],
    on: EQUAL_ROWS,
  },
  sparseSelect: untimed(PLACES_DECIDE),
  lu: ANY,
  luFactors: ANY,
  luParts: these(DOMINANT, PIVOTS),
  inverse: these(DOMINANT, PIVOTS),
  determinants: these(DOMINANT, PIVOTS),
  smallDeterminants: ANY,
  pivotOrder: these(PIVOTS),
  luSolve: these(UNIFORM, DOMINANT, PIVOTS),
  solve: ANY,
  cholesky: these(DOMINANT),
  triangularSolve: these(UNIFORM, DOMINANT),
  qr: ANY,
  qrParts: ANY,
  qOfQr: ANY,
  eigh: anyOn('matrices of uniform random numbers'),
  expm: anyOn('matrices of uniform random numbers'),
  eig: anyOn('matrices of uniform random numbers'),
  svd: anyOn('matrices of uniform random numbers'),
  leastSquares: anyOn('matrices of uniform random numbers'),
};

/** The samples of all that a routine reads, those of its maps among them; a reason: nothing stands for its data. */
export function routineSamples(step: RoutineStep): CallSamples | string {
  const { of, on } = SAMPLES[step.call];
  const samples = of(step);
  if (typeof samples === 'string') return samples;
  const { prologue, weights, values, epilogue } = step.maps ?? {};
  const own = step.operands.flatMap(({ buffer, dtype, shape }, k) =>
    (k === 0 && prologue !== undefined) || weights?.operand === k
      ? []
      : [{ buffer, dtype, shape, sample: samples[k] ?? UNIFORM }],
  );
  const ofMaps = [
    readByMap(prologue, samples[0]),
    readByMap(weights, weights && samples[weights.operand]),
    readByMap(values),
    readByMap(epilogue),
  ];
  return { operands: [...own, ...ofMaps.flat()], on };
}

/**
 * The samples of a map's inputs. Integers that it computes an operand of are like that: of keys that a map keeps in range, such
 * of random bits would be the first and the last one.
 */
function readByMap(
  map: (ElementMap & { readonly given?: number }) | undefined,
  operand: Sample = UNIFORM,
): SampledOperand[] {
  if (map === undefined) return [];
  const { kernel, buffers, given } = map;
  return kernel.buffers.flatMap(({ dtype, role }, k) =>
    role === 'input' && k !== given
      ? [{ buffer: buffers[k]!, dtype, sample: isInteger(dtype) ? operand : UNIFORM }]
      : [],
  );
}
