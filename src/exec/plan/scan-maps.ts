/**
 * Maps in scans: a kernel that computes what one scan alone reads, and one that maps what the scan gives, become
 * parts of the scan. Neither what is scanned nor what the scan gives is then in memory. A scan in three steps reads
 * its operand twice, for the tiles' totals and for the tiles, and computes a cheap map both times.
 *
 *     t = x · y;  s = running sum of t;  z = exp(s)   →   steps that read x and y and write z
 *
 * A kernel that reduces the rows of a scan that is whole becomes a part of it as well, where the target can (`foldsRows`).
 */
import { isCheap, readsInOrder } from '../../codegen/cuts/element-map.js';
import { isComplex } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineMaps, RoutineStep } from '../calls/call.js';
import type { DeviceModel } from './device-model.js';
import type { KernelStep, Step } from './plan.js';
import { mapOf, resultOf, type Uses, usesOf } from './routine-maps.js';
import type { StepList } from './step-list.js';

/** The maps that are joined: those that parts of a scan can have, or all, of scans that are not cut. */
type Extent = 'parts' | 'whole';

/** The step list with such maps: itself where it has none. */
export function withScanMaps(stepList: StepList, model: DeviceModel, extent: Extent): StepList {
  const { isElementMap, foldsRows, readsOnce } = model;
  if (isElementMap === undefined || !stepList.steps.some(isScan)) return stepList;
  const uses = usesOf(stepList.steps, stepList.buffers);
  const canJoin: CanJoin = ({ kernel, buffers }, count, given) =>
    isElementMap(kernel, count, given) &&
    (extent === 'whole' || readsInOrder(kernel, given)) &&
    // Files that a kernel reads block by block are held as a whole for a scan.
    !(readsOnce !== undefined && buffers.some((buffer) => uses.isStreamed(buffer)));
  /** Whether a kernel reduces the rows that a scan would write. */
  const canFold: CanFold = ({ operands, parameters }, { kernel }, given) => {
    const [outer, length, inner] = operands[0]!.shape as readonly [number, number, number];
    const isForward = parameters[1] === 0;
    if (extent === 'parts' || operands.length > 1 || inner !== 1 || !isForward) return false;
    return foldsRows?.(kernel, given, outer, length) === true;
  };
  const steps: (Step | undefined)[] = [...stepList.steps];
  /** Kernels that are parts of a scan: one between two scans, or behind both, is the first one's. */
  const taken = new Set<Step>();
  let joins = false;
  for (const [at, step] of stepList.steps.entries()) {
    if (!isScan(step)) continue;
    const maps = mapsOf(step, uses, { canJoin, canFold }, taken);
    if (maps === undefined) continue;
    joins = true;
    for (const gone of maps.gone) {
      steps[stepList.steps.indexOf(gone)] = undefined;
      taken.add(gone);
    }
    const { prologue, epilogue, last, totals } = maps;
    const nodesOf = (parts: readonly (RoutineStep | KernelStep)[]): number[] => [
      ...new Set(parts.flatMap((part) => part.nodes)),
    ];
    if (prologue !== undefined && totals !== undefined) {
      const nodes = nodesOf([totals, ...maps.gone.filter((gone) => gone !== last)]);
      steps[stepList.steps.indexOf(totals)] = { ...totals, maps: { prologue }, nodes };
    }
    steps[at] = undefined;
    const nodes = nodesOf([step, ...maps.gone]);
    const results = epilogue === undefined ? step.results : [resultOf(step, epilogue)];
    // Values that the epilogue reads may be computed behind the scan.
    const place = last === undefined ? at : stepList.steps.indexOf(last);
    const joined = { prologue: prologue ?? step.maps?.prologue, epilogue: epilogue ?? step.maps?.epilogue };
    steps[place] = { ...step, results, maps: joined, nodes };
  }
  return joins ? { ...stepList, steps: steps.filter((step) => step !== undefined) } : stepList;
}

const isScan = (step: Step): step is RoutineStep =>
  step.kind === 'call' && step.call === 'scan' && !isComplex(step.operands[0]!.dtype);

/** The step that finds the totals of a scan's tiles. */
function totalsOf({ operands }: RoutineStep, { writers }: Uses): RoutineStep | undefined {
  const [writer] = writers.get(operands[1]?.buffer ?? -1) ?? [];
  if (writer?.kind !== 'call' || writer.call !== 'scanBefore') return undefined;
  const [totals] = writers.get((writer as RoutineStep).operands[0]!.buffer) ?? [];
  return totals?.kind === 'call' && totals.call === 'scanTotals' ? (totals as RoutineStep) : undefined;
}

type CanJoin = (map: KernelStep, count: number, given?: number) => boolean;
type CanFold = (scan: RoutineStep, reduction: KernelStep, given: number) => boolean;

/** The maps of a scan, and the steps that they were; `last`: the one of the epilogue. */
function mapsOf(
  step: RoutineStep,
  uses: Uses,
  { canJoin, canFold }: { readonly canJoin: CanJoin; readonly canFold: CanFold },
  taken: ReadonlySet<Step>,
):
  | (RoutineMaps & {
      readonly gone: readonly KernelStep[];
      readonly last: KernelStep | undefined;
      readonly totals: RoutineStep | undefined;
    })
  | undefined {
  const { writers, readers, isTemporary } = uses;
  const [operand, before] = step.operands;
  const [result] = step.results;
  const count = sizeOfShape(operand!.shape);
  const totals = before === undefined ? undefined : totalsOf(step, uses);
  const scans = new Set<Step>(totals === undefined ? [step] : [totals, step]);
  const only = (steps: readonly Step[] | undefined): KernelStep | undefined =>
    steps?.length === 1 &&
    steps[0]!.kind === 'kernel' &&
    steps[0]!.scratch.length === 0 &&
    !taken.has(steps[0]!)
      ? steps[0]
      : undefined;
  const isBetween = (buffer: number, readBy: number): boolean =>
    isTemporary(buffer) && writers.get(buffer)?.length === 1 && readers.get(buffer)?.length === readBy;
  const isOwn =
    isBetween(operand!.buffer, scans.size) &&
    readers.get(operand!.buffer)!.every((reader) => scans.has(reader)) &&
    !step.maps?.epilogue?.buffers.includes(operand!.buffer);
  const first = isOwn && step.maps?.prologue === undefined ? only(writers.get(operand!.buffer)) : undefined;
  const last =
    isBetween(result!.buffer, 1) && step.maps?.epilogue === undefined
      ? only(readers.get(result!.buffer))
      : undefined;
  const given = last?.buffers.indexOf(result!.buffer) ?? -1;
  const isKnown =
    first !== undefined && (before === undefined || (totals !== undefined && isCheap(first.kernel)));
  const prologue = isKnown && canJoin(first, count) ? mapOf(first) : undefined;
  const takes = last !== undefined && (canJoin(last, count, given) || canFold(step, last, given));
  const epilogue = takes ? { ...mapOf(last), given } : undefined;
  if (prologue === undefined && epilogue === undefined) return undefined;
  const gone = [prologue && first, epilogue && last].filter((each) => each !== undefined);
  return { prologue, epilogue, gone, last: epilogue && last, totals };
}
