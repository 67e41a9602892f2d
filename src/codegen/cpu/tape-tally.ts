/**
 * The tally of a tape: how often it begins blocks and calls functions, and on how many vectors of lanes. It follows from
 * the layout and the schedule, without a walk over blocks. `tape-seconds.ts` multiplies it by rates.
 *
 *     map_exp_multiply of 2^20 float32    tile 1024, block 1024, call 1024, chain 1024, step 131072 …, exp 65536
 */

import { loadOf, sizesOf } from '../../fusion/kernel/algebra.js';
import {
  castValueOf,
  constantOf,
  costOf,
  monoidOf,
  opOf,
  reductionOf,
  reductionsOf,
} from '../../fusion/kernel/arithmetic.js';
import { create } from '../../fusion/kernel/instruction.js';
import {
  type Access,
  argumentsOf,
  type Instruction,
  type Kernel,
  product,
} from '../../fusion/kernel/kernel.js';
import { storesElements } from '../../fusion/kernel/levels.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { OP_NAMES, type OpName, opRow } from '../../graph/ops.js';
import type { ReductionName } from '../../graph/reductions.js';
import { CHUNK, LEAF_STEPS } from '../../shared/layout.js';
import { weightOf, weightOfInstruction } from './op-weights.js';
import { planTape } from './tape.js';
import {
  type Blocking,
  type Loop,
  laneKindOf,
  laneModeOf,
  paddedWidth,
  rowStrideOf,
} from './tape-blocking.js';
import type { ChainStep } from './tape-chain.js';
import { SQUARE_ROWS, TASK_WORK } from './tape-cost.js';
import { operandsOf } from './tape-fuse.js';
import { linesOf } from './tape-lines.js';
import type { TapePlan } from './tape-plan.js';
import { classOf, type LineRate, type TapeRate } from './tape-rates.js';
import type { Section, TapeOp } from './tape-registers.js';
import { joinedBlocks } from './tape-seamless.js';
import type { Span } from './tape-spans.js';
import { computedShare, movesOf, squareKernel, type Triangle } from './tape-triangle.js';

/**
 * A function whose time is its own: an op, a cast or a reduction. As a step of a chain it is other code than by itself, and takes
 * another time: up to 4 KiB of its operands go through memory.
 */
export interface TalliedFunction {
  /** `exp float32`, `chained exp float32`, `cast float16 float32`, `along lanes squaredDeviations float64`. */
  readonly key: string;
  /** The op, cast or reduction; its arguments are those of `taken`, in order. */
  readonly instruction: Instruction;
  readonly taken: readonly DType[];
  /** Of a reduction: whether its lanes are results of their own. */
  readonly isByLane: boolean;
  /** Whether it is a step of a chain, which has it called for each vector, or compiled. */
  readonly isChained: boolean;
}

export interface TapeTally {
  /** How often, by the rate of each time. */
  readonly amounts: ReadonlyMap<TapeRate, number>;
  /** Vectors of each function. */
  readonly functions: ReadonlyMap<string, { readonly of: TalliedFunction; vectors: number }>;
  /** Lines of the caches that are not in one stream, and rows of them. */
  readonly lines: ReadonlyMap<LineRate, number>;
  /** Pieces that threads can share, and the tiles that these are of: at least one. */
  readonly tasks: number;
  readonly tiles: number;
  /** Pieces of the blocks of tiles that have several, where there are few tiles. */
  readonly tasksOfBlocks?: number | undefined;
}

/** Bytes of a vector: tallies count in it, also where registers are narrower. */
const VECTOR_BYTES = 64;
/** Ops up to this weight take no more time than what they read and write. */
const LIGHT = 1;
/** Lines so far apart are in the same set of the first-level cache, which has room for so many. */
const SET_BYTES = 4096;
const SET_LINES = 8;
/** Elements that are taken by tables as vectors. */
const WIDE_BYTES = 8;
/** Moves that are counted in vectors; others in lanes. */
const BY_VECTOR: readonly TapeRate[] = ['copy', 'splat', 'unaligned'];
const ROW_RATES = { simple: 'row', wide: 'wideRow', exponential: 'exponentialRow' } as const;
const FOLD_RATES = { simple: 'fold', wide: 'wideFold', exponential: 'wideFold' } as const;

const isOp = (name: string): name is OpName => (OP_NAMES as readonly string[]).includes(name);

export function tallyOf(kernel: Kernel): TapeTally {
  const plan = planTape(kernel);
  const { triangle } = plan;
  if (triangle === undefined) return new Tally(plan).whole();
  return inTriangle(
    new Tally({ ...plan, kernel: squareKernel(plan.kernel, triangle) }).whole(),
    plan.kernel,
    triangle,
  );
}

/** The tally of a triangle, by that of squares of all pairs: each of its squares is brought to two places. */
function inTriangle(
  { amounts, functions, lines, tasks }: TapeTally,
  kernel: Kernel,
  triangle: Triangle,
): TapeTally {
  const share = computedShare(kernel, triangle);
  const pieces = Math.max(1, Math.floor(share * tasks));
  const scaled = <K>(counts: ReadonlyMap<K, number>): Map<K, number> =>
    new Map([...counts].map(([key, count]) => [key, share * count]));
  const { turned, copied } = movesOf(kernel, triangle);
  const all = scaled(amounts);
  all.set('square', (all.get('square') ?? 0) + turned);
  all.set('copy', (all.get('copy') ?? 0) + copied);
  return {
    amounts: all,
    functions: new Map(
      [...functions].map(([key, { of, vectors }]) => [key, { of, vectors: share * vectors }] as const),
    ),
    lines: scaled(lines),
    tasks: pieces,
    tiles: pieces,
  };
}

/** As many tiles as are worth waking a thread for are a task; few tiles of many blocks are shared by their blocks (`tape-run.cpp`). */
const tasksOf = (
  tiles: number,
  workOfTile: number,
  hasWalks: boolean,
): Pick<TapeTally, 'tasks' | 'tiles' | 'tasksOfBlocks'> => ({
  tasks: Math.max(1, Math.ceil(tiles / Math.max(1, Math.floor(TASK_WORK / workOfTile)))),
  tiles,
  tasksOfBlocks: hasWalks ? Math.floor((tiles * workOfTile) / TASK_WORK) : undefined,
});

class Tally {
  readonly #amounts = new Map<TapeRate, number>();
  readonly #functions = new Map<string, { of: TalliedFunction; vectors: number }>();
  readonly #plan: TapePlan;
  /** How the section that is counted is walked. */
  #walked: Blocking;
  readonly #sizes: readonly number[];
  /** Reductions; of the parts of an accumulator, the first one alone. */
  readonly #leaders: ReadonlySet<number>;
  /** Whether chains compute some of it. */
  #isChained = false;
  /** Vectors that reductions of several values read. */
  #reduced = 0;

  constructor(plan: TapePlan) {
    this.#plan = plan;
    this.#walked = plan.blocking;
    this.#sizes = sizesOf(plan.kernel);
    this.#leaders = new Set(reductionsOf(plan.kernel).map(({ leader }) => leader));
  }

  whole(): TapeTally {
    const { loops, schedule, blocking } = this.#plan;
    const tiles = product(loops.tiles.map((loop) => loop.count));
    const blocks = tiles * product(loops.walks.map((loop) => loop.count));
    const joined = joinedBlocks(this.#plan, blocks);
    this.#add('run', 1);
    this.#add('tile', joined < blocks ? joined : tiles);
    this.#add('block', joined * schedule.walks.length);
    for (const section of schedule.rowSections.slice(0, -1)) this.#section(section, loops.tiles, tiles);
    this.#walked = schedule.across ?? blocking;
    this.#section(schedule.rowSections.at(-1)!, loops.tiles, tiles);
    this.#walked = blocking;
    for (const section of schedule.walks) this.#section(section, [...loops.tiles, ...loops.walks], joined);
    const walks = blocks / tiles;
    const lanes = walks * paddedWidth(blocking);
    const workOfTile =
      blocking.rows * (lanes * (1 + this.#weightOf(schedule.walks)) + this.#weightOf(schedule.rowSections));
    const [amounts, functions] = [this.#amounts, this.#functions];
    const lines = new Map(linesOf(this.#plan.kernel, blocking, this.#isChained));
    if (this.#reduced > 0) lines.set('reduced', this.#reduced);
    return {
      amounts,
      functions,
      lines,
      ...tasksOf(tiles, workOfTile, walks > 1),
    };
  }

  /** As `workOfTile` of `tape-run.cpp` weighs instructions. */
  #weightOf(sections: readonly Section[]): number {
    const { kernel, schedule } = this.#plan;
    const weightOfOp = (op: TapeOp): number => {
      if (op.kind === 'store') return 1;
      if (op.kind === 'chain') {
        const { steps, reductions } = op.chain;
        const ofSteps = steps.reduce((sum, { name }) => sum + weightOf(name), 0);
        const ofReductions = reductions.map((position) => weightOfInstruction(kernel.tape[position]!));
        // Behind the steps stands one that ends the chain.
        return Math.max(steps.length + 1, ofSteps + ofReductions.reduce((sum, weight) => sum + weight, 0));
      }
      const fused = schedule.fusion.functions.get(op.value);
      return fused === undefined
        ? weightOfInstruction(kernel.tape[op.value]!)
        : Math.max(1, weightOf(fused.name));
    };
    return sections.flat().reduce((sum, op) => sum + weightOfOp(op), 0);
  }

  #section(section: Section, loops: readonly Loop[], blocks: number): void {
    for (const op of section) {
      if (op.kind === 'chain') this.#chain(op, loops, blocks);
      else if (op.kind === 'store') this.#store(op.store, loops, blocks);
      else this.#value(op, loops, blocks);
    }
  }

  #chain({ chain }: Extract<TapeOp, { kind: 'chain' }>, loops: readonly Loop[], blocks: number): void {
    const { kernel, schedule } = this.#plan;
    const { dtype } = kernel.tape[chain.value]!;
    const vectors = this.#vectors(schedule.spans[chain.value]!, loops, dtype);
    this.#isChained = true;
    this.#add('chain', blocks);
    for (const step of chain.steps) this.#step(step, chain.inputs, dtype, vectors);
  }

  #step({ name, operands }: ChainStep, inputs: readonly number[], dtype: DType, vectors: number): void {
    if (name === 'prefetch') {
      this.#add('prefetch', vectors);
      return;
    }
    const isInMemory = ({ kind, index }: ChainStep['operands'][number]): boolean =>
      kind !== 'input' || constantOf(this.#plan.kernel.tape[inputs[index]!]!) === undefined;
    this.#add('operand', vectors * operands.filter(isInMemory).length);
    const [op, reduction] = name.split('.') as [string, string?];
    if (op === 'reduce' && reduction !== 'sum') this.#add('extreme', vectors);
    if (!isOp(op) || opRow(op).cost <= LIGHT || opRow(op).arity > 2) {
      this.#add('step', vectors);
      return;
    }
    const taken = Array.from({ length: opRow(op).arity }, () => dtype);
    this.#call(`chained ${op}`, create.map(dtype, op, [...taken.keys()]), taken, vectors, 'chained');
  }

  #store(store: number, loops: readonly Loop[], blocks: number): void {
    const { kernel, schedule } = this.#plan;
    if (this.#isDirect(store)) return;
    const { value, access } = kernel.stores[store]!;
    this.#add('call', blocks);
    this.#move(access, kernel.tape[value]!.dtype, schedule.spans[value]!, loops, true);
  }

  #value(
    { value, isKept }: Extract<TapeOp, { kind: 'value' }>,
    loops: readonly Loop[],
    blocks: number,
  ): void {
    const { kernel, schedule } = this.#plan;
    const { spans, fusion } = schedule;
    const instruction = kernel.tape[value]!;
    const span = spans[value]!;
    this.#add('call', blocks);
    const access = loadOf(instruction);
    if (access !== undefined) {
      if (!isKept) this.#move(access, instruction.dtype, span, loops);
      return;
    }
    const args = operandsOf(kernel, fusion, value);
    const taken = args.map((arg) => kernel.tape[arg]!.dtype);
    const widest = [instruction.dtype, ...taken].reduce((a, b) =>
      byteLengthOf(b) > byteLengthOf(a) ? b : a,
    );
    const members = this.#members(value);
    if (this.#leaders.has(value)) {
      const rows = args.some((arg) => spans[arg]!.rows);
      const lanes = args.some((arg) => spans[arg]!.lanes);
      this.#reduction(instruction, members, taken, this.#vectors({ rows, lanes }, loops, widest), loops);
    }
    // Results of a block's rows that lie side by side are about one chunk.
    const isTurned = schedule.across !== undefined && this.#leaders.has(value);
    const vectors = this.#vectors(isTurned ? { rows: false, lanes: false } : span, loops, widest);
    this.#add('pass', vectors);
    this.#add('step', vectors * (members.length - 1));
    for (const member of members) this.#heavy(kernel.tape[member]!, vectors);
  }

  #reduction(
    instruction: Instruction,
    members: readonly number[],
    args: readonly DType[],
    vectors: number,
    loops: readonly Loop[],
  ): void {
    const { kernel, blocking } = this.#plan;
    const name = reductionOf(instruction)!;
    const laneKind = laneKindOf(kernel, blocking);
    const isByLane = laneKind !== 'reduced';
    const isOfRows =
      !isByLane && blocking.rows > 1 && blocking.rowAxis >= 0 && blocking.rowAxis < kernel.parallel.length;
    const tiles = product(this.#plan.loops.tiles.map((loop) => loop.count));
    if (laneKind === 'both') this.#add(FOLD_RATES[classOf(name)], tiles * blocking.width);
    // Without rows of its own, a tile is one.
    if (!isByLane)
      this.#add(
        isOfRows && this.#hasWholeRows(name, args[0]!) ? 'wholeRow' : ROW_RATES[classOf(name)],
        isOfRows ? this.#chunks({ rows: true, lanes: false }, loops) : tiles,
      );
    if (classOf(name) !== 'simple') this.#reduced += vectors;
    const inner = members.slice(0, -1);
    this.#add('step', vectors * inner.length);
    for (const member of inner) this.#heavy(kernel.tape[member]!, vectors);
    // Functions of pairs take the dtype of what is computed before them.
    const own = argumentsOf(instruction).map((arg) => kernel.tape[arg]!.dtype);
    this.#call(
      `${isByLane ? 'by lane' : 'along lanes'} ${monoidOf(instruction)?.of.key ?? name}`,
      instruction,
      inner.length > 0 ? own : args,
      vectors,
      isByLane ? 'by lane' : undefined,
    );
  }

  /** Whether a reduction takes several rows of a block at a time: of whole chunks, no more of them than a leaf has. */
  #hasWholeRows(name: ReductionName, taken: DType): boolean {
    const { width } = this.#plan.blocking;
    const isWhole = width % CHUNK === 0 && width <= LEAF_STEPS * CHUNK;
    return isWhole && classOf(name) === 'simple' && byteLengthOf(taken) >= 4;
  }

  /** An instruction with those that it absorbed, last. */
  #members(value: number): number[] {
    const { kernel, schedule } = this.#plan;
    const inner = argumentsOf(kernel.tape[value]!).filter((arg) => schedule.fusion.absorbed[arg]);
    return [...new Set(inner.flatMap((arg) => this.#members(arg))), value];
  }

  /** The work of an instruction beyond reading and writing its block. */
  #heavy(instruction: Instruction, vectors: number): void {
    const cost = costOf(instruction);
    const isCast = castValueOf(instruction) !== undefined;
    if (cost <= LIGHT && !isCast) return;
    const op = opOf(instruction);
    if (op === undefined && !isCast) {
      this.#add('loopStep', vectors * cost);
      return;
    }
    const taken = argumentsOf(instruction).map((arg) => this.#plan.kernel.tape[arg]!.dtype);
    this.#call(op ?? `cast ${taken.join()}`, instruction, taken, vectors);
  }

  #call(
    name: string,
    instruction: Instruction,
    taken: readonly DType[],
    vectors: number,
    way?: 'by lane' | 'chained',
  ): void {
    const key = `${name} ${instruction.dtype}`;
    const known = this.#functions.get(key);
    if (known !== undefined) known.vectors += vectors;
    else {
      const of = { key, instruction, taken, isByLane: way === 'by lane', isChained: way === 'chained' };
      this.#functions.set(key, { of, vectors });
    }
  }

  /**
   * Whether a store takes what a function writes. One that writes whole chunks of lanes cannot write to rows that end
   * within one.
   */
  #isDirect(store: number): boolean {
    const { schedule, blocking } = this.#plan;
    return schedule.walks
      .flat()
      .some((op) =>
        op.kind === 'chain'
          ? op.directs.includes(store)
          : op.kind === 'value' && op.direct === store && blocking.width % CHUNK === 0,
      );
  }

  /** Elements that are brought into a block, or from a block to their places; loads of neighbours are used in place. */
  #move(access: Access, dtype: DType, span: Span, loops: readonly Loop[], isStore = false): void {
    const own = isStore ? this.#resultLanes() : undefined;
    const lanes =
      own === undefined
        ? this.#chunks(span, loops) * CHUNK
        : this.#chunks({ ...span, lanes: false }, loops) * own;
    const vectors = (lanes * byteLengthOf(dtype)) / VECTOR_BYTES;
    if (access.bounds.length > 0) this.#add('copy', vectors);
    const rate = this.#rateOfMove(access, byteLengthOf(dtype), isStore);
    if (rate !== undefined) this.#add(rate, BY_VECTOR.includes(rate) ? vectors : lanes);
    if ((rate === 'table' || rate === 'wideTable') && this.#conflicts(access, byteLengthOf(dtype)))
      this.#add('conflict', lanes);
  }

  /** Lanes of a row of results, where those of a block are elements that are reduced; undefined: as many as a block has. */
  #resultLanes(): number | undefined {
    const { kernel } = this.#plan;
    const kind = kernel.reduced.length === 0 ? 'parallel' : laneKindOf(kernel, this.#walked);
    return kind === 'parallel' || storesElements(kernel)
      ? undefined
      : kind === 'both'
        ? this.#walked.inner
        : 1;
  }

  #rateOfMove(access: Access, bytes: number, isStore: boolean): TapeRate | undefined {
    const blocking = this.#walked;
    if (access.index !== undefined) return 'gather';
    const mode = laneModeOf(access, blocking, this.#sizes);
    const row = rowStrideOf(access, blocking);
    if (mode.type === 'splat') return row === 0 || isStore ? undefined : 'splat';
    if (mode.type === 'table') return bytes >= WIDE_BYTES ? 'wideTable' : 'table';
    if (mode.stride === 1) return isStore ? 'copy' : this.#isAligned(access, bytes) ? undefined : 'unaligned';
    const apart = Math.abs(mode.stride * bytes);
    if (Math.abs(row) === 1 && blocking.rows >= SQUARE_ROWS) return 'square';
    return apart >= VECTOR_BYTES ? 'apart' : 'strided';
  }

  /** Whether more lanes than a set of the first-level cache has lines are whole pages apart, all in one set. */
  #conflicts({ strides }: Access, bytes: number): boolean {
    const inner = this.#walked.laneAxes.at(-1)!;
    const apart = strides[inner]! * bytes;
    return apart !== 0 && apart % SET_BYTES === 0 && this.#sizes[inner]! > SET_LINES;
  }

  /** Whether vectors along the lanes begin where lines do. */
  #isAligned({ offset, strides }: Access, bytes: number): boolean {
    const { laneAxes } = this.#walked;
    const outer = strides.filter((_, axis) => !laneAxes.includes(axis));
    return [offset, ...outer].every((elements) => (elements * bytes) % VECTOR_BYTES === 0);
  }

  #add(rate: TapeRate, amount: number): void {
    if (amount > 0) this.#amounts.set(rate, (this.#amounts.get(rate) ?? 0) + amount);
  }

  #vectors(span: Span, loops: readonly Loop[], dtype: DType): number {
    return (this.#chunks(span, loops) * CHUNK * byteLengthOf(dtype)) / VECTOR_BYTES;
  }

  /** Chunks of a value in all blocks of some loops. */
  #chunks({ rows, lanes }: Span, loops: readonly Loop[]): number {
    const { take, inner, width } = this.#walked;
    const chunksOf = (width: number): number => (lanes ? Math.ceil(width / CHUNK) : 1);
    let total = 1;
    let hasLanes = false;
    for (const { axis, count, role } of loops) {
      const extent = this.#sizes[axis]!;
      hasLanes ||= role === 'lanes' || role === 'shared';
      const full = Math.floor(extent / take);
      const rest = extent % take;
      if (role === 'unit') total *= count;
      else if (role === 'rows') total *= rows ? extent : count;
      else if (role === 'shared' && !rows) total *= count * chunksOf(width);
      else total *= full * chunksOf(width) + (rest > 0 ? chunksOf(rest * inner) : 0);
    }
    return hasLanes ? total : total * chunksOf(width);
  }
}
