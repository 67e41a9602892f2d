/** Which stream each step runs in: order is kept with the fewest waits, and only where it pays. */

import { describe, expect, it } from 'vitest';
import type { MatmulStep } from '../../src/exec/calls/products/product-steps.js';
import { aligned, placeBeside } from '../../src/exec/plan/memory.js';
import type { DevicePlan, Step } from '../../src/exec/plan/plan.js';
import { buffersOf } from '../../src/exec/plan/step-buffers.js';
import { dependencesOf, orderOf, streamsOf } from '../../src/exec/plan/streams.js';
import { gpu } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { completed } from '../../src/host/slices.js';
import { type Lazy, lazy, stack } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { generator } from '../support/random.js';

const operand = (buffer: number) => ({ buffer, offset: 0, batchStride: 0, rowStride: 1, columnStride: 1 });
/** c = a b, of any sizes: costs are given. */
const product = (a: number, b: number, c: number): MatmulStep => ({
  kind: 'call',
  call: 'matmul',
  dtype: 'float32',
  precision: undefined,
  m: 1,
  n: 1,
  k: 1,
  batch: 1,
  a: operand(a),
  b: operand(b),
  c: operand(c),
  nodes: [],
});

const needing = (seconds: number, share: number, queueSeconds = 3e-6) => ({
  most: 4,
  costOf: () => ({ seconds, share, queueSeconds }),
});
const small = needing(40e-6, 0.1);

describe('streams of steps', () => {
  it('are as many as there are chains, with one wait for each that joins', () => {
    const steps = [product(0, 0, 1), product(1, 1, 2), product(0, 0, 3), product(3, 3, 4), product(2, 4, 5)];
    expect(streamsOf(steps, small)).toEqual({
      count: 2,
      steps: [
        { stream: 0, after: [] },
        { stream: 0, after: [] },
        { stream: 1, after: [] },
        { stream: 1, after: [] },
        { stream: 0, after: [3] },
      ],
      ends: [],
    });
  });

  it('are one where steps depend on each other, fill the device or are short', () => {
    const chain = [product(0, 0, 1), product(1, 1, 2), product(2, 2, 3)];
    const wide = [product(0, 0, 1), product(0, 0, 2), product(0, 0, 3), product(0, 0, 4)];
    expect(streamsOf(chain, small)).toBeUndefined();
    expect(streamsOf(wide, small)?.count).toBe(4);
    expect(streamsOf(wide, needing(40e-6, 1))).toBeUndefined();
    expect(streamsOf(wide, needing(3e-6, 0.1))).toBeUndefined();
  });

  it('are one where the host takes as long to queue the steps as the device for them', () => {
    const wide = Array.from({ length: 8 }, (_, k) => product(0, 0, k + 1));
    expect(streamsOf(wide, needing(12e-6, 0.1))?.count).toBe(4);
    expect(streamsOf(wide, needing(12e-6, 0.1, 11e-6))).toBeUndefined();
  });

  it('keep what reads before a value is written over', () => {
    const steps = [product(0, 0, 1), product(1, 1, 2), product(0, 0, 1), product(1, 1, 3)];
    expect(dependencesOf(steps)).toEqual([[], [0], [0, 1], [2]]);
  });

  it('keep the order of any steps, with no wait that another one implies', () => {
    const random = generator(5);
    const below = (n: number): number => Math.floor(random() * n);
    for (let round = 0; round < 200; round++) {
      const steps = Array.from({ length: 3 + below(30) }, (_, k) =>
        product(below(k + 4), below(k + 4), k + 4),
      );
      const plan = streamsOf(steps, small);
      if (plan === undefined) continue;
      const isBefore = orderOf(plan);
      for (const [at, needed] of dependencesOf(steps).entries())
        for (const step of needed) expect(isBefore(step, at)).toBe(true);
      // Without any one of its waits, order is lost.
      for (const [at, { after }] of plan.steps.entries()) {
        for (const step of after) {
          const fewer = plan.steps.map((place, k) =>
            k === at ? { ...place, after: after.filter((other) => other !== step) } : place,
          );
          expect(orderOf({ ...plan, steps: fewer })(step, at)).toBe(false);
        }
      }
      const last = Array.from({ length: plan.count }, (_, stream) =>
        plan.steps.findLastIndex((place) => place.stream === stream),
      );
      const isOver = (step: number): boolean =>
        step === last[0] ||
        isBefore(step, last[0]!) ||
        plan.ends.some((end) => end === step || isBefore(step, end));
      expect(last.every(isOver)).toBe(true);
    }
  });
});

describe('blocks beside each other', () => {
  it('share bytes only where they may', () => {
    const arena = completed(placeBeside([1000, 300, 300, 500], [0, 1, 2, 3], (a, b) => a + b !== 3));
    expect(arena.byteLength).toBe(1024 + 512);
    expect(arena.offsets).toEqual([0, 1024, 1024, 0]);
  });

  it('lie each at the lowest place that is free, the largest first', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = generator(seed);
      const below = (most: number): number => Math.floor(random() * most);
      const count = 1 + below(40);
      const lengths = Array.from({ length: count }, () => (below(6) === 0 ? 0 : 1 + below(3000)));
      const kinds = lengths.map(() => below(8));
      const disjoint = Array.from({ length: 8 }, (_, a) =>
        Array.from({ length: 8 }, (_, b) => a === b || random() < 0.6),
      );
      const areDisjoint = (a: number, b: number): boolean => disjoint[Math.min(a, b)]![Math.max(a, b)]!;
      const { offsets, byteLength } = completed(placeBeside(lengths, kinds, areDisjoint));
      const size = (k: number): number => aligned(lengths[k]!);
      const placed: number[] = [];
      for (const k of lengths.map((_, k) => k).sort((a, b) => lengths[b]! - lengths[a]!)) {
        const beside = placed.filter((other) => areDisjoint(kinds[k]!, kinds[other]!) && size(other) > 0);
        const isFree = (at: number): boolean =>
          beside.every((other) => at + size(k) <= offsets[other]! || offsets[other]! + size(other) <= at);
        const places = [0, ...beside.map((other) => offsets[other]! + size(other))];
        const lowest = size(k) === 0 ? 0 : Math.min(...places.filter(isFree));
        expect(offsets[k], `seed ${seed}, block ${k}`).toBe(lowest);
        placed.push(k);
      }
      expect(byteLength, `seed ${seed}`).toBe(Math.max(...lengths.map((_, k) => offsets[k]! + size(k))));
    }
  });
});

const chains = (size: number): Lazy => {
  const results = Array.from({ length: 4 }, (_, i) => {
    let h: Lazy = lazy(new Float32Array(size * size).fill(i), { shape: [size, size] });
    const w = lazy(new Float32Array(size * size).fill(i + 0.5), { shape: [size, size] });
    for (let k = 0; k < 3; k++) h = h.matmul(w).tanh();
    return h;
  });
  return stack(results).sum(0);
};

const planOf = (x: Lazy, budget?: number): DevicePlan =>
  planOnDevice(canonicalize([x.expr]), gpu(0), { exact: false, budget }).plan;

describe('a plan in streams', () => {
  const plan = planOf(chains(512));

  it('has independent chains of small products in streams of their own', () => {
    expect(plan.streams?.count).toBe(4);
    const products = plan.steps.flatMap((step, k) =>
      step.kind === 'call' ? [plan.streams!.steps[k]!.stream] : [],
    );
    expect(products.toSorted()).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
  });

  it('shares no bytes between steps that may run at a time', () => {
    const isBefore = orderOf(plan.streams!);
    const touched = (step: Step): number[] => {
      const { reads, writes } = buffersOf(step);
      const workspace = step.kind === 'call' ? [step.workspace!] : [];
      return [...reads, ...writes, ...workspace].filter((k) => plan.buffers[k]!.role === 'temporary');
    };
    const overlap = (a: number, b: number): boolean => {
      const [one, other] = [plan.buffers[a]!, plan.buffers[b]!];
      return one.offset < other.offset + other.byteLength && other.offset < one.offset + one.byteLength;
    };
    for (const [at, step] of plan.steps.entries()) {
      for (const [later, other] of plan.steps.entries()) {
        if (later <= at || isBefore(at, later)) continue;
        for (const a of touched(step)) for (const b of touched(other)) expect(overlap(a, b)).toBe(false);
      }
    }
  });

  it('is one in one stream where the budget does not hold it, or products fill the device', () => {
    const tight = planOf(chains(512), plan.peakBytes - 1);
    expect(tight.streams).toBeUndefined();
    expect(tight.peakBytes).toBeLessThan(plan.peakBytes);
    expect(planOf(chains(4096)).streams).toBeUndefined();
  });
});
