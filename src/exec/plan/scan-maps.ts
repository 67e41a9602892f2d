/**
 * Maps in scans: a kernel that computes what one scan alone reads, and one that maps what the scan gives, become
 * parts of the scan's kernel, where a device has all of it. Neither what is scanned nor what the scan gives is then
 * in memory. Called by `device-planner.ts`, for plans without tiles.
 *
 *     t = x · y;  s = running sum of t;  z = exp(s)   →   one step that reads x and y and writes z
 */
import { isComplex } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { ElementMap, RoutineMaps, RoutineStep } from '../calls/call.js';
import type { DeviceModel } from './device-model.js';
import type { KernelStep, Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** The step list with such maps; undefined: it has none. */
export function withScanMaps(stepList: StepList, { isElementMap }: DeviceModel): StepList | undefined {
  if (isElementMap === undefined) return undefined;
  const uses = usesOf(stepList);
  const steps: (Step | undefined)[] = [...stepList.steps];
  let joins = false;
  for (const [at, step] of stepList.steps.entries()) {
    if (!isWholeScan(step)) continue;
    const maps = mapsOf(step, uses, isElementMap);
    if (maps === undefined) continue;
    joins = true;
    for (const gone of maps.gone) steps[stepList.steps.indexOf(gone)] = undefined;
    steps[at] = undefined;
    const { prologue, epilogue, last } = maps;
    const nodes = [...new Set([step, ...maps.gone].flatMap((part) => part.nodes))];
    const results = epilogue === undefined ? step.results : [resultOf(step, epilogue)];
    // Values that the epilogue reads may be computed behind the scan.
    const place = last === undefined ? at : stepList.steps.indexOf(last);
    steps[place] = { ...step, results, maps: { prologue, epilogue }, nodes };
  }
  return joins ? { ...stepList, steps: steps.filter((step) => step !== undefined) } : undefined;
}

/** By buffer, the steps that write it and those that read it. */
interface Uses {
  readonly writers: ReadonlyMap<number, readonly Step[]>;
  readonly readers: ReadonlyMap<number, readonly Step[]>;
  readonly isTemporary: (buffer: number) => boolean;
}

function usesOf({ steps, buffers }: StepList): Uses {
  const writers = new Map<number, Step[]>();
  const readers = new Map<number, Step[]>();
  const enter = (uses: Map<number, Step[]>, buffer: number, step: Step): void => {
    uses.set(buffer, [...(uses.get(buffer) ?? []), step]);
  };
  for (const step of steps) {
    const { reads, writes } = buffersOf(step);
    for (const buffer of new Set(reads)) enter(readers, buffer, step);
    for (const buffer of new Set(writes)) enter(writers, buffer, step);
  }
  return { writers, readers, isTemporary: (buffer) => buffers[buffer]!.role === 'temporary' };
}

/** A scan that finds the values before its tiles by itself, or has none. */
const isWholeScan = (step: Step): step is RoutineStep =>
  step.kind === 'call' &&
  step.call === 'scan' &&
  step.operands.length === 1 &&
  !isComplex(step.operands[0]!.dtype);

type IsElementMap = NonNullable<DeviceModel['isElementMap']>;

/** The maps of a scan, and the steps that they were; `last`: the one of the epilogue. */
function mapsOf(
  step: RoutineStep,
  { writers, readers, isTemporary }: Uses,
  isElementMap: IsElementMap,
):
  | (RoutineMaps & { readonly gone: readonly KernelStep[]; readonly last: KernelStep | undefined })
  | undefined {
  const [operand] = step.operands;
  const [result] = step.results;
  const count = sizeOfShape(operand!.shape);
  const only = (steps: readonly Step[] | undefined): KernelStep | undefined =>
    steps?.length === 1 && steps[0]!.kind === 'kernel' && steps[0]!.scratch.length === 0
      ? steps[0]
      : undefined;
  const between = (buffer: number): boolean =>
    isTemporary(buffer) && writers.get(buffer)?.length === 1 && readers.get(buffer)?.length === 1;
  const first = between(operand!.buffer) ? only(writers.get(operand!.buffer)) : undefined;
  const last = between(result!.buffer) ? only(readers.get(result!.buffer)) : undefined;
  const given = last?.buffers.indexOf(result!.buffer) ?? -1;
  const prologue = first !== undefined && isElementMap(first.kernel, count) ? mapOf(first) : undefined;
  const epilogue =
    last !== undefined && isElementMap(last.kernel, count, given) ? { ...mapOf(last), given } : undefined;
  if (prologue === undefined && epilogue === undefined) return undefined;
  const gone = [prologue && first, epilogue && last].filter((each) => each !== undefined);
  return { prologue, epilogue, gone, last: epilogue && last };
}

const mapOf = ({ kernel, buffers }: KernelStep): ElementMap => ({ kernel, buffers });

/** The array that an epilogue writes, in the shape of the scan's. */
function resultOf({ results }: RoutineStep, { kernel, buffers }: ElementMap): RoutineStep['results'][number] {
  const { buffer } = kernel.stores[0]!.access;
  return { shape: results[0]!.shape, dtype: kernel.buffers[buffer]!.dtype, buffer: buffers[buffer]! };
}
