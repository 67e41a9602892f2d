/**
 * Copies of several devices to where values are needed, and to the host: from which device, in which order,
 * and by which threads.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, profile, type Timeline } from '../../src/index.js';
import { setDevices, setSchedule } from './simulator.js';

setDevices([{}, {}, {}, {}]);
const devices = ['cuda:0', 'cuda:1', 'cuda:2', 'cuda:3'];

const N = 1024;
const values = (shape: [number, number]): Lazy =>
  lazy(
    Float32Array.from({ length: shape[0] * shape[1] }, (_, k) => (k % 17) - 8),
    { shape },
  );

/** From whom a device copies, in order. */
const sourcesOf = ({ spans }: Timeline, device: string): string[] =>
  spans
    .filter(
      ({ kind, ...span }) => span.device === device && (kind === 'copy within' || kind === 'copy between'),
    )
    .map(({ kind, name }) => (kind === 'copy within' ? device : name.replace('from ', '')));

const threadsOf = ({ spans }: Timeline): string[] =>
  spans.filter(({ device, kind }) => device === 'host' && kind === 'stage').map(({ row }) => row);

afterEach(() => {
  setSchedule({ timing: 'late', seed: 1 });
});

describe('a value that every device needs as a whole', () => {
  it('comes to each from itself and its followers, so that no two copy from the same one at a time', async () => {
    setSchedule({ timing: 'eager', seed: 1 });
    using a = await values([N, 256]).persist({ devices });
    using b = await values([256, N]).persist({ devices });
    const product = a.matmul(b);
    const { result, timeline } = await profile(product, { devices });
    const [one] = await compute([values([N, 256]).matmul(values([256, N]))], { device: 'cuda:0' });
    expect(result.data).toEqual(one.data);
    for (const [k, device] of devices.entries())
      expect(sourcesOf(timeline, device)).toEqual([...devices.slice(k), ...devices.slice(0, k)]);
  });
});

describe('results', () => {
  const job = values([4096, 256]).mul(3).add(1);

  it('of one tile are brought by the thread that queues it', async () => {
    using held = await values([4096, 256]).persist({ devices });
    const { timeline } = await profile(held.mul(3).add(1), { devices });
    const threads = threadsOf(timeline);
    expect(threads.length).toBeGreaterThan(0);
    expect(threads.filter((row) => !row.startsWith('weft-cuda'))).toEqual([]);
  });

  it('become arrays for those who look at them', async () => {
    const [wanted] = await compute([job], { device: 'cuda:0' });
    const [found] = await compute([job], { devices });
    // Without an array of its own until then, and with the same one each time.
    expect(Object.getOwnPropertyDescriptor(found, 'data')).toMatchObject({ get: expect.any(Function) });
    expect(found.data).toEqual(wanted.data);
    expect(found.data).toBe(found.data);
  });

  it('of many tiles are brought by another one meanwhile', async () => {
    const { timeline } = await profile(job, { device: 'cuda:0', memory: '1MiB' });
    expect(threadsOf(timeline).some((row) => row.startsWith('weft-out'))).toBe(true);
  });
});
