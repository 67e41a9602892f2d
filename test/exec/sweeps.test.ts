import { describe, expect, it } from 'vitest';
import { tapeWorks } from '../../src/codegen/cpu/tape-work.js';
import type { DevicePlan, SweepStep, SweepWindows } from '../../src/exec/plan/plan.js';
import { stepName } from '../../src/exec/plan/plan.js';
import { type DeviceModel, planPartition } from '../../src/exec/plan/plan-graph.js';
import { partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { iterate, type Lazy, lazy, MemoryError } from '../../src/index.js';
import { WINDOW_FIELDS } from '../../src/shared/layout.js';
import { largeGraph } from '../support/large-graph.js';

/** A device that everything is copied to, with the CPU's ways of cutting kernels. */
const MODEL: DeviceModel = {
  scratchOf: () => [],
  workspaceOf: () => ({ most: 0, least: 0 }),
  heldBytes: ({ byteLength }) => byteLength,
  sweeps: {
    worksOf: tapeWorks,
    canWindow: () => true,
    canSpill: true,
    canReadBack: true,
    slots: { in: 3, out: 2, local: 1 },
    tileBytes: Number.POSITIVE_INFINITY,
  },
};

function planOf(results: readonly Lazy[], budget: number, model = MODEL): DevicePlan {
  const canonical = canonicalize(results.map(({ expr }) => expr));
  const graph = runPasses(canonical.graph, { verify: true });
  const limits = { budget, sites: canonical.sites };
  return planPartition(graph, partition(graph), canonical.sources, model, limits);
}

const sweepsOf = (plan: DevicePlan): SweepStep[] =>
  plan.steps.flatMap((step) => (step.kind === 'sweep' ? [step] : []));
const namesOf = (sweep: SweepStep): string[] => sweep.body.map(({ step }) => stepName(step));

interface Window {
  readonly slot: number;
  readonly copies: boolean;
  readonly first: number;
  readonly width: number;
  readonly rows: number;
  readonly pitch: number;
}
const windowsOf = ({ windows }: SweepWindows): Window[] =>
  Array.from({ length: windows.length / WINDOW_FIELDS }, (_, t) => {
    const [slot, copies, first, width, rows, pitch] = windows.subarray(
      t * WINDOW_FIELDS,
      (t + 1) * WINDOW_FIELDS,
    ) as unknown as number[];
    return { slot: slot!, copies: copies === 1, first: first!, width: width!, rows: rows!, pitch: pitch! };
  });

/**
 * Invariants of every plan: windows lie in their buffers and slots, results are copied out whole, the arena
 * has room.
 */
function check(plan: DevicePlan, budget: number): void {
  expect(plan.peakBytes).toBeLessThanOrEqual(budget);
  for (const sweep of sweepsOf(plan)) {
    for (const table of sweep.windows) {
      const { byteLength, windowed } = plan.buffers[table.buffer]!;
      expect(windowed).toBe(true);
      expect(table.offset + table.slots * table.slotByteLength).toBeLessThanOrEqual(plan.arenaByteLength);
      const windows = windowsOf(table);
      expect(windows).toHaveLength(sweep.tiles);
      const copied: [number, number][] = [];
      for (const { slot, copies, first, width, rows, pitch } of windows) {
        const top = pitch > 0 ? Math.floor(first / pitch) * table.slotPitch + (first % pitch) : first;
        const inSlot = (top % 256) + Math.max(0, rows - 1) * table.slotPitch + width;
        const fits = slot < table.slots && inSlot <= table.slotByteLength;
        expect(fits && first + (rows - 1) * pitch + width <= byteLength).toBe(true);
        if (copies) for (let r = 0; r < rows; r++) copied.push([first + r * pitch, width]);
      }
      if (table.direction !== 'out') continue;
      // Tiles that compute a part of their neighbours' values again for their own copy it out with them.
      copied.sort(([a], [b]) => a - b);
      let end = 0;
      for (const [first, width] of copied) {
        expect(first).toBeLessThanOrEqual(end);
        end = Math.max(end, first + width);
      }
      expect(end).toBe(byteLength);
    }
  }
}

const matrix = (rows: number, columns: number): Lazy =>
  lazy(new Float32Array(rows * columns)).reshape([rows, columns]);

describe('a plan that does not fit as a whole', () => {
  it('walks a map tile by tile', () => {
    const x = matrix(512, 256);
    const plan = planOf([x.exp().mul(x)], 200_000);
    check(plan, 200_000);
    expect(plan.steps).toHaveLength(1);
    expect(sweepsOf(plan)[0]!.windows.map(({ direction }) => direction)).toEqual(['in', 'out']);
  });

  it('cuts a long reduction along its slots and finishes it once', () => {
    const x = lazy(new Float32Array(2 ** 20));
    const plan = planOf([x.abs().sum()], 2 ** 20);
    check(plan, 2 ** 20);
    expect(plan.steps.map(({ kind }) => kind)).toEqual(['sweep', 'finish']);
  });

  it('reads its input twice to standardize columns', () => {
    const x = lazy(new Float32Array(2 ** 20)).reshape([65536, 16]);
    const plan = planOf([x.sub(x.mean(0)).div(x.std(0))], 2 ** 20);
    check(plan, 2 ** 20);
    expect(plan.steps.map(({ kind }) => kind)).toEqual(['sweep', 'finish', 'sweep']);
  });

  it('keeps what lies between the steps of a sweep in its slots', () => {
    const [x, w] = [matrix(2048, 64), matrix(64, 64)];
    const plan = planOf([x.matmul(w).exp().matmul(w).add(1)], 300_000);
    check(plan, 300_000);
    expect(sweepsOf(plan).map(namesOf)).toEqual([['matmul', 'map_exp', 'matmul', 'map_add']]);
    expect(sweepsOf(plan)[0]!.windows.filter(({ direction }) => direction === 'local')).toHaveLength(3);
  });

  it('shares one walk over an input among all that reads it', () => {
    const x = matrix(16384, 16);
    const plan = planOf([x.exp().add(1), x.sum(1), x.transpose().matmul(x)], 900_000);
    check(plan, 900_000);
    const inputs = sweepsOf(plan).flatMap(({ windows }) => windows.filter((w) => w.direction === 'in'));
    expect(inputs.map(({ buffer }) => buffer).sort()).toEqual(
      [...new Set(inputs.map((w) => w.buffer))].sort(),
    );
  });

  it('adds up a product along its contracted axis', () => {
    const x = lazy(new Float32Array(2 ** 19)).reshape([32768, 16]);
    const plan = planOf([x.transpose().matmul(x)], 2 ** 19);
    check(plan, 2 ** 19);
    expect(sweepsOf(plan)[0]!.tiles).toBeGreaterThan(3);
  });

  it('multiplies by panels where both operands are too large', () => {
    const [a, b] = [matrix(512, 512), matrix(512, 512)];
    const plan = planOf([a.matmul(b)], 2 ** 20);
    check(plan, 2 ** 20);
    const [sweep] = sweepsOf(plan);
    expect(sweep!.windows.every(({ slotPitch }) => slotPitch > 0)).toBe(true);
  });

  it('adds up parts of panels that are too long, and copies a block out when it is complete', () => {
    const [a, b] = [matrix(1024, 3 * 4096), matrix(3 * 4096, 768)];
    const budget = 2.9 * 2 ** 20; // the result takes 3 MiB, as 64 rows of an operand do
    const plan = planOf([a.matmul(b)], budget);
    check(plan, budget);
    const [sweep] = sweepsOf(plan);
    expect(sweep!.tiles % 3).toBe(0);
    const blocks = sweep!.windows.find(({ direction }) => direction === 'out')!;
    const windows = windowsOf(blocks);
    expect(windows.map(({ copies }) => copies)).toEqual(
      Array.from({ length: sweep!.tiles }, (_, t) => t % 3 === 2),
    );
    for (let t = 0; t < sweep!.tiles; t++)
      expect(windows[t]).toMatchObject({
        first: windows[t - (t % 3)]!.first,
        slot: windows[t - (t % 3)]!.slot,
      });
    const [ranges] = sweep!.body[0]!.ranges;
    expect([...ranges!.subarray(0, 18)].filter((_, k) => k % 6 > 3)).toEqual([
      0, 4096, 4096, 8192, 8192, 12288,
    ]);
  });

  it('computes a large value again, or spills it, where a later sweep needs it', () => {
    const [x, w] = [matrix(32768, 16), matrix(16, 16)];
    const y = x.matmul(w);
    const result = y.sub(y.mean(0));
    for (const canSpill of [true, false]) {
      const plan = planOf([result], 600_000, { ...MODEL, sweeps: { ...MODEL.sweeps!, canSpill } });
      check(plan, 600_000);
      if (!canSpill) expect(plan.buffers.every(({ role }) => role !== 'spill')).toBe(true);
    }
  });

  it('leaves a plan alone that fits', () => {
    const plan = planOf([matrix(64, 64).exp()], 2 ** 20);
    expect(sweepsOf(plan)).toEqual([]);
  });

  it('is refused where nothing fits, with what it needs and for which line', () => {
    const x = matrix(512, 64);
    expect(() => planOf([x.exp()], 100)).toThrow(
      /expected a job that fits into 100 B: the smallest tiles of map_exp need .* for what was made at .*sweeps\.test/s,
    );
    expect(() => planOf([matrix(8, 8).exp()], 100)).toThrow(
      /a step that cannot be cut into tiles, map_exp, needs 512 B at once/,
    );
  });

  it('is refused where states of a loop would have to wait, and says why', () => {
    const down = (x: Lazy): Lazy => x.add(x.pad(1).slice([null, -2], [1, -1])).mul(0.5);
    const looped = [iterate(8, matrix(2048, 32), down).add(1)];
    const cannotWait = { ...MODEL, sweeps: { ...MODEL.sweeps!, canSpill: false } };
    expect(planOf(looped, 300_000).peakBytes).toBeLessThanOrEqual(300_000);
    expect(() => planOf(looped, 300_000, cannotWait)).toThrow(
      /needs .* as a whole: the tiles of a loop .* its states have no other memory here to wait in\n.*sweeps\.test/,
    );
  });

  it('is right for random graphs and budgets, or refused', () => {
    let swept = 0;
    for (let seed = 0; seed < 30; seed++) {
      const { results } = largeGraph(seed);
      const { peakBytes } = planOf(results, Number.POSITIVE_INFINITY);
      for (const share of [0.9, 0.5, 0.2]) {
        const budget = Math.floor(peakBytes * share);
        try {
          const plan = planOf(results, budget);
          check(plan, budget);
          swept += sweepsOf(plan).length;
        } catch (error) {
          if (!(error instanceof MemoryError)) throw error;
        }
      }
    }
    expect(swept).toBeGreaterThan(50);
  }, 60_000);
});
