/**
 * Gives the values of a tape's walks their registers by a linear scan, and joins what can be computed as a
 * chain. Called by `tape-schedule.ts`.
 */

import { affineLoadOf, isUniform, sizesOf, windowIndexOf } from '../../fusion/kernel/algebra.js';
import { castValueOf, costOf, isComputed, isReduction } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import {
  type Blocking,
  isSegmented,
  keepsLoad,
  type Loops,
  laneModeOf,
  paddedWidth,
} from './tape-blocking.js';
import { type Chain, chainWalks, type Item } from './tape-chain.js';
import { operandsOf, type TapeFusion } from './tape-fuse.js';
import { isOfMatrix } from './tape-matrix.js';
import type { Sections } from './tape-sections.js';
import type { Span } from './tape-spans.js';

export type TapeOp =
  | {
      readonly kind: 'value';
      readonly value: number;
      /** Byte offset of its register; -1 for reductions, whose results lie in the row registers. */
      readonly offset: number;
      /** Store that may take the result straight to its buffer, or -1. */
      readonly direct: number;
      /** Load whose memory for the next block is asked for while this value is computed, or -1. */
      readonly prefetch: number;
      /**
       * Whether the register is this load's alone, and need not be filled again while it would be with the
       * same.
       */
      readonly isKept: boolean;
      /** Whether it is a load that chains alone read, which take chunks at its edges from the register. */
      readonly hasEdges: boolean;
    }
  | {
      readonly kind: 'chain';
      readonly chain: Chain;
      /** Registers of its outputs, and stores that may take them straight to a buffer, or -1. */
      readonly offsets: readonly number[];
      readonly directs: readonly number[];
      /** Whether chains and stores alone read an output, which take chunks at its edges from the register. */
      readonly edges: readonly boolean[];
      /** Registers for what its reductions take, where they cannot take it group by group. */
      readonly reducedOffsets: readonly number[];
    }
  | { readonly kind: 'store'; readonly store: number };

export type Section = readonly TapeOp[];
/** Hands out byte ranges of equal shape again once they are free. */
export class Registers {
  byteLength = 0;
  private readonly free = new Map<string, number[]>();
  take(shape: string, bytes: number): number {
    const again = this.free.get(shape)?.pop();
    if (again !== undefined) return again;
    const offset = this.byteLength;
    this.byteLength += bytes;
    return offset;
  }
  give(shape: string, offset: number): void {
    const list = this.free.get(shape);
    if (list === undefined) this.free.set(shape, [offset]);
    else list.push(offset);
  }
}
/** The store of a section that a value may be written to as it is computed, or -1. */
function directStore(
  kernel: Kernel,
  blocking: Blocking,
  span: Span,
  value: number,
  stores: readonly number[],
): number {
  if (windowIndexOf(kernel) !== undefined) return -1;
  if (!isComputed(kernel.tape[value]!)) return -1;
  if ((blocking.rows > 1 && !span.rows) || (blocking.width > 1 && !span.lanes)) return -1;
  const sizes = sizesOf(kernel);
  const fits = stores.find((s) => {
    const { value: stored, access } = kernel.stores[s]!;
    const mode = laneModeOf(access, blocking, sizes);
    return stored === value && mode.type === 'stride' && mode.stride === 1;
  });
  return fits ?? -1;
}
/**
 * For each load, the most expensive op after it that no other load has taken: it computes long enough for
 * memory to answer. Of a block that is kept from walk to walk, it may be in a later one. Maps that op's position to the
 * load's.
 */
function prefetchHosts(
  kernel: Kernel,
  blocking: Blocking,
  values: readonly number[],
): ReadonlyMap<number, number> {
  const hosts = new Map<number, number>();
  const weightOf = (i: number): number =>
    castValueOf(kernel.tape[i]!) === undefined ? costOf(kernel.tape[i]!) : 1;
  const byCost = values.filter((i) => isComputed(kernel.tape[i]!)).sort((a, b) => weightOf(b) - weightOf(a));
  for (const load of values) {
    const instruction = kernel.tape[load]!;
    if (affineLoadOf(instruction) === undefined || !isAskedAhead(blocking, instruction)) continue;
    const host = byCost.findIndex((i) => i > load);
    if (host < 0) return hosts;
    hosts.set(byCost[host]!, load);
    byCost.splice(host, 1);
  }
  return hosts;
}

/**
 * Whether a block of a load asks for the next one in memory. That would displace a longer one from the
 * first-level cache, and hardware follows those by itself.
 */
function isAskedAhead(blocking: Blocking, { dtype }: Instruction): boolean {
  return blocking.rows * paddedWidth(blocking) * byteLengthOf(dtype) <= MOST_AHEAD_BYTES;
}
const MOST_AHEAD_BYTES = 16 * 1024;

const writesOutput = ({ operands }: Chain['steps'][number]): boolean =>
  operands.some(({ kind }) => kind === 'output');

/** The items of walks whose values outlive them. */
function chainsOf(
  kernel: Kernel,
  fusion: TapeFusion,
  walks: Sections['walks'],
  blocking: Blocking,
  spans: readonly Span[],
): Item[][] {
  // Reductions of each row by itself have no leaves that groups could go to.
  const segmented = isSegmented(kernel, blocking);
  const keyOf = (i: number): string | undefined => {
    const instruction = kernel.tape[i]!;
    const isSum = isReduction(instruction);
    if (isSum && segmented) return undefined;
    const span = spans[isSum ? argumentsOf(instruction)[0]! : i]!;
    return `${instruction.dtype} ${span.rows} ${span.lanes}`;
  };
  const isStreamed = (i: number): boolean => {
    const instruction = kernel.tape[i]!;
    const read = affineLoadOf(instruction);
    if (read === undefined || read.bounds.length > 0 || !isAskedAhead(blocking, instruction)) return false;
    const mode = laneModeOf(read, blocking, sizesOf(kernel));
    return mode.type === 'stride' && mode.stride === 1;
  };
  const stored = new Set(walks.flatMap(({ stores }) => stores.map((s) => kernel.stores[s]!.value)));
  return chainWalks(
    kernel,
    fusion,
    walks.map(({ values }) => values),
    keyOf,
    (i) => stored.has(i),
    isStreamed,
  );
}

/**
 * Linear scan over sections whose values live from one to the next. All registers are free again at the end.
 */
export function placeSections(
  kernel: Kernel,
  fusion: TapeFusion,
  walks: Sections['walks'],
  registers: Registers,
  shapeOf: (i: number) => { key: string; bytes: number },
  blocking: Blocking,
  loops: Loops,
  spans: readonly Span[],
): Section[] {
  const lastUse = new Map<number, number>();
  const itemsOf = chainsOf(kernel, fusion, walks, blocking, spans);
  const readBy = (item: Item): readonly number[] =>
    item.kind === 'chain' ? item.chain.inputs : operandsOf(kernel, fusion, item.value);
  const writtenBy = (item: Item): readonly number[] =>
    item.kind === 'chain' ? item.chain.outputs : [item.value];
  const isPlain = (chain: Chain): boolean => chain.reductions.length === 0;
  const others = itemsOf.flat().filter((item) => item.kind === 'value' || !isPlain(item.chain));
  /**
   * Whether all that read a value find chunks at its edges in a register; of stores, as many as there may be.
   */
  const hasEdges = (value: number, stores: number): boolean =>
    !others.some((item) => readBy(item).includes(value)) &&
    kernel.stores.filter((store) => store.value === value).length === stores;
  const isEdged = (value: number): boolean =>
    affineLoadOf(kernel.tape[value]!) !== undefined && hasEdges(value, 0);
  const window = windowIndexOf(kernel);
  // Values that are the same for all places are read once, not in each block, where there are many.
  const keepsUniform = isOfMatrix(kernel);
  let time = 0;
  for (const [w, { stores }] of walks.entries()) {
    for (const item of itemsOf[w]!) {
      for (const arg of readBy(item)) lastUse.set(arg, time);
      for (const value of writtenBy(item)) lastUse.set(value, time);
      time++;
    }
    for (const s of stores) lastUse.set(kernel.stores[s]!.value, time);
    // Stores ask for it which elements to write.
    if (window !== undefined && stores.length > 0) lastUse.set(window, time);
    time++;
  }
  const offsets = new Map<number, number>();
  /** Results of chains that are in the place of a store but for chunks at the edges. */
  const edged = new Set<number>();
  const release = (value: number): void => {
    const offset = offsets.get(value);
    if (offset === undefined) return;
    registers.give(shapeOf(value).key, offset);
    offsets.delete(value);
  };
  time = 0;
  const hosts = prefetchHosts(
    kernel,
    blocking,
    itemsOf.flat().flatMap((item) => (item.kind === 'value' ? [item.value] : [])),
  );
  const placeChain = (chain: Chain, stores: readonly number[]): TapeOp => {
    // A result may lie where an argument ends only if no later step reads.
    const { outputs, reductions, steps } = chain;
    const isLast =
      reductions.length === 0 && outputs.length === 1 && steps.findIndex(writesOutput) === steps.length - 1;
    const directs = outputs.map((value) => directStore(kernel, blocking, spans[value]!, value, stores));
    const edges = outputs.map((value) => isPlain(chain) && hasEdges(value, 1));
    // Chunks at edges lie elsewhere in a register than those of a whole result, of loads and of results in their place.
    const hasOwnEdges = edges.map((isEdge, k) => isEdge && directs[k]! >= 0);
    const isAlike = (arg: number): boolean => !(isEdged(arg) || edged.has(arg)) || hasOwnEdges[0]!;
    for (const [k, value] of outputs.entries()) if (hasOwnEdges[k]!) edged.add(value);
    if (isLast) for (const arg of chain.inputs) if (lastUse.get(arg) === time && isAlike(arg)) release(arg);
    const registerOf = (value: number): number => {
      const { key, bytes } = shapeOf(value);
      const offset = registers.take(key, bytes);
      offsets.set(value, offset);
      return offset;
    };
    const { key, bytes } = shapeOf(chain.value);
    const placed = {
      offsets: chain.outputs.map(registerOf),
      directs,
      edges,
      reducedOffsets: chain.reductions.map(() => registers.take(key, bytes)),
    };
    for (const offset of placed.reducedOffsets) registers.give(key, offset);
    for (const value of new Set([...chain.inputs, ...chain.outputs]))
      if (lastUse.get(value) === time) release(value);
    return { kind: 'chain', chain, ...placed };
  };
  const sections = walks.map(({ stores }, w): Section => {
    const items = itemsOf[w]!;
    const ops: TapeOp[] = [];
    for (const item of items) {
      if (item.kind === 'chain') {
        ops.push(placeChain(item.chain, stores));
        time++;
        continue;
      }
      const { value } = item;
      const instruction = kernel.tape[value]!;
      // Functions work lane by lane, so a result may lie where an argument of its shape ends.
      for (const arg of new Set(operandsOf(kernel, fusion, value)))
        if (lastUse.get(arg) === time) release(arg);
      let offset = -1;
      const read = affineLoadOf(instruction);
      const isKept =
        read !== undefined &&
        ((keepsUniform && isUniform(read)) || keepsLoad(read, blocking, sizesOf(kernel), loops));
      if (!isReduction(instruction)) {
        const { key, bytes } = shapeOf(value);
        offset = registers.take(isKept ? `kept ${value}` : key, bytes);
        if (!isKept) offsets.set(value, offset);
        if (lastUse.get(value) === time) release(value);
      }
      const direct = directStore(kernel, blocking, spans[value]!, value, stores);
      ops.push({
        kind: 'value',
        value,
        offset,
        direct,
        prefetch: hosts.get(value) ?? -1,
        isKept,
        hasEdges: isEdged(value),
      });
      time++;
    }
    for (const store of stores) ops.push({ kind: 'store', store });
    for (const s of stores)
      if (lastUse.get(kernel.stores[s]!.value) === time) release(kernel.stores[s]!.value);
    if (window !== undefined && lastUse.get(window) === time) release(window);
    time++;
    return ops;
  });
  for (const value of [...offsets.keys()]) release(value);
  return sections;
}
