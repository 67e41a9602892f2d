/**
 * The simulator's devices are what a test says they are, one unlike the other, and programs give the same
 * bits on each.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { cudaInfo } from '../../src/exec/native/native.js';
import { MemoryError } from '../../src/host/errors.js';
import { arange, compute } from '../../src/index.js';
import { SIM_FOLDER } from './environment.js';
import { bitsOf, CASES, footprint } from './programs.js';
import { type Description, describeSimulator, setDevices, settingsText } from './simulator.js';

const SMALL = 2 ** 18;
setDevices([
  { memory: 2 ** 26, name: 'Large' },
  { memory: SMALL, name: 'Small' },
  { memory: 2 ** 26, name: 'Old', capability: 80, multiprocessors: 8, sharedMemoryPerBlock: 99 * 1024 },
]);

describe('devices of unequal size', () => {
  it('are found as they are', () => {
    const found = cudaInfo().devices.map((d) => [d.name, d.totalBytes, d.computeCapability.join('.')]);
    expect(found).toEqual([
      ['Large', 2 ** 26, '9.0'],
      ['Small', SMALL, '9.0'],
      ['Old', 2 ** 26, '8.0'],
    ]);
    expect(cudaInfo().devices.map((d) => d.sharedMemoryPerBlockOptin)).toEqual(
      [227, 227, 99].map((n) => n * 1024),
    );
    expect(cudaInfo().devices[2]!.multiprocessorCount).toBe(8);
  });

  it.each(CASES)('of different kinds give the same bits: %s', async (_, { outputs }) => {
    expect(await bitsOf(outputs, 'cuda:2')).toEqual(await bitsOf(outputs, 'cuda:0'));
  });

  it('hold what fits into each, to the byte', async () => {
    // Its own memory and nothing of the others': the input of arange is made on the device.
    const values = (count: number) => arange(count, { dtype: 'float32' }).add(0.5);
    const [largest] = await compute([values(SMALL / 4 - 64)], { device: 'cuda:1' });
    expect(largest!.data[SMALL / 4 - 65]).toBe(SMALL / 4 - 64.5);
    const large = [values(SMALL / 4), values(SMALL / 4).multiply(2)];
    // Jobs that need more memory than there is are refused; those that may be cut are done in tiles.
    const tooLarge = compute(large, { device: 'cuda:1', memory: 4 * SMALL });
    await expect(tooLarge).rejects.toBeInstanceOf(MemoryError);
    expect(await bitsOf(large, 'cuda:1')).toEqual(await bitsOf(large, 'cuda:0'));
    expect((await footprint(1)).inUse).toBe(0);
    expect(await bitsOf([values(SMALL / 4)], 'cuda:0')).toHaveLength(1);
    const { devices } = describeSimulator();
    expect(devices[1]!.peak).toBeLessThanOrEqual(SMALL);
  });

  it('come from the environment where a test sets none', () => {
    const out = execFileSync(`${SIM_FOLDER}/weft-sim-scenarios`, ['two streams read'], {
      encoding: 'utf8',
      env: {
        ...process.env,
        WEFT_SIM_SETTINGS: settingsText([
          ['device', { memory: 4096 }],
          ['device'],
          ['device', { memory: 512 }],
        ]),
      },
    });
    const { devices } = JSON.parse(out) as Description;
    expect(devices.map(({ inUse }) => inUse)).toEqual([1000, 0, 0]);
  });
});
