/**
 * The elements of a line that are kept, or their places, in order, and how many they are: those where a mask is true,
 * or those that differ from the one before (`codegen/cuda/routines/compact.ts`, `native/cpu/compact.cpp`). An
 * element's place in the result depends on all before it, so that the whole line is one unit.
 */
import {
  COMPACT_NAME,
  COMPACT_THREADS,
  type CompactForm,
  compactTile,
  FILL_NAME,
  FILLED_LENGTH,
  printCompact,
} from '../../codegen/cuda/routines/compact.js';
import { countBytes } from '../../codegen/cuda/routines/look-back.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { clearLaunch } from './clear.js';
import { int64 } from './launch-arguments.js';
import { openTails } from './open-tails.js';
import { type Routine, routineCall } from './routine.js';

const sizeOf = ({ operands }: RoutineStep): number => sizeOfShape(operands[0]!.shape);

function compactForm(step: RoutineStep): CompactForm {
  const { call, operands, results } = step;
  const kept = call === 'distinct' ? 'distinct' : operands.length > 1 ? 'values' : 'places';
  return { kept, dtype: results[0]!.dtype, countBytes: countBytes(sizeOf(step)) };
}

/** Whether nothing reads what is behind the length. */
const isOpen = ({ parameters }: RoutineStep): boolean => parameters[OPEN] === 1;
const OPEN = 0;

/** The workspace: the count of begun tiles, and what each tells. */
const TOLD_AT = 256;
const tilesOf = (step: RoutineStep): number => Math.ceil(sizeOf(step) / compactTile(compactForm(step)));
const workspaceOf = (step: RoutineStep): number => TOLD_AT + tilesOf(step) * compactForm(step).countBytes;

function kernelsOf(step: RoutineStep): CallKernels {
  const size = sizeOf(step);
  const form = compactForm(step);
  const work = { buffer: step.workspace! };
  const block = { block: 'x' } as const;
  const operands = step.operands.map(({ buffer }) => ({ buffer }));
  const results = step.results.map(({ buffer }) => ({ buffer }));
  const pass = {
    function: COMPACT_NAME,
    blocks: tilesOf(step),
    threads: COMPACT_THREADS,
    args: [block, ...operands, ...results, work, ...[TOLD_AT, tilesOf(step), size].map(int64)],
  };
  const values = form.kept === 'places' ? [] : operands.slice(-1);
  const fill = {
    function: FILL_NAME,
    blocks: Math.ceil(size / FILLED_LENGTH),
    threads: COMPACT_THREADS,
    args: [block, ...values, ...results, int64(size)],
  };
  const launches = [clearLaunch(work, workspaceOf(step) / 4), pass];
  return { source: printCompact(form), launches: isOpen(step) ? launches : [...launches, fill] };
}

const KEPT = ['places', 'values', 'distinct'] as const;

const COMPACTING: Routine = {
  openTails: openTails(OPEN, 0, 1),
  units: () => 1,
  unitSize: sizeOf,
  numbers: (step) => {
    const { kept, dtype } = compactForm(step);
    return [KEPT.indexOf(kept), dtypeCode(dtype), sizeOf(step), isOpen(step) ? 0 : 1];
  },
  kernels: kernelsOf,
  cudaWorkspace: (step) => ({ most: workspaceOf(step), least: workspaceOf(step) }),
  work: (step) => {
    const arrays = [...step.operands, step.results[0]!];
    const bytes = arrays.reduce((sum, { dtype }) => sum + sizeOf(step) * byteLengthOf(dtype), 0);
    return { bytes, launches: isOpen(step) ? 2 : 3 };
  },
  method: (step) => `${compactForm(step).kept} in one pass over memory`,
};

export const COMPACT = routineCall(COMPACTING);
export const DISTINCT = routineCall(COMPACTING);
