/**
 * Stretches of the stored elements of sparse rows: where blocks of rows begin and end depends on data, so that no plan
 * knows which elements a block reads. Where a graph does not fit whole, or several devices share it, the starts of up to
 * 1,024 blocks are computed before it (`exec/run/row-stretches.ts`) and become parameters of its calls, behind their own:
 *
 *     rows of a block, blocks, then for each line of starts: the start of each block, and the last end
 *
 * and, where the second matrix of a product does not fit, which rows of it each block reads (`row-reach.ts`). The routines are
 * the same, and so are the bits: parameters say what a range of units touches (`exec/calls/sparse-product.ts`,
 * `sparse-units.ts`).
 */
import { slice } from './basic-slicing.js';
import type { Expr, ExprOf } from './expr.js';
import { cast } from './infer.js';
import { concat } from './joins.js';
import { OTHER_WAYS } from './other-ways.js';
import { type Call, ROW_LINES, type RowLine, splitParameters } from './row-lines.js';
import { type ReachedRows, type RowReach, reachedRows } from './row-reach.js';

/** Blocks that rows are cut into, at most. */
const MOST_BLOCKS = 1024;

/** The rows of a block. */
export const blockRows = (rows: number): number => Math.max(1, Math.ceil(rows / MOST_BLOCKS));

/** A call whose operands or results are read or written in stretches of rows. */
export interface StretchedCall {
  /** Its node; of one in the body of a loop, that of the loop first. */
  readonly path: readonly number[];
  readonly lines: readonly RowLine[];
  /** Of a product of two sparse matrices that is in no loop: the lines that say which rows of the second one are read. */
  readonly reach?: RowReach;
}

const NONE: readonly StretchedCall[] = [];

/** Such calls in a node: itself, or those in the body of a loop whose starts no step changes. */
export function stretchedCalls(
  x: Expr,
  id: number,
  inBody: readonly StretchedCall[],
): readonly StretchedCall[] {
  if (x.kind !== 'call' && x.kind !== 'loop') return NONE;
  if (x.kind === 'call') {
    const known = ROW_LINES[x.routine];
    if (known === undefined) return NONE;
    // Nodes that a call stands for are made where their lines are asked for.
    const call = {
      path: [id],
      get lines() {
        return rowLines(x);
      },
    };
    const { second } = known;
    if (second === undefined) return [call];
    const [starts, places, others] = [0, 1, second].map((k) => x.inputs[k]!) as [Expr, Expr, Expr];
    const reach = { starts, places, others, stored: x.inputs[second + 1]!.shape[0]! };
    return [{ path: [id], lines: call.lines, reach }];
  }
  const states = x.loop.next.length;
  return inBody.flatMap(({ path, lines }) => {
    const captured = lines.flatMap(({ starts, stored }) => {
      const at = starts.kind === 'source' && starts.source.type === 'argument' ? starts.source.index : -1;
      return at < states ? [] : [{ starts: x.inputs[at]!, stored }];
    });
    return captured.length < lines.length ? [] : [{ path: [id, ...path], lines: captured }];
  });
}

/** By the inputs of a call, which its results share. */
const linesOfWays = new WeakMap<readonly Expr[], readonly RowLine[]>();

/** The lines of starts of a call. */
function rowLines({ routine, inputs, parameters }: ExprOf<'call'>): readonly RowLine[] {
  const known = ROW_LINES[routine];
  if (known === undefined) return [];
  // Behind a line of starts are the columns.
  const made = OTHER_WAYS[routine]?.lines;
  if (made === undefined)
    return known.starts!.map((k) => ({
      starts: inputs[k]!,
      stored: inputs[k + 1]?.shape[0] ?? parameters[known.bound!]!,
    }));
  const lines = linesOfWays.get(inputs) ?? made(inputs, parameters);
  linesOfWays.set(inputs, lines);
  return lines;
}

const startsOf = new WeakMap<Expr, Expr>();

/** The int64 start of each block of rows, and the last end. */
export function blockStarts(starts: Expr): Expr {
  let found = startsOf.get(starts);
  if (found === undefined) {
    const rows = starts.shape[0]! - 1;
    const first = slice(starts, [0, rows, blockRows(rows)]);
    found = cast(concat([first, slice(starts, [rows, rows + 1])]), 'int64');
    startsOf.set(starts, found);
  }
  return found;
}

const linesBelow = new WeakMap<Expr, readonly Expr[]>();

/** The starts of blocks that calls below a line, in no loop, may have as parameters. */
export function startLines(line: Expr): readonly Expr[] {
  const known = linesBelow.get(line);
  if (known !== undefined) return known;
  const seen = new Set([line]);
  const lines: Expr[] = [];
  for (const x of seen) {
    if (x.kind === 'call') lines.push(...rowLines(x).map(({ starts }) => blockStarts(starts)));
    for (const input of x.inputs) seen.add(input);
  }
  linesBelow.set(line, lines);
  return lines;
}

/** The blocks of rows of a call whose starts are known. */
export interface KnownBlocks {
  readonly count: number;
  /** Rows of a block, the last one fewer. */
  readonly rows: number;
  /** Where a block begins in line number `line`; of one behind the last one, the end. */
  readonly startOf: (line: number, block: number) => number;
  /** The rows of a second matrix that blocks [first, last) read; undefined: any of them. */
  readonly reached: ((first: number, last: number) => ReachedRows) | undefined;
}

/** Undefined: they are not known. */
export function knownBlocks(call: Call): KnownBlocks | undefined {
  const [, blocks] = splitParameters(call);
  if (blocks === undefined) return undefined;
  const { rows, count, starts, reach } = blocks;
  return {
    count,
    rows,
    startOf: (line, block) => starts[line * (count + 1) + Math.min(block, count)]!,
    reached: reach.length === 0 ? undefined : (first, last) => reachedRows(reach, first, last),
  };
}
