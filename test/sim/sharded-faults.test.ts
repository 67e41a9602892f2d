/**
 * Devices that are lost while several share a job: the compute rejects with an error that names the device,
 * or the others do the job; nothing is left behind, and what is left of the devices goes on.
 */
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ComputeOptions,
  compute,
  DeviceLostError,
  type Lazy,
  lazy,
  MemoryError,
  plan,
} from '../../src/index.js';
import { describeSimulator, setDevices, setFaults } from './simulator.js';

const ILLEGAL_ADDRESS = 700;
const OUT_OF_MEMORY = 2;
const DEVICES = 120;
setDevices(Array.from({ length: DEVICES }, (_, k) => ({ memory: k % 2 === 0 ? 2 ** 26 : 2 ** 25 })));

const alive: string[] = ['cuda:0', 'cuda:1', 'cuda:2'];
let fresh = 3;
/** Puts new devices in the places of lost ones, and gives those. */
function replaceLost(): string[] {
  const { devices } = describeSimulator();
  const lost = alive.filter((device) => devices[Number(device.slice(5))]!.lost);
  for (const device of lost) {
    if (fresh === DEVICES) throw new Error('no device is left');
    alive[alive.indexOf(device)] = `cuda:${fresh++}`;
  }
  return lost;
}

const x = lazy(Float32Array.from({ length: 2 ** 18 }, (_, k) => Math.sin(k))).reshape([8192, 32]);
const centered = x.sub(x.mean(0));
/** Two sharded phases with a combining one between; results on the host; within a small budget, in tiles. */
const work: readonly Lazy[] = [centered.mul(2), centered.exp().sum(0)];
const JOBS: readonly {
  readonly name: string;
  readonly options: ComputeOptions;
  readonly byTiles: boolean;
}[] = [
  { name: 'in one tile each', options: {}, byTiles: false },
  { name: 'in tiles', options: { memory: 2 ** 19 }, byTiles: false },
  { name: 'in tiles that devices take', options: { memory: 3 * 2 ** 14 }, byTiles: true },
];

const bytesOf = async (options: ComputeOptions): Promise<Buffer[]> =>
  (await compute(work, options)).map(({ data }) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  );

async function outcomeOf(options: ComputeOptions): Promise<Buffer[] | Error> {
  try {
    return await bytesOf(options);
  } catch (error) {
    return error as Error;
  }
}

/** First, last and some in between. */
const someOf = (count: number, wanted: number): number[] => [
  ...new Set(Array.from({ length: wanted }, (_, k) => 1 + Math.floor(((count - 1) * k) / (wanted - 1)))),
];

afterEach(() => {
  setFaults([]);
});

describe('a device that is lost', () => {
  it.each(JOBS)(
    'at some step ends the compute, or the others do it: $name',
    async ({ options, byTiles }) => {
      const { phases } = plan(work, { ...options, devices: alive });
      expect(phases.some((phase) => phase.byTiles)).toBe(byTiles);
      const wanted = await bytesOf({ device: alive[0] });
      setFaults([]);
      expect(await bytesOf({ ...options, devices: alive })).toEqual(wanted);
      const { counts } = describeSimulator();
      const kinds = [
        'run launch',
        'run copy',
        'cuEventRecord',
        'cuMemcpyPeerAsync',
        'cuMemAllocFromPoolAsync',
      ];
      let losses = 0;
      for (const call of kinds.filter((kind) => (counts[kind] ?? 0) > 0)) {
        for (const nth of someOf(counts[call]!, 2)) {
          for (const onDeviceLost of ['fail', 'continue'] as const) {
            setFaults([{ call, nth, status: ILLEGAL_ADDRESS, sticky: true }]);
            const outcome = await outcomeOf({ ...options, devices: [...alive], onDeviceLost });
            setFaults([]);
            const lost = replaceLost();
            losses += lost.length;
            if (outcome instanceof DeviceLostError) {
              expect(onDeviceLost).toBe('fail');
              expect(lost).toContain(outcome.device);
              expect(outcome.message).toContain(outcome.device);
              expect(outcome.message).toContain('while computing');
            } else {
              expect(outcome).toEqual(wanted);
            }
          }
        }
      }
      expect(losses).toBeGreaterThan(8);
    },
    300_000,
  );

  it('with an input ends the compute, whatever is to be done', async () => {
    using held = await x.persist({ devices: alive });
    setFaults([{ call: 'run launch', nth: 1, status: ILLEGAL_ADDRESS, sticky: true }]);
    await expect(held.sub(1).sum(0).compute({ onDeviceLost: 'continue' })).rejects.toThrow(DeviceLostError);
    setFaults([]);
    expect(replaceLost()).toHaveLength(1);
    // The shard is gone, and a compute that needs it says so at once.
    await expect(held.sum(0).compute()).rejects.toThrow(DeviceLostError);
  });
});

describe('a device without memory', () => {
  it('ends the compute, or has it done in less', async () => {
    const wanted = await bytesOf({ devices: alive });
    for (const nth of [1, 3, 8]) {
      setFaults([{ call: 'cuMemAllocFromPoolAsync', nth, status: OUT_OF_MEMORY }]);
      const outcome = await outcomeOf({ devices: alive });
      setFaults([]);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(MemoryError);
      else expect(outcome).toEqual(wanted);
    }
  }, 120_000);
});
