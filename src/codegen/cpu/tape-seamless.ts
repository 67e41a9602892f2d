/**
 * Maps of one axis that read and write everything in place: lanes of several blocks are walked as one block
 * (`TapeWorker::runTiles`), since registers of a block hold no more than chunks of equal lanes. `tape.ts` writes into the
 * tape how many, `tape-tally.ts` counts blocks by it; `native/cpu/tape-seamless.h` refuses a tape for which it does not hold.
 */
import { loadOf, sizesOf, windowIndexOf } from '../../fusion/kernel/algebra.js';
import { isComputed } from '../../fusion/kernel/arithmetic.js';
import { type Access, product } from '../../fusion/kernel/kernel.js';
import { laneModeOf } from './tape-blocking.js';
import type { TapePlan } from './tape-plan.js';
import type { TapeOp } from './tape-registers.js';

/** Lanes of blocks that are one, at most: a job is cancelled between them. */
const MOST_TOGETHER = 2 ** 18;

/** As how many blocks a kernel's are walked by one thread. */
export function joinedBlocks(plan: TapePlan, blocks: number): number {
  const lanes = seamlessLanes(plan);
  return lanes === 0 ? blocks : Math.min(blocks, Math.ceil(product(sizesOf(plan.kernel)) / lanes));
}

/** Lanes that are one block, at most; 0: blocks are walked by themselves. */
export const seamlessLanes = (plan: TapePlan): number => (isSeamless(plan) ? MOST_TOGETHER : 0);

function isSeamless({ kernel, schedule, blocking, loops }: TapePlan): boolean {
  const { walks, rowSections, spans } = schedule;
  const [loop] = loops.tiles;
  const isOneLoop = loops.walks.length === 0 && loops.tiles.length === 1 && loop!.role === 'lanes';
  if (!isOneLoop || blocking.inner !== 1 || windowIndexOf(kernel) !== undefined) return false;
  if (walks.length !== 1 || rowSections.some((section) => section.length > 0)) return false;
  const sizes = sizesOf(kernel);
  const extent = sizes[loop!.axis]!;
  const isInPlace = (access: Access): boolean => {
    const mode = laneModeOf(access, blocking, sizes);
    const { buffer, offset, strides, bounds } = access;
    const isWithin = offset >= 0 && offset + extent <= kernel.buffers[buffer]!.elementCount;
    return (
      isWithin &&
      bounds.length === 0 &&
      strides[loop!.axis] === 1 &&
      mode.type === 'stride' &&
      mode.stride === 1
    );
  };
  const isDirect = (store: number): boolean => store >= 0 && isInPlace(kernel.stores[store]!.access);
  const isWalkedOn = (op: TapeOp): boolean => {
    if (op.kind === 'chain') {
      const { value, reductions } = op.chain;
      return spans[value]!.lanes && reductions.length === 0 && op.directs.every(isDirect);
    }
    if (op.kind === 'store') {
      const { value, access } = kernel.stores[op.store]!;
      return spans[value]!.lanes && isInPlace(access);
    }
    const varies = spans[op.value]!.lanes;
    const instruction = kernel.tape[op.value]!;
    const read = loadOf(instruction);
    if (read !== undefined)
      return read.index === undefined && (varies ? isInPlace(read) : read.bounds.length === 0);
    return isComputed(instruction) && (!varies || isDirect(op.direct));
  };
  return walks[0]!.every(isWalkedOn);
}
