/**
 * The maps of a routine's step as device functions of one element (`codegen/cuda/routines/element-function.ts`), with their
 * arguments as those of the step's kernels.
 */
import type { CudaArgument } from '../../codegen/cuda/launch.js';
import { type ElementFunction, elementFunction } from '../../codegen/cuda/routines/element-function.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { RoutineStep } from './call.js';

/** The functions of a step's maps, and their arguments: of the prologue, then of the epilogue. */
export function mapFunctions({ maps }: Pick<RoutineStep, 'maps'>): {
  readonly prologue: ElementFunction | undefined;
  readonly epilogue: ElementFunction | undefined;
  readonly args: readonly LaunchArgument[];
} {
  const { prologue: first, epilogue: last } = maps ?? {};
  const prologue = first && elementFunction(first.kernel, 'weft_prologue');
  const epilogue = last && elementFunction(last.kernel, 'weft_epilogue', last.given);
  const inPlan = (args: readonly CudaArgument[] = [], buffers: readonly number[] = []): LaunchArgument[] =>
    args.map(
      (argument) =>
        ('buffer' in argument ? { buffer: buffers[argument.buffer]! } : argument) as LaunchArgument,
    );
  return {
    prologue,
    epilogue,
    args: [...inPlan(prologue?.args, first?.buffers), ...inPlan(epilogue?.args, last?.buffers)],
  };
}

/** Which maps a step has, for `explain()`. */
export function mapsText({ maps }: Pick<RoutineStep, 'maps'>): string {
  const names = [maps?.prologue && 'prologue', maps?.epilogue && 'epilogue'].filter(
    (map) => map !== undefined,
  );
  return names.length > 0 ? `, with ${names.join(' and ')}` : '';
}
