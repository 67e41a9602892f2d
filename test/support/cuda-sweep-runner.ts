/**
 * Programs that run generated CUDA kernels in parts, as sweeps over random ranges of their units: on a device
 * whose memory is checked byte by byte, a part that touches more than its windows is found.
 */
import {
  type CudaKernel,
  cudaKernel,
  cudaWorks,
  KERNEL_OPTIONS,
  type Schedule,
} from '../../src/codegen/cuda/cuda.js';
import type { Part, Region, Work } from '../../src/codegen/cuts/work.js';
import { compileCuda } from '../../src/exec/native/native.js';
import type {
  BufferSpec,
  LaunchArgument,
  ProgramSpec,
  StepSpec,
  SweepBuffer,
  SweepSpec,
} from '../../src/exec/native/program-types.js';
import { areDisjoint } from '../../src/exec/tiles/sweep-windows.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import {
  Arena,
  randomCuts,
  rangesOf,
  slotPitchOf,
  somePitches,
  windowsOf,
  withSlotPitches,
} from './sweep-runner.js';

export interface CudaCutting {
  readonly by: 'whole' | 'rows' | 'slots';
  readonly next: () => number;
  /** Slots of each buffer. */
  readonly slots: number;
  /** Whether windows are rows of the buffers that can be walked so. */
  readonly pitched?: boolean;
  readonly device?: string;
}

type Step = Exclude<StepSpec, SweepSpec>;

/** The kernel's buffers, then its scratch. */
function buffersOf(kernel: Kernel, cuda: CudaKernel, arena: Arena, windowed: boolean): BufferSpec[] {
  return [
    ...kernel.buffers.map(({ dtype, role, elementCount }) => ({
      role,
      byteLength: byteLengthOf(dtype) * elementCount,
      offset: 0,
      windowed,
    })),
    ...cuda.scratch.map(({ byteLength }) => ({
      role: 'temporary' as const,
      byteLength,
      offset: arena.take(byteLength),
    })),
  ];
}

function launchesOf(kernel: Kernel, cuda: CudaKernel, image: number): Step[] {
  const argumentOf = (arg: CudaKernel['launches'][number]['args'][number]): LaunchArgument =>
    'scratch' in arg ? { buffer: kernel.buffers.length + arg.scratch } : arg;
  return cuda.launches.map((launch) => ({
    ...launch,
    kind: 'launch',
    image,
    args: launch.args.map(argumentOf),
  }));
}

/** A sweep whose tiles touch these regions and run these parts of the launches. */
function sweepOf(
  kernel: Kernel,
  launches: readonly Step[],
  tiles: readonly { readonly regions: readonly Region[]; readonly parts: readonly Part[] }[],
  slots: number,
  arena: Arena,
): SweepSpec {
  const regions = tiles.map((tile) => tile.regions);
  const buffers = kernel.buffers.map(({ role }, k): SweepBuffer => {
    const direction = role === 'input' ? 'in' : 'out';
    return windowsOf(k, direction, rangesOf(kernel, k, regions), slots, arena, slotPitchOf(kernel, k));
  });
  // Of slots, what finishes them is another sweep's.
  const body = launches.slice(0, tiles[0]!.parts.length).map((step, k) => ({
    step,
    ranges: Float64Array.from(tiles.flatMap(({ parts }) => [...parts[k]!, 0, 0])),
  }));
  return { kind: 'sweep', tiles: tiles.length, buffers, body };
}

interface Tile {
  readonly regions: readonly Region[];
  readonly writes: readonly Region[];
  readonly parts: readonly Part[];
}

const tilesOf = (work: Work, pitches: ReadonlyMap<number, number>, next: () => number): Tile[] =>
  randomCuts(work.units, next).map(([first, last]) => {
    const { reads, writes } = work.regions(first, last, pitches);
    return { regions: [...reads, ...writes], writes, parts: work.parts(first, last) };
  });

/** Whether every tile writes a window of each output by itself, so that the window can be copied out. */
function isDisjoint(tiles: readonly Tile[]): boolean {
  return tiles.every(({ writes }, t) =>
    writes.every((own) =>
      tiles.every(
        (other, u) => u === t || other.writes.every((o) => o.buffer !== own.buffer || areDisjoint(own, o)),
      ),
    ),
  );
}

/** The program of a kernel; `undefined` where it cannot be cut so. */
export async function cudaSweepProgram(
  source: Kernel,
  { by, next, slots, pitched = false, device = 'cuda:0' }: CudaCutting,
  schedule?: Schedule,
): Promise<ProgramSpec | undefined> {
  const works = cudaWorks(source, schedule);
  const work = by === 'slots' ? works.phases[0]?.work : works.rows;
  if (by !== 'whole' && work === undefined) return undefined;
  const pitches = pitched ? somePitches(works, next) : new Map<number, number>();
  const tiles = by === 'whole' ? [] : tilesOf(work!, pitches, next);
  if (!isDisjoint(tiles)) return undefined;
  const regions = tiles.map((tile) => tile.regions);
  const kernel = by === 'whole' ? source : withSlotPitches(source, pitches, regions, next);
  const images: { key: string; bytes: Uint8Array }[] = [];
  const compiled = async (one: Kernel): Promise<{ cuda: CudaKernel; launches: Step[] }> => {
    const cuda = cudaKernel(one, schedule ?? cudaKernel(source).schedule);
    const { image } = await compileCuda(cuda.source, ['--gpu-architecture=sm_90', ...KERNEL_OPTIONS]);
    const known = images.findIndex(({ key }) => key === cuda.source);
    if (known < 0) images.push({ key: cuda.source, bytes: image });
    return { cuda, launches: launchesOf(one, cuda, known < 0 ? images.length - 1 : known) };
  };
  const { cuda, launches } = await compiled(kernel);
  const arena = new Arena();
  const buffers = buffersOf(source, cuda, arena, by !== 'whole');
  const steps: StepSpec[] = by === 'whole' ? [...launches] : [sweepOf(kernel, launches, tiles, slots, arena)];
  if (by === 'slots') {
    const whole = await compiled(source);
    const last = launches.length - 1;
    const parts = cuda.launches.map(({ grid }, k): Part => [0, k < last ? 0 : grid[0], 0, grid[1]]);
    const finish = [{ regions: works.phases[0]!.finish, parts }];
    steps.push(sweepOf(source, whole.launches, finish, slots, arena));
  }
  return { device, buffers, arenaByteLength: arena.byteLength, images, steps };
}
