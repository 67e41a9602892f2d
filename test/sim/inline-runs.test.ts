/**
 * Runs that begin on the thread that asks for them: which do, that those which settle once they are queued
 * come before what uses them, and that a failure there leaves nothing behind and no other run wrong.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { createProgram, type RunResult, run } from '../../src/exec/native/native.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import { compile, type Lazy, lazy, synchronize } from '../../src/index.js';
import { fault, floats, missing, ramp, scale, scaleBy, use } from './scale.js';
import { describeSimulator, hold, setFaults, setSchedule, stall, takeProblems } from './simulator.js';

const UNKNOWN = 999;
const N = 100;
const x = ramp(N);
const double = createProgram(scaleBy(N, [2]));
const same = createProgram(scaleBy(N, [1]));
const toHost = { outputs: ['host'] } as const;
const queued = { outputs: ['device'], whenQueued: true } as const;
const times = (factor: number): number[] => [...x].map((value) => factor * value);

function bufferOf({ outputs }: RunResult): DeviceBuffer {
  const [buffer] = outputs;
  if (buffer === undefined || buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
  return buffer;
}

/** Longer than this process may stand still on a busy machine. */
const SLOW_MS = 200;
/** Whether the run makes its calls to the driver before `start` returns: a slow one shows. */
async function isHere(start: () => Promise<unknown>, call = 'cuLaunchKernel'): Promise<boolean> {
  setFaults([{ call, nth: 1, delayMs: SLOW_MS }]);
  const begin = performance.now();
  const running = start();
  const took = performance.now() - begin;
  setFaults([]);
  await running;
  return took >= SLOW_MS;
}

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

describe('a run begins on the thread that asks for it', () => {
  it('when its code is loaded, it is small, and no run waits', async () => {
    const fresh = createProgram(scaleBy(N, [3]));
    expect(await isHere(() => run(fresh, [x], toHost))).toBe(false);
    expect(await isHere(() => run(fresh, [x], toHost))).toBe(true);
    const long = createProgram(
      scaleBy(N, [2], { steps: Array.from({ length: 40 }, () => scale(1, 1, 1, N)) }),
    );
    await run(long, [x], toHost);
    expect(await isHere(() => run(long, [x], toHost))).toBe(false);
    const wide = createProgram(scaleBy(20_000, [2]));
    await run(wide, [ramp(20_000)], toHost);
    expect(await isHere(() => run(wide, [ramp(20_000)], toHost))).toBe(false);
    const waiting = Array.from({ length: 20 }, () => run(long, [x], toHost));
    expect(await isHere(() => run(double, [x], toHost))).toBe(false);
    await Promise.all(waiting);
  });

  it('a product as well, once cuBLAS has done it', async () => {
    const matrix = (buffer: number) => ({
      buffer,
      offset: 0,
      batchStride: 16,
      rowStride: 4,
      columnStride: 1,
    });
    const [a, b, c] = [matrix(0), matrix(1), matrix(2)];
    const product = createProgram({
      device: 'cuda:0',
      arenaByteLength: 0,
      images: [],
      buffers: (['input', 'input', 'output'] as const).map((role) => ({ role, byteLength: 64, offset: -1 })),
      steps: [{ kind: 'matmul', dtype: dtypeCode('float32'), m: 4, n: 4, k: 4, batch: 1, a, b, c }],
    });
    const [ones, twos] = [1, 2].map((value) => new Float32Array(16).fill(value));
    const multiply = () => run(product, [ones!, twos!], toHost);
    expect(await isHere(multiply, 'cublasGemmEx')).toBe(false);
    expect(await isHere(multiply, 'cublasGemmEx')).toBe(true);
    expect(floats((await multiply()).outputs[0])).toEqual(Array(16).fill(8));
  });

  it('a transform as well, while cuFFT has its plan', async () => {
    const transform = (n: number) =>
      createProgram({
        device: 'cuda:0',
        arenaByteLength: 64 * n,
        images: [],
        buffers: [
          { role: 'input', byteLength: 8 * n, offset: -1 },
          { role: 'output', byteLength: 8 * n, offset: -1 },
          { role: 'temporary', byteLength: 64 * n, offset: 0 },
        ],
        steps: [
          {
            kind: 'routine',
            name: 'fft',
            numbers: [0, 0, 0, 1, 1, 1, n],
            operands: [0],
            results: [1],
            workspace: 2,
          },
        ],
      });
    const program = transform(8);
    const impulse = Float32Array.from({ length: 16 }, (_, k) => (k === 0 ? 1 : 0));
    const runIt = () => run(program, [impulse], toHost);
    expect(await isHere(runIt, 'cufftXtExec')).toBe(false);
    expect(await isHere(runIt, 'cufftXtExec')).toBe(true);
    expect(floats((await runIt()).outputs[0])).toEqual(Array.from({ length: 16 }, (_, k) => 1 - (k % 2)));
    // As many other plans as are kept, so that this one is dropped.
    for (let n = 1; n <= 66; n++) if (n !== 8) await run(transform(n), [new Float32Array(2 * n)], toHost);
    expect(await isHere(runIt, 'cufftXtExec')).toBe(false);
    expect(await isHere(runIt, 'cufftXtExec')).toBe(true);
  });

  it('and does not wait for slow work', async () => {
    await run(double, [x], toHost);
    const launch = hold('run launch');
    const first = run(double, [x], toHost);
    const others = Array.from({ length: 20 }, () => run(double, [x], toHost));
    launch.release();
    for (const result of await Promise.all([first, ...others]))
      expect(floats(result.outputs[0])).toEqual(times(2));
  });
});

describe('a run that settles when it is queued', () => {
  it.each(['late', 'random', 'eager'] as const)('comes before what uses its result (%s)', async (timing) => {
    setSchedule({ timing, seed: 3 });
    let [state] = (await run(double, [x], queued)).outputs as [DeviceBuffer];
    for (let i = 0; i < 3; i++) {
      const next = bufferOf(await run(double, [state], queued));
      state.dispose();
      state = next;
    }
    expect(floats((await run(double, [state], toHost)).outputs[0])).toEqual(times(32));
    state.dispose();
  });

  it('is waited for by those after it when too many are under way', async () => {
    await run(double, [x], queued).then((result) => bufferOf(result).dispose());
    let state = bufferOf(await run(double, [x], { outputs: ['device'] }));
    stall(0, 300);
    stall(1, 300);
    for (let i = 0; i < 400; i++) {
      const next = bufferOf(await run(same, [state], queued));
      state.dispose();
      state = next;
    }
    await synchronize('cuda:0');
    expect(floats((await run(double, [state], toHost)).outputs[0])).toEqual(times(4));
    state.dispose();
  });

  it('rejects where a call fails, and leaves nothing behind', async () => {
    const [input] = (await run(double, [x], { outputs: ['device'] })).outputs as [DeviceBuffer];
    bufferOf(await run(double, [input], queued)).dispose();
    await synchronize('cuda:0');
    const before = use().inUse;
    for (const call of ['cuCtxPushCurrent_v2', 'cuMemAllocFromPoolAsync', 'cuLaunchKernel']) {
      setFaults([{ call, nth: 1, status: UNKNOWN }]);
      // Where memory is kept for reuse, none is allocated.
      const outcome = await run(double, [input], queued).catch((error: unknown) => error);
      if (describeSimulator().faultsMet === 1) expect(outcome).toBeInstanceOf(DeviceError);
      else bufferOf(outcome as RunResult).dispose();
      setFaults([]);
      await synchronize('cuda:0');
      expect({ call, inUse: use().inUse }).toEqual({ call, inUse: before });
      expect(floats((await run(double, [input], toHost)).outputs[0])).toEqual(times(4));
    }
    input.dispose();
  });

  it('that finds no memory is a MemoryError; compiled functions then ask the executor, which gives some back', async () => {
    const f = compile((y: Lazy) => y.mul(3), { device: 'cuda' });
    using input = await lazy(x).persist({ device: 'cuda' });
    (await f.persist(input)).dispose();
    setFaults([{ call: 'cuMemAllocFromPoolAsync', nth: 1, status: 2 }]);
    using again = await f.persist(input);
    setFaults([]);
    expect([...(await again.compute()).data]).toEqual(times(3));
    setFaults([{ call: 'cuMemAllocFromPoolAsync', nth: 0, status: 2 }]);
    const outcome = await run(createProgram(scaleBy(5000, [2])), [ramp(5000)], queued).catch(
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(MemoryError);
  });

  it('and loses its device fails the next, and synchronize', async () => {
    const device = 'cuda:2';
    const faulty = createProgram(scaleBy(N, [2], { device, steps: [fault] }));
    const well = createProgram(scaleBy(N, [2], { device }));
    bufferOf(await run(well, [x], { outputs: ['device'] })).dispose();
    await expect(
      run(createProgram(scaleBy(N, [2], { device, steps: [missing] })), [x], queued),
    ).rejects.toThrow(DeviceError);
    await run(faulty, [x], queued)
      .then(
        () => synchronize(device),
        (error: unknown) => Promise.reject(error),
      )
      .catch((error: unknown) => expect(error).toBeInstanceOf(DeviceLostError));
    await expect(run(well, [x], queued)).rejects.toThrow(DeviceLostError);
    await expect(synchronize(device)).rejects.toThrow(DeviceLostError);
    expect(takeProblems().map(({ kind }) => kind)).toEqual(['out-of-bounds']);
  });
});
