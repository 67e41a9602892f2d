/**
 * Encodes a kernel as a tape for the CPU: the kernel itself with everything precomputed that does not depend
 * on memory addresses, as one array of numbers that `native/cpu/tape-parse.cpp` reads in the same order.
 *
 * The domain is prepared by `tape-domain.ts`, walked as `tape-blocking.ts` chooses, ordered by
 * `tape-schedule.ts`. The arithmetic is native, under the names of the op table. Called by the CPU planner
 * once per kernel.
 */

import { liveOf, sizesOf, windowIndexOf } from '../../fusion/kernel/algebra.js';
import { constantOf, loopOf, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { kernelFingerprint } from '../../fusion/kernel/fingerprint.js';
import {
  type Access,
  type Affine,
  argumentsOf,
  type Bound,
  formOf,
  type Kernel,
  oncePerKernel,
} from '../../fusion/kernel/kernel.js';
import { inWalks, type Levels, levelsOf } from '../../fusion/kernel/levels.js';
import { type DType, dtypeCode, type Scalar } from '../../graph/dtype.js';
import { dtypeAt } from '../../graph/element-loop.js';
import type { ElementLoop, ElementStep, MonoidPart, StepValue } from '../../graph/loop-step.js';
import { RuntimeScalar, specialized } from '../../graph/runtime-scalar.js';
import { writeScalar } from '../../graph/scalar-bytes.js';
import { InternalError } from '../../host/errors.js';
import { once } from '../../host/once.js';
import {
  CHAIN_OPERAND,
  CONSTANT_BYTES,
  LANE_KIND,
  LANE_MODE,
  LOOP_ROLE,
  OPCODE,
  OUTSIDE,
  STORAGE,
} from '../../shared/layout.js';
import { LruCache } from '../../shared/lru-cache.js';
import { inWindows } from '../cuts/pitch.js';
import { type Blocking, laneKindOf, laneModeOf, printBlocking, rowStrideOf } from './tape-blocking.js';
import { isSharedAlike } from './tape-cost.js';
import { prepare } from './tape-domain.js';
import { operandsOf } from './tape-fuse.js';
import { planInTiles } from './tape-phase-memory.js';
import { planBy, type TapePlan, type Walk } from './tape-plan.js';
import type { Section, TapeOp } from './tape-registers.js';
import { seamlessLanes } from './tape-seamless.js';
import { blockingsInOrder, layoutFor, layoutInOrder, layoutsAlike, resized } from './tape-sum-order.js';
import { layoutInTriangle, squareKernel, squareOffsets, type Triangle } from './tape-triangle.js';

/** A kernel as plain data for the addon. */
export interface TapeSpec {
  readonly name: string;
  /** Everything but names and constants, read from front to back. All are integers below 2^53. */
  readonly words: Float64Array;
  /** 16 bytes for each constant, in its dtype, little endian. */
  readonly constants: Uint8Array;
  /** For each constant its position among those that come with a run, or -1; without it, none comes so. */
  readonly numbers?: Int32Array | undefined;
  /** Names of ops and reductions; words refer to them by position. */
  readonly ops: readonly string[];
}

/** A tape as it is for all kernels of one structure. */
interface TapeCode extends Pick<TapeSpec, 'words' | 'ops'> {
  /** Positions of the constants in the kernels' own tapes. */
  readonly constants: readonly number[];
}

/** A plan without the kernel, whose constants it does not depend on. */
interface TapeLayout extends Omit<TapePlan, 'kernel'> {
  readonly code: () => TapeCode;
}

type LayOut = (kernel: Kernel, levels: Levels) => TapePlan;

/**
 * Layouts by the structure of kernels. To lay out, schedule and encode a kernel takes some 0.5 ms, to find its structure
 * 3 µs; graphs that repeat a layer, and those that are made anew with another number, have few structures.
 */
const laidOut = (layOut: LayOut) => {
  const layouts = new LruCache<TapeLayout>(1024, 1 << 16);
  return oncePerKernel((source): TapeLayout => {
    const structure = kernelFingerprint(source);
    let layout = layouts.get(structure);
    if (layout === undefined) {
      layout = layoutOf(source, layOut);
      layouts.set(structure, layout, source.tape.length);
    }
    return layout;
  });
};

const wholeLayout = laidOut((kernel, levels) => {
  const half = layoutInTriangle(kernel, levels);
  return planBy(kernel, levels, half?.blocking ?? layoutInOrder(kernel), half?.triangle);
});
const phaseLayout = laidOut(planInTiles);

function layoutOf(source: Kernel, layOut: LayOut): TapeLayout {
  const kernel = prepare(source);
  const plan = layOut(kernel, levelsOf(kernel));
  const { levels, blocking, loops, schedule, triangle } = plan;
  const code = once(() => {
    const constants = liveOf(source).filter((position) => constantOf(source.tape[position]!) !== undefined);
    return { ...new Encoder(plan).encode(), constants };
  });
  return { levels, blocking, loops, schedule, triangle, code };
}

/**
 * Prepares, lays out and schedules a kernel; once, although planning asks for works, reads and skew.
 */
export const planTape: (source: Kernel) => TapePlan = oncePerKernel((source) => ({
  kernel: prepare(source),
  ...wholeLayout(source),
}));

/** The same for a kernel that runs phase by phase: with the bits of the whole, in blocks for small tiles. */
export const planPhases: (source: Kernel) => TapePlan = oncePerKernel((source) => ({
  kernel: prepare(source),
  ...phaseLayout(source),
}));

/** The name by which a map is a loop of each element. */
const REPEAT = 'repeat';
/** The kinds of values of a loop's step, as the tape numbers them. */
const STEP_VALUE = { map: 0, cast: 1, repeat: 2, const: 3 } as const;

/** The blockings of a kernel in which its sums keep their order; tests run the tapes of all. */
export function blockingsOf(source: Kernel): readonly Blocking[] {
  const kernel = prepare(source);
  return blockingsInOrder(kernel, levelsOf(kernel));
}

/**
 * How a kernel may be walked with the same bits: as it is, first, then in blocks of half and twice the size, then by what
 * is estimated to take least.
 */
export function walksOf(source: Kernel): readonly Walk[] {
  const kernel = prepare(source);
  const { blocking, triangle } = wholeLayout(source);
  const [first, ...others] = layoutsAlike(kernel) as [Blocking, ...Blocking[]];
  const alike = new Map(
    [first, ...resized(kernel, first), ...others].map((each) => [printBlocking(each), { blocking: each }]),
  );
  return [...(triangle === undefined ? [] : [{ blocking, triangle }]), ...alike.values()];
}

export const tapeBy = (source: Kernel, blocking: Blocking, triangle?: Triangle): TapeSpec =>
  encoded(
    source,
    layoutOf(source, (kernel, levels) => planBy(kernel, levels, blocking, triangle)),
  );

/** The tape of a kernel. */
export const encodeTape = (source: Kernel): TapeSpec => encoded(source, wholeLayout(source));

/** Layouts by numbers of threads and structures; the whole's, where that is the quickest. */
const layoutsFor = new LruCache<TapeLayout>(256, 1 << 14);

/** The tape of a kernel that so many threads run as a whole: in the blocks that are quickest for them, with the same bits. */
export function encodeFor(source: Kernel, threads: number): TapeSpec {
  const { kernel, levels, triangle } = planTape(source);
  if (triangle !== undefined || isSharedAlike(kernel, threads)) return encodeTape(source);
  const key = `${threads} ${kernelFingerprint(source)}`;
  let layout = layoutsFor.get(key);
  if (layout === undefined) {
    const blocking = layoutFor(kernel, levels, threads);
    layout =
      blocking === undefined ? wholeLayout(source) : layoutOf(source, () => planBy(kernel, levels, blocking));
    layoutsFor.set(key, layout, source.tape.length);
  }
  return encoded(source, layout);
}

/** The tape of a kernel that runs phase by phase. */
export const encodePhases = (source: Kernel): TapeSpec => encoded(source, phaseLayout(source));

function encoded(source: Kernel, { code }: TapeLayout): TapeSpec {
  const { words, ops, constants } = code();
  const fixed = givenToLoops(source);
  const bytes = new DataView(new ArrayBuffer(constants.length * CONSTANT_BYTES));
  const numbers = constants.map((position, k) => {
    const { dtype } = source.tape[position]!;
    const constant = constantOf(source.tape[position]!)!;
    const isGiven = constant instanceof RuntimeScalar && !fixed.has(position);
    const value = isGiven ? constant.value : specialized(constant);
    writeScalar(bytes, k * CONSTANT_BYTES, dtype, value);
    return isGiven ? constant.position : -1;
  });
  return {
    name: source.name,
    words,
    constants: new Uint8Array(bytes.buffer),
    numbers: numbers.some((at) => at >= 0) ? Int32Array.from(numbers) : undefined,
    ops,
  };
}

class Encoder {
  private readonly words: number[] = [];
  private readonly ops: string[] = [];
  private readonly opIndex = new Map<string, number>();
  /** Monoids that stand in the tape already. */
  private readonly leaders = new Set<number>();
  private readonly sizes: readonly number[];
  private plan: TapePlan;
  /** How the section that is encoded is walked. */
  private walked: Blocking;

  constructor(plan: TapePlan) {
    this.sizes = sizesOf(plan.kernel);
    // All is chosen for the whole; rows may lie elsewhere.
    this.plan = { ...plan, kernel: inWindows(plan.kernel) };
    this.walked = plan.blocking;
  }

  encode(): Pick<TapeSpec, 'words' | 'ops'> {
    const { triangle } = this.plan;
    this.sections();
    this.put(triangle === undefined ? 0 : 1);
    if (triangle !== undefined) this.triangle(triangle);
    return { words: Float64Array.from(this.words), ops: this.ops };
  }

  /** Where results belong, and the tape that has them in squares. */
  private triangle(triangle: Triangle): void {
    const { kernel, loops } = this.plan;
    const { axes, side } = triangle;
    this.put(...axes.map((axis) => loops.tiles.findIndex((loop) => loop.axis === axis)), side);
    const offsets = squareOffsets(kernel, side);
    this.put(kernel.stores.length);
    kernel.stores.forEach(({ access: { buffer, offset, strides } }, k) => {
      this.put(buffer, offsets[k]!, offset, ...loops.tiles.map(({ axis }) => strides[axis]!));
    });
    this.plan = { ...this.plan, kernel: squareKernel(kernel, triangle) };
    this.sections();
  }

  private sections(): void {
    const { kernel, schedule, blocking } = this.plan;
    this.blocking();
    this.put(kernel.buffers.length);
    for (const buffer of kernel.buffers) {
      this.put(dtypeCode(buffer.dtype), buffer.role === 'output' ? 1 : 0, buffer.elementCount);
    }
    this.values();
    this.put(windowIndexOf(kernel) ?? -1);
    this.put(schedule.across === undefined ? 0 : 1);
    this.put(schedule.walks.length, schedule.keepsBlock ? 1 : 0, schedule.slotBlocks);
    this.put(schedule.rowByteLength, schedule.blockByteLength, seamlessLanes(this.plan));
    schedule.rowSections.forEach((section, p) => {
      if (p < schedule.walks.length) {
        this.section(section, blocking);
        this.section(schedule.walks[p]!, blocking);
      } else this.section(section, schedule.across ?? blocking);
    });
  }

  private put(...words: number[]): void {
    this.words.push(...words);
  }

  private op(name: string): number {
    let index = this.opIndex.get(name);
    if (index === undefined) {
      index = this.ops.push(name) - 1;
      this.opIndex.set(name, index);
    }
    return index;
  }

  /** Block size, what lanes and rows are, and the loops around the block. */
  private blocking(): void {
    const { kernel, blocking, loops: around } = this.plan;
    const first = kernel.parallel.length;
    this.put(blocking.rows, blocking.take, blocking.inner);
    this.put(blocking.rowAxis >= first ? 1 : 0);
    this.put(LANE_KIND[laneKindOf(kernel, blocking)]);
    for (const loops of [around.tiles, around.walks]) {
      this.put(loops.length);
      for (const { axis, count, role } of loops) this.put(count, LOOP_ROLE[role], this.sizes[axis]!);
    }
  }

  /** Dtype, span and place of each value. */
  private values(): void {
    const { kernel, levels, schedule } = this.plan;
    const inBlock = inWalks(kernel, levels);
    let constants = 0;
    this.put(kernel.tape.length);
    kernel.tape.forEach((instruction, i) => {
      const span = schedule.spans[i]!;
      this.put(dtypeCode(instruction.dtype), span.rows ? 1 : 0, span.lanes ? 1 : 0);
      if (constantOf(instruction) !== undefined) this.put(STORAGE.constant, constants++);
      else if (inBlock(i)) this.put(STORAGE.block, -1);
      else this.put(STORAGE.row, schedule.rowOffsets[i]!);
    });
  }

  private section(section: Section, blocking: Blocking): void {
    const { kernel } = this.plan;
    this.walked = blocking;
    this.put(section.length);
    for (const op of section) {
      if (op.kind === 'store') {
        const { value, access } = kernel.stores[op.store]!;
        this.put(OPCODE.store, value);
        this.access(access);
      } else if (op.kind === 'chain') this.chain(op);
      else this.instruction(op);
    }
  }

  /** Inputs, outputs, reductions and steps of a chain. */
  private chain({
    chain,
    offsets,
    directs,
    edges,
    reducedOffsets,
  }: Extract<TapeOp, { kind: 'chain' }>): void {
    const { kernel } = this.plan;
    const { value, inputs, outputs, reductions, slots, steps } = chain;
    this.put(OPCODE.chain, value, inputs.length, ...inputs, outputs.length);
    outputs.forEach((output, k) => {
      const direct = directs[k]!;
      this.put(output, offsets[k]!, direct < 0 ? 0 : 1, edges[k]! ? 1 : 0);
      if (direct >= 0) this.access(kernel.stores[direct]!.access);
    });
    this.put(reductions.length);
    const known = new Map(reductionsOf(kernel).map((reduction) => [reduction.position, reduction]));
    reductions.forEach((position, k) => {
      const { name, dtype, args } = known.get(position)!;
      this.put(position, reducedOffsets[k]!, this.op(name), dtypeCode(dtype), 1, args[0]!);
    });
    this.put(slots, steps.length);
    for (const { name, operands } of steps) {
      this.put(this.op(name), operands.length);
      for (const { kind, index } of operands) this.put(CHAIN_OPERAND[kind], index);
    }
  }

  private instruction(op: Extract<TapeOp, { kind: 'value' }>): void {
    const { kernel, schedule } = this.plan;
    const { value, offset, direct, prefetch } = op;
    const instruction = formOf(kernel.tape[value]!);
    const fused = schedule.fusion.functions.get(value);
    const args = operandsOf(kernel, schedule.fusion, value);
    // The dtype a function is found by: that of a map's last argument, of a reduction's first.
    const typed = args[instruction.kind === 'map' ? args.length - 1 : 0]!;
    if (instruction.kind === 'const') throw new InternalError(`[tape] constant %${value} in a section`);
    if (instruction.kind === 'function') throw new InternalError(`[tape] CUDA C at %${value}`);
    this.put(OPCODE[instruction.kind === 'repeat' ? 'map' : instruction.kind], value, offset);
    switch (instruction.kind) {
      case 'load': {
        const { access } = instruction;
        this.put(op.isKept ? 1 : 0, op.hasEdges ? 1 : 0);
        this.access(access);
        if (access.index === undefined) this.put(-1);
        else this.put(access.index.value, access.index.stride, access.index.size);
        return;
      }
      case 'index':
        this.affine(instruction.affine);
        return;
      case 'inside':
        this.bounds(instruction.bounds);
        return;
      case 'repeat':
        this.put(this.op(REPEAT), instruction.result);
        this.loop(instruction.loop);
        break;
      case 'map':
      case 'reduce': {
        if (instruction.kind === 'reduce' && instruction.monoid !== undefined) {
          this.monoid(value, instruction.monoid);
          break;
        }
        const name = fused?.name ?? (instruction.kind === 'map' ? instruction.op : instruction.reduction);
        this.put(this.op(name), dtypeCode(kernel.tape[typed]!.dtype));
        break;
      }
      case 'cast':
        this.put(dtypeCode(kernel.tape[args[0]!]!.dtype));
        break;
    }
    this.put(args.length, ...args);
    if (instruction.kind !== 'reduce') {
      this.put(prefetch, direct < 0 ? 0 : 1);
      if (direct >= 0) this.access(kernel.stores[direct]!.access);
    }
  }

  /** A loop of each element: its arguments, states and condition, and the values of a step. */
  private loop(loop: ElementLoop): void {
    const { arguments: own, next, condition, conditionLength, values } = loop;
    this.put(
      own.length,
      ...own.map(dtypeCode),
      next.length,
      ...next,
      condition,
      conditionLength,
      values.length,
    );
    for (const value of values) this.stepValue(loop, value);
  }

  private stepValue(step: ElementStep, value: StepValue): void {
    if (value.kind === 'function') throw new InternalError('[tape] CUDA C in a step');
    this.put(STEP_VALUE[value.kind], dtypeCode(value.dtype));
    if (value.kind === 'const') {
      this.scalar(value.dtype, value.value);
      return;
    }
    this.put(value.args.length, ...value.args);
    if (value.kind === 'repeat') {
      this.put(value.result);
      this.loop(value.loop);
      return;
    }
    if (value.kind === 'map') this.put(this.op(value.op));
    this.put(dtypeCode(dtypeAt(step, value.args.at(-1)!)));
  }

  /** A constant of a step, as words of 32 bits. */
  private scalar(dtype: DType, value: Scalar): void {
    const bytes = new DataView(new ArrayBuffer(CONSTANT_BYTES));
    writeScalar(bytes, 0, dtype, value);
    this.put(...new Uint32Array(bytes.buffer));
  }

  /** A part of a reduction by a user's monoid; the first part that stands in the tape has the monoid. */
  private monoid(position: number, { of, part }: MonoidPart): void {
    const { leader } = reductionsOf(this.plan.kernel).find((reduction) => reduction.position === position)!;
    const isFollower = this.leaders.has(leader);
    this.leaders.add(leader);
    this.put(this.op('monoid'), leader, part, isFollower ? 1 : 0);
    if (isFollower) return;
    this.put(of.dtypes.length, ...of.dtypes.map(dtypeCode));
    of.dtypes.forEach((dtype, k) => {
      this.scalar(dtype, of.identity[k]!);
    });
    this.put(of.combine.values.length);
    for (const value of of.combine.values) this.stepValue(of.combine, value);
    this.put(...of.combine.next);
  }

  private access(access: Access): void {
    this.put(access.buffer);
    this.affine(access);
    this.bounds(access.bounds);
  }

  private bounds(bounds: readonly Bound[]): void {
    this.put(bounds.length);
    for (const bound of bounds) {
      this.affine(bound);
      this.put(bound.size, OUTSIDE[bound.fold?.mode ?? 'zero'], bound.fold?.stride ?? 0);
    }
  }

  /** Offset, stride along each loop's axis, row stride, and how it moves along the lanes. */
  private affine(affine: Affine): void {
    const { walked: blocking } = this;
    const { loops } = this.plan;
    this.put(
      affine.offset,
      ...[...loops.tiles, ...loops.walks].map(({ axis }) => affine.strides[axis]!),
      rowStrideOf(affine, blocking),
    );
    const mode = laneModeOf(affine, blocking, this.sizes);
    this.put(LANE_MODE[mode.type]);
    if (mode.type === 'stride') this.put(mode.stride);
    if (mode.type !== 'table') return;
    this.put(blocking.width);
    // More places than a call may have arguments.
    for (const place of laneTable(affine, blocking, this.sizes)) this.words.push(place);
  }
}

/** The affine function's value at each lane, less that at lane 0. */
function laneTable(affine: Affine, blocking: Blocking, sizes: readonly number[]): number[] {
  let table = [0];
  blocking.laneAxes.forEach((axis, i) => {
    const extent = i === 0 ? blocking.take : sizes[axis]!;
    const stride = affine.strides[axis]!;
    table = table.flatMap((base) => Array.from({ length: extent }, (_, k) => base + k * stride));
  });
  return table;
}

/** Positions of what loops of elements are given: their code is made for the constants among it, to divide by them, say. */
const givenToLoops = ({ tape }: Kernel): ReadonlySet<number> =>
  new Set(tape.flatMap((i) => (loopOf(i) === undefined ? [] : argumentsOf(i))));
