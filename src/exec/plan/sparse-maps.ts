/**
 * Maps in products of sparse matrices with dense columns, in loops' bodies, too: a kernel that maps the product alone is done
 * where the product is written. On a GPU a cheap kernel that gives the dense columns is done where each is read, once for
 * every product of elements; a CPU, whose tapes run on stretches of elements, stores them.
 *
 *     u = exp(x);  v = A @ u;  z = v · 2 + y   →   a step that reads A, x and y and writes z
 */
import { isCheaper, readsInOrder } from '../../codegen/cuts/element-map.js';
import { isComplex } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineMaps, RoutineStep } from '../calls/call.js';
import type { DeviceModel } from './device-model.js';
import type { KernelStep, Step } from './plan.js';
import { mapOf, resultOf, type Uses, usesOf } from './routine-maps.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** Cost (`OpRow.cost`) of a map of the dense columns, for all products that an element is a factor of. */
const MOST_COST = 256;
/** Of one product. */
const MOST_COST_OF_PRODUCT = 16;

/** The step list with such maps: itself where it has none. `isWhole`: products are not cut. */
export function withSparseMaps(stepList: StepList, model: DeviceModel, isWhole: boolean): StepList {
  const { isElementMap } = model;
  if (isElementMap === undefined) return stepList;
  const steps = joinedIn(stepList.steps, { stepList, model, isElementMap, isWhole });
  return steps === stepList.steps ? stepList : { ...stepList, steps };
}

interface Joining {
  readonly stepList: StepList;
  readonly model: DeviceModel;
  readonly isElementMap: NonNullable<DeviceModel['isElementMap']>;
  readonly isWhole: boolean;
}

/** Steps with maps in their products: the same list where there are none. */
function joinedIn<S extends Step>(given: readonly S[], joining: Joining): readonly S[] {
  const steps: (Step | undefined)[] = given.map((step) => {
    if (step.kind !== 'loop') return step;
    const body = joinedIn(step.body, joining);
    return body === step.body ? step : { ...step, body };
  });
  const there = (): Step[] => steps.filter((step) => step !== undefined);
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at];
    if (step === undefined || !isProduct(step)) continue;
    const uses = usesOf(there(), joining.stepList.buffers);
    const epilogue = epilogueOf(step, uses, joining);
    const place = epilogue === undefined ? at : steps.indexOf(epilogue);
    if (epilogue !== undefined && !isWrittenBetween(steps, [at, place], buffersOf(step).reads)) {
      steps[at] = undefined;
      steps[place] = withMaps(step, { epilogue }, epilogue);
      continue;
    }
    const prologue = prologueOf(step, uses, joining);
    const from = prologue === undefined ? at : steps.indexOf(prologue);
    if (prologue === undefined || isWrittenBetween(steps, [from, at], buffersOf(prologue).reads)) continue;
    steps[from] = undefined;
    steps[at] = withMaps(step, { prologue }, prologue);
  }
  const joined = there() as S[];
  return joined.length === given.length && joined.every((step, k) => step === given[k]) ? given : joined;
}

const isProduct = (step: Step): step is RoutineStep =>
  step.kind === 'call' &&
  step.call === 'sparseProduct' &&
  !isComplex((step as RoutineStep).results[0]!.dtype);

function withMaps(
  step: RoutineStep,
  maps: { epilogue?: KernelStep; prologue?: KernelStep },
  gone: KernelStep,
): Step {
  const { prologue, epilogue } = maps;
  const own: RoutineMaps = {
    ...step.maps,
    ...(prologue === undefined ? {} : { prologue: mapOf(prologue) }),
    ...(epilogue === undefined ? {} : { epilogue: { ...mapOf(epilogue), given: givenOf(step, epilogue) } }),
  };
  const results = epilogue === undefined ? step.results : [resultOf(step, own.epilogue!)];
  return { ...step, results, maps: own, nodes: [...new Set([...step.nodes, ...gone.nodes])] };
}

const givenOf = ({ results }: RoutineStep, { buffers }: KernelStep): number =>
  buffers.indexOf(results[0]!.buffer);

/** A kernel alone in a list of steps, that a routine can do. */
function only(steps: readonly Step[] | undefined): KernelStep | undefined {
  const [step] = steps ?? [];
  return steps?.length === 1 && step!.kind === 'kernel' && step!.scratch.length === 0 ? step : undefined;
}

/** The kernel that alone reads a product. */
function epilogueOf(
  step: RoutineStep,
  uses: Uses,
  { isElementMap, isWhole, model }: Joining,
): KernelStep | undefined {
  const [result] = step.results;
  const { buffer, shape } = result!;
  if (step.maps?.epilogue !== undefined || !uses.isTemporary(buffer)) return undefined;
  const last = uses.writers.get(buffer)?.length === 1 ? only(uses.readers.get(buffer)) : undefined;
  if (last === undefined) return undefined;
  const given = givenOf(step, last);
  const { reads, writes } = buffersOf(last);
  // Rows that are written may not be dense rows that others still read.
  const isApart = writes.every(
    (written) => !reads.includes(written) && !buffersOf(step).reads.includes(written),
  );
  const canJoin =
    isApart &&
    isElementMap(last.kernel, sizeOfShape(shape), given) &&
    (isWhole || readsInOrder(last.kernel, given)) &&
    !isStreamed(last, uses, model);
  return canJoin ? last : undefined;
}

/** The cheap kernel that gives the dense columns to a product alone. */
function prologueOf(step: RoutineStep, uses: Uses, { isElementMap, model }: Joining): KernelStep | undefined {
  const [dense, , , values] = step.operands;
  const { buffer, shape } = dense!;
  if (model.mapsAnywhere !== true || step.maps?.prologue !== undefined || !uses.isTemporary(buffer))
    return undefined;
  const isOnly =
    uses.readers.get(buffer)?.length === 1 &&
    buffersOf(step).reads.filter((read) => read === buffer).length === 1;
  const first = isOnly ? only(uses.writers.get(buffer)) : undefined;
  if (first === undefined) return undefined;
  const each = Math.max(1, values!.shape[0]! / shape[0]!);
  const most = Math.min(MOST_COST_OF_PRODUCT, MOST_COST / each);
  const isApart = buffersOf(first).reads.every((read) => read !== step.results[0]!.buffer);
  const canJoin =
    isApart && isElementMap(first.kernel, sizeOfShape(shape)) && isCheaper(first.kernel, most, 1);
  return canJoin && !isStreamed(first, uses, model) ? first : undefined;
}

/** Whether a kernel reads files block by block, which a routine holds as a whole. */
const isStreamed = ({ buffers }: KernelStep, uses: Uses, { readsOnce }: DeviceModel): boolean =>
  readsOnce !== undefined && buffers.some((buffer) => uses.isStreamed(buffer));

/** Whether a step between two places writes what is read. */
const isWrittenBetween = (
  steps: readonly (Step | undefined)[],
  [first, last]: readonly [first: number, last: number],
  reads: readonly number[],
): boolean =>
  steps
    .slice(first + 1, last)
    .some((step) => step !== undefined && buffersOf(step).writes.some((written) => reads.includes(written)));
