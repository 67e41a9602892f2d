/**
 * Orders a kernel's instructions into sections for the CPU tape and gives every value a place.
 *
 * A tile runs its row section 0, then for each phase a walk over the blocks of the reduced axes and the row section
 * after it. Where one block holds all reduced elements, values stay in their registers from walk to walk; otherwise
 * each walk recomputes what it needs. Called by `tape.ts`, after the layout is chosen.
 */
import { InternalError } from '../errors.js';
import {
  type Affine,
  argumentsOf,
  type Instruction,
  type Kernel,
  type Levels,
  product,
  type Store,
} from '../fusion/kernel.js';
import { byteLengthOf } from '../graph/dtype.js';
import { opRow } from '../graph/ops.js';
import { type Chain, chainWalks, type Item } from './tape-chain.js';
import { fuseTape, type TapeFusion } from './tape-fuse.js';
import {
  CHUNK,
  keepsLoad,
  type Layout,
  type Loops,
  laneKindOf,
  laneModeOf,
  loopsOf,
  paddedWidth,
  rowStrideOf,
  sizesOf,
} from './tape-layout.js';

/** Which of a block's dimensions a value varies along; along the others it has one row, or one chunk of equal lanes. */
export interface Span {
  readonly rows: boolean;
  readonly lanes: boolean;
}

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
      /** Whether the register is this load's alone, and need not be filled again while it would be with the same. */
      readonly isKept: boolean;
    }
  | {
      readonly kind: 'chain';
      readonly chain: Chain;
      /** Registers of its outputs, and stores that may take them straight to a buffer, or -1. */
      readonly offsets: readonly number[];
      readonly directs: readonly number[];
      /** Registers for what its reductions take, where they cannot take it group by group. */
      readonly reducedOffsets: readonly number[];
    }
  | { readonly kind: 'store'; readonly store: number };

export type Section = readonly TapeOp[];

export interface TapeSchedule {
  readonly spans: readonly Span[];
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

function spansOf(kernel: Kernel, layout: Layout): Span[] {
  const sizes = sizesOf(kernel);
  const first = kernel.parallel.length;
  const resultSpan: Span = {
    rows: layout.rowAxis >= 0 && layout.rowAxis < first,
    lanes: layout.laneAxes.some((axis) => axis < first),
  };
  const along = (affines: readonly Affine[]): Span => ({
    rows: affines.some((a) => rowStrideOf(a, layout) !== 0),
    lanes: affines.some((a) => laneModeOf(a, layout, sizes).type !== 'splat'),
  });
  const spans: Span[] = [];
  const span = (instruction: Instruction): Span => {
    switch (instruction.kind) {
      case 'load':
        return along([instruction.access, ...instruction.access.bounds]);
      case 'index':
        return along([instruction.affine]);
      case 'inside':
        return along(instruction.bounds);
      case 'const':
        return { rows: false, lanes: false };
      case 'reduce':
        return resultSpan;
      case 'map':
      case 'cast':
        return {
          rows: instruction.args.some((arg) => spans[arg]!.rows),
          lanes: instruction.args.some((arg) => spans[arg]!.lanes),
        };
    }
  };
  for (const instruction of kernel.tape) spans.push(span(instruction));
  return spans;
}

/** Hands out byte ranges of equal shape again once they are free. */
class Registers {
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

/** Values and stores of each section, before registers. */
interface Order {
  readonly rows: { readonly values: number[]; readonly stores: number[] }[];
  readonly walks: { readonly values: number[]; readonly stores: number[] }[];
}

/** Values that an instruction reads, or that its function does. */
const operandsOf = (kernel: Kernel, fusion: TapeFusion, i: number): readonly number[] =>
  fusion.functions.get(i)?.args ?? argumentsOf(kernel.tape[i]!);

function orderOf(kernel: Kernel, levels: Levels, fusion: TapeFusion, keepsBlock: boolean): Order {
  const { tape, stores } = kernel;
  const isMap = kernel.reduced.length === 0;
  const inBlock = (i: number): boolean => tape[i]!.kind !== 'const' && (isMap || levels.element[i]!);
  /** Walk before which a value is known, if it is at row level, or in which it is computed. */
  const known = (i: number): number => levels.phase[i]! + (tape[i]!.kind === 'reduce' ? 1 : 0);
  const first = kernel.parallel.length;
  const onReduced = (store: Store): boolean => store.access.strides.some((s, k) => k >= first && s !== 0);

  let phases = levels.phases;
  for (const store of stores) if (onReduced(store)) phases = Math.max(phases, known(store.value) + 1);
  const empty = () => ({ values: [] as number[], stores: [] as number[] });
  const rows = Array.from({ length: phases + 1 }, empty);
  const walks = Array.from({ length: phases }, empty);

  stores.forEach((store, s) => {
    const section = isMap || onReduced(store) ? walks : rows;
    if (section === rows && inBlock(store.value)) {
      throw new InternalError(`[tape] kernel ${kernel.name} stores element value %${store.value} once a row`);
    }
    section[isMap ? 0 : known(store.value)]!.stores.push(s);
  });
  tape.forEach((instruction, i) => {
    if (instruction.kind === 'const' || instruction.kind === 'reduce' || inBlock(i) || fusion.absorbed[i])
      return;
    rows[known(i)]!.values.push(i);
  });
  const done = tape.map(() => false);
  for (const [p, walk] of walks.entries()) {
    const wanted = tape.map((instruction, i) => instruction.kind === 'reduce' && levels.phase[i] === p);
    for (const s of walk.stores) wanted[stores[s]!.value] ||= inBlock(stores[s]!.value);
    for (let i = tape.length - 1; i >= 0; i--) {
      if (!wanted[i] || done[i]) continue;
      for (const arg of operandsOf(kernel, fusion, i)) wanted[arg] ||= inBlock(arg);
    }
    tape.forEach((_, i) => {
      if (!wanted[i] || done[i]) return;
      walk.values.push(i);
      if (keepsBlock) done[i] = true;
    });
  }
  return { rows, walks };
}

/** The store of a section that a value may be written to as it is computed, or -1. */
function directStore(
  kernel: Kernel,
  layout: Layout,
  span: Span,
  value: number,
  stores: readonly number[],
): number {
  const { kind } = kernel.tape[value]!;
  if (kind !== 'map' && kind !== 'cast') return -1;
  if ((layout.rows > 1 && !span.rows) || (layout.width > 1 && !span.lanes)) return -1;
  const sizes = sizesOf(kernel);
  const fits = stores.find((s) => {
    const { value: stored, access } = kernel.stores[s]!;
    const mode = laneModeOf(access, layout, sizes);
    return stored === value && mode.type === 'stride' && mode.stride === 1;
  });
  return fits ?? -1;
}

/**
 * Reduced elements of a slot at least, by what its lanes lie on: as many as it takes to be much more than its partial
 * results. Rows of a hundred columns and more come a few hundred at a time, so that few of them can pass in tiles.
 */
const SLOT_ELEMENTS = { parallel: 512, both: 4096, reduced: 65536 } as const;

/** Partial results meet others after this many reduced elements: a function of the reduced axes, never of threads. */
function slotBlocksOf(kernel: Kernel, layout: Layout, walkBlocks: number): number {
  const total = product(kernel.reduced);
  const perBlock = total / Math.max(1, walkBlocks);
  const elements = Math.max(SLOT_ELEMENTS[laneKindOf(kernel, layout)], total / 256);
  return Math.max(1, Math.round(elements / perBlock));
}

export function scheduleOf(kernel: Kernel, levels: Levels, layout: Layout): TapeSchedule {
  const spans = spansOf(kernel, layout);
  const loops = loopsOf(kernel, layout);
  const walkBlocks = product(loops.walks.map((loop) => loop.count));
  const keepsBlock = walkBlocks <= 1;
  const isMap = kernel.reduced.length === 0;
  const fusion = fuseTape(kernel, levels, (inner, outer) => {
    const [a, b] = [spans[inner]!, spans[outer]!];
    if (kernel.tape[outer]!.kind === 'reduce') return true;
    return (
      a.rows === b.rows && a.lanes === b.lanes && (isMap || levels.element[inner] === levels.element[outer])
    );
  });
  const order = orderOf(kernel, levels, fusion, keepsBlock);
  const padded = paddedWidth(layout);
  const shapeOf = (i: number): { key: string; bytes: number } => {
    const rows = spans[i]!.rows ? layout.rows : 1;
    const lanes = spans[i]!.lanes ? padded : CHUNK;
    const size = byteLengthOf(kernel.tape[i]!.dtype);
    return { key: `${rows}x${lanes}x${size}`, bytes: rows * lanes * size };
  };

  const rowOffsets = kernel.tape.map(() => -1);
  let rowByteLength = 0;
  const placeRow = (i: number): void => {
    rowOffsets[i] = rowByteLength;
    rowByteLength += shapeOf(i).bytes;
  };
  kernel.tape.forEach((instruction, i) => {
    if (instruction.kind === 'reduce') placeRow(i);
  });
  const rowSections = order.rows.map(({ values, stores }): Section => {
    values.forEach(placeRow);
    return [
      ...values.map(
        (value): TapeOp => ({
          kind: 'value',
          value,
          offset: rowOffsets[value]!,
          direct: -1,
          prefetch: -1,
          isKept: false,
        }),
      ),
      ...stores.map((store): TapeOp => ({ kind: 'store', store })),
    ];
  });

  const registers = new Registers();
  const walks = keepsBlock
    ? placeSections(kernel, fusion, order.walks, registers, shapeOf, layout, loops, spans)
    : order.walks.flatMap((walk) =>
        placeSections(kernel, fusion, [walk], registers, shapeOf, layout, loops, spans),
      );
  return {
    spans,
    fusion,
    rowSections,
    walks,
    keepsBlock,
    rowOffsets,
    rowByteLength,
    blockByteLength: registers.byteLength,
    slotBlocks: slotBlocksOf(kernel, layout, walkBlocks),
  };
}

/**
 * For each load, the most expensive op after it that no other load has taken: it computes long enough for memory to
 * answer. Maps that op's position to the load's.
 */
function prefetchHosts(kernel: Kernel, values: readonly number[]): ReadonlyMap<number, number> {
  const hosts = new Map<number, number>();
  const costOf = (i: number): number => {
    const instruction = kernel.tape[i]!;
    if (instruction.kind === 'map') return opRow(instruction.op).cost;
    return instruction.kind === 'cast' ? 1 : -1;
  };
  const byCost = values.filter((i) => costOf(i) >= 0).sort((a, b) => costOf(b) - costOf(a));
  for (const load of values) {
    if (kernel.tape[load]!.kind !== 'load') continue;
    const host = byCost.findIndex((i) => i > load);
    if (host < 0) return hosts;
    hosts.set(byCost[host]!, load);
    byCost.splice(host, 1);
  }
  return hosts;
}

const writesOutput = ({ places }: Chain['steps'][number]): boolean =>
  places.some(({ kind }) => kind === 'output');

/** The items of walks whose values outlive them. */
function chainsOf(
  kernel: Kernel,
  fusion: TapeFusion,
  walks: Order['walks'],
  layout: Layout,
  spans: readonly Span[],
): Item[][] {
  const first = kernel.parallel.length;
  // Reductions of each row by itself have no leaves that groups could go to.
  const segmented =
    layout.laneAxes.length > 0 &&
    layout.laneAxes.every((axis) => axis >= first) &&
    layout.rows > 1 &&
    layout.rowAxis < first;
  const keyOf = (i: number): string | undefined => {
    const instruction = kernel.tape[i]!;
    const isReduce = instruction.kind === 'reduce';
    if (isReduce && segmented) return undefined;
    const span = spans[isReduce ? instruction.args[0]! : i]!;
    return `${instruction.dtype} ${span.rows} ${span.lanes}`;
  };
  const isStreamed = (i: number): boolean => {
    const instruction = kernel.tape[i]!;
    if (instruction.kind !== 'load' || instruction.access.bounds.length > 0) return false;
    const mode = laneModeOf(instruction.access, layout, sizesOf(kernel));
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

/** Linear scan over sections whose values live from one to the next. All registers are free again at the end. */
function placeSections(
  kernel: Kernel,
  fusion: TapeFusion,
  walks: Order['walks'],
  registers: Registers,
  shapeOf: (i: number) => { key: string; bytes: number },
  layout: Layout,
  loops: Loops,
  spans: readonly Span[],
): Section[] {
  const lastUse = new Map<number, number>();
  const itemsOf = chainsOf(kernel, fusion, walks, layout, spans);
  const readBy = (item: Item): readonly number[] =>
    item.kind === 'chain' ? item.chain.inputs : operandsOf(kernel, fusion, item.value);
  const writtenBy = (item: Item): readonly number[] =>
    item.kind === 'chain' ? item.chain.outputs : [item.value];
  let time = 0;
  for (const [w, { stores }] of walks.entries()) {
    for (const item of itemsOf[w]!) {
      for (const arg of readBy(item)) lastUse.set(arg, time);
      for (const value of writtenBy(item)) lastUse.set(value, time);
      time++;
    }
    for (const s of stores) lastUse.set(kernel.stores[s]!.value, time);
    time++;
  }
  const offsets = new Map<number, number>();
  const release = (value: number): void => {
    const offset = offsets.get(value);
    if (offset === undefined) return;
    registers.give(shapeOf(value).key, offset);
    offsets.delete(value);
  };
  time = 0;
  const placeChain = (chain: Chain, stores: readonly number[]): TapeOp => {
    // A result may lie where an argument ends only if no later step reads.
    const { outputs, reductions, steps } = chain;
    const isLast =
      reductions.length === 0 && outputs.length === 1 && steps.findIndex(writesOutput) === steps.length - 1;
    if (isLast) for (const arg of chain.inputs) if (lastUse.get(arg) === time) release(arg);
    const registerOf = (value: number): number => {
      const { key, bytes } = shapeOf(value);
      const offset = registers.take(key, bytes);
      offsets.set(value, offset);
      return offset;
    };
    const { key, bytes } = shapeOf(chain.value);
    const placed = {
      offsets: chain.outputs.map(registerOf),
      directs: chain.outputs.map((value) => directStore(kernel, layout, spans[value]!, value, stores)),
      reducedOffsets: chain.reductions.map(() => registers.take(key, bytes)),
    };
    for (const offset of placed.reducedOffsets) registers.give(key, offset);
    for (const value of new Set([...chain.inputs, ...chain.outputs]))
      if (lastUse.get(value) === time) release(value);
    return { kind: 'chain', chain, ...placed };
  };
  const sections = walks.map(({ stores }, w): Section => {
    const items = itemsOf[w]!;
    const hosts = prefetchHosts(
      kernel,
      items.flatMap((item) => (item.kind === 'value' ? [item.value] : [])),
    );
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
      const isKept =
        instruction.kind === 'load' && keepsLoad(instruction.access, layout, sizesOf(kernel), loops);
      if (instruction.kind !== 'reduce') {
        const { key, bytes } = shapeOf(value);
        offset = registers.take(isKept ? `kept ${value}` : key, bytes);
        if (!isKept) offsets.set(value, offset);
        if (lastUse.get(value) === time) release(value);
      }
      const direct = directStore(kernel, layout, spans[value]!, value, stores);
      ops.push({ kind: 'value', value, offset, direct, prefetch: hosts.get(value) ?? -1, isKept });
      time++;
    }
    for (const store of stores) ops.push({ kind: 'store', store });
    for (const s of stores)
      if (lastUse.get(kernel.stores[s]!.value) === time) release(kernel.stores[s]!.value);
    time++;
    return ops;
  });
  for (const value of [...offsets.keys()]) release(value);
  return sections;
}
