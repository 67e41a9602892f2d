/**
 * Tiles that devices take as they become free: the same bits whoever does them, each done once, and fewer by
 * a device that is late.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  arange,
  type ComputeOptions,
  compute,
  explain,
  type Lazy,
  lazy,
  loadNpy,
  type NDArray,
  npy,
  type Progress,
  plan,
  profile,
  type TimelineSpan,
} from '../../src/index.js';
import {
  describeSimulator,
  hold,
  setDevices,
  setFaults,
  setSchedule,
  show,
  stall,
  takeProblems,
} from './simulator.js';

setDevices(
  Array.from({ length: 8 }, (_, k) => ({ memory: 2 ** (26 - (k % 3)), unreachable: k === 2 ? [0] : [] })),
);

const ROWS = 8192;
const COLUMNS = 32;
const MEMORY = 2 ** 16;
const matrix = (scale: number): Lazy =>
  lazy(Float32Array.from({ length: ROWS * COLUMNS }, (_, k) => Math.sin(k * scale))).reshape([ROWS, COLUMNS]);
const x = matrix(1);
const y = matrix(0.37);
const bitsOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
const bytesOf = async (work: readonly Lazy[], options: ComputeOptions): Promise<Buffer[]> =>
  (await compute(work, options)).map(bitsOf);
const UNKNOWN = 999;
const TIMINGS = ['late', 'random', 'eager'] as const;

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

interface Work {
  readonly name: string;
  readonly work: readonly Lazy[];
  readonly memory?: number;
}
const WORKS: readonly Work[] = [
  { name: 'a map', work: [x.mul(2).add(1)] },
  { name: 'what nothing is brought in for', work: [arange(ROWS * COLUMNS).mul(3)] },
  { name: 'several results of several inputs', work: [x.add(y), x.mul(y).sqrt(), y.sum(1)] },
  { name: 'partial sums, and what follows from them', work: [x.sub(x.mean(0)), x.exp().sum(0), y.max()] },
  { name: 'windows that overlap', work: [x.slice('2:').sub(x.slice(':-2'))] },
  { name: 'a matrix that all tiles share', work: [x.matmul(y.slice(':32'))], memory: 2 ** 17 },
];

describe('tiles that devices take as they become free', () => {
  it.each(WORKS)('have the bits of the whole: $name', async ({ work, memory = MEMORY }) => {
    const wanted = await bytesOf(work, { device: 'cuda:0' });
    for (const devices of [2, 3, 8]) {
      const options = { devices, memory };
      expect(plan(work, options).phases.some(({ byTiles }) => byTiles)).toBe(true);
      for (let k = 0; k < 4; k++) {
        const seed = devices + 10 * k;
        setSchedule({ timing: TIMINGS[k % 3]!, seed });
        expect({ devices, seed, bytes: await bytesOf(work, options) }).toEqual({
          devices,
          seed,
          bytes: wanted,
        });
        expect(takeProblems().map(show)).toEqual([]);
      }
    }
  });
});

interface Done {
  readonly bytes: readonly Buffer[];
  /** The kernels that each device ran, and the bytes that were copied to it. */
  readonly kernels: readonly number[];
  readonly copied: readonly number[];
}

async function profiled(
  work: readonly Lazy[],
  options: ComputeOptions & { devices: string[] },
): Promise<Done> {
  const { result, timeline } = await profile(() => compute(work, options));
  const on = (device: string, kind: string): TimelineSpan[] =>
    timeline.spans.filter((span) => span.device === device && span.kind === kind);
  return {
    bytes: result.map(bitsOf),
    kernels: options.devices.map((device) => on(device, 'kernel').length),
    copied: options.devices.map((device) => on(device, 'copy in').reduce((sum, { bytes }) => sum + bytes, 0)),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const NAMES = ['cuda:0', 'cuda:1', 'cuda:2'];
const OPTIONS = { devices: NAMES, memory: MEMORY };
const map = [x.mul(2).add(1)];

describe('a device that is held up', () => {
  it('does fewer tiles, the others more, and nobody one that another did', async () => {
    const wanted = await bytesOf(map, { device: 'cuda:0' });
    const [sweep] = plan(map, OPTIONS).sweeps;
    await profiled(map, OPTIONS);
    const late = new Set<string>();
    // Each device has its default stream and Weft's, and two for copies.
    for (let stream = 0; stream < 4 * NAMES.length; stream++) {
      setSchedule({ timing: TIMINGS[stream % 3]!, seed: stream });
      stall(stream, 200);
      const { bytes, kernels } = await profiled(map, OPTIONS);
      stall(stream, 0);
      expect(bytes).toEqual(wanted);
      expect(sum(kernels)).toBe(sweep!.tiles);
      for (const [k, count] of kernels.entries()) if (count < sweep!.tiles / 10) late.add(NAMES[k]!);
    }
    expect([...late].sort()).toEqual(NAMES);
  });
});

describe('windows of tiles that devices take', () => {
  it('are brought once, those that all tiles share once to each device', async () => {
    const { copied } = await profiled(map, OPTIONS);
    expect(sum(copied)).toBe(ROWS * COLUMNS * 4);
    const shared = await profiled([x.add(y.slice('5:6'))], OPTIONS);
    const row = COLUMNS * 4;
    expect(sum(shared.copied) - ROWS * row).toBeGreaterThanOrEqual(row);
    expect(sum(shared.copied) - ROWS * row).toBeLessThanOrEqual(NAMES.length * row);
  });
});

describe('what is sharded by tiles', () => {
  const byTiles = (work: readonly Lazy[], options: ComputeOptions): boolean[] =>
    plan(work, options).phases.map((phase) => phase.byTiles);

  it('is what streams from or to the host, in many tiles', async () => {
    expect(byTiles(map, OPTIONS)).toEqual([true]);
    expect(byTiles(map, { devices: NAMES })).toEqual([false]);
    expect(byTiles(map, { ...OPTIONS, devices: ['cuda:0'] })).toEqual([]);
    // Sums in slots, what combines them, and a map with what came of it.
    expect(byTiles([x.sub(x.mean(0))], OPTIONS)).toEqual([true, false, true]);
    using held = await x.persist({ devices: NAMES });
    expect(byTiles([held.mul(2)], OPTIONS)).toEqual([false]);
  });

  it('has values between phases wait on the host, where those may', () => {
    const sums = [x.exp().sum(0)];
    const { hostPeakBytes } = plan(sums, OPTIONS);
    expect(hostPeakBytes).toBeGreaterThan(0);
    const less = { ...OPTIONS, hostMemory: hostPeakBytes - 1 };
    expect(byTiles(sums, less)).toEqual([false, false]);
    expect(plan(sums, less).hostPeakBytes).toBe(0);
  });

  it('is explained', () => {
    const [sweep] = plan(map, OPTIONS).sweeps;
    const text = `${sweep!.tiles} tiles sharded to cuda:0, cuda:1, cuda:2 as they become free`;
    expect(plan(map, OPTIONS).toString()).toContain(text);
    expect(explain(map, OPTIONS).toString()).toContain(text);
  });

  it('counts each tile once', async () => {
    const seen: Progress[] = [];
    const { sweeps } = plan(map, OPTIONS);
    setFaults([{ call: 'cuLaunchKernel', nth: 0, delayMs: 10 }]);
    await compute(map, { ...OPTIONS, onProgress: (progress) => seen.push(progress) });
    const last = seen.at(-1)!;
    expect(seen.length).toBeGreaterThan(2);
    expect([last.tiles, last.totalTiles, last.totalBytes]).toEqual([
      sweeps[0]!.tiles,
      sweeps[0]!.tiles,
      2 * ROWS * COLUMNS * 4,
    ]);
    for (const [k, { tiles }] of seen.entries()) expect(tiles).toBeGreaterThan(seen[k - 1]?.tiles ?? -1);
  });
});

describe('a compute whose tiles devices take', () => {
  it('writes files that all devices have parts of', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-tiles-'));
    try {
      const [source, path, whole] = ['source', 'sharded', 'whole'].map((name) => join(folder, `${name}.npy`));
      await x.compute({ to: npy(source!) });
      const work = (await loadNpy(source!)).mul(3).sub(y);
      expect(plan([work], OPTIONS).phases[0]!.byTiles).toBe(true);
      await work.compute({ ...OPTIONS, to: npy(path!) });
      await work.compute({ device: 'cuda:0', to: npy(whole!) });
      expect(Buffer.compare(readFileSync(path!), readFileSync(whole!))).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('may run several at once', async () => {
    const works = [map, [x.sub(x.mean(0))], [y.exp().sum(1)], map];
    const wanted = await Promise.all(works.map((work) => bytesOf(work, { device: 'cuda:0' })));
    expect(await Promise.all(works.map((work) => bytesOf(work, OPTIONS)))).toEqual(wanted);
  });

  it('stops when it is aborted, and is right the next time', async () => {
    const wanted = await bytesOf(map, { device: 'cuda:0' });
    const launch = hold('cuLaunchKernel', 3);
    const stopped = new AbortController();
    const outcome = compute(map, { ...OPTIONS, signal: stopped.signal });
    await launch.reached();
    stopped.abort();
    launch.release();
    await expect(outcome).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(await bytesOf(map, OPTIONS)).toEqual(wanted);
  });

  it('ends where a call fails, and is right the next time', async () => {
    const work = [x.sub(x.mean(0)), y.exp().sum(1)];
    const wanted = await bytesOf(work, { device: 'cuda:0' });
    await bytesOf(work, OPTIONS);
    setFaults([]);
    await bytesOf(work, OPTIONS);
    const { counts } = describeSimulator();
    const cannotFail = /^cu(Pointer|EventDestroy|MemFreeAsync|MemGetInfo)/;
    for (const [call, count] of Object.entries(counts)) {
      if (!call.startsWith('cu') || cannotFail.test(call)) continue;
      for (const nth of new Set([1, Math.ceil(count / 2), count])) {
        setFaults([{ call, nth, status: UNKNOWN }]);
        const outcome = await bytesOf(work, OPTIONS).catch((error: unknown) => error as Error);
        setFaults([]);
        if (!(outcome instanceof Error))
          expect({ call, nth, outcome }).toEqual({ call, nth, outcome: wanted });
      }
      expect(await bytesOf(work, OPTIONS)).toEqual(wanted);
    }
  });
});
