/** Which indices have to be in range before a graph runs: those of gathers and of bins whose mode says so. */
import { BIN_MODES } from './bin-units.js';
import type { Expr } from './expr.js';

/** Indices from `from` up to `size` of an axis. */
export interface CheckedIndices {
  readonly indices: Expr;
  readonly op: string;
  readonly axis: number;
  readonly from: number;
  readonly size: number;
}

/** The indices of a node that are an error out of range; undefined: it has none. */
export function checkedIndices(x: Expr): CheckedIndices | undefined {
  if (x.kind === 'gather' && x.mode === 'raise') {
    const [array, indices] = x.inputs as readonly [Expr, Expr];
    const size = array.shape[x.axis]!;
    return { indices, op: x.asked ?? 'take', axis: x.axis, from: -size, size };
  }
  if (x.kind !== 'call' || x.routine !== 'bins') return undefined;
  const [, size, , place] = x.parameters as readonly [number, number, number, number];
  const mode = BIN_MODES[place];
  if (mode !== 'raise' && mode !== 'raiseFromEnd') return undefined;
  return { indices: x.inputs[0]!, op: x.asked ?? 'bins', axis: 0, from: mode === 'raise' ? 0 : -size, size };
}
