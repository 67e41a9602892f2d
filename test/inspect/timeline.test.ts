/** Timelines on the CPU, and how timelines are shown: traces, tables, pictures. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ArgumentError, ShapeError } from '../../src/host/errors.js';
import { compute, lazy, loadNpy, npy, profile, Timeline } from '../../src/index.js';
import { markDistance } from '../../src/inspect/timeline-svg.js';

const span = (device: string, row: string, begin: number, end: number) =>
  ({ device, row, kind: 'kernel', name: 'f', begin, end, bytes: 0 }) as const;

const SHOWN = new Timeline({
  duration: 10,
  spans: [
    { ...span('cuda:0', 'copies in', 0, 2), kind: 'copy in', name: '', bytes: 50e6 },
    { ...span('host', 'weft-in 3', 0, 1), kind: 'stage', name: 'to pinned memory', bytes: 25e6 },
    { ...span('host', 'weft-in 4', 0.5, 1), kind: 'stage', name: 'to pinned memory', bytes: 25e6 },
    { ...span('cuda:0', 'stream 0', 2, 4), tile: 0 },
    { ...span('cuda:0', 'stream 0', 5, 8), tile: 1 },
    { ...span('cuda:0', 'stream 0', 8, 9), name: 'a<b' },
  ],
  memory: [
    { device: 'cuda:0', time: 0, bytes: 100 },
    { device: 'cuda:0', time: 9, bytes: 0 },
  ],
  dropped: 0,
});

describe('a summary', () => {
  it('has the time of work, the rate of copies and the share that streams were busy', () => {
    const { streams, work, host, peaks } = SHOWN.summary();
    expect(streams).toEqual([
      { device: 'cuda:0', row: 'stream 0', busy: 6, share: 0.6, bytes: 0, rate: 0 },
      { device: 'cuda:0', row: 'copies in', busy: 2, share: 0.2, bytes: 50e6, rate: 25 },
    ]);
    expect(work.map(({ kind, name, count, total }) => [kind, name, count, total])).toEqual([
      ['kernel', 'f', 2, 5],
      ['copy in', '', 1, 2],
      ['kernel', 'a<b', 1, 1],
    ]);
    expect(host).toEqual([
      { device: 'host', kind: 'stage', name: 'to pinned memory', count: 2, total: 1.5, bytes: 50e6 },
    ]);
    expect(peaks).toEqual([{ device: 'cuda:0', bytes: 100 }]);
  });

  it('prints as a table', () => {
    expect(`${SHOWN}`.split('\n')).toEqual([
      'timeline of 10.000 ms',
      '  cuda:0  stream 0   busy 60.0 %  6.000 ms',
      '  cuda:0  copies in  busy 20.0 %  2.000 ms  47.68 MiB at 25.0 GB/s',
      'on devices',
      '  cuda:0  kernel f    2 x  5.000 ms',
      '  cuda:0  copy in     1 x  2.000 ms  47.68 MiB, 25.0 GB/s',
      '  cuda:0  kernel a<b  1 x  1.000 ms',
      'on the host',
      '  host  stage to pinned memory  2 x  1.500 ms  47.68 MiB, 33.3 GB/s',
      'most memory held: cuda:0 100 B',
    ]);
  });
});

interface Event {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly args: Readonly<Record<string, unknown>>;
}

const eventsOf = (timeline: Timeline): readonly Event[] =>
  (JSON.parse(timeline.toChromeTrace()) as { traceEvents: Event[] }).traceEvents;

describe('a Chrome trace', () => {
  it('has a process for each device, a thread for each row, and counters of memory', () => {
    const events = eventsOf(SHOWN);
    const named = (name: string) =>
      events.filter((e) => e.name === name).map((e) => [e.pid, e.tid, e.args.name]);
    expect(named('process_name')).toEqual([
      [1, 0, 'cuda:0'],
      [2, 0, 'host'],
    ]);
    expect(named('thread_name')).toEqual([
      [1, 1, 'stream 0'],
      [1, 2, 'copies in'],
      [2, 1, 'weft-in 3'],
      [2, 2, 'weft-in 4'],
    ]);
    expect(events.filter(({ ph }) => ph === 'C').map(({ ts, args }) => [ts, args.bytes])).toEqual([
      [0, 100],
      [9000, 0],
    ]);
  });

  it('has work in microseconds, with bytes, rates and tiles', () => {
    const complete = eventsOf(SHOWN).filter(({ ph }) => ph === 'X');
    expect(complete[0]).toEqual({
      ph: 'X',
      name: 'copy in',
      cat: 'copy in',
      pid: 1,
      tid: 2,
      ts: 0,
      dur: 2000,
      args: { bytes: 50e6, 'GB/s': 25 },
    });
    expect(complete[3]).toMatchObject({ name: 'f', tid: 1, ts: 2000, dur: 2000, args: { tile: 0 } });
  });
});

describe('a picture', () => {
  it('has a row for each stream and group of threads, an axis, memory and a legend', () => {
    const svg = SHOWN.toSVG();
    for (const text of [
      'cuda:0 stream 0',
      'cuda:0 copies in',
      'weft-in (2 threads)',
      '60 %',
      'cuda:0 memory held',
      '>ms<',
      '>stage<',
    ])
      expect(svg).toContain(text);
    expect(svg).toContain('a&lt;b');
    expect(svg).not.toContain('NaN');
  });

  it('leaves the host out, and shows part of the time, where that is asked for', () => {
    const svg = SHOWN.toSVG({ host: false, from: 2, to: 4, title: 'some' });
    expect(svg).not.toContain('weft-in');
    expect(svg).toContain('>some<');
    expect(svg).toContain('100 %');
  });

  it('of very much work stays small', () => {
    const spans = Array.from({ length: 50_000 }, (_, k) => span('cuda:0', 'stream 0', k, k + 1));
    const svg = new Timeline({ duration: 50_000, spans, memory: [], dropped: 0 }).toSVG();
    expect(svg.length).toBeLessThan(20_000);
  });

  it.each([
    [10, 1],
    [0.35, 0.05],
    [73, 10],
    [1200, 200],
  ])('of %s ms has marks every %s ms', (span_, step) => {
    expect(markDistance(span_)).toBeCloseTo(step, 9);
  });
});

const n = 300_000;
const x = lazy(Float32Array.from({ length: n }, (_, i) => Math.sin(i)));

describe('profile on the CPU', () => {
  it('gives the result of an array, and its kernels in time', async () => {
    const { result, timeline } = await profile(x.exp().sum(), { device: 'cpu' });
    expect(result.data).toEqual((await x.exp().sum().compute({ device: 'cpu' })).data);
    const steps = timeline.spans.filter(({ device }) => device === 'cpu');
    expect(steps.map(({ kind, name }) => [kind, name])).toEqual([['kernel', 'reduce_exp_sum']]);
    for (const { begin, end } of timeline.spans) {
      expect(begin).toBeGreaterThanOrEqual(0);
      expect(end).toBeGreaterThanOrEqual(begin);
      expect(end).toBeLessThanOrEqual(timeline.duration);
    }
    expect(timeline.spans.filter(({ row }) => row === 'JavaScript').map(({ kind }) => kind)).toContain(
      'plan',
    );
    expect(timeline.memory.some(({ device, bytes }) => device === 'host' && bytes > 0)).toBe(true);
  });

  it('gives several results, or what a function gives', async () => {
    const { result: both } = await profile([x.min(), x.max()], { device: 'cpu' });
    expect(both.map((one) => one.item())).toEqual([-1, 1]);
    const { result, timeline } = await profile(async () => {
      await compute([x.cos()], { device: 'cpu' });
      return 7;
    });
    expect(result).toBe(7);
    expect(timeline.spans.some(({ name }) => name === 'map_cos')).toBe(true);
  });

  it('names the tiles of sweeps, and the files that are read and written', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-timeline-'));
    try {
      const from = join(folder, 'x.npy');
      const to = join(folder, 'y.npy');
      await x.compute({ to: npy(from), device: 'cpu' });
      const read = await loadNpy(from);
      const { timeline } = await profile(() =>
        read.mul(2).compute({ to: npy(to), device: 'cpu', memory: '512KiB' }),
      );
      const tiles = timeline.spans.flatMap(({ tile }) => (tile === undefined ? [] : [tile]));
      expect(tiles.length).toBeGreaterThan(1);
      expect(tiles).toEqual(tiles.map((_, k) => k));
      const bytesOf = (kind: string, path: string): number =>
        timeline.spans.reduce(
          (sum, one) => sum + (one.kind === kind && one.name === path ? one.bytes : 0),
          0,
        );
      expect(bytesOf('read', from)).toBe(4 * n);
      expect(timeline.spans.some(({ kind }) => kind === 'write')).toBe(true);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses a second one at a time, and goes on after a failure', async () => {
    const first = profile(x.sum(), { device: 'cpu' });
    await expect(profile(x.sum(), { device: 'cpu' })).rejects.toThrow(ArgumentError);
    await first;
    await expect(profile(() => x.add(lazy(new Float32Array(2))))).rejects.toThrow(ShapeError);
    const { timeline } = await profile(() => 1);
    expect(timeline.spans.filter(({ kind }) => kind === 'kernel')).toEqual([]);
  });
});
