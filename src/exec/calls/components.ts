/**
 * Connected components of a mask: for each element of it the least place of its component
 * (`codegen/cuda/routines/components.ts`). A component may reach from any element to any other, so that the whole mask
 * is one unit. On a GPU alone: the CPU has `labels.ts`.
 */
import {
  COMPONENT_THREADS,
  type ComponentForm,
  FLATTEN_NAME,
  JOIN_NAME,
  PARENTS_NAME,
  printComponents,
} from '../../codegen/cuda/routines/components.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';

const sizeOf = ({ operands }: RoutineStep): number => sizeOfShape(operands[0]!.shape);

function componentForm(step: RoutineStep): ComponentForm {
  const { shape } = step.operands[0]!;
  const neighbours: number[][] = [];
  for (let k = 0; k < step.parameters.length; k += shape.length)
    neighbours.push(step.parameters.slice(k, k + shape.length).map((by) => by - 1));
  return { ndim: shape.length, neighbours, indexBytes: sizeOf(step) < 2 ** 31 ? 4 : 8 };
}

/** The workspace: the parent of each place. */
const workspaceOf = (step: RoutineStep): number => sizeOf(step) * componentForm(step).indexBytes;

function kernelsOf(step: RoutineStep): CallKernels {
  const form = componentForm(step);
  const [size, blocks] = [sizeOf(step), Math.ceil(sizeOf(step) / COMPONENT_THREADS)];
  const mask = { buffer: step.operands[0]!.buffer };
  const parents = { buffer: step.workspace! };
  const roots = { buffer: step.results[0]!.buffer };
  const launch = { blocks, threads: COMPONENT_THREADS };
  const block = { block: 'x' } as const;
  const sizes = step.operands[0]!.shape.map(int64);
  return {
    source: printComponents(form),
    launches: [
      { ...launch, function: PARENTS_NAME, args: [block, mask, parents, int64(size)] },
      { ...launch, function: JOIN_NAME, args: [block, parents, int64(size), ...sizes] },
      { ...launch, function: FLATTEN_NAME, args: [block, parents, roots, int64(size)] },
    ],
  };
}

export const COMPONENTS = routineCall({
  units: () => 1,
  unitSize: sizeOf,
  numbers: ({ operands, parameters }) => [operands[0]!.shape.length, ...operands[0]!.shape, ...parameters],
  kernels: kernelsOf,
  cudaWorkspace: (step) => ({ most: workspaceOf(step), least: workspaceOf(step) }),
  work: (step) => ({ bytes: sizeOf(step) * (1 + 6 * componentForm(step).indexBytes), launches: 3 }),
  method: () => 'union-find by the least place',
} satisfies Routine);
