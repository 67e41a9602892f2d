/**
 * The table of routines: work that is neither arithmetic on elements nor a reduction, and that a plan runs as
 * a whole (a call). A row gives the types of its results; `exec/calls` has the row of the same name with
 * everything that planning and running need.
 *
 * Arrays are in C order. Parameters are plain numbers, which each row documents. Rows of sparse matrices are in
 * `sparse-routines.ts`, those of linear algebra in `linear-routines.ts`.
 */
import { type BinParameters, parametersOfBins, parametersOfSums } from './bin-parameters.js';
import { binUnits } from './bin-units.js';
import { LINEAR_ROUTINES } from './linear-routines.js';
import { type ArrayType, placeDType, type RoutineRow } from './routine-row.js';
import { carriedDType, SCAN_OPS, scanTile } from './scan-tiles.js';
import { SPARSE_ROUTINES } from './sparse-routines.js';

export const ROUTINES = {
  /**
   * The rows along the last axis in order, NaN last. Parameters: whether descending (0 or 1), and how many rows a unit
   * has at most where that is said. NaNs come out as the quiet NaN, and -0 before 0 (after it where descending).
   */
  sort: { results: ([x]) => [x!] },
  /**
   * The int64 indices that sort the rows along the last axis, those of equal elements ascending; NaN last, -0
   * and 0 are equal. Parameters: whether descending (0 or 1); then, where it is said of whole numbers, how many rows a
   * unit has at most (0: any), and that they are from 0 up to below a number, by which the CPU counts them.
   */
  argsort: { results: ([x]) => [{ dtype: 'int64', shape: x!.shape }] },
  /**
   * The elements at ranks of the rows of two axes, counted from 0 in the order of `sort`; of real dtypes.
   * Parameters: the ranks, at most `SELECTED_RANKS`.
   */
  ranks: { results: ([x], ranks) => [{ dtype: x!.dtype, shape: [x!.shape[0]!, ranks.length] }] },
  /**
   * The first elements of the rows of two axes in the order of `argsort`, and their int64 indices; of real
   * dtypes. Parameters: whether descending (0 or 1), how many, at most `SELECTED_MOST`, and 1 where each row is selected
   * from by itself, which takes a GPU the workspace of one.
   */
  top: {
    results: ([x], [, count]) => {
      const shape = [x!.shape[0]!, count!];
      return [
        { dtype: x!.dtype, shape },
        { dtype: 'int64', shape },
      ];
    },
  },
  /**
   * The running values along the middle axis of three. Inputs: the elements, and where the axis is longer
   * than a tile (`scanTile`) the value before each of its tiles, as `scanBefore` gives them. Parameters: the
   * operation's place in `SCAN_OPS`, and whether from the end of the axis (0 or 1).
   */
  scan: { results: ([x]) => [x!] },
  /**
   * The value over each tile of the middle axis, as `scan` combines its elements; parameters as of `scan`.
   */
  scanTotals: {
    results: ([x], [op]) => {
      const [outer, length, inner] = x!.shape as readonly [number, number, number];
      const tiles = Math.ceil(length / scanTile(x!.dtype, inner));
      return [{ dtype: carriedDType(SCAN_OPS[op!]!, x!.dtype), shape: [outer, tiles, inner] }];
    },
  },
  /** The value over all tiles before each, by the totals of the tiles; parameters as of `scan`. */
  scanBefore: { results: ([totals]) => [totals!] },
  /**
   * Elements gathered in bins, a partial result for each unit of rows (`binUnits`), which a reduction along the
   * first axis combines: [units, parts, bins · width]. Row i of the values, `width` elements, goes to bin
   * `keys[i]`. Inputs: the keys (integers, one axis), the values [rows · width] but where rows are counted or
   * placed, and for `fixed` the scales [bins · width] that `scale` gives. Parameters: the operation's place in
   * `BIN_OPS`, bins, width, the place in `BIN_MODES` of which bin a key means, how many numbers a bin has, and their bits
   * of `fixed` and `exact`.
   */
  bins: {
    results: ([keys, values], parameters) => [binResult(keys!, values, parametersOfBins('bins', parameters))],
  },
  /**
   * The sums of floats by bin [bins · width], of float64 or else float32. Inputs: the keys, and the values [rows · width] of
   * either. Elsewhere they are made of results of `bins` (`fusion/passes/both-ways.ts`). Parameters: bins, width, the
   * place in `BIN_MODES`, whether the sums are float64 (1) or not (0); of `fixed-sums.ts` how many numbers a sum has, or
   * 0 for `exact-sums.ts`; their bits; and the zero that nothing, and what cancels out, is: any (0), or as those have it,
   * -0 (1) or 0 (2) of exact ones.
   */
  binSums: {
    results: (_, parameters) => {
      const { dtype, bins, width } = parametersOfSums(parameters);
      return [{ dtype, shape: [bins * width] }];
    },
  },
  /**
   * The same where the keys are real numbers, and edges, of the keys' dtype if it is a float and else float64,
   * stand behind them: bin k has `edges[k] <= key < edges[k + 1]`, the last one its upper edge too, no bin what
   * lies outside, or NaN. The fourth parameter says whether the edges are equally spaced (1) or not (0).
   */
  histogram: {
    results: ([keys, , values], parameters) => [
      binResult(keys!, values, parametersOfBins('histogram', parameters)),
    ],
  },
  /**
   * The places, int64, at which a line of booleans is true, in order, or the elements of a second line there; and
   * their number. Behind them are the last place or element of the line. Parameters: whether what is behind them is
   * left undefined (1), which plans say where nothing reads it.
   */
  compact: { results: ([mask, values]) => keptOf(values ?? { dtype: 'int64', shape: mask!.shape }) },
  /**
   * The elements of a line that differ from the one before, the first one among them, and their number; NaN differs
   * from all, -0 not from 0. Behind them, and parameters, as of `compact`.
   */
  distinct: { results: ([values]) => keptOf(values!) },
  /**
   * The distinct elements of a line of integers or booleans in ascending order, and their number. Inputs: the line, and, up
   * to the passes (`fusion/passes/both-ways.ts`), both results as `distinct` of the sorted line makes them. Behind the
   * elements, and parameters, as of `compact`. On a GPU alone.
   */
  unique: { results: ([line]) => keptOf(line!) },
  /** The same with how often each occurs, int64, in the place of the number, which is the third result. */
  uniqueCounts: {
    results: ([line]) => [line!, { dtype: 'int64', shape: line!.shape }, { dtype: 'int64', shape: [] }],
  },
  /**
   * The least place of the component that each element of a mask belongs to, int32 below 2^31 elements and else int64;
   * -1 where the mask is false. On a GPU alone.
   * Parameters: the offsets along each axis, plus 1, of the neighbours before an element in C order that belong to it.
   */
  components: {
    results: ([mask]) => [
      { dtype: placeDType(mask!.shape.reduce((n, size) => n * size, 1)), shape: mask!.shape },
    ],
  },
  /**
   * The labels of the components of a mask, from 1 in the order of their first elements, and 0 where it is false; and
   * how many there are []: of the dtype of `components`, whose parameters it has. Input: the mask. On the CPU alone
   * (`other-ways.ts`).
   */
  labels: {
    results: ([mask]) => {
      const dtype = placeDType(mask!.shape.reduce((n, size) => n * size, 1));
      return [
        { dtype, shape: mask!.shape },
        { dtype, shape: [] },
      ];
    },
  },
  /**
   * Whether each element of an array of integers is one of a set of the same dtype [count], in ascending order. Inputs:
   * the array and the set. Parameters: whether those that are not are asked for (1). On the CPU alone (`other-ways.ts`).
   */
  members: { results: ([elements]) => [{ dtype: 'bool', shape: elements!.shape }] },
  /** The same on a GPU alone (`other-ways.ts`). */
  among: { results: ([elements]) => [{ dtype: 'bool', shape: elements!.shape }] },
  /**
   * The products of runs of rows [rows, width], in the dtype in which they are multiplied: [runs, width]. Run k is
   * the rows from end k - 1 (0 for the first) up to end k, which int64 numbers [runs] say; 1 where it has none.
   * Parameters: the most rows that a run has.
   */
  runProducts: {
    results: ([rows, ends]) => [
      { dtype: carriedDType('prod', rows!.dtype), shape: [ends!.shape[0]!, rows!.shape[1]!] },
    ],
  },
  /**
   * The Fourier transform along all axes but the first and the last: complex numbers [outer, one to three axes,
   * inner], no size 0. Parameters: whether with the inverse's sign (0 or 1). Nothing is scaled.
   */
  fft: { results: ([x]) => [x!] },
  /** The first n/2 + 1 elements of the transforms of real rows: [outer, n] of float32 or float64. */
  rfft: {
    results: ([x]) => {
      const [outer, n] = x!.shape as readonly [number, number];
      return [{ dtype: x!.dtype === 'float64' ? 'complex128' : 'complex64', shape: [outer, halfOf(n)] }];
    },
  },
  /**
   * The real rows of n elements, times n, whose transforms begin with these [outer, n/2 + 1]; the imaginary parts of
   * the first element, and of the last one where n is even, are not looked at. Parameters: n.
   */
  irfft: {
    results: ([x], [n]) => [
      { dtype: x!.dtype === 'complex128' ? 'float64' : 'float32', shape: [x!.shape[0]!, n!] },
    ],
  },
  /**
   * softmax(f(Q Kᵀ)) V without the matrix of scores (`fusion/passes/fuse-attention.ts`): [batch, m, width] of float32 or
   * halves. Inputs: Q [batch, m, inner], K [batches of it, n, inner], V [those, n, width]; then the inputs of the node's
   * map, which is f. Parameters: the scale of scores, which is f without a map; whether row i has only columns up to
   * i + offset (0 or 1); that offset; how many batches of Q one of K and V has. Where batches are of two axes
   * (`fusion/passes/place-attention.ts`), then also the result's: it has four axes, of which rows are number 0, 1 or 2, as
   * the last parameter says.
   */
  attention: {
    results: ([q, , v], [, , , , rowAxis]) => {
      const { dtype, shape } = q!;
      const width = v!.shape.at(-1)!;
      if (rowAxis === undefined) return [{ dtype, shape: [shape[0]!, shape[1]!, width] }];
      const [outer, heads, m] = shape as readonly [number, number, number];
      const placed = [outer, heads];
      placed.splice(rowAxis, 0, m);
      return [{ dtype, shape: [...placed, width] }];
    },
  },
  /**
   * An array with a row set. Inputs: the array [outer, rows, width], the row's number, an int64 [], and the row [outer,
   * width]; a number that no row has sets none. Made of loops' steps alone (`fusion/passes/write-rows.ts`).
   */
  writeRow: { results: ([x]) => [x!] },
  /** A kernel of the user's own, which says what its results are. Without parameters. */
  kernel: { results: (_inputs, _parameters, kernel) => kernel!.outputs },
  ...SPARSE_ROUTINES,
  ...LINEAR_ROUTINES,
} as const satisfies Readonly<Record<string, RoutineRow>>;

/** The kept part of a line, up to all of it, and its length. */
const keptOf = (line: ArrayType): readonly ArrayType[] => [line, { dtype: 'int64', shape: [] }];

/** Elements of the transform of n real numbers that say the others. */
export const halfOf = (n: number): number => Math.floor(n / 2) + 1;

/** Partial results of bins: [units, parts, bins · width]. */
function binResult(
  keys: ArrayType,
  values: ArrayType | undefined,
  { op, bins, width, parts }: BinParameters,
): ArrayType {
  const rows = keys.shape[0]!;
  const { units } = binUnits(rows, bins, width, op);
  const shape = [units, parts, bins * width];
  switch (op) {
    case 'count':
      return { dtype: 'uint32', shape };
    case 'last':
      return { dtype: rows < 2 ** 31 ? 'int32' : 'int64', shape };
    case 'scale':
      return { dtype: 'int32', shape };
    case 'fixed':
    case 'exact':
      return { dtype: 'int64', shape };
    case 'sum':
      return { dtype: values!.dtype.startsWith('u') ? 'uint64' : 'int64', shape };
    case 'min':
    case 'max':
      return { dtype: values!.dtype, shape };
  }
}

/** Ranks of a row that are looked for at a time, elements that are sorted after they were selected. */
export const SELECTED_RANKS = 4;
export const SELECTED_MOST = 2048;

export type RoutineName = keyof typeof ROUTINES;

/** A row as the interface says. */
export const routineRow = (name: RoutineName): RoutineRow => ROUTINES[name];
