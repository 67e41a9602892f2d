/** Makes the nodes of calls: the results of a routine. */
import { currentSite } from '../host/site.js';
import { depthOf } from './depth.js';
import type { Expr } from './expr.js';
import { needSizes } from './extent.js';
import { type RoutineName, routineRow } from './routines.js';
import type { UserKernel } from './user-kernel.js';

/**
 * The results of a routine, in order; the caller has checked the inputs. `asked`: the function that the user
 * called, for errors that are found when it runs. `kernel`: of the routine of that name.
 */
export function call(
  routine: RoutineName,
  parameters: readonly number[],
  inputs: readonly Expr[],
  asked?: string,
  kernel?: UserKernel,
): Expr[] {
  for (const x of inputs) needSizes(asked ?? routine, x);
  const site = currentSite();
  const depth = depthOf(inputs);
  return routineRow(routine)
    .results(inputs, parameters, kernel)
    .map(({ dtype, shape }, result) => ({
      // One literal: an object that is spread and grows has other types in the engine with each property, 3 µs a node.
      kind: 'call',
      routine,
      parameters,
      result,
      asked,
      kernel,
      dtype,
      shape,
      inputs,
      site,
      depth,
      weak: false,
    }));
}
