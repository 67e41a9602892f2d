/**
 * Routines that some targets lack, or that do not always fit, and the nodes that give the same values everywhere: results of a
 * call's inputs, among them where graphs share these, else made of the routine's own where they are needed, so that an
 * expression is the call alone. `fusion/passes/both-ways.ts` takes one of both ways.
 */
import { parametersOfSums } from './bin-parameters.js';
import { isSummedAtOnce } from './bin-units.js';
import { sumsByUnits } from './binning.js';
import { svdByLibrary } from './decompositions.js';
import { determinantsByKernels } from './determinants.js';
import { eigByLibrary } from './eigenvalues.js';
import type { Expr } from './expr.js';
import { labelledByScan } from './labels.js';
import { leastSquaresByVectors } from './least-squares.js';
import { SMALL_ROWS } from './linear-routines.js';
import {
  choleskyByLibrary,
  factorsByLibrary,
  inverseByTriangles,
  luPartsByKernels,
  solvedByTriangles,
} from './linear-solves.js';
import { exponentialByProducts } from './matrix-exponential.js';
import { amongSorted, searchedIn } from './members.js';
import { qrByLibrary } from './qr.js';
import type { ArrayType } from './routine-row.js';
import type { RoutineName } from './routines.js';
import type { RowLine } from './row-lines.js';
import { collected, combined, gathered, kept, multiplied, transposed, type WayOf } from './sparse-ways.js';

type Of<Result> = (inputs: readonly Expr[], parameters: readonly number[]) => Result;

/**
 * How a row has its other way: as further inputs of the call, made of its inputs where it is taken, or both, each call for
 * itself. A call that has further inputs takes those: determinants of small matrices, decompositions in single precision.
 */
interface OtherWay {
  /** Inputs of the routine itself: results of the other way stand behind them, in order, where a call has more. */
  readonly own?: number;
  /** Makes the results of the other way of a call that has no more. */
  readonly made?: Of<readonly Expr[]>;
  /** Forms of a call that a GPU has, by its first input: nothing is made for them. */
  readonly isOnGpu?: (a: ArrayType, parameters: readonly number[]) => boolean;
  /** Whether the CPU does not have the routine. */
  readonly isGpuAlone?: true;
  /** Whether the routine is one unit, or its units all read a whole operand, and the other way can be cut. */
  readonly isInParts?: true;
  /** The lines of starts of rows in what is made. */
  readonly lines?: Of<readonly RowLine[]>;
}

/** Where a parameter says that the call is of the CPU alone. */
const isCuda: OtherWay['isOnGpu'] = (_, [, isOfCpu]) => isOfCpu !== 1;

const ofRows = (way: WayOf): OtherWay => ({
  made: (inputs, parameters) => way(inputs, parameters).results,
  lines: (inputs, parameters) => way(inputs, parameters).lines,
  isInParts: true,
});

export const OTHER_WAYS: Partial<Record<RoutineName, OtherWay>> = {
  binSums: {
    made: (inputs, parameters) => [sumsByUnits(inputs, parameters)],
    isOnGpu: ({ shape: [rows] }, parameters) => {
      const { bins, width } = parametersOfSums(parameters);
      return isSummedAtOnce(rows!, bins, width);
    },
    isInParts: true,
  },
  unique: { own: 1, isInParts: true, isGpuAlone: true },
  uniqueCounts: { own: 1, isInParts: true, isGpuAlone: true },
  labels: { made: ([mask], parameters) => labelledByScan(mask!, parameters) },
  members: { made: ([x, set], [invert]) => [amongSorted(x!, set!, invert === 1)], isInParts: true },
  among: {
    made: ([x, set], [invert]) => [searchedIn(x!, set!, invert === 1)],
    isInParts: true,
    isGpuAlone: true,
  },
  cholesky: {
    made: ([a], [isUpper]) => choleskyByLibrary(a!, isUpper === 1),
    isOnGpu: (_, [, isCleared]) => isCleared !== 1,
  },
  luFactors: { made: ([a]) => factorsByLibrary(a!) },
  luParts: { made: luPartsByKernels },
  luSolve: {
    made: (inputs, [form]) => solvedByTriangles(inputs, form!),
    isOnGpu: ({ shape }) => shape.at(-1)! <= SMALL_ROWS,
  },
  inverse: { made: inverseByTriangles },
  determinants: { own: 2, made: determinantsByKernels },
  qrParts: { made: ([a], parameters) => qrByLibrary(a!, parameters) },
  expm: { made: ([a]) => [exponentialByProducts(a!)] },
  svd: { own: 1, made: ([a], [hasVectors]) => svdByLibrary(a!, hasVectors === 1), isOnGpu: isCuda },
  eig: { made: ([a], [hasVectors]) => eigByLibrary(a!, hasVectors === 1), isOnGpu: isCuda },
  leastSquares: { made: leastSquaresByVectors },
  sparseElements: ofRows(collected),
  sparseCombine: ofRows(combined),
  sparseKept: ofRows(kept),
  sparseGather: ofRows(gathered),
  sparseTranspose: ofRows(transposed),
  sparseKron: ofRows(multiplied),
};
