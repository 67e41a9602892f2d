/**
 * Runs that are under way together: a run is queued while the one before it is computed, they end in order,
 * and neither a failure, a cancelled run nor a buffer that is given up meanwhile touches the others.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { cancel, createCancel, createProgram, type RunResult, run } from '../../src/exec/native/native.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import { fault, floats, MEMORY_BYTES, missing, ramp, scale, scaleBy, use } from './scale.js';
import { describeSimulator, hold, setFaults, setSchedule, takeProblems } from './simulator.js';

const UNKNOWN = 999;
const ROUNDS = 10;

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

const N = 100;
const x = ramp(N);
const double = createProgram(scaleBy(N, [2]));
const host = { outputs: ['host'] } as const;
const doubled = [...x].map((value) => 2 * value);
const valuesOf = ({ outputs }: RunResult): number[] => floats(outputs[0]);

function deviceBuffer({ outputs }: RunResult): DeviceBuffer {
  const [buffer] = outputs;
  if (buffer === undefined || buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
  return buffer;
}

describe('runs that are started together', () => {
  it('are queued while others are under way', async () => {
    await run(double, [x], host);
    const runs = Array.from({ length: 40 }, async () => {
      const asked = performance.now() * 1e6;
      const { timeline } = await run(double, [x], { ...host, timeline: true });
      return { issued: asked + timeline!.issued, ended: asked + timeline!.ended, timeline: timeline! };
    });
    const times = await Promise.all(runs);
    expect(times.some(({ issued }, k) => k > 0 && issued < times[k - 1]!.ended)).toBe(true);
    for (const { timeline } of times) {
      const { taken, issued, ended, reported } = timeline;
      expect([0, taken, issued, ended, reported]).toEqual(
        [0, taken, issued, ended, reported].toSorted((a, b) => a - b),
      );
    }
  });

  it.each(['late', 'random', 'eager'] as const)(
    'end in order, each with its own values (%s)',
    async (timing) => {
      setSchedule({ timing, seed: 5 });
      // An order that is not kept shows now and then only.
      for (let round = 0; round < ROUNDS; round++) {
        const order: number[] = [];
        const runs = Array.from({ length: 300 }, async (_, k) => {
          const place = k % 3 === 0 ? 'device' : 'host';
          const result = await run(double, [Float32Array.of(...x).fill(k, 0, 1)], { outputs: [place] });
          order.push(k);
          if (place === 'host') return valuesOf(result);
          const again = await run(double, [deviceBuffer(result)], host);
          deviceBuffer(result).dispose();
          return valuesOf(again).map((value) => value / 2);
        });
        const results = await Promise.all(runs);
        expect(order).toEqual(Array.from(runs.keys()));
        for (const [k, values] of results.entries()) expect(values).toEqual([2 * k, ...doubled.slice(1)]);
      }
    },
  );

  it('use no more events and pinned memory than are needed, and use them again', async () => {
    const together = () => Promise.all(Array.from({ length: 200 }, () => run(double, [x], host)));
    await together();
    setFaults([]);
    const { live } = describeSimulator();
    // Far fewer than runs that were started: as many as may be under way at once.
    expect(live.events).toBeLessThan(140);
    for (let i = 0; i < 5; i++) await run(double, [x], host);
    const { counts, live: later } = describeSimulator();
    expect(counts.cuEventCreate ?? 0).toBe(0);
    expect(counts.cuMemHostAlloc ?? 0).toBe(0);
    expect(later).toEqual(live);
  });
});

describe('a run that fails among others', () => {
  const wanted = (outcomes: readonly PromiseSettledResult<RunResult>[]) =>
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? valuesOf(outcome.value) : outcome.reason));

  it('before it is queued leaves them right, and ends in its turn', async () => {
    const order: number[] = [];
    const programs = [double, createProgram(scaleBy(N, [2], { steps: [missing] })), double, double];
    const runs = programs.map((program, k) => run(program, [x], host).finally(() => order.push(k)));
    const [first, second, ...rest] = wanted(await Promise.allSettled(runs));
    expect(second).toBeInstanceOf(DeviceError);
    expect([first, ...rest]).toEqual([doubled, doubled, doubled]);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('for want of memory leaves them right', async () => {
    const n = MEMORY_BYTES / 4;
    const large = createProgram(scaleBy(n, [2]));
    const runs = [run(double, [x], host), run(large, [new Float32Array(n)], host), run(double, [x], host)];
    const [first, second, third] = wanted(await Promise.allSettled(runs));
    expect(second).toBeInstanceOf(MemoryError);
    expect([first, third]).toEqual([doubled, doubled]);
  });

  it('when its end is looked for leaves them right', async () => {
    await run(double, [x], host);
    setFaults([{ call: 'cuEventQuery', nth: 1, status: UNKNOWN }]);
    const [first, ...rest] = wanted(await Promise.allSettled([1, 2, 3].map(() => run(double, [x], host))));
    expect(first).toBeInstanceOf(DeviceError);
    expect(first).not.toBeInstanceOf(DeviceLostError);
    expect(rest).toEqual([doubled, doubled]);
  });

  it('by losing its device fails those after it, and no run of another device', async () => {
    const on = (device: string) => createProgram(scaleBy(N, [2], { device }));
    const faulty = createProgram(scaleBy(N, [2], { device: 'cuda:1', steps: [fault] }));
    const before = await run(on('cuda:1'), [x], host);
    const runs = [faulty, on('cuda:1'), on('cuda:1'), double].map((program) => run(program, [x], host));
    const outcomes = wanted(await Promise.allSettled(runs));
    expect(valuesOf(before)).toEqual(doubled);
    for (const lost of outcomes.slice(0, 3)) expect(lost).toBeInstanceOf(DeviceLostError);
    expect(outcomes[0]).toMatchObject({ status: 'CUDA_ERROR_ILLEGAL_ADDRESS' });
    expect(outcomes[3]).toEqual(doubled);
    expect(takeProblems().map(({ kind }) => kind)).toEqual(['out-of-bounds']);
  });
});

describe('a run that is cancelled', () => {
  // More than a run begins with on the thread that asks for it.
  const steps = Array.from({ length: 40 }, () => scale(1, 1, 1, N));
  const long = createProgram(scaleBy(N, [2], { steps }));

  it('while it waits for others is not begun, and they are right', async () => {
    await run(long, [x], host);
    setFaults([{ call: 'cuLaunchKernel', nth: 0, delayMs: 1 }]);
    const token = createCancel();
    const first = run(long, [x], host);
    const stopped = run(long, [x], { ...host, cancel: token });
    const last = run(double, [x], host);
    cancel(token);
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect(valuesOf(await first)).toEqual(doubled);
    expect(valuesOf(await last)).toEqual(doubled);
    expect(describeSimulator().counts.cuLaunchKernel).toBe(41 + 1);
  });

  it('when all of it is queued rejects too, and the next is right', async () => {
    const token = createCancel();
    const launch = hold('run launch');
    const stopped = run(double, [x], { ...host, cancel: token });
    await launch.reached();
    cancel(token);
    launch.release();
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect(valuesOf(await run(double, [x], host))).toEqual(doubled);
  });
});

describe('a buffer', () => {
  it('that is disposed while a run reads it serves that run, and is free after it', async () => {
    const { inUse } = use();
    const buffer = deviceBuffer(await run(double, [x], { outputs: ['device'] }));
    const runs = [run(double, [buffer], host), run(double, [buffer], host)];
    buffer.dispose();
    // Takes the memory that the runs before it have given up.
    const next = run(createProgram(scaleBy(N, [0])), [x], host);
    for (const result of await Promise.all(runs)) {
      expect(valuesOf(result)).toEqual(doubled.map((value) => 2 * value));
    }
    expect(valuesOf(await next)).toEqual(Array(N).fill(0));
    expect(use().inUse).toBe(inUse);
  });
});
