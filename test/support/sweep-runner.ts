/**
 * Runs kernels on the CPU device in parts, as sweeps over random ranges of their units. With `WEFT_POISON=1` each part
 * has nothing but its windows, and everything else is NaN.
 */
import { encodeTape } from '../../src/codegen/tape.js';
import { tapeWorks } from '../../src/codegen/tape-work.js';
import type { Region, Work } from '../../src/codegen/work.js';
import type * as Native from '../../src/exec/native.js';
import type { ProgramSpec, StepSpec, SweepBuffer, SweepSpec } from '../../src/exec/native-types.js';
import type { Kernel } from '../../src/fusion/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';

/** Ranges that cut [0, units) at random places. */
export function randomCuts(units: number, next: () => number): [number, number][] {
  const cuts = new Set([0, units]);
  for (let k = Math.floor(next() * 6); k > 0; k--) cuts.add(Math.floor(next() * units));
  const ends = [...cuts].sort((a, b) => a - b);
  return ends.slice(1).map((end, k) => [ends[k]!, end]);
}

const WINDOW_ALIGNMENT = 256;
const aligned = (bytes: number): number => Math.ceil(bytes / WINDOW_ALIGNMENT) * WINDOW_ALIGNMENT;

/** Places slots one after the other in an arena. */
export class Arena {
  byteLength = 0;
  take(bytes: number): number {
    const offset = this.byteLength;
    this.byteLength += aligned(bytes);
    return offset;
  }
}

/** A sweep's buffer from the byte ranges that its tiles touch; `undefined`: a tile does not touch it. */
export function windowsOf(
  buffer: number,
  direction: SweepBuffer['direction'],
  ranges: readonly (readonly [first: number, last: number] | undefined)[],
  slots: number,
  arena: Arena,
): SweepBuffer {
  const slotByteLength = aligned(
    Math.max(0, ...ranges.map((r) => (r === undefined ? 0 : (r[0] % WINDOW_ALIGNMENT) + r[1] - r[0]))),
  );
  const windows = ranges.flatMap((r, tile) =>
    r === undefined ? [0, 0, 0, 0, 0, 0] : [tile % slots, 1, r[0], r[1] - r[0], 1, 0],
  );
  const offset = arena.take(slotByteLength * slots);
  return {
    buffer,
    direction,
    offset,
    slotByteLength,
    slots,
    slotPitch: 0,
    windows: Float64Array.from(windows),
  };
}

/** Windows of a kernel's buffers for tiles that touch these regions. */
function buffersOf(
  kernel: Kernel,
  tiles: readonly (readonly Region[])[],
  slots: number,
  arena: Arena,
): SweepBuffer[] {
  return kernel.buffers.map(({ dtype, role }, buffer) => {
    const ranges = tiles.map((regions): [number, number] | undefined => {
      const region = regions.find((r) => r.buffer === buffer);
      return region && [region.first * byteLengthOf(dtype), region.last * byteLengthOf(dtype)];
    });
    return windowsOf(buffer, role === 'input' ? 'in' : 'out', ranges, slots, arena);
  });
}

const touched = (work: Work, first: number, last: number): Region[] => {
  const { reads, writes } = work.regions(first, last);
  return [...reads, ...writes];
};

export interface Cutting {
  readonly by: 'rows' | 'phases';
  readonly next: () => number;
  readonly slots: number;
}

/** The program that runs a kernel in parts. */
export function sweepProgram(kernel: Kernel, { by, next, slots }: Cutting): ProgramSpec {
  const works = tapeWorks(kernel);
  const arena = new Arena();
  const tape = encodeTape(kernel);
  const own = kernel.buffers.map((_, k) => k);
  const scratch = kernel.buffers.length;
  const scratchByteLength = works.phaseScratch[0] ?? 0;
  const scratchOffset = arena.take(scratchByteLength);
  const sweep = (step: Exclude<StepSpec, SweepSpec>, tiles: readonly Region[][], ranges: number[][]) => ({
    kind: 'sweep' as const,
    tiles: tiles.length,
    buffers: buffersOf(kernel, tiles, slots, arena),
    body: [{ step, ranges: Float64Array.from(ranges.flat()) }],
  });
  const cut = (step: Exclude<StepSpec, SweepSpec>, work: Work) => {
    const cuts = randomCuts(work.units, next);
    return sweep(
      step,
      cuts.map(([first, last]) => touched(work, first, last)),
      cuts.map(([first, last]) => [...work.parts(first, last)[0]!, 0, 0]),
    );
  };
  const buffers = [...own, scratch];
  const steps: StepSpec[] =
    by === 'rows'
      ? [cut({ kind: 'tape', tape, buffers: own }, works.rows!)]
      : works.phases.flatMap(({ work, finish }, phase) => [
          cut({ kind: 'tapePhase', tape, phase, buffers }, work),
          sweep({ kind: 'tapeFinish', tape, phase, buffers }, [[...finish]], [[0, 1, 0, 0, 0, 0]]),
        ]);
  return {
    device: 'cpu',
    images: [],
    buffers: [
      ...kernel.buffers.map(({ dtype, role, elementCount }) => ({
        role,
        byteLength: byteLengthOf(dtype) * elementCount,
        offset: 0,
        windowed: true,
      })),
      ...(by === 'rows'
        ? []
        : [{ role: 'temporary' as const, byteLength: scratchByteLength, offset: scratchOffset }]),
    ],
    steps,
    arenaByteLength: arena.byteLength,
  };
}

/** Runs a program and gives its outputs as text: hexadecimal bytes. */
export async function bytesOf(
  native: Pick<typeof Native, 'createProgram' | 'run'>,
  spec: ProgramSpec,
  inputs: readonly TypedArray[],
): Promise<string[]> {
  const outputs = spec.buffers.filter(({ role }) => role === 'output').map(() => 'host' as const);
  const result = await native.run(native.createProgram(spec), inputs, { outputs });
  return result.outputs.map((output) => Buffer.from(output as ArrayBuffer).toString('hex'));
}
