/** Devices that stand still while several share a job: the deadline holds, and the others can do the job. */
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type ComputeOptions, compute, DeviceError, DeviceLostError, lazy } from '../../src/index.js';
import { setDevices, stall } from './simulator.js';

setDevices([{ memory: 2 ** 26 }, { memory: 2 ** 26 }, { memory: 2 ** 26 }]);
const DEADLINE_MS = 600;
const STALL_MS = 6000;
/** Each device has its default stream and Weft's, and two for copies. */
const STREAMS = 12;

const x = lazy(Float32Array.from({ length: 2 ** 17 }, (_, k) => k % 31)).reshape([4096, 32]);
const work = [x.mul(2), x.sum(0)];
const bytesOf = async (options: ComputeOptions): Promise<Buffer[]> =>
  (await compute(work, options)).map(({ data }) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  );

it.each(['fail', 'continue'] as const)(
  'a device that stands still is given up at the deadline: %s',
  async (onDeviceLost) => {
    const wanted = await bytesOf({ devices: 3 });
    const named = new Set<string>();
    for (let stream = 0; stream < STREAMS; stream++) {
      stall(stream, STALL_MS);
      const start = performance.now();
      try {
        expect(await bytesOf({ devices: 3, deadline: DEADLINE_MS, onDeviceLost })).toEqual(wanted);
      } catch (error) {
        if (!(error instanceof DeviceLostError)) throw error;
        expect(onDeviceLost).toBe('fail');
        expect(error.message).toContain(`within ${DEADLINE_MS} ms`);
        named.add(error.device!);
        // Until it comes back, it is refused at once.
        await expect(bytesOf({ device: error.device })).rejects.toThrow(DeviceError);
      }
      expect(performance.now() - start).toBeLessThan(STALL_MS - 500);
      stall(stream, 0);
      for (let wait = 0; wait < 500; wait++) {
        const isBack = await bytesOf({ devices: ['cuda:0', 'cuda:1', 'cuda:2'] }).then(
          () => true,
          (error) => expect(error).toBeInstanceOf(DeviceError) === undefined && false,
        );
        if (isBack) break;
        await setTimeout(10);
      }
    }
    expect(named.size).toBe(onDeviceLost === 'fail' ? 3 : 0);
  },
  300_000,
);
