/** For tests of tapes: what their sections hold, and programs of one tape. */
import { encodeTape, type TapePlan } from '../../src/codegen/tape.js';
import type { TapeOp } from '../../src/codegen/tape-registers.js';
import { createProgram } from '../../src/exec/native.js';
import type { Kernel } from '../../src/fusion/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';

/** Names of what a section computes; of joined instructions the joined name, of a chain its steps. */
export function opsOf({ kernel, schedule }: TapePlan, section: readonly TapeOp[]): string[] {
  return section.flatMap((op) => {
    if (op.kind === 'store') return [];
    if (op.kind === 'chain') return [op.chain.steps.map(({ name }) => name).join(' ')];
    const { value } = op;
    const joined = schedule.fusion.functions.get(value)?.name;
    const instruction = kernel.tape[value]!;
    if (joined !== undefined) return joined;
    if (instruction.kind === 'map') return instruction.op;
    return instruction.kind === 'reduce' ? instruction.reduction : instruction.kind;
  });
}

/** A program of one kernel; making it finds the kernel's functions. */
export function make(kernel: Kernel): void {
  createProgram({
    device: 'cpu',
    arenaByteLength: 0,
    images: [],
    buffers: kernel.buffers.map(({ dtype, role, elementCount }) => ({
      role,
      byteLength: byteLengthOf(dtype) * elementCount,
      offset: -1,
    })),
    steps: [{ kind: 'tape', tape: encodeTape(kernel), buffers: kernel.buffers.map((_, k) => k) }],
  });
}
