/**
 * Writes a plan of a kernel as the words of a tape, in the order in which `native/cpu/tape-parse.cpp` reads them: how it is walked,
 * its buffers, where each value is, and the steps of each section. Called by `tape.ts`.
 */
import { sizesOf, windowIndexOf } from '../../fusion/kernel/algebra.js';
import { constantOf, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { type Access, type Affine, type Bound, formOf } from '../../fusion/kernel/kernel.js';
import { inWalks } from '../../fusion/kernel/levels.js';
import { type DType, dtypeCode, type Scalar } from '../../graph/dtype.js';
import { dtypeAt } from '../../graph/element-loop.js';
import type { ElementLoop, ElementStep, MonoidPart, StepValue } from '../../graph/loop-step.js';
import { writeScalar } from '../../graph/scalar-bytes.js';
import { InternalError } from '../../host/errors.js';
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
import { inWindows } from '../cuts/pitch.js';
import { weightOf } from './op-weights.js';
import { type Blocking, laneKindOf, laneModeOf, rowStrideOf } from './tape-blocking.js';
import { operandsOf } from './tape-fuse.js';
import type { TapePlan } from './tape-plan.js';
import type { Section, TapeOp } from './tape-registers.js';
import { seamlessLanes } from './tape-seamless.js';
import { squareKernel, squareOffsets, type Triangle } from './tape-triangle.js';

/** The words of a tape, from front to back, all integers below 2^53; they refer to ops and reductions by position. */
export interface TapeText {
  readonly words: Float64Array;
  readonly ops: readonly string[];
  /** Of each op, in light instructions (`op-weights.ts`). */
  readonly weights: Float64Array;
}

/** The name by which a map is a loop of each element. */
const REPEAT = 'repeat';
/** The kinds of values of a loop's step, as the tape numbers them. */
const STEP_VALUE = { map: 0, cast: 1, repeat: 2, const: 3 } as const;

export const textOf = (plan: TapePlan): TapeText => new Encoder(plan).encode();

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

  encode(): TapeText {
    const { triangle } = this.plan;
    this.sections();
    this.put(triangle === undefined ? 0 : 1);
    if (triangle !== undefined) this.triangle(triangle);
    const { words, ops } = this;
    return { words: Float64Array.from(words), ops, weights: Float64Array.from(ops, weightOf) };
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
