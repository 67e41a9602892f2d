/**
 * Orders a kernel's instructions into sections for the CPU tape and gives every value a place.
 *
 * A tile runs its row section 0, then for each phase a walk over the blocks of the reduced axes and the row
 * section after it. Where one block holds all reduced elements, values stay in their registers from walk to
 * walk; otherwise each walk recomputes what it needs. Where rows are reduced by themselves, the last row section
 * has them as its lanes, if all that it takes comes from the last walk. Called by `tape.ts`, after the blocking is chosen.
 */

import { isReduction } from '../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import { inWalks, type Levels } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK } from '../../shared/layout.js';
import { acrossRows, type Blocking, type Loops, paddedWidth } from './tape-blocking.js';
import { fuseTape, type TapeFusion } from './tape-fuse.js';
import { placeSections, Registers, type Section, type TapeOp } from './tape-registers.js';
import { placeRows } from './tape-row-registers.js';
import { sectionsOf } from './tape-sections.js';
import { type Span, spansOf, turnedValues } from './tape-spans.js';
import { slotBlocksOf } from './tape-sum-order.js';

export interface TapeSchedule {
  readonly spans: readonly Span[];
  /** How the last row section is walked, where its lanes are the rows of blocks. */
  readonly across: Blocking | undefined;
  /** Instructions that are computed as one. */
  readonly fusion: TapeFusion;
  /** Row sections, one more than walks. */
  readonly rowSections: readonly Section[];
  readonly walks: readonly Section[];
  /** Whether one block holds all reduced elements, so that values outlive their walk. */
  readonly keepsBlock: boolean;
  /** Byte offset of each row-level value in the row registers, -1 for others. */
  readonly rowOffsets: readonly number[];
  readonly rowByteLength: number;
  readonly blockByteLength: number;
  /** Blocks of the reduced axes whose partial results are combined before they meet others. */
  readonly slotBlocks: number;
}

export function scheduleOf(kernel: Kernel, levels: Levels, blocking: Blocking, loops: Loops): TapeSchedule {
  const blockSpans = spansOf(kernel, blocking);
  const walkBlocks = product(loops.walks.map((loop) => loop.count));
  const keepsBlock = walkBlocks <= 1;
  const inBlock = inWalks(kernel, levels);
  const fusion = fuseTape(kernel, levels, (inner, outer) => {
    if (isReduction(kernel.tape[outer]!)) return true;
    const [a, b] = [blockSpans[inner]!, blockSpans[outer]!];
    return a.rows === b.rows && a.lanes === b.lanes && inBlock(inner) === inBlock(outer);
  });
  const order = sectionsOf(kernel, levels, fusion, keepsBlock);
  const turned = turnedValues(kernel, levels, blocking, fusion, order);
  const across = turned.size > 0 ? acrossRows(blocking) : undefined;
  const acrossSpans = across === undefined ? blockSpans : spansOf(kernel, across);
  const spans = blockSpans.map((span, i) => (turned.has(i) ? acrossSpans[i]! : span));
  const shapeOf = (i: number): { key: string; bytes: number } => {
    const rows = spans[i]!.rows ? blocking.rows : 1;
    const lanes = spans[i]!.lanes ? paddedWidth(turned.has(i) ? across! : blocking) : CHUNK;
    const size = byteLengthOf(kernel.tape[i]!.dtype);
    return { key: `${rows}x${lanes}x${size}`, bytes: rows * lanes * size };
  };

  const { offsets: rowOffsets, byteLength: rowByteLength } = placeRows(
    kernel,
    levels,
    fusion,
    order,
    shapeOf,
  );
  const rowSections = order.rows.map(({ values, stores }): Section => {
    return [
      ...values.map(
        (value): TapeOp => ({
          kind: 'value',
          value,
          offset: rowOffsets[value]!,
          direct: -1,
          prefetch: -1,
          isKept: false,
          hasEdges: false,
        }),
      ),
      ...stores.map((store): TapeOp => ({ kind: 'store', store })),
    ];
  });

  const registers = new Registers();
  const walks = keepsBlock
    ? placeSections(kernel, fusion, order.walks, registers, shapeOf, blocking, loops, spans)
    : order.walks.flatMap((walk) =>
        placeSections(kernel, fusion, [walk], registers, shapeOf, blocking, loops, spans),
      );
  return {
    spans,
    across,
    fusion,
    rowSections,
    walks,
    keepsBlock,
    rowOffsets,
    rowByteLength,
    blockByteLength: registers.byteLength,
    slotBlocks: slotBlocksOf(kernel, blocking),
  };
}
