/**
 * Estimates what a tape costs in each of its layouts, and takes the cheapest. Called by `tape-sum-order.ts`.
 */

import { loadOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { isReduction } from '../../fusion/kernel/arithmetic.js';
import { type Access, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { inWalks, type Levels } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK, LEAF_STEPS } from '../../shared/layout.js';
import { candidates } from './tape-candidates.js';
import { keepsLoad, type Layout, laneModeOf, loopsOf, paddedWidth, rowStrideOf } from './tape-layout.js';

/** Estimated time of one element of the domain, in lanes of one cheap operation. */
function costOf(kernel: Kernel, levels: Levels, layout: Layout): number {
  const sizes = sizesOf(kernel);
  const isMap = kernel.reduced.length === 0;
  const padded = paddedWidth(layout);
  const block = layout.rows * layout.width;
  const loops = loopsOf(kernel, layout);
  // Blocks that do not hold all there is to reduce are loaded again in each phase.
  const walks = loops.walks.some((loop) => loop.count > 1) ? levels.phases : 1;
  let instructions = 0;
  let lanes = 0;
  const gathered = (access: Access, cost: number): void => {
    const repeats = keepsLoad(access, layout, sizes, loops)
      ? product(loops.tiles.filter((loop) => access.strides[loop.axis] === 0).map((loop) => loop.count))
      : 1;
    lanes += (cost * walks) / Math.min(repeats, 64);
  };
  const access = (affine: Access, bytes: number): void => {
    const mode = laneModeOf(affine, layout, sizes);
    const row = rowStrideOf(affine, layout);
    if (mode.type === 'splat') gathered(affine, row === 0 ? 0 : (0.2 * CHUNK) / layout.width);
    else if (mode.type === 'table') gathered(affine, (row === 0 ? 2 / layout.rows : 2) + 0.05);
    else if (mode.stride === 1) lanes += 0.1;
    else {
      const apart = Math.abs(mode.stride * bytes);
      const tiled = Math.abs(row) === 1 && layout.rows >= 8;
      // Memory comes in lines of 64 bytes, and those in pairs.
      gathered(affine, tiled ? 0.8 + 25 / (layout.rows * bytes) : apart >= CHUNK ? 6 : 1.5);
    }
    // A load that reaches its buffer's rows one by one is cheap only while rows are long.
    lanes += (2 * layout.rows) / block;
  };
  const isWalked = inWalks(kernel, levels);
  kernel.tape.forEach((instruction, i) => {
    if (!isWalked(i) && !isReduction(instruction)) return;
    instructions++;
    const read = loadOf(instruction);
    if (read?.index !== undefined) lanes += GATHER_COST;
    else if (read !== undefined) access(read, byteLengthOf(instruction.dtype));
    else lanes += padded / layout.width;
    if (isReduction(instruction)) {
      const first = kernel.parallel.length;
      const across = layout.laneAxes.length > 0 && layout.laneAxes.every((a) => a >= first);
      // Folding the lanes into one value, for each row of a block or for a whole tile.
      const isRow = layout.width === product(kernel.reduced) && layout.rows > 1;
      if (across) lanes += (isRow ? 256 : 1000) / product(kernel.reduced);
      // Partial results of the lanes are read and written again in each block.
      else lanes += 0.5 / Math.min(layout.rows, LEAF_STEPS);
    }
  });
  for (const store of kernel.stores) {
    if (isMap || levels.element[store.value]) {
      access(store.access, byteLengthOf(kernel.tape[store.value]!.dtype));
    }
  }
  return lanes + (instructions * 24) / block;
}

/** Cost of an element that is gathered: its line is rarely in a cache near by. */
const GATHER_COST = 6;

/** The layout with the least estimated cost among those accepted; the earliest candidate among equals. */
export function cheapestLayout(
  kernel: Kernel,
  levels: Levels,
  accepts: (layout: Layout) => boolean = () => true,
  run = CHUNK,
): Layout | undefined {
  let best: Layout | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const layout of candidates(kernel, levels, run)) {
    if (!accepts(layout)) continue;
    const cost = costOf(kernel, levels, layout);
    if (cost < least) {
      least = cost;
      best = layout;
    }
  }
  return best;
}

/** One element at a time. */
export const SINGLE: Layout = { laneAxes: [], take: 1, inner: 1, width: 1, rowAxis: -1, rows: 1 };
