/**
 * Fourier transforms: by cuFFT on a GPU (`native/cuda/fft.cpp`), by Weft's own on the CPU (`native/cpu/fft.cpp`). Units
 * are batches of so many transforms, which follow from the shape alone: cuFFT may choose other kernels, and so other
 * bits, for another number.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep, WorkspaceNeed } from './call.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

/** As `FftKind` of `native/cpu/fft-numbers.h`. */
const KINDS = ['fft', 'rfft', 'irfft'] as const;

/** A unit has an eighth of all elements, within these bounds: small beside the array, and enough to fill a GPU. */
const LEAST_UNIT = 2 ** 18;
const MOST_UNIT = 2 ** 24;

/** Elements of an axis that one kernel of cuFFT transforms in shared memory. */
const MOST_IN_A_PASS = 2 ** 13;

interface FftPlan {
  readonly kind: (typeof KINDS)[number];
  readonly outer: number;
  readonly inner: number;
  /** Of the transformed axes. */
  readonly dims: readonly number[];
  /** Of `outer`. */
  readonly perUnit: number;
}

function planOf({ call, operands, results, parameters }: RoutineStep): FftPlan {
  const kind = call as FftPlan['kind'];
  const { shape } = operands[0]!;
  const outer = shape[0]!;
  const inner = kind === 'fft' ? shape.at(-1)! : 1;
  const dims = kind === 'fft' ? shape.slice(1, -1) : [kind === 'rfft' ? shape[1]! : parameters[0]!];
  const each = Math.max(...[operands[0]!, results[0]!].map(({ shape: [, ...rest] }) => sizeOfShape(rest)));
  const elements = Math.min(MOST_UNIT, Math.max(LEAST_UNIT, (outer * each) / 8));
  const perUnit = Math.max(1, Math.floor(elements / Math.max(1, each)));
  // cuFFT wants real arrays to begin where complex numbers could: two rows of them do.
  return { kind, outer, inner, dims, perUnit: kind === 'fft' ? perUnit : 2 * Math.ceil(perUnit / 2) };
}

const isDouble = ({ operands }: RoutineStep): boolean =>
  operands[0]!.dtype === 'float64' || operands[0]!.dtype === 'complex128';

/** Lengths of which cuFFT has kernels for all factors. */
function isSmooth(n: number): boolean {
  let rest = n;
  for (const p of [2, 3, 5, 7]) while (rest > 1 && rest % p === 0) rest /= p;
  return rest <= 1;
}

/**
 * The workspace of a unit on a GPU: as much as its complex elements where lengths are smooth, else up to
 * eight times (cuFFT's manual), and a copy of what a transform to real numbers reads, since it writes over it.
 */
function cudaWorkspaceOf(step: RoutineStep): WorkspaceNeed {
  const { kind, outer, inner, dims, perUnit } = planOf(step);
  const unit = Math.min(outer, perUnit) * inner * sizeOfShape(dims) * (isDouble(step) ? 16 : 8);
  const { dtype, shape } = step.operands[0]!;
  const copied = kind === 'irfft' ? Math.min(outer, perUnit) * shape[1]! * byteLengthOf(dtype) : 0;
  const bytes = unit * (dims.every(isSmooth) ? 1 : 8) + copied + 2 * ALIGNMENT;
  return { most: bytes, least: bytes };
}
const ALIGNMENT = 256;

const TRANSFORMING: Routine = {
  units: (step) => {
    const { outer, perUnit } = planOf(step);
    return Math.ceil(outer / perUnit);
  },
  unitSize: (step, { shape: [, ...rest] }) => planOf(step).perUnit * sizeOfShape(rest),
  numbers: (step) => {
    const { kind, outer, inner, dims, perUnit } = planOf(step);
    const inverse = kind === 'fft' ? step.parameters[0]! : kind === 'irfft' ? 1 : 0;
    return [KINDS.indexOf(kind), isDouble(step) ? 1 : 0, inverse, outer, inner, perUnit, ...dims];
  },
  cudaWorkspace: cudaWorkspaceOf,
  // Of complex numbers: real arrays and spectra are not of the same size.
  overwrites: { cpu: true, cuda: true },
  work: (step) => {
    const { kind, outer, perUnit, inner, dims } = planOf(step);
    const calls = inner > 1 ? outer : Math.ceil(outer / perUnit);
    const passes = dims.reduce((sum, n) => sum + (n <= MOST_IN_A_PASS ? 1 : 2), 0);
    const bytes = passes * bytesOfAll([...step.operands, ...step.results]);
    // `irfft` copies its operand, and clears two columns of it.
    if (kind === 'irfft')
      return { bytes: bytes + 2 * bytesOfAll(step.operands), launches: (passes + 3) * calls };
    return { bytes, launches: passes * calls };
  },
  method: (step) => {
    const { kind, dims, outer, inner } = planOf(step);
    const what = { fft: 'complex', rfft: 'real to complex', irfft: 'complex to real' }[kind];
    return `${outer * inner} of ${dims.join(' by ')}, ${what}`;
  },
};

export const FFT = routineCall(TRANSFORMING);
export const RFFT = routineCall(TRANSFORMING);
export const IRFFT = routineCall(TRANSFORMING);
