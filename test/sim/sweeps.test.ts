/**
 * Sweeps on the simulated CUDA: kernels run in parts have the bits of the whole, whatever the cuts, the slots
 * and the order of the device's work; copies race with nothing; failures and cancelled runs leave nothing
 * behind.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { cudaKernel, type Schedule } from '../../src/codegen/cuda/cuda.js';
import { expandForDevice } from '../../src/codegen/cuda/footprint.js';
import { cancel, createCancel, createProgram, type ProgramSpec, run } from '../../src/exec/native/native.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { DeviceLostError } from '../../src/host/errors.js';
import { CUDA_CASES } from '../codegen/cuda-cases.js';
import { type CudaCutting, cudaSweepProgram } from '../support/cuda-sweep-runner.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator, randomValues } from '../support/random.js';
import { bytesOf } from '../support/sweep-runner.js';
import { footprint } from './programs.js';
import {
  describeSimulator,
  hold,
  setDevices,
  setFaults,
  setSchedule,
  show,
  takeProblems,
} from './simulator.js';

const LOSABLE = 6;
setDevices(Array.from({ length: 1 + LOSABLE }, () => ({})));

const native = { createProgram, run };
const TIMINGS = ['late', 'random', 'eager'] as const;
const OUT_OF_MEMORY = 2;
const UNKNOWN = 999;

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

interface Job {
  readonly name: string;
  readonly kernel: Kernel;
  readonly schedule: Schedule;
}

/** One reduction cuts like another: a few of each shape are enough. */
const cutAlike = /^reduce (all|rows|columns) by (?!sum of float32|argmin|squareddeviations of complex)/;
const jobs: readonly Job[] = CUDA_CASES.filter(({ name }) => !cutAlike.test(name)).flatMap((one) => {
  const kernels = one.schedule === undefined ? expandForDevice(one.kernel).kernels : [one.kernel];
  return kernels.map((kernel) => ({
    name: kernels.length > 1 ? `${one.name}: ${kernel.name}` : one.name,
    kernel,
    schedule: one.schedule ?? cudaKernel(kernel).schedule,
  }));
});

const inputsOf = (kernel: Kernel, seed: number): TypedArray[] =>
  kernel.buffers.flatMap(({ role, dtype, elementCount }, k) =>
    role === 'input' ? [randomValues(dtype, [elementCount], seed + k, -2, 3).data] : [],
  );

const programOf = ({ kernel, schedule }: Job, cutting: Omit<CudaCutting, 'next'>, seed: number) =>
  cudaSweepProgram(kernel, { ...cutting, next: generator(seed) }, schedule);

/** Pairs past the end of a tile are computed from whatever shared memory holds, and are stored nowhere. */
const problemsOf = ({ schedule }: Job): string[] =>
  takeProblems()
    .filter(({ kind }) => kind !== 'shared-memory' || schedule.kind !== 'outer-product')
    .map(show);

describe('a sweep', () => {
  it.each(jobs.map((job) => [job.name, job] as const))('gives the bits of the whole: %s', async (_, job) => {
    const inputs = inputsOf(job.kernel, 5);
    const wanted = await bytesOf(native, (await programOf(job, { by: 'whole', slots: 1 }, 0))!, inputs);
    for (const by of ['rows', 'slots'] as const) {
      for (const slots of [1, 2, 3, 4]) {
        const pitched = slots > 2;
        const spec = await programOf(job, { by, slots, pitched }, 10 + slots);
        if (spec === undefined) continue;
        const bytes = await bytesOf(native, spec, inputs);
        expect({ by, slots, bytes }).toEqual({ by, slots, bytes: wanted });
      }
    }
    // Where stores leave gaps, whole results are copied with what is undefined in them.
    const gaps = /strided axes/.test(job.name) ? /^undefined-read: cuMemcpyDtoH/ : /^$/;
    expect(problemsOf(job).filter((problem) => !gaps.test(problem))).toEqual([]);
  });
});

/** A map with an input that all rows share, and sums that are cut either way. */
const MAP: Job = (() => {
  const b = new KernelBuilder([64, 96]);
  const x = b.load('float32', [96, 1]);
  const y = b.map('multiply', b.map('add', x, b.load('float32', [96, 1])), b.load('float32', [0, 1]));
  const kernel = b.store(y).store(b.map('square', x)).build('swept_map');
  return { name: 'map', kernel, schedule: cudaKernel(kernel).schedule };
})();
const SUM = jobs.find(({ name }) => name === 'reduce several columns in slots')!;
/** Each timing with each number of slots once. */
const SCHEDULES = Number(process.env.WEFT_SIM_SCHEDULES ?? 12);

describe.each([
  ['rows of a map', MAP, 'rows'],
  ['slots of a reduction', SUM, 'slots'],
] as const)('%s', (_, job, by) => {
  const inputs = inputsOf(job.kernel, 3);

  it(`under ${SCHEDULES} schedules race with nothing, and keep their bits`, async () => {
    const wanted = await bytesOf(native, (await programOf(job, { by: 'whole', slots: 1 }, 0))!, inputs);
    const specs = await Promise.all([1, 2, 3, 4].map((slots) => programOf(job, { by, slots }, slots)));
    await bytesOf(native, specs[0]!, inputs);
    const left = await footprint();
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const timing = TIMINGS[seed % 3]!;
      setSchedule({ timing, seed });
      const bytes = await bytesOf(native, specs[seed % 4]!, inputs);
      const problems = takeProblems().map(show);
      expect({ timing, seed, bytes, problems }).toEqual({ timing, seed, bytes: wanted, problems: [] });
    }
    expect(await footprint()).toEqual(left);
  });

  it('end cleanly where a call fails, and are right the next time', async () => {
    const spec = (await programOf(job, { by, slots: 2 }, 4))!;
    const wanted = await bytesOf(native, spec, inputs);
    setFaults([]);
    await bytesOf(native, spec, inputs);
    const { counts } = describeSimulator();
    const left = await footprint();
    const cannotFail = /^cu(Pointer|EventDestroy|MemFreeAsync|MemGetInfo)/;
    for (const [call, count] of Object.entries(counts)) {
      if (!call.startsWith('cu') || cannotFail.test(call)) continue;
      for (const nth of new Set([1, 2, 3, Math.ceil(count / 2), count])) {
        if (nth > count) continue;
        for (const status of [OUT_OF_MEMORY, UNKNOWN]) {
          const fault = { call, nth, status };
          setFaults([fault]);
          const outcome = await bytesOf(native, spec, inputs).catch((error: unknown) => error as Error);
          setFaults([]);
          // Memory that cannot be had once is asked for again; a failed event may go unseen.
          if (outcome instanceof Error) expect(outcome).not.toBeInstanceOf(DeviceLostError);
          else expect({ fault, outcome }).toEqual({ fault, outcome: wanted });
          expect({ fault, left: await footprint() }).toEqual({ fault, left });
        }
      }
      expect(await bytesOf(native, spec, inputs)).toEqual(wanted);
    }
  });

  it('stop within a tile when they are cancelled', async () => {
    const spec = (await programOf(job, { by, slots: 2 }, 6))!;
    const program = createProgram(spec);
    const options = {
      outputs: spec.buffers.flatMap(({ role }) => (role === 'output' ? ['host' as const] : [])),
    };
    const wanted = await bytesOf(native, spec, inputs);
    const left = await footprint();
    const { counts } = describeSimulator();
    const tiles = spec.steps.flatMap((step) => (step.kind === 'sweep' ? [step.tiles] : []));
    expect(counts).toBeDefined();
    for (let tile = 1; tile <= Math.max(...tiles); tile++) {
      const token = createCancel();
      const launch = hold('cuLaunchKernel', tile);
      const promise = run(program, inputs, { ...options, cancel: token });
      const outcome = promise.catch((error: unknown) => error as Error);
      await launch.reached();
      cancel(token);
      launch.release();
      const result = await outcome;
      expect(result).toBeInstanceOf(Error);
      expect((result as Error).name).toBe('AbortError');
      expect(await footprint()).toEqual(left);
    }
    expect(await bytesOf(native, spec, inputs)).toEqual(wanted);
  });
});

describe('a sweep that loses its device', () => {
  it('ends, whatever was under way, and says so', async () => {
    const inputs = inputsOf(MAP.kernel, 3);
    for (let ordinal = 1; ordinal <= LOSABLE; ordinal++) {
      setSchedule({ timing: TIMINGS[ordinal % 3]!, seed: ordinal });
      const device = `cuda:${ordinal}`;
      const spec = (await programOf(MAP, { by: 'rows', slots: 2, device }, 4))!;
      const call = ordinal % 2 === 0 ? 'run copy' : 'run launch';
      const failure = (): Promise<unknown> =>
        bytesOf(native, spec, inputs).then(
          () => 'none',
          (error) => error,
        );
      const fault = { call, nth: 1 + (ordinal % 2), status: 700, sticky: true };
      setFaults([fault]);
      expect(await failure()).toBeInstanceOf(DeviceLostError);
      setFaults([]);
      expect(await failure()).toBeInstanceOf(DeviceLostError);
    }
  });
});

describe('a windowed input that is on the device', () => {
  it('is used where it is, without copies', async () => {
    const spec = (await programOf(MAP, { by: 'rows', slots: 2 }, 8))!;
    const inputs = inputsOf(MAP.kernel, 3);
    const wanted = await bytesOf(native, spec, inputs);
    const held = await Promise.all(inputs.map((input) => onDevice(input)));
    setFaults([]);
    const outputs = ['host', 'host'] as const;
    const result = await run(createProgram(spec), held, { outputs });
    expect(result.outputs.map((output) => Buffer.from(output as ArrayBuffer).toString('hex'))).toEqual(
      wanted,
    );
    expect(describeSimulator().counts.cuMemcpyHtoDAsync_v2 ?? 0).toBe(0);
    for (const buffer of held) buffer.dispose();
  });
});

/** A copy of an array on the device: the output of a program that copies. */
async function onDevice(array: TypedArray) {
  const b = new KernelBuilder([array.length]);
  const kernel = b.store(b.load('float32', [1])).build('copied');
  const next = generator(1);
  const spec: ProgramSpec = (await cudaSweepProgram(kernel, { by: 'whole', next, slots: 1 }))!;
  const { outputs } = await run(createProgram(spec), [array], { outputs: ['device'] });
  const [buffer] = outputs;
  if (buffer === undefined || buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
  return buffer;
}
