/**
 * CUDA kernels in parts: a part touches nothing outside the regions that `cudaWorks` names, and all parts
 * together give the bits of the whole, wherever it is cut. Every case of the printers runs in the simulator,
 * in random partitions.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { cudaKernel, cudaWorks } from '../../src/codegen/cuda/cuda.js';
import { expandForDevice } from '../../src/codegen/cuda/footprint.js';
import type { Part, Region, Work, Works } from '../../src/codegen/cuts/work.js';
import { boxesOfRange } from '../../src/fusion/kernel/boxes.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { hasCompiler, type SimulatedCase, type SimulatedRun, simulate } from '../support/cuda-simulator.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator, randomValues } from '../support/random.js';
import { wrongShifts } from '../support/shifts.js';
import { CUDA_CASES } from './cuda-cases.js';

interface Job {
  readonly name: string;
  readonly kernel: Kernel;
  readonly cuda: ReturnType<typeof cudaKernel>;
  readonly works: Works;
  readonly inputs: readonly (TypedArray | undefined)[];
}

/** Cases with more blocks than those of the printers have. */
function largeCases(): { name: string; kernel: Kernel }[] {
  const box = new KernelBuilder([40, 30, 12]);
  const moved = box.map('add', box.load('float32', [1, 40 * 12, 40]), box.load('int32', [360, 0, 1]));
  const batch = new KernelBuilder([5, 70, 66]);
  const turned = batch.map('add', batch.load('float32', [4620, 1, 70]), batch.load('float32', [0, 66, 1]));
  const tall = new KernelBuilder([200], [1500]);
  const x = tall.load('float32', [1, 200]);
  const mean = tall.map('divide', tall.reduce('sum', x), tall.load('float32', [1, 0]));
  const wide = new KernelBuilder([9, 10], [2000]);
  const y = wide.load('float64', [10 * 2000, 2000, 1]);
  const padded = new KernelBuilder([30_000]);
  const bounds = [{ offset: -700, strides: [1], size: 20_000 }];
  return [
    { name: 'map of a box', kernel: box.store(moved).build('map_box') },
    { name: 'tiles of a batch', kernel: batch.store(turned).build('tiles_batch') },
    {
      name: 'tall columns',
      kernel: tall.store(mean).store(tall.map('square', x)).store(tall.reduce('argmax', x)).build('tall'),
    },
    { name: 'rows of two axes', kernel: wide.store(wide.reduce('squaredDeviations', y)).build('wide') },
    {
      name: 'padded',
      kernel: padded.store(padded.load('float32', [1], { offset: -700, bounds })).build('padded'),
    },
  ];
}

/** One reduction cuts like another: a few of each shape are enough. */
const cutAlike = /^reduce (all|rows|columns) by (?!sum of float|argmin|squareddeviations of complex)/;

const jobs: readonly Job[] = [...CUDA_CASES.filter(({ name }) => !cutAlike.test(name)), ...largeCases()]
  .flatMap((one) => {
    const schedule = 'schedule' in one ? one.schedule : undefined;
    if (schedule !== undefined) return [{ ...one, schedule }];
    const { kernels } = expandForDevice(one.kernel);
    return kernels.map((kernel) => ({
      name: kernels.length > 1 ? `${one.name}: ${kernel.name}` : one.name,
      kernel,
      schedule: cudaKernel(kernel).schedule,
    }));
  })
  .map(({ name, kernel, schedule }, seed) => ({
    name,
    kernel,
    cuda: cudaKernel(kernel, schedule),
    works: cudaWorks(kernel, schedule),
    inputs: kernel.buffers.map(({ role, dtype, elementCount }, k) =>
      role === 'input' ? randomValues(dtype, [elementCount], 31 * seed + k, -2, 3).data : undefined,
    ),
  }));

/** Ranges that cover all units, in any order. */
function cut(units: number, seed: number): [number, number][] {
  const next = generator(seed);
  const places = Array.from({ length: 5 }, () => Math.floor(next() * units));
  const ends = [...new Set([0, units, ...places])].sort((a, b) => a - b);
  const ranges = ends.slice(1).map((end, k): [number, number] => [ends[k]!, end]);
  return ranges
    .map((range) => ({ range, key: next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ range }) => range);
}

function windowsOf(kernel: Kernel, regions: readonly Region[]): SimulatedRun['windows'] {
  return kernel.buffers.map((_, k) => {
    const own = regions.filter(({ buffer }) => buffer === k);
    if (own.length === 0) return undefined;
    return [Math.min(...own.map(({ first }) => first)), Math.max(...own.map(({ last }) => last))] as const;
  });
}

function runsOf(kernel: Kernel, work: Work, seed: number): SimulatedRun[] {
  return cut(work.units, seed).map(([first, last]) => {
    const { reads, writes } = work.regions(first, last);
    return { windows: windowsOf(kernel, [...reads, ...writes]), parts: work.parts(first, last) };
  });
}

/** Runs of a cut along the reduced axes: slots, then the launches that finish. */
function slotRuns({ kernel, cuda, works }: Job, seed: number): SimulatedRun[] {
  const [{ work, finish }] = works.phases as readonly [Works['phases'][number]];
  const parts = cuda.launches.map(({ grid }, k): Part => [0, k === 0 ? 0 : grid[0], 0, grid[1]]);
  return [...runsOf(kernel, work, seed), { windows: windowsOf(kernel, finish), parts }];
}

const SEEDS = [1, 2];

const why = hasCompiler() ? '' : ' (skipped: no g++ to simulate them with)';

describe.skipIf(!hasCompiler())(`parts of CUDA kernels${why}`, () => {
  const ways = jobs.flatMap((job, k): { job: number; way: string; simulated: SimulatedCase }[] => {
    const make = (way: string, runs: readonly SimulatedRun[]) => ({
      job: k,
      way,
      simulated: { ...job, runs },
    });
    const { rows, phases } = job.works;
    return [
      { job: k, way: 'whole', simulated: job },
      ...(rows === undefined
        ? []
        : SEEDS.map((seed) => make(`rows ${seed}`, runsOf(job.kernel, rows, seed)))),
      ...(phases.length === 0 ? [] : SEEDS.map((seed) => make(`slots ${seed}`, slotRuns(job, seed)))),
    ];
  });
  let results: TypedArray[][] = [];
  beforeAll(() => {
    results = simulate(ways.map(({ simulated }) => simulated));
  }, 240_000);

  it.each(jobs.map(({ name }, k) => [name, k] as const))('give the bits of the whole: %s', (_, k) => {
    const own = ways.flatMap(({ job, way }, at) => (job === k ? [{ way, result: results[at]! }] : []));
    const [wanted, ...others] = own.map(({ way, result }) => ({
      way,
      bytes: result.map(({ buffer }) => Buffer.from(buffer).toString('base64')),
    }));
    for (const { way, bytes } of others) expect({ way, bytes }).toEqual({ way, bytes: wanted!.bytes });
  });

  it('are cut in many of the cases', () => {
    expect(jobs.filter(({ works }) => (works.rows?.units ?? 0) > 1).length).toBeGreaterThan(40);
    expect(jobs.filter(({ works }) => (works.phases[0]?.work.units ?? 0) > 1).length).toBeGreaterThan(15);
  });
});

describe('cudaWorks', () => {
  const mapOf = (count: number): Kernel => {
    const b = new KernelBuilder([count]);
    return b.store(b.map('exp', b.load('float32', [1]))).build('mapped');
  };
  const sumOf = (parallel: number[], reduced: number[], strides: number[]): Kernel => {
    const b = new KernelBuilder(parallel, reduced);
    return b.store(b.reduce('sum', b.load('float32', strides))).build('summed');
  };

  it('reads and writes of a map exactly the elements of its blocks, the tail with the last', () => {
    const { rows, phases } = cudaWorks(mapOf(10_003));
    expect(phases).toEqual([]);
    expect(rows!.units).toBe(20);
    expect(rows!.regions(4, 10)).toEqual({
      reads: [{ buffer: 0, first: 2048, last: 5120 }],
      writes: [{ buffer: 1, first: 2048, last: 5120 }],
    });
    expect(rows!.regions(19, 20).writes).toEqual([{ buffer: 1, first: 9728, last: 10_003 }]);
  });

  it('moves with its units as it says', () => {
    let counted = 0;
    for (const [seed, { kernel }] of CUDA_CASES.entries()) {
      const { rows, phases } = cudaWorks(kernel);
      for (const work of [...(rows === undefined ? [] : [rows]), ...phases.map((phase) => phase.work)]) {
        expect(wrongShifts(work, seed), `case ${seed}`).toEqual([]);
        counted += work.shift === undefined ? 0 : 1;
      }
    }
    expect(counted).toBeGreaterThan(5);
  });

  it('cuts a long sum into slots and finishes once', () => {
    const { rows, phases, phaseScratch } = cudaWorks(sumOf([], [2 ** 28], [1]));
    expect(rows!.units).toBe(1);
    expect(phases).toHaveLength(1);
    const [{ work, finish }] = phases as readonly [Works['phases'][number]];
    expect(work.units).toBe(2048);
    expect(work.regions(1024, 2048)).toEqual({
      reads: [{ buffer: 0, first: 2 ** 27, last: 2 ** 28 }],
      writes: [],
    });
    expect(work.parts(3, 5)).toEqual([[0, 1, 3, 5]]);
    expect(finish).toEqual([{ buffer: 1, first: 0, last: 1 }]);
    expect(phaseScratch).toEqual([4 * 2048]);
  });

  it('runs both launches of a slotted reduction on the same rows', () => {
    const { rows } = cudaWorks(sumOf([4096], [2 ** 16], [1, 4096]));
    const [partial, combine] = rows!.parts(1, 3);
    expect(rows!.units).toBe(32);
    expect(partial).toEqual([1, 3, 0, 32]);
    expect(combine).toEqual([4096 / 32 / 32, (3 * 4096) / 32 / 32, 0, 1]);
    expect(rows!.regions(1, 3).writes).toEqual([{ buffer: 1, first: 128, last: 384 }]);
  });

  it('has slots of at most 64 MiB where sums are large and narrow', () => {
    for (const [parallel, reduced, strides] of [
      [[], [2 ** 36], [1]],
      [[16], [2 ** 32], [1, 16]],
      [[1024], [2 ** 26], [1, 1024]],
    ] as const) {
      const { phases } = cudaWorks(sumOf([...parallel], [...reduced], [...strides]));
      const [region] = phases[0]!.work.regions(0, 1).reads;
      expect(4 * (region!.last - region!.first)).toBeLessThanOrEqual(64 * 2 ** 20);
    }
  });

  it('leaves kernels of split phases to expandForDevice, whose kernels are those of the whole', () => {
    const { kernel } = CUDA_CASES.find(({ name }) => name === 'rows of softmax split')!;
    expect(cudaWorks(kernel)).toEqual({
      rows: undefined,
      phases: [],
      phaseScratch: [],
      pitches: new Map(),
    });
    const { kernels, added } = expandForDevice(kernel);
    expect(added.map(({ byteLength }) => byteLength)).toEqual([8, 8]);
    const whole = cudaKernel(kernel);
    const parts = kernels.map((part) => cudaKernel(part));
    expect(parts.flatMap(({ launches }) => launches.map((l) => l.function))).toEqual(
      whole.launches.map((l) => l.function),
    );
    const codeOf = (source: string): string => source.slice(source.indexOf('extern "C"'));
    for (const { source } of parts) expect(whole.source).toContain(codeOf(source));
    const one = mapOf(100);
    expect(expandForDevice(one)).toEqual({ kernels: [one], added: [] });
  });
});

describe('boxesOfRange', () => {
  it('is exactly the range, without overlaps, for every range of small boxes', () => {
    for (const sizes of [[], [7], [3, 4], [2, 1, 5], [3, 2, 2, 3]]) {
      const count = sizes.reduce((a, b) => a * b, 1);
      for (let first = 0; first < count; first++) {
        for (let last = first + 1; last <= count; last++) {
          const found = boxesOfRange(first, last, sizes).flatMap((box) => {
            let indices = [0];
            for (const [k, [from, to]] of box.entries()) {
              const steps = Array.from({ length: to - from }, (_, i) => from + i);
              indices = indices.flatMap((i) => steps.map((step) => i * sizes[k]! + step));
            }
            return indices;
          });
          const wanted = Array.from({ length: last - first }, (_, i) => first + i);
          expect(found.sort((a, b) => a - b)).toEqual(wanted);
        }
      }
    }
  });
});

describe('buffers that are written in order', () => {
  const works = jobs.flatMap(({ name, works: { rows } }) => (rows === undefined ? [] : [{ name, rows }]));

  it('have stretches that follow one another, wherever the work is cut', () => {
    for (const [seed, { name, rows }] of works.entries()) {
      const ranges = cut(rows.units, seed).sort(([a], [b]) => a - b);
      for (const buffer of rows.inOrder ?? []) {
        let end = 0;
        for (const [first, last] of ranges) {
          const region = rows.regions(first, last).writes.find((write) => write.buffer === buffer);
          if (region === undefined) continue;
          expect(region.first, name).toBeGreaterThanOrEqual(end);
          end = region.last;
        }
      }
    }
  });

  it('are those of most maps and reductions, and none whose rows lie side by side', () => {
    const inOrder = works.filter(({ rows }) => rows.inOrder !== undefined && rows.inOrder.size > 0);
    expect(inOrder.length).toBeGreaterThan(works.length / 3);
    const transposed = new KernelBuilder([300, 400]);
    const stored = transposed.store(transposed.load('float32', [400, 1]), [1, 300]).build('turned');
    expect(cudaWorks(stored, cudaKernel(stored).schedule).rows?.inOrder ?? new Set()).toEqual(new Set());
  });
});
