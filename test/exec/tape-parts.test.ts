/**
 * Parts of kernels on the CPU: whatever the ranges, and given nothing but its windows, each part gives the
 * bits of the whole.
 */
import { describe, expect, it } from 'vitest';
import { encodeTape, planPhases } from '../../src/codegen/cpu/tape.js';
import { phaseMemory } from '../../src/codegen/cpu/tape-phase-memory.js';
import { tapeWorks } from '../../src/codegen/cpu/tape-work.js';
import type { ProgramSpec } from '../../src/exec/native/program-types.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf, DTYPES } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { REDUCTIONS, type ReductionName, reductionRow } from '../../src/graph/reductions.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { generator, randomValues } from '../support/random.js';
import { bytesOf, sweepProgram } from '../support/sweep-runner.js';
import { randomKernel } from '../support/tape-runner.js';

/** Parts see nothing but their windows. */
const poisoned = (settings: Readonly<Record<string, string>>) =>
  nativeWith({ WEFT_POISON: '1', ...settings });
const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];

function whole(kernel: Kernel): ProgramSpec {
  const buffers = kernel.buffers.map(({ dtype, role, elementCount }) => ({
    role,
    byteLength: byteLengthOf(dtype) * elementCount,
    offset: 0,
  }));
  const steps = [{ kind: 'tape', tape: 0, buffers: buffers.map((_, k) => k) }] as const;
  return { device: 'cpu', arenaByteLength: 0, images: [], buffers, tapes: [encodeTape(kernel)], steps };
}

const inputsOf = (kernel: Kernel, seed: number): TypedArray[] =>
  kernel.buffers.flatMap(({ dtype, role, elementCount }, k) =>
    role === 'input' ? [randomValues(dtype, [elementCount], seed + k).data] : [],
  );

/** Kernels whose reduced axes have several slots. */
function slotted(): Kernel[] {
  const rows = new KernelBuilder([3], [300_000]);
  const shift = rows.map('exp', rows.load('float32', [1, 0]));
  const x = rows.map('subtract', rows.load('float32', [300_000, 1]), shift);
  const most = rows.reduce('max', x);
  const e = rows.map('exp', rows.map('subtract', x, most));
  rows.store(shift).store(rows.reduce('argmin', x)).store(most);
  rows.store(rows.map('divide', e, rows.reduce('sum', e)), [300_000, 1]);

  const columns = new KernelBuilder([70], [20_000]);
  const y = columns.load('float64', [1, 70]);
  const mean = columns.map('multiply', columns.reduce('sum', y), columns.constant('float64', 1 / 20_000));
  const spread = columns.map('sqrt', columns.reduce('squaredDeviations', y));
  columns.store(columns.map('divide', columns.map('subtract', y, mean), spread), [1, 70]);

  const few = new KernelBuilder([3], [100_000]);
  few
    .store(few.reduce('sum', few.load('float32', [1, 3])))
    .store(few.reduce('logsumexp', few.load('float32', [1, 3])));

  const all = new KernelBuilder([], [37, 11, 701]);
  const z = all.load('float32', [11 * 701, 701, 1]);
  all.store(all.reduce('sum', all.map('multiply', z, all.load('float32', [1, 37, 0]))));

  // Elements of rows are used and stored as it lies in the input, and as it goes to the output.
  const shifted = new KernelBuilder([130], [13_000]);
  const shifts = shifted.load('float32', [1, 0]);
  const turned = shifted.map('negative', shifts);
  const shiftedBy = (by: number): number => shifted.map('add', shifted.load('float32', [1, 130]), by);
  shifted.store(turned).store(shifts);
  shifted.store(shifted.reduce('sum', shiftedBy(turned))).store(shifted.reduce('max', shiftedBy(shifts)));
  return [rows.build(), columns.build(), few.build(), all.build(), shifted.build()];
}

/** Blocks of rows and lanes of one axis, the last but one of fewer rows: where it ends is no leaf complete. */
function shortRows(): Kernel {
  const b = new KernelBuilder([], [40_120]);
  const x = b.load('float32', [1]);
  b.store(b.map('add', b.map('sin', x), b.map('multiply', x, x)), [1]);
  return b.store(b.reduce('squaredDeviations', x)).store(b.reduce('logsumexp', x)).build();
}

describe('parts of tapes', () => {
  for (const isa of ISAS) {
    it(`give the bits of the whole for random kernels, on ${isa}`, async () => {
      const native = await poisoned({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (let seed = 0; seed < 150; seed++) {
        const kernel = randomKernel(seed, 20_000);
        if (tapeWorks(kernel).rows!.units < 2) continue;
        const inputs = inputsOf(kernel, seed);
        const expected = await bytesOf(native, whole(kernel), inputs);
        const next = generator(seed);
        for (const pitched of [false, true]) {
          const parts = sweepProgram(kernel, {
            by: 'rows',
            next,
            slots: 1 + Math.floor(next() * 3),
            pitched,
          });
          expect(await bytesOf(native, parts, inputs), `seed ${seed}, ${pitched}`).toEqual(expected);
        }
      }
    });

    it(`give the bits of the whole when cut along reduced axes, on ${isa}`, async () => {
      const native = await poisoned({ WEFT_ISA: isa, WEFT_THREADS: '3' });
      for (const [k, kernel] of slotted().entries()) {
        const inputs = inputsOf(kernel, k);
        const expected = await bytesOf(native, whole(kernel), inputs);
        expect(tapeWorks(kernel).phases.length, `kernel ${k}`).toBeGreaterThan(0);
        const next = generator(k);
        for (const by of ['phases', 'rows', 'phases'] as const) {
          for (const pitched of [false, true]) {
            const parts = sweepProgram(kernel, { by, next, slots: 2, pitched });
            expect(await bytesOf(native, parts, inputs), `kernel ${k} by ${by}`).toEqual(expected);
          }
        }
      }
    });
  }

  it('give them where the last unit is by itself, behind blocks of fewer rows', async () => {
    const kernel = shortRows();
    expect(planPhases(kernel).loops.walks).toMatchObject([{ role: 'shared' }]);
    const native = await poisoned({});
    const inputs = inputsOf(kernel, 1);
    const parts = sweepProgram(kernel, { by: 'phases', next: () => 0.999, slots: 2 });
    expect(await bytesOf(native, parts, inputs)).toEqual(await bytesOf(native, whole(kernel), inputs));
  });

  it('have the same bits on one thread and on several', async () => {
    const one = await poisoned({ WEFT_THREADS: '1' });
    const kernels = slotted();
    const expected: string[][] = [];
    for (const [k, kernel] of kernels.entries())
      expected.push(await bytesOf(one, whole(kernel), inputsOf(kernel, k)));
    const several = await poisoned({ WEFT_THREADS: '3' });
    for (const [k, kernel] of kernels.entries()) {
      const found = await bytesOf(several, whole(kernel), inputsOf(kernel, k));
      expect(
        found.map((bytes, at) => bytes === expected[k]![at]),
        `kernel ${k}`,
      ).toEqual(found.map(() => true));
    }
  });

  it('know the bytes that phases keep, for every reduction of every dtype', async () => {
    const native = await poisoned({});
    for (const name of Object.keys(REDUCTIONS) as ReductionName[]) {
      if (name === 'monoid') continue; // which one it is stands in the instruction
      for (const dtype of DTYPES) {
        if (reductionRow(name).dtype(dtype) === undefined) continue;
        const b = new KernelBuilder([5], [200_000]);
        const kernel = b.store(b.reduce(name, b.load(dtype, [200_000, 1]))).build();
        const spec = sweepProgram(kernel, { by: 'phases', next: () => 0, slots: 1 });
        const { least, byteLength } = phaseMemory(planPhases(kernel));
        expect(least, `${name} of ${dtype}`).toBeLessThanOrEqual(byteLength);
        const within = (bytes: number): ProgramSpec => ({
          ...spec,
          buffers: spec.buffers.map((one) =>
            one.role === 'temporary' ? { ...one, byteLength: bytes } : one,
          ),
        });
        for (const bytes of [byteLength, least])
          expect(() => native.createProgram(within(bytes)), `${name} of ${dtype}`).not.toThrow();
        expect(() => native.createProgram(within(least - 1)), `${name} of ${dtype}`).toThrow(/at least/);
      }
    }
  });
});
