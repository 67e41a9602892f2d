/** Devices that stand still while several share a job: the deadline holds, and the others can do the job. */
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  type ComputeOptions,
  compile,
  compute,
  DeviceError,
  DeviceLostError,
  type Lazy,
  lazy,
} from '../../src/index.js';
import { setDevices, stall } from './simulator.js';

setDevices([{ memory: 2 ** 26 }, { memory: 2 ** 26 }, { memory: 2 ** 26 }]);
const DEADLINE_MS = 1000;
/** For good, as far as the test is concerned. */
const STALL_MS = 100_000;
/** Each device has its default stream and Weft's, and some for copies. */
const STREAMS = 12;
const NAMES = ['cuda:0', 'cuda:1', 'cuda:2'];

const x = lazy(Float32Array.from({ length: 2 ** 19 }, (_, k) => k % 31)).reshape([16384, 32]);
const work = [x.mul(2), x.sum(0)];
const bytesOf = async (options: ComputeOptions): Promise<Buffer[]> =>
  (await compute(work, options)).map(({ data }) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  );

/** Waits until all devices are used again. */
async function comeBack(): Promise<void> {
  for (;;) {
    try {
      await bytesOf({ devices: NAMES });
      return;
    } catch (error) {
      expect(error).toBeInstanceOf(DeviceError);
      await setTimeout(10);
    }
  }
}

/** The device that was given up while a stream stood still, or the bits. */
async function whileStalled(stream: number, options: ComputeOptions): Promise<Buffer[] | string> {
  stall(stream, STALL_MS);
  const start = performance.now();
  try {
    return await bytesOf({ ...options, devices: NAMES, deadline: DEADLINE_MS });
  } catch (error) {
    if (!(error instanceof DeviceLostError)) throw error;
    expect(error.message).toContain(`within ${DEADLINE_MS} ms`);
    expect(performance.now() - start).toBeLessThan(STALL_MS / 2);
    // Until it comes back, it is refused at once.
    await expect(bytesOf({ device: error.device })).rejects.toThrow(DeviceError);
    return error.device!;
  } finally {
    stall(stream, 0);
    await comeBack();
  }
}

it.each([
  { name: 'in shares', options: {} },
  { name: 'in tiles that devices take', options: { memory: 3 * 2 ** 14 } },
])(
  'a device that stands still is given up at the deadline, and the others do its work: $name',
  async ({ options }) => {
    const wanted = await bytesOf({ devices: NAMES });
    const named = new Set<string>();
    for (let stream = 0; stream < STREAMS && named.size < NAMES.length; stream++) {
      const outcome = await whileStalled(stream, { ...options, onDeviceLost: 'fail' });
      if (typeof outcome !== 'string') expect(outcome).toEqual(wanted);
      else if (!named.has(outcome)) {
        named.add(outcome);
        expect(await whileStalled(stream, { ...options, onDeviceLost: 'continue' })).toEqual(wanted);
      }
    }
    expect([...named].sort()).toEqual(NAMES);
  },
  300_000,
);

it('a compiled function does without a device that stands still, or is refused it, until it comes back', async () => {
  const job = (y: Lazy): Lazy[] => [y.mul(2), y.sum(0)];
  const named = compile(job, { devices: NAMES, deadline: DEADLINE_MS });
  const all = compile(job, { devices: 'all', deadline: DEADLINE_MS });
  const bits = async (run: typeof named): Promise<Buffer[]> =>
    (await run(x)).map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  const wanted = await bytesOf({ devices: NAMES });
  // The second call does again what the first one did.
  for (const run of [named, all, named, all]) expect(await bits(run)).toEqual(wanted);
  for (let stream = 0; stream < STREAMS; stream++) {
    stall(stream, STALL_MS);
    try {
      const given = await bits(named).catch((error: unknown) => error);
      if (!(given instanceof DeviceLostError)) {
        expect(given).toEqual(wanted);
        continue;
      }
      await expect(bits(named)).rejects.toThrow(/did not answer within a deadline/);
      expect(await bits(all)).toEqual(wanted);
    } finally {
      stall(stream, 0);
      await comeBack();
    }
    for (const run of [named, all]) expect(await bits(run)).toEqual(wanted);
    return;
  }
  throw new Error('no stream of a device stood still');
}, 120_000);
