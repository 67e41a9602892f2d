/**
 * Maps of one axis that read and write everything in place: threads walk lanes of several blocks as one block, as
 * `TapeWorker::runTiles` does. Called by `tape-tally.ts`.
 */
import { loadOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Access, product } from '../../fusion/kernel/kernel.js';
import { laneModeOf } from './tape-blocking.js';
import type { TapePlan } from './tape-plan.js';
import type { TapeOp } from './tape-registers.js';

/** Lanes of blocks that are one, at most: as in `tape-worker.cpp`. */
const MOST_TOGETHER = 2 ** 18;

/** As how many blocks a kernel's are walked by one thread. */
export function joinedBlocks(plan: TapePlan, blocks: number): number {
  return isSeamless(plan)
    ? Math.min(blocks, Math.ceil(product(sizesOf(plan.kernel)) / MOST_TOGETHER))
    : blocks;
}

function isSeamless({ kernel, schedule, blocking, loops }: TapePlan): boolean {
  const { walks, rowSections, spans } = schedule;
  const isOneLoop = loops.walks.length === 0 && loops.tiles.length === 1 && loops.tiles[0]!.role === 'lanes';
  if (!isOneLoop || walks.length !== 1 || rowSections.some((section) => section.length > 0)) return false;
  const sizes = sizesOf(kernel);
  const isInPlace = (access: Access): boolean => {
    const mode = laneModeOf(access, blocking, sizes);
    return access.bounds.length === 0 && mode.type === 'stride' && mode.stride === 1;
  };
  const isDirect = (store: number): boolean => store >= 0 && isInPlace(kernel.stores[store]!.access);
  return walks[0]!.every((op: TapeOp) => {
    if (op.kind === 'chain') return op.chain.reductions.length === 0 && op.directs.every(isDirect);
    if (op.kind === 'store') return isInPlace(kernel.stores[op.store]!.access);
    if (!spans[op.value]!.lanes) return true;
    const read = loadOf(kernel.tape[op.value]!);
    return read === undefined ? isDirect(op.direct) : read.index === undefined && isInPlace(read);
  });
}
