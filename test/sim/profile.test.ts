/**
 * Timelines of the simulated CUDA: every stream and copy, nothing recorded without a profile, nothing left
 * behind.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { DeviceLostError } from '../../src/host/errors.js';
import { compile, type Lazy, lazy, profile, type Timeline } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults, setSchedule, show, takeProblems } from './simulator.js';

setDevices([{}, {}, {}]);

const UNKNOWN = 999;
const N = 1 << 18;
const x = Float32Array.from({ length: N }, (_, i) => Math.sin(i));
const rows = lazy(x, { shape: [N / 128, 128] });
const job = (): Lazy =>
  rows
    .mul(2)
    .add(rows.sum(1, { keepdims: true }))
    .exp();

/** How often work was queued and timed. */
function counts(): readonly (number | undefined)[] {
  const seen = describeSimulator().counts;
  return [seen.cuLaunchKernel, seen.cuEventCreate, seen.cuEventRecord, seen.cuEventElapsedTime];
}
const rowsOf = ({ spans }: Timeline, device: string): string[] => [
  ...new Set(spans.filter((span) => span.device === device).map(({ row }) => row)),
];

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

describe('a timeline of a GPU', () => {
  it('has the kernels and copies of a job in the order in which they were queued', async () => {
    setSchedule({ timing: 'eager', seed: 1 });
    const { result, timeline } = await profile(job(), { device: 'cuda:0' });
    expect(result.data).toEqual((await job().compute({ device: 'cuda:0' })).data);
    const own = timeline.spans.filter(({ device }) => device === 'cuda:0');
    const kinds = own.map(({ kind }) => kind).filter((kind, k, all) => kind !== all[k - 1]);
    expect(kinds).toEqual(['copy in', 'kernel', 'copy out']);
    const bytes = (kind: string): number =>
      own.reduce((sum, span) => sum + (span.kind === kind ? span.bytes : 0), 0);
    expect([bytes('copy in'), bytes('copy out')]).toEqual([4 * N, 4 * N]);
    for (const [k, span] of own.entries()) expect(span.begin).toBeGreaterThanOrEqual(own[k - 1]?.end ?? 0);
    expect(timeline.dropped).toBe(0);
    const host = new Set(timeline.spans.filter(({ device }) => device === 'host').map(({ kind }) => kind));
    for (const kind of ['queue', 'stage', 'plan', 'codegen', 'program'] as const)
      expect(host).toContain(kind);
    expect(timeline.memory.some(({ device, bytes: held }) => device === 'cuda:0' && held > 0)).toBe(true);
  });

  it('has the streams of a sweep, and the tile of each of its kernels', async () => {
    const { timeline } = await profile(job(), { device: 'cuda:0', memory: '768KiB' });
    expect(rowsOf(timeline, 'cuda:0').sort()).toEqual(['copies in', 'copies out', 'stream 0']);
    const tiles = timeline.spans.flatMap(({ tile }) => (tile === undefined ? [] : [tile]));
    expect(Math.max(...tiles)).toBeGreaterThan(2);
  });

  it('has the copies of several devices, and those between them', async () => {
    const devices = ['cuda:0', 'cuda:1'];
    const { timeline } = await profile(rows.sub(rows.mean(0)).exp().sum(1), { devices });
    for (const device of devices) expect(rowsOf(timeline, device)).toContain('stream 0');
    const between = timeline.spans.filter(({ kind }) => kind === 'copy between');
    expect(between.map(({ name }) => name)).toContain('from cuda:1');
  });

  it('has a name for a product and for launches that are repeated as a graph', async () => {
    const step = compile((y: Lazy) => y.matmul(y).abs().sum(0).softmax(), { device: 'cuda:0' });
    const square = { data: x.subarray(0, 64 * 64), shape: [64, 64] };
    for (let i = 0; i < 4; i++) await step(square);
    const { timeline } = await profile(() => step(square));
    const names = timeline.spans
      .filter(({ device }) => device === 'cuda:0')
      .map(({ kind, name }) => [kind, name]);
    expect(names).toContainEqual(['library', 'matmul (64, 64) @ (64, 64)']);
  });

  it('costs a compute no call where nothing is recorded, and leaves no event behind', async () => {
    const compute = async (): Promise<readonly (number | undefined)[]> => {
      setFaults([]);
      await job().compute({ device: 'cuda:0' });
      return counts();
    };
    await compute();
    const before = await compute();
    const { live, interrupts } = describeSimulator();
    await profile(job(), { device: 'cuda:0' });
    expect(describeSimulator().interrupts).toBeGreaterThan(interrupts);
    expect(describeSimulator().live).toEqual(live);
    expect(await compute()).toEqual(before);
  });

  it.each(['cuEventRecord', 'cuEventCreate', 'cuEventElapsedTime'])(
    'counts as missing what it cannot time: %s fails',
    async (call) => {
      setFaults([{ call, nth: 0, status: UNKNOWN }]);
      const attempt = profile(job(), { device: 'cuda:0', memory: '768KiB' });
      if (call === 'cuEventElapsedTime') {
        const { timeline } = await attempt;
        expect(timeline.dropped).toBeGreaterThan(0);
        expect(timeline.spans.filter(({ device }) => device === 'cuda:0')).toEqual([]);
        expect(`${timeline}`).toContain('spans are missing');
      } else {
        await expect(attempt).rejects.toThrow();
      }
      setFaults([]);
      await job().compute({ device: 'cuda:0' });
      expect(takeProblems().map(show)).toEqual([]);
    },
  );

  it('of a device that is lost meanwhile is given up, and the next one works', async () => {
    setFaults([{ call: 'run launch', nth: 1, status: 700, sticky: true }]);
    await expect(profile(job(), { device: 'cuda:2' })).rejects.toThrow(DeviceLostError);
    setFaults([]);
    const { timeline } = await profile(job(), { device: 'cuda:0' });
    expect(timeline.dropped).toBe(0);
    takeProblems();
  });
});
