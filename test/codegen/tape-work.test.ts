/**
 * How tapes are cut: units, and the smallest ranges of each buffer that they touch. That parts give the bits
 * of the whole from nothing but these ranges is tested on the runtime, in test/exec/tape-parts.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { tapeWorks } from '../../src/codegen/cpu/tape-work.js';
import { boxesOfRange } from '../../src/fusion/kernel/boxes.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator } from '../support/random.js';
import { wrongShifts } from '../support/shifts.js';
import { randomKernel } from '../support/tape-runner.js';

const softmax = (m: number, n: number): Kernel => {
  const b = new KernelBuilder([m], [n]);
  const x = b.load('float32', [n, 1]);
  const e = b.map('exp', b.map('subtract', x, b.reduce('max', x)));
  return b.store(b.map('divide', e, b.reduce('sum', e)), [n, 1]).build();
};

describe('boxes of a range', () => {
  it('are disjoint, whole in their inner axes, and hold the range exactly', () => {
    const next = generator(3);
    for (let round = 0; round < 300; round++) {
      const sizes = Array.from({ length: Math.floor(next() * 4) }, () => 1 + Math.floor(next() * 5));
      const total = sizes.reduce((a, b) => a * b, 1);
      const first = Math.floor(next() * total);
      const last = first + Math.floor(next() * (total - first + 1));
      const found = new Map<number, number>();
      for (const box of boxesOfRange(first, last, sizes)) {
        let indices = [0];
        box.forEach(([from, to], k) => {
          const steps = Array.from({ length: to - from }, (_, i) => from + i);
          indices = indices.flatMap((index) => steps.map((step) => index * sizes[k]! + step));
        });
        for (const index of indices) found.set(index, (found.get(index) ?? 0) + 1);
      }
      const expected = Array.from({ length: last - first }, (_, i) => [first + i, 1]);
      expect(
        [...found].sort((a, b) => a[0] - b[0]),
        `${first} to ${last} of ${sizes}`,
      ).toEqual(expected);
    }
  });
});

describe('the works of a tape', () => {
  it('cut a map into tiles that read and write the same elements', () => {
    const b = new KernelBuilder([1_000_000]);
    const { rows, phases } = tapeWorks(b.store(b.map('exp', b.load('float32', [1]))).build());
    const units = rows!.units;
    expect(phases).toEqual([]);
    expect(units).toBeGreaterThan(100);
    const { reads, writes } = rows!.regions(7, 9);
    expect(reads).toEqual([{ buffer: 0, first: writes[0]!.first, last: writes[0]!.last }]);
    expect(writes[0]!.last - writes[0]!.first).toBeLessThan(2 * 8192 + 1);
    expect(rows!.regions(units - 1, units).writes[0]!.last).toBe(1_000_000);
    expect(rows!.parts(7, 9)).toEqual([[7, 9, 0, 0]]);
  });

  it('cut rows of several phases into tiles of whole rows', () => {
    const { rows, phases } = tapeWorks(softmax(1000, 256));
    expect(phases).toEqual([]);
    const { reads, writes } = rows!.regions(0, 1);
    expect(reads[0]!.last % 256).toBe(0);
    expect(writes).toEqual([{ buffer: 1, first: 0, last: reads[0]!.last }]);
  });

  it('cut what is reduced into slots, phase by phase', () => {
    const { rows, phases, phaseScratch } = tapeWorks(softmax(1, 10_000_000));
    expect(rows!.units).toBe(1);
    expect(phases.length).toBe(3);
    expect(phaseScratch[0]).toBeGreaterThan(0);
    const [max, sum, quotient] = phases.map(({ work }) => work.regions(2, 3));
    const region = max!.reads[0]!;
    expect(region.first).toBeGreaterThan(0);
    expect(region.last).toBeLessThan(10_000_000 / 10);
    expect(sum!.reads).toEqual([region]);
    expect(quotient!.writes).toEqual([{ ...region, buffer: 1 }]);
    expect(phases.map(({ finish }) => finish)).toEqual([[], [], []]);
    expect(max!.writes).toEqual([]);
  });

  it('read what rows hold ahead of the first phase with its first slot, and store results when a phase is finished', () => {
    const b = new KernelBuilder([4], [1_000_000]);
    const shift = b.map('exp', b.load('float32', [1, 0]));
    const sum = b.reduce('sum', b.map('multiply', b.load('float32', [1_000_000, 1]), shift));
    const { phases } = tapeWorks(b.store(b.map('add', sum, b.load('float32', [1, 0]))).build());
    const buffers = (first: number) => phases[0]!.work.regions(first, first + 1).reads.map((r) => r.buffer);
    expect(buffers(0)).toContain(0);
    expect(buffers(1)).toEqual([1]);
    expect(phases[0]!.finish.map(({ buffer }) => buffer).sort()).toContain(3);
  });

  it('leave out what bounds keep a range from reading', () => {
    // Two arrays one after the other.
    const b = new KernelBuilder([200_000]);
    const bound = (offset: number) => [{ offset, strides: [1], size: 100_000 }];
    const x = b.load('float32', [1], { bounds: bound(0), buffer: 'x' });
    const y = b.load('float32', [1], { offset: -100_000, bounds: bound(-100_000), buffer: 'y' });
    const { rows } = tapeWorks(b.store(b.map('where', b.inside(bound(0)), x, y)).build());
    expect(rows!.regions(0, 1).reads.map(({ buffer }) => buffer)).toEqual([0]);
    expect(rows!.regions(rows!.units - 1, rows!.units).reads.map(({ buffer }) => buffer)).toEqual([1]);
  });

  it('move with their units as they say', () => {
    let counted = 0;
    for (let seed = 0; seed < 80; seed++) {
      const { rows, phases } = tapeWorks(randomKernel(seed, 5000));
      for (const work of [rows!, ...phases.map((phase) => phase.work)]) {
        expect(wrongShifts(work, seed), `kernel ${seed}`).toEqual([]);
        counted += work.shift === undefined ? 0 : 1;
      }
    }
    expect(counted).toBeGreaterThan(10);
  });

  it('write, taken together, what the whole writes', () => {
    for (let seed = 0; seed < 200; seed++) {
      const kernel = randomKernel(seed, 5000);
      const { rows } = tapeWorks(kernel);
      const whole = rows!.regions(0, rows!.units).writes;
      const ends = new Map<number, [number, number]>();
      for (let unit = 0; unit < rows!.units; unit++) {
        for (const { buffer, first, last } of rows!.regions(unit, unit + 1).writes) {
          const known = ends.get(buffer) ?? [first, last];
          ends.set(buffer, [Math.min(known[0], first), Math.max(known[1], last)]);
        }
      }
      expect(new Map(whole.map((r) => [r.buffer, [r.first, r.last]])), `seed ${seed}`).toEqual(ends);
    }
  });
});
