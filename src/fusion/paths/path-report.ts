/**
 * The path of a contraction as data and as text, for `explain()` and `einsumPath`.
 *
 *     ab,bc,cd->ad: 3 operands, 36,000 operations (12,000,000 in one sum), largest intermediate 400 B
 *       bc,cd->bd  30,000 operations
 *       ab,bd->ad  6,000 operations
 */
import { formatBytes } from '../../graph/format.js';
import { type ContractionPath, naiveOperations } from './contraction-path.js';
import type { Pair } from './exact-order.js';
import type { Network } from './network.js';
import { operationsOf, pathSteps } from './path-steps.js';

export interface PathReport {
  readonly subscripts: string;
  readonly operands: number;
  readonly pairs: readonly {
    /** Positions among the operands that are left; the result comes last, as in NumPy's `einsum_path`. */
    readonly positions: Pair;
    readonly subscripts: string;
    /** Multiplications and additions, of one part where labels are sliced. */
    readonly operations: number;
  }[];
  /** In all, over all parts. */
  readonly operations: number;
  /** Of the expression as one sum of products over all labels. */
  readonly naiveOperations: number;
  readonly largestElements: number;
  readonly largestBytes: number;
  readonly slices: readonly { readonly label: string; readonly size: number; readonly parts: number }[];
}

/** `elementBytes`: of the dtype; `nameOf`: the letter of a label. */
export function reportPath(
  network: Network,
  path: ContractionPath,
  elementBytes: number,
  nameOf: (label: number) => string,
): PathReport {
  const { operands, output, sizeOf } = network;
  const text = (labels: readonly number[]): string => labels.map(nameOf).join('');
  const parts = new Map(path.slices.map((slice) => [slice.label, slice.parts]));
  const volumeOf = (labels: readonly number[]): number =>
    labels.reduce((volume, label) => volume * Math.ceil(sizeOf(label) / (parts.get(label) ?? 1)), 1);
  const steps = pathSteps(network, path.pairs);
  const left = operands.map((_, k) => k);
  return {
    subscripts: `${operands.map(text).join(',')}->${text(output)}`,
    operands: operands.length,
    pairs: steps.map((step, k) => {
      const [i, j] = step.pair.map((at) => left.indexOf(at)).sort((a, b) => a - b) as [number, number];
      left.splice(j, 1);
      left.splice(i, 1);
      left.push(operands.length + k);
      const result = k === steps.length - 1 ? output : step.result;
      const [a, b] = step.labels as [readonly number[], readonly number[]];
      const subscripts = `${text(a)},${text(b)}->${text(result)}`;
      return { positions: [i, j], subscripts, operations: operationsOf(step, volumeOf) };
    }),
    operations: path.operations,
    naiveOperations: naiveOperations(network),
    largestElements: path.largest,
    largestBytes: path.largest * elementBytes,
    slices: path.slices.map(({ label, parts: count }) => ({
      label: nameOf(label),
      size: sizeOf(label),
      parts: count,
    })),
  };
}

const count = (n: number): string => (n < 1e15 ? n.toLocaleString('en-US') : n.toPrecision(4));

export function printPath(report: PathReport): string {
  const { subscripts, operands, operations, pairs, slices, largestBytes } = report;
  const naive = `${count(report.naiveOperations)} in one sum`;
  const largest = pairs.length < 2 ? '' : `, largest intermediate ${formatBytes(largestBytes)}`;
  const width = Math.max(0, ...pairs.map((pair) => pair.subscripts.length));
  return [
    `${subscripts}: ${operands} operand${operands === 1 ? '' : 's'}, ${count(operations)} operations (${naive})${largest}`,
    ...slices.map(
      ({ label, size, parts }) => `  ${label} of ${size} is summed in ${parts} parts, one after the other`,
    ),
    ...pairs.map((pair) => `  ${pair.subscripts.padEnd(width)}  ${count(pair.operations)} operations`),
  ].join('\n');
}
