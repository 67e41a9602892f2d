/**
 * Computes of nodes, for a Lazy's methods and the functions that take several arrays (`compute.ts`): options are checked,
 * and results go to the host, to files or stay on devices.
 */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { evaluateNow, type StoredResult } from '../exec/run/evaluate.js';
import { persistExprs } from '../exec/run/move.js';
import { checkOptions } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import { formatValue } from '../graph/format.js';
import { constant, deviceArray } from '../graph/infer.js';
import { broadcast } from '../graph/view-nodes.js';
import { whenThere } from '../host/at-once.js';
import { ArgumentError, expected } from '../host/errors.js';
import { type Explanation, explainExprs, explainMeasured } from '../inspect/explain.js';
import { type PlanSummary, summarizePlan } from '../inspect/summary.js';
import { evaluateTo, type Sinks } from '../io/store.js';
import { type NDArray, ndarrayOf } from './ndarray.js';

/** A compute whose results go to files. */
export interface ComputeToOptions extends ComputeOptions {
  /** The file for all results, or a list with one for each. They appear when all of them are complete. */
  readonly to: Sinks;
}

/** Every option, so that a new one breaks the build here. */
const OPTIONS: Readonly<Record<keyof ComputeOptions, true>> = {
  deadline: true,
  device: true,
  devices: true,
  exact: true,
  hostMemory: true,
  memory: true,
  onDeviceLost: true,
  onProgress: true,
  signal: true,
  tune: true,
};
export const COMPUTE_OPTIONS = Object.keys(OPTIONS);
const COMPUTE_TO_OPTIONS = [...COMPUTE_OPTIONS, 'to'];

/** An option of `explain`: kernels are compiled and timed, and say what they take of the device. */
export interface Measured {
  readonly measure: true;
}

/** Results in host memory, or of files, which `stored` makes of their nodes; no promise where they are there at once. */
export function computeNodes<Stored>(
  exprs: readonly Expr[],
  options: ComputeOptions | ComputeToOptions | undefined,
  stored: (expr: Expr) => Stored,
): (NDArray | Stored)[] | Promise<(NDArray | Stored)[]> {
  checkOptions('compute', options, COMPUTE_TO_OPTIONS);
  if (options !== undefined && 'to' in options && options.to !== undefined) {
    const { to, ...running } = options;
    for (const expr of exprs) needSizes('compute', expr);
    return evaluateTo(exprs, to, running).then((all) => all.map(stored));
  }
  return whenThere(evaluateNow(exprs, options), (all) => all.map(ndarrayOf));
}

/** Results that stay on their devices. */
export async function persistNodes(
  exprs: readonly Expr[],
  options: ComputeOptions | undefined,
): Promise<Expr[]> {
  checkOptions('persist', options, COMPUTE_OPTIONS);
  return (await persistExprs(exprs, options)).map(storedExpr);
}

export function explainNodes(
  exprs: readonly Expr[],
  options: ((ComputeOptions | ComputeToOptions) & Partial<Measured>) | undefined,
): Explanation | Promise<Explanation> {
  checkOptions('explain', options, [...COMPUTE_TO_OPTIONS, 'measure']);
  const { measure = false, ...own } = options ?? {};
  if (typeof measure !== 'boolean')
    throw new ArgumentError(expected('explain', 'measure to be true or false', formatValue(measure)));
  const place = placeOf('explain', exprs, own);
  return measure ? explainMeasured(exprs, own, place) : explainExprs(exprs, own, place);
}

export function planNodes(
  exprs: readonly Expr[],
  options: ComputeOptions | ComputeToOptions | undefined,
): PlanSummary {
  checkOptions('plan', options, COMPUTE_TO_OPTIONS);
  return summarizePlan(exprs, options, placeOf('plan', exprs, options));
}

/** Where results go with these options. Throws for axes whose size depends on data, where that is a file. */
function placeOf(
  op: string,
  exprs: readonly Expr[],
  options: ComputeOptions | ComputeToOptions | undefined,
): 'file' | 'host' {
  if (options === undefined || !('to' in options) || options.to === undefined) return 'host';
  for (const expr of exprs) needSizes(op, expr);
  return 'file';
}

/** The node of a result that stayed on its device. An array without elements has no buffer. */
export const storedExpr = ({ buffer, dtype, shape }: StoredResult): Expr =>
  buffer === undefined ? broadcast(constant(0, dtype), shape) : deviceArray(buffer, dtype, shape);
