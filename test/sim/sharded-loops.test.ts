/**
 * Loops on several simulated devices: bodies of maps are sharded, each device goes through all steps of its
 * share.
 */
import { describe, expect, it } from 'vitest';
import { compute, iterate, type Lazy, lazy, plan } from '../../src/index.js';
import { setDevices, show, takeProblems } from './simulator.js';

setDevices([{}, {}, {}]);

const count = 2 ** 17 + 4096;
const numbers = (factor: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => ((k * factor) % 1009) / 1009);

const JOBS: Readonly<Record<string, () => readonly Lazy[]>> = {
  'of two fields': () =>
    iterate(3, [lazy(numbers(7919)), lazy(numbers(31))], ([x, v]) => [x.add(v.mul(0.1)), v.sub(x.mul(0.1))]),
  'with the number of the step': () => [
    iterate(3, lazy(numbers(7919)), (x, i) => x.mul(0.5).add(i.astype('float32'))),
  ],
};

const bytesOf = async (options: object, make: () => readonly Lazy[]): Promise<Buffer[]> => {
  const results = await compute(make(), options);
  return results.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
};

describe('a loop of maps on several devices', () => {
  it.each(Object.entries(JOBS))('%s is sharded, and has the bits of one device', async (_, make) => {
    const wanted = await bytesOf({ device: 'cuda:0' }, make);
    for (const options of [{ devices: 2 }, { devices: 3, memory: '500KiB' }]) {
      const [phase] = plan(make(), options).phases.filter(({ steps }) => steps.includes('loop'));
      expect([phase!.kind, phase!.devices.length]).toEqual(['sharded', options.devices]);
      expect(await bytesOf(options, make)).toEqual(wanted);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });
});
