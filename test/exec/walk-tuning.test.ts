/**
 * The ways to walk a kernel on the CPU that give the same bits, and which of them a compute takes that measures
 * (`tune: true`).
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { walksOf } from '../../src/codegen/cpu/tape.js';
import { printWalk, type Walk } from '../../src/codegen/cpu/tape-plan.js';
import * as native from '../../src/exec/native/native.js';
import type { KernelStep, Step } from '../../src/exec/plan/plan.js';
import { clearPrograms } from '../../src/exec/run/program.js';
import { clearTuning } from '../../src/exec/run/tuning-cache.js';
import { CPU } from '../../src/exec/targets/device.js';
import { explainTuned, type Schedules, tuneKernels } from '../../src/exec/targets/kernel-tuning.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { CPU_WALKS, timesOf } from '../../src/exec/targets/walk-tuning.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import {
  compile,
  elementwise,
  explain,
  iterate,
  type Lazy,
  lazy,
  loadNpy,
  npy,
  softmax,
} from '../../src/index.js';
import { CUDA_CASES } from '../codegen/cuda-cases.js';
import { planOnDevice } from '../support/device-plan.js';
import { randomValues } from '../support/random.js';
import { randomKernel, runTape } from '../support/tape-runner.js';

const RANDOM = Array.from({ length: 60 }, (_, seed) => ({
  name: `random ${seed}`,
  kernel: randomKernel(7000 + seed),
}));

/** A sum of one element each is that element: no graph has it as a reduction. */
const KERNELS = [...CUDA_CASES, ...RANDOM].filter(({ kernel: { reduced } }) => reduced.join() !== '1');

describe('the walks of a kernel', () => {
  it.each(KERNELS)('give the same bits: $name', async ({ kernel }) => {
    const walks = walksOf(kernel);
    expect(new Set(walks.map(printWalk)).size).toBe(walks.length);
    const inputs = kernel.buffers.map(({ role, dtype, elementCount }, k) =>
      role === 'input' ? randomValues(dtype, [elementCount], k, -2, 3).data : undefined,
    );
    const results: unknown[] = [];
    for (const { blocking, triangle } of walks)
      results.push(await runTape(native, kernel, inputs, blocking, triangle));
    for (const [k, result] of results.entries()) expect(result, printWalk(walks[k]!)).toEqual(results[0]);
  });
});

const isKernel = (step: Step): step is KernelStep => step.kind === 'kernel';

const device = 'cpu';
const numbers = (count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => ((k * 7919) % 1009) / 1009 - 0.5);
const matrix = (rows: number, columns: number): Lazy =>
  lazy({ data: numbers(rows * columns), shape: [rows, columns] });
const pairs = (): Lazy => {
  const rows = matrix(400, 20);
  return rows.expandDims(1).sub(rows.expandDims(0)).square().sum(2);
};
const programs: Readonly<Record<string, () => Lazy>> = {
  'a map of two orders': () => matrix(300, 300).T.mul(3).add(matrix(300, 300)),
  'a sum of columns': () => matrix(500, 300).exp().sum(0),
  'a softmax down columns': () => softmax(matrix(300, 200), 0),
  'distances of pairs': pairs,
  'the body of a loop': () => iterate(5, matrix(300, 300), (x) => x.T.mul(0.5).add(1)),
};

/** Choices of this run: those of others may be on disk. */
const run = randomUUID();
const ownWalks: Schedules<Walk> = { ...CPU_WALKS, keyOf: (...of) => [run, ...CPU_WALKS.keyOf(...of)] };

describe('a compute that measures walks', () => {
  afterEach(() => {
    clearPrograms();
    clearTuning();
  });

  it.each(Object.keys(programs))(
    'has the bits of the untuned one, and says which it took: %s',
    async (name) => {
      const x = programs[name]!();
      const plain = await x.compute({ device });
      expect(String(x.explain({ device }))).not.toContain('by measurement');
      expect(String(x.explain({ device, tune: true }))).toContain('measured when it is first computed');
      expect((await x.compute({ device, tune: true })).data).toEqual(plain.data);
      expect(String(x.explain({ device, tune: true }))).toMatch(
        /schedule \d+ lanes of .* \((\d+ of \d+ by measurement, [\d.]+ µs(, [\d.]+ µs of the untuned one)?|predicted; no two times agree)\)/,
      );
      const step = compile((y: Lazy) => y.add(x), { device, tune: true });
      expect((await step(x.mul(0))).data).toEqual(plain.data);
    },
  );

  it('takes the untuned one where there is no room to measure', async () => {
    const x = matrix(300, 300).T.mul(3);
    const plain = await x.compute({ device });
    const { kernel } = planOnDevice(canonicalize([x.expr]), CPU).plan.steps.find(isKernel)!;
    expect(
      (await tuneKernels(planOnDevice(canonicalize([x.expr]), CPU).plan, CPU, ownWalks, 1000)).size,
    ).toBe(0);
    expect(explainTuned(kernel, CPU, ownWalks, 'predicted')).toContain('(predicted; no room to measure)');
    expect((await x.compute({ device, tune: true })).data).toEqual(plain.data);
  });

  it('takes another than the first where that is faster, of kernels that run as a whole', async () => {
    const x = matrix(290, 310).T.mul(3);
    const { plan } = planOnDevice(canonicalize([x.expr]), CPU);
    const { kernel } = plan.steps.find(isKernel)!;
    const seconds = CPU_WALKS.of(kernel, CPU).map((_, k) => (k === 1 ? 1e-6 : 2e-6));
    const measured: Schedules<Walk> = { ...ownWalks, measure: async () => seconds };
    const walks = await tuneKernels(plan, CPU, measured);
    expect([...walks]).toEqual([[kernel, CPU_WALKS.of(kernel, CPU)[1]]]);
    expect(cpuProgram(plan, walks)).not.toEqual(cpuProgram(plan));
    expect(explainTuned(kernel, CPU, ownWalks, 'predicted')).toMatch(
      /\(2 of \d+ by measurement, 1 µs, 2 µs of the untuned one\)$/,
    );
    clearTuning();
    const inBlocks = { ...plan, buffers: plan.buffers.map((each) => ({ ...each, readInBlocks: true })) };
    expect((await tuneKernels(inBlocks, CPU, measured)).size).toBe(0);
  });

  it('leaves kernels alone that read a file as they go, and says nothing of measurements there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-walks-'));
    try {
      const data = numbers(2 ** 18);
      await lazy(data, { shape: [512, 512] }).compute({ to: npy(join(folder, 'x.npy')) });
      const x = await loadNpy(join(folder, 'x.npy'));
      const halves = x.mul(0.5);
      expect(String(x.T.mul(0.5).explain({ device, tune: true }))).toContain('measured when');
      expect((await halves.compute({ device, tune: true })).data).toEqual(data.map((value) => value / 2));
      expect(String(halves.explain({ device, tune: true }))).not.toContain('measure');
      // Nor an equal kernel of the same plan.
      const inMemory = lazy(data, { shape: [512, 512] }).mul(0.5);
      expect(String(inMemory.explain({ device, tune: true }))).toContain('measured when');
      expect(String(explain([halves, inMemory], { device, tune: true }))).not.toContain('measure');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('measures until two times agree of the fastest and of the first, and else takes none', async () => {
    const measured = async (...times: readonly (readonly number[])[]): Promise<unknown> => {
      const left = times.map((each) => [...each]);
      return timesOf(left, async (each) => each.shift()!);
    };
    // Other work was in the first times; the second one rests, and is not asked again.
    expect(await measured([9, 4, 4.1], [20], [9, 2, 2.05])).toEqual([4, 20, 2]);
    expect(await measured([4, 4, 4, 4], [2, 3, 5, 2.01])).toEqual([4, 2]);
    const never = [8, 7, 6, 5, 4, 3, 2, 1];
    expect(await measured(never, never)).toBe('no two times agree');
    expect(await measured([4, 4, 4, 4, 4, 4, 4, 4], [4.9, 3.9, 3, 2.5, 2, 1.6, 1.3, 1])).toBe(
      'no two times agree',
    );
  });

  it('keeps nothing where no two times agree, says so, and measures again', async () => {
    const x = matrix(270, 310).T.mul(3);
    const { plan } = planOnDevice(canonicalize([x.expr]), CPU);
    const { kernel } = plan.steps.find(isKernel)!;
    const noisy: Schedules<Walk> = { ...ownWalks, measure: async () => 'no two times agree' };
    expect((await tuneKernels(plan, CPU, noisy)).size).toBe(0);
    expect(explainTuned(kernel, CPU, noisy, 'predicted')).toContain('(predicted; no two times agree)');
    const seconds = CPU_WALKS.of(kernel, CPU).map((_, k) => (k === 1 ? 1e-6 : 2e-6));
    expect((await tuneKernels(plan, CPU, { ...noisy, measure: async () => seconds })).size).toBe(1);
  });

  it('leaves kernels alone whose data decide when they end', async () => {
    const halvings = elementwise((x: number) => {
      let count = 0;
      for (let left = x; left > 1; left /= 2) count++;
      return count;
    });
    const x = halvings(matrix(300, 300).T.mul(1e6));
    expect((await x.compute({ device, tune: true })).data).toEqual((await x.compute({ device })).data);
    expect(String(x.explain({ device, tune: true }))).not.toContain('measure');
  });
});
