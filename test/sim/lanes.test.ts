/**
 * Jobs whose tiles are copied by several lanes at once on the simulated CUDA: lanes that go from tile to tile
 * without waiting for each other keep the bits of the whole and race with nothing; where one fails, none of
 * the others waits for ever.
 */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { chunked, FileError, type Lazy, lazy, pinned, saveNpy } from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';
import { describeSimulator, hold, setFaults, setSchedule, show, stall, takeProblems } from './simulator.js';

/** More than one lane is worth it from 2 MiB on. */
const N = 900_001;
const MEMORY = 1_200_000;
const TIMINGS = ['late', 'random', 'eager'] as const;
const device = 'cuda';
const folder = temporaryFolder();
const data = Float32Array.from({ length: N }, (_, i) => (i % 101) - 49);
const doubled = Buffer.from(data.map((value) => 2 * value).buffer);
const total = data.reduce((sum, value) => sum + value, 0);

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

const options = { device, memory: MEMORY };
/** Device memory in use; what lanes keep comes to its full size by and by. */
const inUse = (): number => describeSimulator().devices[0]!.inUse;
const map = lazy(data).mul(2);
const bitsOf = async (x: Lazy): Promise<Buffer> => Buffer.from((await x.compute(options)).data.buffer);

/** Typed arrays of uneven lengths with the data. */
function pieces(take: (length: number) => Float32Array): Float32Array[] {
  const ends = [250_003, 250_004, 600_000, N];
  return ends.map((end, k) => {
    const piece = take(end - (ends[k - 1] ?? 0));
    piece.set(data.subarray(end - piece.length, end));
    return piece;
  });
}

describe('tiles that several lanes copy', () => {
  it('have the bits of the whole under 20 schedules, and race with nothing', async () => {
    expect(map.plan(options).sweeps[0]!.tiles).toBeGreaterThan(3);
    await map.compute(options);
    const left = inUse();
    for (let seed = 1; seed <= 20; seed++) {
      const timing = TIMINGS[seed % 3]!;
      setSchedule({ timing, seed });
      const bits = await bitsOf(map);
      const problems = takeProblems().map(show);
      expect({ timing, seed, same: bits.equals(doubled), problems }).toEqual({
        timing,
        seed,
        same: true,
        problems: [],
      });
    }
    expect(inUse()).toEqual(left);
  });

  it('are one copy for each chunk, which no slot cuts', async () => {
    const x = lazy(Float32Array.from({ length: 3_000_000 }, (_, i) => i % 509));
    const within = { device, memory: 10_000_000, hostMemory: 5 * 2 ** 20 };
    const { tiles } = x.neg().plan(within).sweeps[0]!;
    // Slots have 1 MiB then; a tile has more than one and less than two.
    expect([tiles > 6, tiles < 11]).toEqual([true, true]);
    setFaults([]);
    const { data: negated } = await x.neg().compute(within);
    expect(negated.every((value, i) => value === -(i % 509))).toBe(true);
    const { counts } = describeSimulator();
    expect(counts.cuMemcpyHtoDAsync_v2).toBe(2 * tiles);
    expect(counts.cuMemcpyDtoHAsync_v2).toBe(2 * tiles);
  });

  it('end cleanly where a call fails in any of them, and are right the next time', async () => {
    await map.compute(options);
    setFaults([]);
    await map.compute(options);
    const { counts } = describeSimulator();
    const left = inUse();
    const calls = Object.keys(counts).filter((call) =>
      /^cu(Memcpy|EventRecord|StreamWaitEvent|Launch)/.test(call),
    );
    expect(calls.length).toBeGreaterThan(3);
    for (const call of calls) {
      let failed = 0;
      const count = counts[call]!;
      const times = new Set([1, 2, Math.ceil(count / 3), Math.ceil(count / 2), count]);
      for (const nth of times) {
        setFaults([{ call, nth, status: 999 }]);
        const outcome = await bitsOf(map).catch((error: unknown) => error);
        setFaults([]);
        if (outcome instanceof Error) {
          failed++;
          expect(outcome.message).toContain(call.replace(/_v2$/, ''));
        } else {
          // Lanes share the chunks differently every time, with a call more or less.
          expect({ call, nth, same: doubled.equals(outcome as Buffer) }).toEqual({ call, nth, same: true });
        }
        expect({ call, nth, left: inUse() }).toEqual({ call, nth, left });
      }
      expect({ call, many: failed > times.size / 2 }).toEqual({ call, many: true });
      expect((await bitsOf(map)).equals(doubled)).toBe(true);
    }
  });

  it('wait for a stream that stands still for long', async () => {
    await map.compute(options);
    let waits = 0;
    for (let stream = 0; stream < 5; stream++) {
      stall(stream, 500);
      const start = performance.now();
      expect((await bitsOf(map)).equals(doubled)).toBe(true);
      if (performance.now() - start > 450) waits++;
      stall(stream, 0);
    }
    // The stream of the steps and those of copies.
    expect(waits).toBeGreaterThanOrEqual(3);
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('stop where they are cancelled, whichever lane waits', async () => {
    const left = inUse();
    for (let launch = 1; launch <= 4; launch++) {
      const abort = new AbortController();
      const held = hold('cuLaunchKernel', launch);
      const computing = map.compute({ ...options, signal: abort.signal });
      await held.reached();
      abort.abort(new Error('enough'));
      held.release();
      await expect(computing).rejects.toThrow('enough');
      expect(inUse()).toEqual(left);
    }
    expect((await bitsOf(map)).equals(doubled)).toBe(true);
  });

  it('are refused when one of them finds the end of its file', async () => {
    const path = join(folder.path, 'x.npy');
    const x = await saveNpy(path, lazy(data), { device });
    expect((await bitsOf(x.mul(2))).equals(doubled)).toBe(true);
    truncateSync(path, 2_000_000);
    await expect(x.mul(2).compute(options)).rejects.toThrow(FileError);
  });
});

describe('an array of several pieces', () => {
  it('is read across their borders by every lane', async () => {
    const x = chunked(pieces((length) => new Float32Array(length)));
    expect((await bitsOf(x.mul(2))).equals(doubled)).toBe(true);
    expect((await x.sum().compute({ device })).item()).toBe(total);
  });

  it('of pinned memory is copied from where it is', async () => {
    const memories = await Promise.all([250_003, 1, 349_996, 300_001].map((length) => pinned([length])));
    const x = chunked(
      pieces((length) => memories.find((memory) => memory.data.length === length)!.data as Float32Array),
    );
    await x.sum().compute(options);
    setFaults([]);
    const sum = await x.sum().compute(options);
    expect(sum.item()).toBe(total);
    const { tiles } = x.sum().plan(options).sweeps[0]!;
    // One copy for each piece of a tile; those smaller than is worth asking for go through the lanes.
    expect(describeSimulator().counts.cuMemcpyHtoDAsync_v2).toBeLessThanOrEqual(tiles + 3);
  });
});
