/**
 * The contraction that a library of matrix products computes: stacks of matrices (…, m, k) and (…, k, n), whose batch
 * axes stand first, in the same order. The axes of the result stand in any order.
 */
import type { Shape } from './expr.js';
import type { GraphNodeOf } from './graph.js';

export interface MatrixProduct {
  /** Sizes of the batch axes; one at least. */
  readonly batch: readonly number[];
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Where those are among the axes of the result. */
  readonly batchAxes: readonly number[];
  readonly rowAxis: number;
  readonly columnAxis: number;
}

/** The sizes and axes of a lowered product. `left`: the shape of its first factor. */
export function matrixProductOf(
  { labels, output, shape }: Pick<GraphNodeOf<'contract'>, 'labels' | 'output' | 'shape'>,
  left: Shape,
): MatrixProduct {
  const [ofLeft, ofRight] = labels as readonly [readonly number[], readonly number[]];
  const axisOf = (label: number): number => output.indexOf(label);
  const columnAxis = axisOf(ofRight.at(-1)!);
  return {
    batch: left.slice(0, -2),
    m: left.at(-2)!,
    n: shape[columnAxis]!,
    k: left.at(-1)!,
    batchAxes: ofLeft.slice(0, -2).map(axisOf),
    rowAxis: axisOf(ofLeft.at(-2)!),
    columnAxis,
  };
}

/** Whether it is (batch, m, k) · (batch, k, n) → (batch, m, n), with a single batch axis. */
export const isPlainProduct = ({
  labels,
  output,
}: Pick<GraphNodeOf<'contract'>, 'labels' | 'output'>): boolean =>
  labels[0]!.length === 3 && output[1] === labels[0]![1] && output[2] === labels[1]![2];
