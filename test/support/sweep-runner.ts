/**
 * Runs kernels on the CPU device in parts, as sweeps over random ranges of their units. With `WEFT_POISON=1`
 * each part has nothing but its windows, and everything else is NaN.
 */

import { encodePhases, encodeTape, type TapeSpec } from '../../src/codegen/cpu/tape.js';
import { tapeWorks } from '../../src/codegen/cpu/tape-work.js';
import { mergeRegions, type Region, type Work, type Works } from '../../src/codegen/cuts/work.js';
import type * as Native from '../../src/exec/native/native.js';
import type { ProgramSpec, StepSpec, SweepBuffer, SweepSpec } from '../../src/exec/native/program-types.js';
import type { Touch } from '../../src/exec/tiles/sweep-cuts.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { DEVICE_ALIGNMENT } from '../../src/shared/layout.js';

/** Ranges that cut [0, units) at random places. */
export function randomCuts(units: number, next: () => number): [number, number][] {
  const cuts = new Set([0, units]);
  for (let k = Math.floor(next() * 6); k > 0; k--) cuts.add(Math.floor(next() * units));
  const ends = [...cuts].sort((a, b) => a - b);
  return ends.slice(1).map((end, k) => [ends[k]!, end]);
}

const aligned = (bytes: number): number => Math.ceil(bytes / DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT;

/** Places slots one after the other in an arena. */
export class Arena {
  byteLength = 0;
  take(bytes: number): number {
    const offset = this.byteLength;
    this.byteLength += aligned(bytes);
    return offset;
  }
}

/** Bytes of a buffer that a tile touches: a stretch, or rows of it. */
export type ByteRange = Pick<Touch, 'first' | 'last' | 'rows'>;

const scaled = ({ first, last, rows }: Region, bytes: number): ByteRange => ({
  first: first * bytes,
  last: last * bytes,
  ...(rows && { rows: { pitch: rows.pitch * bytes, width: rows.width * bytes } }),
});

/** The bytes that tiles touch of a kernel's buffer. */
export const rangesOf = (
  kernel: Kernel,
  buffer: number,
  tiles: readonly (readonly Region[])[],
): (ByteRange | undefined)[] =>
  tiles.map((regions) => {
    const own = mergeRegions(regions.filter((r) => r.buffer === buffer));
    return own[0] && scaled(own[0], byteLengthOf(kernel.buffers[buffer]!.dtype));
  });

/** A sweep's buffer from the byte ranges that its tiles touch; `undefined`: a tile does not touch it. */
export function windowsOf(
  buffer: number,
  direction: SweepBuffer['direction'],
  ranges: readonly (ByteRange | undefined)[],
  slots: number,
  arena: Arena,
  slotPitch = 0,
): SweepBuffer {
  const windows = ranges.map((r) => {
    if (r === undefined) return { first: 0, width: 0, rows: 0, pitch: 0, end: 0 };
    const { first, last, rows } = r;
    if (rows === undefined)
      return {
        first,
        width: last - first,
        rows: 1,
        pitch: 0,
        end: (first % DEVICE_ALIGNMENT) + last - first,
      };
    const [top, bottom] = [Math.floor(first / rows.pitch), Math.floor((last - 1) / rows.pitch)];
    const start = (top * slotPitch + (first % rows.pitch)) % DEVICE_ALIGNMENT;
    const end = start + (bottom - top) * slotPitch + rows.width;
    return { first, ...rows, rows: bottom - top + 1, end };
  });
  const slotByteLength = aligned(Math.max(0, ...windows.map(({ end }) => end)));
  const table = windows.flatMap(({ first, width, rows, pitch }, tile) =>
    rows === 0 ? [0, 0, 0, 0, 0, 0] : [tile % slots, 1, first, width, rows, pitch],
  );
  return {
    buffer,
    direction,
    offset: arena.take(slotByteLength * slots),
    slotByteLength,
    slots,
    slotPitch,
    windows: Float64Array.from(table),
  };
}

/** Pitches in elements for some of a kernel's buffers. */
export function somePitches({ pitches }: Works, next: () => number): Map<number, number> {
  const chosen = new Map<number, number>();
  for (const [buffer, candidates] of pitches)
    if (next() < 0.8) chosen.set(buffer, candidates[Math.floor(next() * candidates.length)]!);
  return chosen;
}

/** The kernel with rows in windows a little further apart than the widest window of its tiles needs. */
export function withSlotPitches(
  kernel: Kernel,
  pitches: ReadonlyMap<number, number>,
  tiles: readonly (readonly Region[])[],
  next: () => number,
): Kernel {
  const buffers = kernel.buffers.map((buffer, k) => {
    const from = pitches.get(k);
    if (from === undefined) return buffer;
    const bytes = byteLengthOf(buffer.dtype);
    const widths = rangesOf(kernel, k, tiles).map((r) => r?.rows?.width ?? 0);
    const least = Math.max(64, ...widths);
    const gap = (((from * bytes - least) % DEVICE_ALIGNMENT) + DEVICE_ALIGNMENT) % DEVICE_ALIGNMENT;
    const to = (least + gap + DEVICE_ALIGNMENT * Math.floor(next() * 2)) / bytes;
    return { ...buffer, pitch: { from, to } };
  });
  return { ...kernel, buffers };
}

/** Bytes from row to row in the slots of a buffer. */
export const slotPitchOf = ({ buffers }: Kernel, buffer: number): number =>
  (buffers[buffer]!.pitch?.to ?? 0) * byteLengthOf(buffers[buffer]!.dtype);

/** Windows of a kernel's buffers for tiles that touch these regions. */
const buffersOf = (
  kernel: Kernel,
  tiles: readonly (readonly Region[])[],
  slots: number,
  arena: Arena,
): SweepBuffer[] =>
  kernel.buffers.map(({ role }, k) => {
    const direction = role === 'input' ? 'in' : 'out';
    return windowsOf(k, direction, rangesOf(kernel, k, tiles), slots, arena, slotPitchOf(kernel, k));
  });

export interface Cutting {
  readonly by: 'rows' | 'phases';
  readonly next: () => number;
  readonly slots: number;
  /** Whether windows are rows of the buffers that can be walked so. */
  readonly pitched?: boolean;
}

/** The program that runs a kernel in parts. */
export function sweepProgram(source: Kernel, { by, next, slots, pitched = false }: Cutting): ProgramSpec {
  const works = tapeWorks(source);
  const encode = by === 'rows' ? encodeTape : encodePhases;
  const pitches = pitched ? somePitches(works, next) : new Map<number, number>();
  const arena = new Arena();
  const own = source.buffers.map((_, k) => k);
  const scratch = source.buffers.length;
  const scratchByteLength = works.phaseScratch[0] ?? 0;
  const scratchOffset = arena.take(scratchByteLength);
  const buffers = [...own, scratch];
  const tapes: TapeSpec[] = [];
  const tapeOf = (kernel: Kernel): number => tapes.push(encode(kernel)) - 1;
  const cut = (work: Work, stepOf: (tape: number) => Exclude<StepSpec, SweepSpec>): SweepSpec => {
    const cuts = randomCuts(work.units, next);
    const tiles = cuts.map(([first, last]) => {
      const { reads, writes } = work.regions(first, last, pitches);
      return [...reads, ...writes];
    });
    const kernel = withSlotPitches(source, pitches, tiles, next);
    const ranges = cuts.flatMap(([first, last]) => [...work.parts(first, last)[0]!, 0, 0]);
    return {
      kind: 'sweep',
      tiles: tiles.length,
      buffers: buffersOf(kernel, tiles, slots, arena),
      body: [{ step: stepOf(tapeOf(kernel)), ranges: Float64Array.from(ranges) }],
    };
  };
  const steps: StepSpec[] =
    by === 'rows'
      ? [cut(works.rows!, (tape) => ({ kind: 'tape', tape, buffers: own }))]
      : works.phases.flatMap(({ work, finish }, phase): StepSpec[] => [
          cut(work, (tape) => ({ kind: 'tapePhase', tape, phase, buffers })),
          {
            kind: 'sweep',
            tiles: 1,
            buffers: buffersOf(source, [finish], slots, arena),
            body: [
              {
                step: { kind: 'tapeFinish', tape: tapeOf(source), phase, buffers },
                ranges: Float64Array.of(0, 1, 0, 0, 0, 0),
              },
            ],
          },
        ]);
  return {
    device: 'cpu',
    images: [],
    buffers: [
      ...source.buffers.map(({ dtype, role, elementCount }) => ({
        role,
        byteLength: byteLengthOf(dtype) * elementCount,
        offset: 0,
        windowed: true,
      })),
      ...(by === 'rows'
        ? []
        : [{ role: 'temporary' as const, byteLength: scratchByteLength, offset: scratchOffset }]),
    ],
    tapes,
    steps,
    arenaByteLength: arena.byteLength,
  };
}

/** Runs a program and gives its outputs as text: hexadecimal bytes. */
export async function bytesOf(
  native: Pick<typeof Native, 'createProgram' | 'run'>,
  spec: ProgramSpec,
  inputs: readonly TypedArray[],
  numbers?: Uint8Array,
): Promise<string[]> {
  const outputs = spec.buffers.filter(({ role }) => role === 'output').map(() => 'host' as const);
  const result = await native.run(native.createProgram(spec), inputs, { outputs, numbers });
  return result.outputs.map((output) => Buffer.from(output as ArrayBuffer).toString('hex'));
}
