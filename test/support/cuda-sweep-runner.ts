/**
 * Programs that run generated CUDA kernels in parts, as sweeps over random ranges of their units: on a device whose memory
 * is checked byte by byte, a part that touches more than its windows is found.
 */
import {
  CUDA_OPTIONS,
  type CudaKernel,
  cudaKernel,
  cudaWorks,
  type Schedule,
} from '../../src/codegen/cuda.js';
import type { Part, Region, Work } from '../../src/codegen/work.js';
import { compileCuda } from '../../src/exec/native.js';
import type {
  BufferSpec,
  LaunchArgument,
  ProgramSpec,
  StepSpec,
  SweepBuffer,
  SweepSpec,
} from '../../src/exec/native-types.js';
import type { Kernel } from '../../src/fusion/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { Arena, randomCuts, windowsOf } from './sweep-runner.js';

export interface CudaCutting {
  readonly by: 'whole' | 'rows' | 'slots';
  readonly next: () => number;
  /** Slots of each buffer. */
  readonly slots: number;
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

function launchesOf(kernel: Kernel, cuda: CudaKernel): Step[] {
  const argumentOf = (arg: CudaKernel['launches'][number]['args'][number]): LaunchArgument =>
    'scratch' in arg ? { buffer: kernel.buffers.length + arg.scratch } : arg;
  return cuda.launches.map((launch) => ({
    ...launch,
    kind: 'launch',
    image: 0,
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
  const buffers = kernel.buffers.map(({ dtype, role }, buffer): SweepBuffer => {
    const ranges = tiles.map(({ regions }): [number, number] | undefined => {
      const own = regions.filter((region) => region.buffer === buffer);
      if (own.length === 0) return undefined;
      const bytes = byteLengthOf(dtype);
      const first = Math.min(...own.map((region) => region.first));
      return [first * bytes, Math.max(...own.map(({ last }) => last)) * bytes];
    });
    return windowsOf(buffer, role === 'input' ? 'in' : 'out', ranges, slots, arena);
  });
  const body = launches.map((step, k) => ({
    step,
    ranges: Float64Array.from(tiles.flatMap(({ parts }) => [...parts[k]!, 0, 0])),
  }));
  return { kind: 'sweep', tiles: tiles.length, buffers, body };
}

const tilesOf = (work: Work, next: () => number) =>
  randomCuts(work.units, next).map(([first, last]) => {
    const { reads, writes } = work.regions(first, last);
    return { regions: [...reads, ...writes], parts: work.parts(first, last) };
  });

/** Whether every tile writes a stretch of each output by itself, so that the stretch can be copied out. */
function isApart(kernel: Kernel, work: Work): boolean {
  const stretches = Array.from({ length: work.units }, (_, unit) => work.regions(unit, unit + 1).writes);
  return kernel.buffers.every((_, buffer) => {
    const own = stretches.flatMap((writes) => writes.filter((region) => region.buffer === buffer));
    return own.every(({ first }, k) => k === 0 || own[k - 1]!.last <= first);
  });
}

/** The program of a kernel; `undefined` where it cannot be cut so. */
export async function cudaSweepProgram(
  kernel: Kernel,
  { by, next, slots, device = 'cuda:0' }: CudaCutting,
  schedule?: Schedule,
): Promise<ProgramSpec | undefined> {
  const cuda = cudaKernel(kernel, schedule);
  const works = cudaWorks(kernel, schedule);
  const arena = new Arena();
  const launches = launchesOf(kernel, cuda);
  const buffers = buffersOf(kernel, cuda, arena, by !== 'whole');
  const steps: StepSpec[] = [];
  if (by === 'whole') steps.push(...launches);
  if (by === 'rows') {
    if (works.rows === undefined || !isApart(kernel, works.rows)) return undefined;
    steps.push(sweepOf(kernel, launches, tilesOf(works.rows, next), slots, arena));
  }
  if (by === 'slots') {
    const [phase] = works.phases;
    if (phase === undefined || !isApart(kernel, phase.work)) return undefined;
    const last = launches.length - 1;
    const parts = cuda.launches.map(({ grid }, k): Part => [0, k < last ? 0 : grid[0], 0, grid[1]]);
    steps.push(
      sweepOf(kernel, launches, tilesOf(phase.work, next), slots, arena),
      sweepOf(kernel, launches, [{ regions: phase.finish, parts }], slots, arena),
    );
  }
  const { image } = await compileCuda(cuda.source, ['--gpu-architecture=sm_90', ...CUDA_OPTIONS]);
  const images = [{ key: cuda.source, bytes: image }];
  return { device, buffers, arenaByteLength: arena.byteLength, images, steps };
}
