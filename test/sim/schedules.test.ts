/**
 * The schedules of generated kernels that give the same bits: those that are offered, and which of them a compute takes that
 * measures (`tune: true`). Kernels of each kind whose sizes do not divide evenly, on the simulated CUDA, which checks every
 * access besides.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cudaKernel, printSchedule, scheduleOf } from '../../src/codegen/cuda/cuda.js';
import { candidatesOf } from '../../src/codegen/cuda/schedules/candidates.js';
import { normalize } from '../../src/codegen/cuts/domain.js';
import { clearPrograms } from '../../src/exec/run/program.js';
import { clearTuning, TuningCache } from '../../src/exec/run/tuning-cache.js';
import { isTunedSchedule, type TunedSchedule } from '../../src/exec/targets/kernel-tuning.js';
import { iterate, type Lazy, lazy, placeholder, searchsorted } from '../../src/index.js';
import { CUDA_CASES } from '../codegen/cuda-cases.js';
import { runCudaCases } from '../support/cuda-runner.js';
import { randomValues } from '../support/random.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

/** A kernel for each kind of schedule and mapping; `WEFT_ALL_SCHEDULES` has all that the printers are tested with. */
const NAMES =
  process.env.WEFT_ALL_SCHEDULES === undefined
    ? [
        'map flat with a tail',
        'map of halves',
        'map with a transposed load',
        'sum of narrow rows',
        'reduce columns by sum of float32',
        'pairs of rows',
        'rows of softmax walked again',
      ]
    : CUDA_CASES.map(({ name }) => name);

describe('the schedules of a kernel', () => {
  it.each(NAMES)(
    'give the same bits: %s',
    async (name) => {
      const { kernel, schedule: own } = CUDA_CASES.find((one) => one.name === name)!;
      const schedules = candidatesOf(normalize(kernel), own ?? scheduleOf(kernel));
      if (process.env.WEFT_ALL_SCHEDULES === undefined) expect(schedules.length).toBeGreaterThan(1);
      expect(new Set(schedules.map(printSchedule)).size).toBe(schedules.length);
      const inputs = kernel.buffers.map(({ role, dtype, elementCount }, k) =>
        role === 'input' ? randomValues(dtype, [elementCount], k, -2, 3).data : undefined,
      );
      const ways = schedules.map((schedule) => ({ kernel, cuda: cudaKernel(kernel, schedule), inputs }));
      const [first, ...others] = await runCudaCases(ways);
      for (const [k, other] of others.entries())
        expect(other, printSchedule(schedules[k + 1]!)).toEqual(first);
    },
    60_000,
  );
});

const device = 'cuda';
const numbers = (count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => ((k * 7919) % 1009) / 1009 - 0.5);
const matrix = (rows: number, columns: number): Lazy =>
  lazy({ data: numbers(rows * columns), shape: [rows, columns] });
const programs: Readonly<Record<string, () => Lazy>> = {
  'a map': () => matrix(60, 100).mul(3).exp(),
  'a sum of columns': () => matrix(500, 64).sum(0),
  'the body of a loop': () => iterate(5, matrix(40, 64), (x) => x.mul(0.5).add(1)),
};

/** Blocks of kernels that a compute launches, and its result. */
async function counted(x: Lazy, options: object): Promise<{ launches: number; data: unknown }> {
  setFaults([]);
  const { data } = await x.compute({ device, ...options });
  const { counts } = describeSimulator() as { counts: Record<string, number> };
  return { launches: counts.cuLaunchKernel ?? 0, data };
}

describe('a compute that measures schedules', () => {
  afterEach(() => {
    setFaults([]);
    clearPrograms();
    clearTuning();
    expect(takeProblems()).toEqual([]);
  });

  it.each(Object.keys(programs))(
    'has the bits of the untuned one, and says which it took: %s',
    async (name) => {
      const x = programs[name]!();
      const plain = await x.compute({ device });
      expect(String(x.explain({ device }))).toMatch(/schedule [a-z]+: .* \((the default|predicted, )/);
      expect(String(x.explain({ device, tune: true }))).toContain('measured when it is first computed');
      const tuned = await counted(x, { tune: true });
      expect(tuned.data).toEqual(plain.data);
      expect(String(x.explain({ device, tune: true }))).toMatch(
        /schedule [a-z]+: .* \(\d of \d by measurement, [\d.]+ µs(, [\d.]+ µs of the untuned one)?\)/,
      );
      clearPrograms();
      expect(await counted(x, { tune: true })).toEqual({ launches: 1, data: plain.data });
    },
  );

  it('takes the untuned one where there is no room to measure', async () => {
    const x = matrix(60, 100).mul(3).exp();
    const plain = await x.compute({ device });
    setFaults([1, 2].map((nth) => ({ call: 'cuMemAllocFromPoolAsync', nth, status: 2 })));
    const tuned = await x.compute({ device, tune: true });
    expect(tuned.data).toEqual(plain.data);
    expect(String(x.explain({ device, tune: true }))).toContain('no room to measure');
  });
});

describe('a table that many elements are looked up in', () => {
  afterEach(() => {
    clearPrograms();
    expect(takeProblems()).toEqual([]);
  });

  it('is in shared memory where the kernel runs as a whole, with the bits of tiles and of the CPU', async () => {
    const [entries, count] = [57_344, 2 ** 17];
    const table = lazy(numbers(entries).sort());
    // The look-ups of a binary search, and one beside its place: all of one table.
    const places = searchsorted(table, numbers(count));
    const x = table.take(places.remainder(entries)).sub(0.25);
    expect(String(x.explain({ device }))).toMatch(
      /schedule table: width 2, threads 1024, blocks \d+, held \[57344\], halves \[0\] \(predicted, /,
    );
    const whole = await counted(x, {});
    expect(whole.launches).toBeLessThan(4);
    clearPrograms();
    const tiled = { device, memory: 2 ** 20 };
    expect(String(x.explain(tiled))).toMatch(/schedule map: /);
    expect((await x.compute(tiled)).data).toEqual(whole.data);
    expect((await x.compute({ device: 'cpu' })).data).toEqual(whole.data);
  });

  it('is the middles of a line in which many values are searched, then as much of the line as fits', async () => {
    const [line, many] = [placeholder([2 ** 17], 'float32'), placeholder([2 ** 26], 'float32')];
    expect(String(searchsorted(line, many).explain({ device }))).toMatch(
      /schedule table: .*held \[32768, 25344\], halves \[0, 0\] /,
    );
    const x = searchsorted(numbers(1100).sort(), numbers(2 ** 16));
    const whole = await counted(x, {});
    expect((await x.compute({ device: 'cpu' })).data).toEqual(whole.data);
  });

  it('stays in memory where it fits the first-level cache, or is taken from too seldom', () => {
    const scheduleOfTake = (entries: number, count: number): string =>
      String(
        placeholder([entries], 'float32')
          .take(placeholder([count], 'int32'))
          .explain({ device }),
      );
    expect(scheduleOfTake(2 ** 16, 2 ** 28)).toMatch(/schedule table: .*held \[58112\], halves \[0\] /);
    expect(scheduleOfTake(2 ** 15, 2 ** 28)).toMatch(/schedule map: /);
    expect(scheduleOfTake(2 ** 20, 2 ** 28)).toMatch(/schedule map: /);
    expect(scheduleOfTake(2 ** 16, 2 ** 20)).toMatch(/schedule map: /);
  });
});

describe('the schedules on disk', () => {
  const choice: TunedSchedule = { schedule: 'map', place: 2, count: 8, seconds: 1e-6, firstSeconds: 2e-6 };
  const key = 'b'.repeat(64);
  const folders: string[] = [];
  const makeFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-schedules-'));
    folders.push(folder);
    return folder;
  };
  const cacheIn = (folder: string) => new TuningCache<TunedSchedule>(folder, 2 ** 20, isTunedSchedule);
  const refuse = (): Promise<TunedSchedule> => Promise.reject(new Error('measured again'));
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  it('are read again', async () => {
    const folder = makeFolder();
    await cacheIn(folder).get(key, async () => choice);
    expect(await cacheIn(folder).get(key, refuse)).toEqual(choice);
  });

  it.each([{ ...choice, schedule: 4 }, { ...choice, seconds: undefined }, { algorithm: [1] }])(
    'are measured anew where the entry is %j',
    async (entry) => {
      const folder = makeFolder();
      await cacheIn(folder).get(key, async () => entry as unknown as TunedSchedule);
      expect(await cacheIn(folder).get(key, async () => choice)).toEqual(choice);
    },
  );

  it('are measured anew where the file is broken, and are no condition', async () => {
    const folder = makeFolder();
    await cacheIn(folder).get(key, async () => choice);
    const [file] = readdirSync(folder).filter((name) => name.endsWith('.image'));
    writeFileSync(join(folder, file!), 'rubbish');
    expect(await cacheIn(folder).get(key, async () => choice)).toEqual(choice);
    expect(await cacheIn('/proc/weft').get(key, async () => choice)).toEqual(choice);
  });
});
