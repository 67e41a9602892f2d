/**
 * The maps of a routine's step as device functions of one element (`codegen/cuda/routines/element-function.ts`), with their
 * arguments as those of the step's kernels.
 */
import { KERNEL_OPTIONS } from '../../codegen/cuda/cuda.js';
import type { CudaArgument } from '../../codegen/cuda/launch.js';
import { type ElementFunction, elementFunction } from '../../codegen/cuda/routines/element-function.js';
import { LINEAR_PLACE } from '../../codegen/cuda/routines/element-place.js';
import {
  type FoldFunction,
  foldArguments,
  foldFunction,
} from '../../codegen/cuda/routines/row-fold-function.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { ElementMap, RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';

/** Whether what takes a routine's elements reduces its rows. */
export const foldsRows = ({ kernel }: ElementMap): boolean => kernel.reduced.length > 0;

/** The functions of a step's maps, and their arguments: of the prologue, of weights, then of the epilogue or of the fold. */
export function mapFunctions({ maps }: Pick<RoutineStep, 'maps'>): {
  readonly prologue: ElementFunction | undefined;
  readonly weights: ElementFunction | undefined;
  readonly epilogue: ElementFunction | undefined;
  readonly fold: FoldFunction | undefined;
  readonly args: readonly LaunchArgument[];
} {
  const { prologue: first, weights: second, epilogue: last } = maps ?? {};
  const prologue = first && elementFunction(first.kernel, 'weft_prologue');
  const weights = second && elementFunction(second.kernel, 'weft_weights');
  const fold = last && foldsRows(last) ? foldFunction(last.kernel, last.given) : undefined;
  const epilogue =
    last && fold === undefined
      ? elementFunction(last.kernel, 'weft_epilogue', last.given, LINEAR_PLACE, last.folds, last.neighbours)
      : undefined;
  const behind = fold === undefined ? epilogue?.args : foldArguments(fold);
  const inPlan = (args: readonly CudaArgument[] = [], buffers: readonly number[] = []): LaunchArgument[] =>
    args.map(
      (argument) =>
        ('buffer' in argument ? { buffer: buffers[argument.buffer]! } : argument) as LaunchArgument,
    );
  return {
    prologue,
    weights,
    epilogue,
    fold,
    args: [
      ...inPlan(prologue?.args, first?.buffers),
      ...inPlan(weights?.args, second?.buffers),
      ...inPlan(behind, last?.buffers),
    ],
  };
}

/** The kernels of a routine that maps may be a part of, which have the bits there that they have in kernels. */
export const asKernels = (kernels: CallKernels): CallKernels => ({
  ...kernels,
  compiled: { options: KERNEL_OPTIONS },
});

/** Which maps a step has, for `explain()`. */
export function mapsText({ maps }: Pick<RoutineStep, 'maps'>): string {
  const { prologue, weights, epilogue } = maps ?? {};
  const last = epilogue && (foldsRows(epilogue) ? 'fold of rows' : 'epilogue');
  const folds =
    epilogue?.folds !== undefined && epilogue.folds.length > 0 ? 'reductions of tiles' : undefined;
  const ofRows = weights && 'weights computed';
  const names = [prologue && 'prologue', ofRows, last, folds].filter((map) => map !== undefined);
  return names.length > 0 ? `, with ${names.join(' and ')}` : '';
}
