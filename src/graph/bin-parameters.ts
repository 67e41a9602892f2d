/**
 * The parameters of the routines that gather rows in bins (`bins`, `histogram`, `binSums`): their numbers, whose order is
 * known here alone, and by name.
 */
import { BIN_MODES, BIN_OPS, type BinMode, type BinOp } from './bin-units.js';

/** Which bin a key means, or that edges say so. */
export type BinPlaces = BinMode | 'edges' | 'equalEdges';

export interface BinParameters {
  readonly op: BinOp;
  readonly bins: number;
  readonly width: number;
  readonly mode: BinPlaces;
  /** Numbers that a bin has, and their bits, of `fixed` and `exact`. */
  readonly parts: number;
  readonly bits: number;
}

/** Of `bins`, or with edges of `histogram`. */
export const numbersOfBins = ({ op, bins, width, mode, parts, bits }: BinParameters): readonly number[] => [
  BIN_OPS.indexOf(op),
  bins,
  width,
  mode === 'edges' || mode === 'equalEdges' ? Number(mode === 'equalEdges') : BIN_MODES.indexOf(mode),
  parts,
  bits,
];

export function parametersOfBins(
  routine: 'bins' | 'histogram',
  [op, bins, width, mode, parts, bits]: readonly number[],
): BinParameters {
  const hasEdges = routine === 'histogram';
  return {
    op: BIN_OPS[op!]!,
    bins: bins!,
    width: width!,
    mode: hasEdges ? (mode === 1 ? 'equalEdges' : 'edges') : BIN_MODES[mode!]!,
    parts: parts!,
    bits: bits!,
  };
}

/** The sum of nothing, and of what cancels out, where it is exact; `positive`: every sum that is 0 is +0. */
export type Zero = 0 | -0 | 'positive';
/** As `Zeros` of `native/cpu/bin-finish.h`. */
const ZEROS: readonly Zero[] = ['positive', -0, 0];

export interface SumParameters {
  readonly bins: number;
  readonly width: number;
  readonly mode: BinMode;
  readonly dtype: 'float32' | 'float64';
  /** Numbers that a sum has, 0 for windows (`exact-sums.ts`), and their bits. */
  readonly parts: number;
  readonly bits: number;
  readonly none: Zero;
}

/** Of `binSums`. */
export const numbersOfSums = (sums: SumParameters): readonly number[] => [
  sums.bins,
  sums.width,
  BIN_MODES.indexOf(sums.mode),
  Number(sums.dtype === 'float64'),
  sums.parts,
  sums.bits,
  ZEROS.findIndex((zero) => Object.is(zero, sums.none)),
];

export const parametersOfSums = ([
  bins,
  width,
  mode,
  isDouble,
  parts,
  bits,
  zeros,
]: readonly number[]): SumParameters => ({
  bins: bins!,
  width: width!,
  mode: BIN_MODES[mode!]!,
  dtype: isDouble === 1 ? 'float64' : 'float32',
  parts: parts!,
  bits: bits!,
  none: ZEROS[zeros!]!,
});
