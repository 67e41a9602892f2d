/**
 * Index arrays that a run looks through by itself: keys of sums by bins on the CPU, which `native/cpu/bin-sums.cpp`
 * compares with the number of bins while it adds their rows, and numbers of rows of sparse matrices, which
 * `native/cpu/sparse-gather.cpp` copies. They need no pass ahead of the run where its results come to
 * the host, in memory of their own: a run with keys out of range fails, and has changed nothing.
 *
 *     min and max of ids, read once; sums by ids, read again   →   sums by ids
 *
 * Called by `evaluate.ts` and `compiled-graph.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { IndexCheck } from '../../fusion/passes/index-check.js';
import { BIN_MODES } from '../../graph/bin-units.js';
import type { Expr } from '../../graph/expr.js';
import { sizeOfShape } from '../../graph/graph.js';
import { isGivenNumbers } from '../../graph/sparse-routines.js';
import { InternalError } from '../../host/errors.js';
import type { RoutineStep } from '../calls/call.js';
import { memoryOf } from './placeholder.js';
import type { Program } from './program.js';

/** Whether the run of a program looks through the indices of a check. */
export function isCheckedIn({ one }: Program, { sources }: Canonical, check: IndexCheck): boolean {
  const indices = wholeSource(check.ends[0].inputs[0]!);
  if (one === undefined || indices === undefined || check.begins === true || check.length !== undefined)
    return false;
  const inputs = one.plan.buffers.flatMap(({ role }, k) => (role === 'input' ? [k] : []));
  return one.plan.steps.some((step) => {
    if (step.kind !== 'call' || !LOOKS.has(step.call)) return false;
    const { call, operands, parameters } = step as RoutineStep;
    const isRows = call === 'sparseGather';
    if (isRows && !isGivenNumbers(parameters[0]!)) return false;
    const count = isRows ? operands[1]!.shape[0]! - 1 : parameters[0]!;
    const from = isRows ? -count : FIRST[BIN_MODES[parameters[2]!]!]?.(count);
    if (count !== check.size || from !== check.from) return false;
    const source = sources[one.plan.inputs[inputs.indexOf(operands[0]!.buffer)] ?? -1];
    return (
      source?.source.type === 'host' &&
      source.source.data === indices.memory &&
      source.elementCount === indices.size
    );
  });
}

/** Routines that look through indices. */
const LOOKS: ReadonlySet<string> = new Set(['binSums', 'sparseGather']);

/** Whether a check may be one of the run's: of a whole array on the host that is a graph's keys. */
export function mayBeInRun({ graph }: Canonical, check: IndexCheck): boolean {
  if (check.length !== undefined || wholeSource(check.ends[0].inputs[0]!) === undefined) return false;
  return graph.nodes.some((node) => node?.kind === 'call' && LOOKS.has(node.routine));
}

/** Whether an error may be that of a run whose indices are out of range. */
export const mayBeOfIndices = (error: unknown): boolean => error instanceof InternalError;

/** The first key of a mode in which the others are errors. */
const FIRST: Partial<Record<string, (bins: number) => number>> = {
  raise: () => 0,
  raiseFromEnd: (bins) => -bins,
};

/** The memory of an array on the host, in whatever shape. */
function wholeSource(indices: Expr): { readonly memory: object; readonly size: number } | undefined {
  let x = indices;
  while (x.kind === 'view' && x.view.type === 'reshape') x = x.inputs[0]!;
  if (x.kind !== 'source' || x.source.type !== 'host') return undefined;
  return { memory: memoryOf(x.source), size: sizeOfShape(x.shape) };
}
