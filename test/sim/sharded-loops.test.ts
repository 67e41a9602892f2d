/**
 * Loops on several simulated devices: bodies of maps are sharded, each device goes through all steps of its
 * share.
 */
import { describe, expect, it } from 'vitest';
import { compute, iterate, type Lazy, lazy, persist, plan } from '../../src/index.js';
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

describe('a job that several devices have no shares of within a budget', () => {
  const field = (): Lazy => lazy(numbers(7919).subarray(0, 2 ** 16), { shape: [2048, 32] });
  const stencil = (): readonly Lazy[] => [
    iterate(12, field(), (x) => x.add(x.pad(1).slice([null, -2], [1, -1])).mul(0.5)),
  ];
  const turned = (): readonly Lazy[] => [field().transpose().add(1), field().sum(0)];

  it.each([
    ['a stencil', stencil],
    ['a transpose', turned],
  ] as const)('is swept on one of them where that one can: %s', async (_, make) => {
    const wanted = await bytesOf({ device: 'cuda:0' }, make);
    for (const devices of [2, 3]) {
      const options = { devices, memory: '64KiB' };
      const { phases, peakBytes } = plan(make(), options);
      expect(phases.map(({ kind }) => kind)).toContain('whole');
      expect(peakBytes).toBeLessThanOrEqual(2 ** 16);
      expect(await bytesOf(options, make)).toEqual(wanted);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('is shared where its states wait in host memory, in tiles that devices take', async () => {
    const make = (): readonly Lazy[] => {
      const x = lazy(numbers(7919).subarray(0, 2 ** 17), { shape: [4096, 32] });
      const smoothed = iterate(12, x.sin(), (s) => s.add(s.pad(1).slice([null, -2], [1, -1])).mul(0.5));
      return [smoothed.sub(x.mean(0)), smoothed.max(1)];
    };
    const wanted = await bytesOf({ device: 'cuda:0' }, make);
    for (const devices of [2, 3]) {
      const options = { devices, memory: '128KiB' };
      const { phases, peakBytes } = plan(make(), options);
      const rounds = phases.filter((phase) => phase.rounds !== undefined);
      expect(rounds.map(({ kind, byTiles, devices: all }) => [kind, byTiles, all.length])).toEqual([
        ['sharded', true, devices],
      ]);
      expect(peakBytes).toBeLessThanOrEqual(2 ** 17);
      expect(await bytesOf(options, make)).toEqual(wanted);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('reads shards of inputs on other devices, and leaves its results on its own', async () => {
    const [kept] = await persist([field().mul(2)], { devices: 2 });
    const make = (): readonly Lazy[] => [
      iterate(6, kept!, (x) => x.add(x.pad(1).slice([null, -2], [1, -1]))),
    ];
    const wanted = await bytesOf({ devices: 2 }, make);
    expect(await bytesOf({ devices: 2, memory: '200KiB' }, make)).toEqual(wanted);
    const [there] = await persist(make(), { devices: 2, memory: '700KiB' });
    expect(await bytesOf({ devices: 2 }, () => [there!])).toEqual(wanted);
    expect(takeProblems().map(show)).toEqual([]);
  });
});
