/** Devices that stand still while several share a job: the deadline holds, and the others can do the job. */
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type ComputeOptions, compute, DeviceError, DeviceLostError, lazy } from '../../src/index.js';
import { setDevices, stall } from './simulator.js';

setDevices([{ memory: 2 ** 26 }, { memory: 2 ** 26 }, { memory: 2 ** 26 }]);
const DEADLINE_MS = 1500;
/** For good, as far as the test is concerned. */
const STALL_MS = 100_000;
/** Each device has its default stream and Weft's, and some for copies. */
const STREAMS = 12;
const NAMES = ['cuda:0', 'cuda:1', 'cuda:2'];

const x = lazy(Float32Array.from({ length: 2 ** 17 }, (_, k) => k % 31)).reshape([4096, 32]);
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
