/** Rates of the CPU: least times of small kernels, measured again where that failed, and until they agree. */
import { beforeEach, expect, test, vi } from 'vitest';
import type { TapeSpec } from '../../src/codegen/cpu/tape.js';
import { unmeasuredRates } from '../../src/codegen/cpu/tape-rates.js';
import { secondsOfTape } from '../../src/codegen/cpu/tape-seconds.js';
import { tallyOf } from '../../src/codegen/cpu/tape-tally.js';
import { cpuInfo, timeTape } from '../../src/exec/native/native.js';
import { chainOfTasks } from '../../src/exec/targets/cpu-probe-kernels.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { OpName } from '../../src/graph/ops.js';
import { KernelBuilder } from '../support/kernel-builder.js';

vi.mock('../../src/exec/native/native.js', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  timeTape: vi.fn(),
  cpuInfo: vi.fn(),
}));
const times = vi.mocked(timeTape);
const { cpuInfo: ownInfo } = await vi.importActual<{ cpuInfo: typeof cpuInfo }>(
  '../../src/exec/native/native.js',
);

let { cpuRates, measureRates } = await import('../../src/exec/targets/cpu-probes.js');
beforeEach(async () => {
  vi.resetModules();
  times.mockReset();
  times.mockResolvedValue(1e-5);
  vi.mocked(cpuInfo).mockReset().mockImplementation(ownInfo);
  ({ cpuRates, measureRates } = await import('../../src/exec/targets/cpu-probes.js'));
});

/** As many as probes of functions have. */
const ELEMENTS = 2 ** 13;
const VECTORS = ELEMENTS / 16;

const mapOf = (op: OpName): Kernel => {
  const builder = new KernelBuilder([ELEMENTS], []);
  return builder.store(builder.map(op, builder.load('float32', [1])), [1]).build();
};
/** An op as a step of a chain, between light ones. */
const chainOf = (ops: readonly OpName[]): Kernel => {
  const builder = new KernelBuilder([ELEMENTS], []);
  const value = ops.reduce((x, op) => builder.map(op, x), builder.load('float32', [1]));
  return builder.store(value, [1]).build();
};
const calls = ({ ops }: TapeSpec, op: string): boolean => ops.some((name) => name.includes(op));

test('a measurement that failed is tried again, by the next who asks', async () => {
  times.mockRejectedValueOnce(new Error('no memory'));
  const both = await Promise.allSettled([measureRates([]), measureRates([])]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  const { length } = times.mock.calls;
  await measureRates([]);
  expect(times).toHaveBeenCalledTimes(length);
  expect(cpuRates().slowness).toBeGreaterThan(0);
});

test('memory is as without measurement where a process may not have as much', async () => {
  const { MemoryError } = await import('../../src/host/errors.js');
  const most = 2 ** 24;
  times.mockImplementation(async ({ words }) => {
    if (words.some((word) => word >= most / 8)) throw new MemoryError('no memory');
    return 1e-5;
  });
  await measureRates([mapOf('cbrt')]);
  const [{ slowness, memory, streamed, functions }, plain] = [cpuRates(), unmeasuredRates(1)];
  expect(functions.size).toBeGreaterThan(0);
  expect(streamed).toBe(slowness * plain.streamed);
  expect(memory.map(({ read }) => read)).toEqual(
    plain.memory.map(({ bytes, read }) => (bytes < most ? expect.any(Number) : slowness * read)),
  );
});

test('a kernel is timed until the two least times agree, and what other work took is in no rate', async () => {
  const timesOf = (): number[] => times.mock.calls.map(([tape]) => Number(calls(tape, 'cbrt')));
  let turn = 0;
  times.mockImplementation(async (tape) =>
    calls(tape, 'cbrt') ? [9e-3, 5e-3, 1e-3, 1.01e-3][turn++]! : 1e-5,
  );
  await measureRates([mapOf('cbrt')]);
  expect(timesOf().reduce((sum, one) => sum + one)).toBe(4);
  const least = cpuRates().functions.get('cbrt float32')!;
  expect(least * VECTORS).toBeCloseTo(1e9 * (1e-3 - 1e-5), -3);
});

test('rates are measured again where that is asked for, and lower times count', async () => {
  times.mockImplementation(async (tape) => (calls(tape, 'cbrt') ? 2e-3 : 1e-5));
  const kernels = [mapOf('cbrt')];
  await measureRates(kernels);
  const before = cpuRates().functions.get('cbrt float32')!;
  times.mockImplementation(async (tape) => (calls(tape, 'cbrt') ? 1e-3 : 1e-5));
  await measureRates(kernels);
  expect(cpuRates().functions.get('cbrt float32')).toBe(before);
  await measureRates(kernels, true);
  expect(cpuRates().functions.get('cbrt float32')! / before).toBeCloseTo(0.5, 1);
});

test('a step of a chain takes what a chain with it takes longer than one of light steps', async () => {
  times.mockImplementation(async (tape) => (calls(tape, 'sin') ? 1e-3 : 1e-5));
  const kernel = chainOf(['abs', 'sin', 'abs', 'sin', 'negative']);
  await measureRates([kernel]);
  const without = { ...cpuRates(), functions: new Map([['chained sin float32', 0]]) };
  const own = secondsOfTape(kernel, cpuRates()) - secondsOfTape(kernel, without);
  expect(own).toBeCloseTo(1e-3 - 1e-5, 9);
});

test('functions that are measured at the same time are all kept', async () => {
  await Promise.all((['cos', 'exp'] as const).map((op) => measureRates([mapOf(op)])));
  const keys = [...cpuRates().functions.keys()].join();
  expect(keys).toContain('cos');
  expect(keys).toContain('exp');
});

test('another thread costs what two tasks take longer than one, and lines what memory does', async () => {
  const isOfTwo = (tape: TapeSpec): boolean =>
    ['abs', 'square'].every((op) => calls(tape, op)) && tape.words.includes(2 * ELEMENTS);
  times.mockImplementation(async (tape) => (isOfTwo(tape) ? 1.7e-5 : 1e-5));
  await measureRates([]);
  const { fork, lines, memory, threads } = cpuRates();
  expect(fork).toBeCloseTo(threads > 1 ? 7000 : unmeasuredRates(1).fork, 3);
  // In such times memory is as far as what is nearer.
  expect(lines).toBeGreaterThan(0);
  const far = memory.filter(({ bytes }) => bytes >= 2 ** 23).map(({ read }) => read);
  expect(far.every((read, k) => k === 0 || read >= far[k - 1]!)).toBe(true);
});

test('memory is shared as all threads share it where they are more than two, else as two may', async () => {
  const bytes = 2 ** 27;
  const spreadAmong = async (threads: number, together: number): Promise<number> => {
    times.mockImplementation(async ({ words }, _, isAlone) =>
      words.includes(bytes / 4) ? (isAlone === true ? 8e-3 : together) : 1e-5,
    );
    vi.resetModules();
    vi.mocked(cpuInfo).mockImplementation(() => ({ ...ownInfo(), threads }));
    const anew = await import('../../src/exec/targets/cpu-probes.js');
    await anew.measureRates([]);
    return anew.cpuRates().spread;
  };
  expect([await spreadAmong(1, 4e-3), await spreadAmong(2, 4e-3)]).toEqual([0.5, 0.5]);
  expect(await spreadAmong(4, 2e-3)).toBeCloseTo(1, 9);
  expect(await spreadAmong(4, 4e-3)).toBeCloseTo(0.6, 1);
  expect(await spreadAmong(4, 9e-3)).toBe(0);
});

test('the kernels of which one is shared are a task and two', () => {
  expect([1, 2].map((count) => tallyOf(chainOfTasks(count)).tasks)).toEqual([1, 2]);
});
