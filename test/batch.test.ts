/** Batches of jobs: order, look-ahead, failures, stopping, files. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  type BatchProgress,
  batch,
  type Job,
  type Lazy,
  lazy,
  loadNpy,
  type NDArray,
  npy,
} from '../src/index.js';

const CPU = { devices: ['cpu'] } as const;
const sumOf = (n: number): Lazy => arange(n + 1).sum();
const itemOf = (value: unknown): unknown => (value as NDArray).item();

describe('a batch', () => {
  it('gives results in the order of the jobs, of lists and iterables, lazy or made', async () => {
    const jobs: Job[] = [
      sumOf(3),
      [sumOf(1), sumOf(2)],
      () => sumOf(4),
      async () => ({ compute: sumOf(5), name: 'five' }),
    ];
    const results = await batch(jobs, CPU).all();
    expect(results.map(({ index, ok, name }) => [index, ok, name])).toEqual([
      [0, true, undefined],
      [1, true, undefined],
      [2, true, undefined],
      [3, true, 'five'],
    ]);
    const values = results.map((result) => (result.ok ? result.value : undefined));
    expect(itemOf(values[0])).toBe(6);
    expect((values[1] as NDArray[]).map(itemOf)).toEqual([1, 3]);
    expect(itemOf(values[3])).toBe(15);
    expect(results.every(({ device }) => device === 'cpu')).toBe(true);
  });

  it('streams results in either order', async () => {
    const seen = async (order: 'input' | 'completed'): Promise<number[]> => {
      let release = (): void => undefined;
      const others = new Promise<void>((resolve) => {
        release = resolve;
      });
      // The first one waits for the three others.
      const first = async (): Promise<Lazy> => {
        await others;
        return sumOf(0);
      };
      const onProgress = ({ done }: BatchProgress): void => {
        if (done === 3) release();
      };
      const jobs: Job[] = [first, ...[1, 2, 3].map((k) => () => sumOf(k))];
      const indices: number[] = [];
      for await (const { index } of batch(jobs, { ...CPU, order, onProgress })) indices.push(index);
      return indices;
    };
    expect(await seen('input')).toEqual([0, 1, 2, 3]);
    const completed = await seen('completed');
    expect(completed.at(-1)).toBe(0);
    expect([...completed].sort()).toEqual([0, 1, 2, 3]);
  });

  it('loads a bounded number of jobs ahead of who reads', async () => {
    let made = 0;
    async function* jobs(): AsyncGenerator<Job> {
      for (let k = 0; k < 40; k++) {
        made++;
        yield sumOf(k);
      }
    }
    let taken = 0;
    for await (const result of batch(jobs(), { ...CPU, concurrency: 2, lookAhead: 3 })) {
      expect(result.ok).toBe(true);
      taken++;
      await setTimeout(1);
      // Two that run, three ahead, and the one that is asked for.
      expect(made - taken).toBeLessThanOrEqual(6);
    }
    expect([made, taken]).toEqual([40, 40]);
  });

  it('loads jobs while others are computed', async () => {
    let loading = 0;
    let most = 0;
    const jobs = Array.from(
      { length: 8 },
      (_, k): Job =>
        async () => {
          most = Math.max(most, ++loading);
          await setTimeout(10);
          loading--;
          return sumOf(k);
        },
    );
    await batch(jobs, { ...CPU, concurrency: 1, lookAhead: 3 }).all();
    expect(most).toBe(4);
  });

  it('goes on where a job fails, wherever it does', async () => {
    const broken = new Error('no such file');
    const jobs: Job[] = [
      sumOf(2),
      () => {
        throw broken;
      },
      async () => lazy(new Float32Array(4)).add(lazy(new Float32Array(3))),
      (() => 7) as unknown as Job,
      sumOf(3),
    ];
    const run = batch(jobs, CPU);
    const results = await run.all();
    expect(results.map(({ ok }) => ok)).toEqual([true, false, false, false, true]);
    const [, first, second, third] = results;
    expect(!first!.ok && first!.error).toBe(broken);
    expect(!second!.ok && second!.error).toBeInstanceOf(RangeError);
    expect(!third!.ok && third!.error).toBeInstanceOf(ArgumentError);
    expect(run.summary).toMatchObject({ done: 2, failed: 3, devices: [{ device: 'cpu', jobs: 2 }] });
    expect(run.summary.seconds).toBeGreaterThan(0);
  });

  it('ends with what its source throws, after the jobs before', async () => {
    async function* jobs(): AsyncGenerator<Job> {
      yield sumOf(2);
      throw new Error('the list broke off');
    }
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const result of batch(jobs(), CPU)) seen.push(result.index);
    };
    await expect(read()).rejects.toThrow('the list broke off');
    expect(seen).toEqual([0]);
  });

  it('stops at its signal, when its loop is left, and when its progress throws', async () => {
    let left = 0;
    async function* endless(): AsyncGenerator<Job> {
      try {
        for (let k = 0; ; k++) yield sumOf(k % 50);
      } finally {
        left++;
      }
    }
    for await (const { index } of batch(endless(), CPU)) if (index === 5) break;
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { index } of batch(endless(), { ...CPU, signal: controller.signal }))
        if (index === 5) controller.abort(new Error('enough'));
    };
    await expect(read()).rejects.toThrow('enough');
    const failing = batch(endless(), {
      ...CPU,
      onProgress: ({ done }) => {
        if (done === 4) throw new Error('display broke');
      },
    });
    await expect(failing.all()).rejects.toThrow('display broke');
    // A source that does not answer.
    async function* silent(): AsyncGenerator<Job> {
      yield sumOf(1);
      await new Promise(() => undefined);
    }
    const waiting = new AbortController();
    const stuck = batch(silent(), { ...CPU, signal: waiting.signal }).all();
    await setTimeout(20);
    waiting.abort(new Error('too long'));
    await expect(stuck).rejects.toThrow('too long');
    expect(left).toBe(3);
  });

  it('tells how far it is, and writes to files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-batch-'));
    try {
      const reports: BatchProgress[] = [];
      const paths = [0, 1, 2].map((k) => join(folder, `${k}.npy`));
      const jobs = paths.map((path, k): Job => ({ compute: arange(4).add(k), to: npy(path), name: path }));
      const results = await batch(jobs, { ...CPU, onProgress: (progress) => reports.push(progress) }).all();
      expect(results.map(({ name }) => name)).toEqual(paths);
      expect(reports.at(-1)).toMatchObject({ done: 3, failed: 0, running: 0, loading: 0 });
      expect(Math.max(...reports.map(({ running }) => running))).toBe(2);
      const third = await (await loadNpy(paths[2]!)).compute();
      expect(third.toArray()).toEqual([2, 3, 4, 5]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses what it cannot use', async () => {
    expect(() => batch(5 as never)).toThrow(ArgumentError);
    expect(() => batch(sumOf(1) as never)).toThrow(ArgumentError);
    expect(() => batch([], { concurrency: 0 })).toThrow(RangeError);
    expect(() => batch([], { lookAhead: -1 })).toThrow(RangeError);
    expect(() => batch([], { order: 'any' as never })).toThrow(ArgumentError);
    expect(() => batch([], { to: 'x' } as never)).toThrow(ArgumentError);
    const once = batch([], CPU);
    expect(await once.all()).toEqual([]);
    await expect(once.all()).rejects.toThrow(ArgumentError);
  });
});
