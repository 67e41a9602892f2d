/** The benchmark of several devices, small, on simulated ones: what it compares has the same bits. */
import { beforeAll, describe, expect, it } from 'vitest';
import { busRate, type Measuring, measureBatch, measureWorkload } from '../../bench/devices-measure.js';
import { DEVICES_WORKLOADS, HostArrays, type On, scaleOf } from '../../bench/devices-workloads.js';
import { setDevices } from './simulator.js';

const scale = scaleOf(1e-6);
const ONE: On = { devices: ['cuda:0'] };
const THREE: On = { devices: ['cuda:0', 'cuda:1', 'cuda:2'] };
const measuring: Measuring = {
  scale,
  host: new HostArrays(scale, 'cuda:0'),
  repeats: 1,
  longest: 1,
  jobs: 6,
  concurrency: 2,
};

beforeAll(() => {
  setDevices(THREE.devices.map(() => ({})));
});

describe('the benchmark of several devices', () => {
  it.each(Object.entries(DEVICES_WORKLOADS))(
    'has the same results on three as on one: %s',
    async (_, workload) => {
      const one = await measureWorkload(workload, ONE, measuring, false);
      const three = await measureWorkload(workload, THREE, measuring, true);
      expect(three.sums).toBe(one.sums);
      expect(three.seconds).toBeGreaterThan(0);
      expect(three.timeline!.spans.some(({ device }) => device.startsWith('cuda:'))).toBe(true);
    },
  );

  it.each([false, true])('has the same results of a batch: pinned %s', async (isPinned) => {
    const one = await measureBatch(ONE, measuring, isPinned);
    const three = await measureBatch(THREE, measuring, isPinned);
    expect(three.sums).toBe(one.sums);
  });

  it.each([false, true])('tells what the bus moves: pinned %s', async (isPinned) => {
    expect(await busRate(THREE, measuring, isPinned)).toBeGreaterThan(0);
  });
});
