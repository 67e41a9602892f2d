/** Arrays that lie in shards on several devices, and what computes over them bring where. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  compute,
  DeviceError,
  explain,
  type Lazy,
  lazy,
  loadNpy,
  MemoryError,
  type NDArray,
  npy,
  npz,
  persist,
  plan,
  profile,
  trim,
} from '../../src/index.js';
import { describeSimulator, setDevices, setSchedule, takeProblems } from './simulator.js';

const LARGE = 2 ** 26;
const SMALL = 2 ** 22;
setDevices([
  { memory: LARGE },
  { memory: LARGE, unreachable: [2] },
  { memory: LARGE, unreachable: [1] },
  { memory: SMALL },
  { memory: LARGE, capability: 80 },
]);

const ROWS = 4096;
const matrix = (columns: number, scale = 1): Lazy => {
  const data = Float32Array.from({ length: ROWS * columns }, (_, k) => Math.sin(k) * scale);
  return lazy(data).reshape([ROWS, columns]);
};
const bytesOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
const x = matrix(64);

async function expectSame(results: readonly NDArray[], wanted: readonly NDArray[]): Promise<void> {
  for (const [k, result] of results.entries()) {
    expect(result.shape).toEqual(wanted[k]!.shape);
    expect(Buffer.compare(bytesOf(result), bytesOf(wanted[k]!))).toBe(0);
  }
}

describe('a persisted array', () => {
  it('is left in a shard on each device, which later work uses where it lies', async () => {
    using held = await x.mul(2).persist({ devices: 2 });
    expect(held.device).toBe('cuda:0,cuda:1');
    const [first, second] = describeSimulator().devices;
    expect(first!.inUse + second!.inUse).toBeLessThan(ROWS * 64 * 4 + 1024);
    const work = [held.sum(0), held.exp().max(1)];
    const summary = plan(work);
    expect(summary.device).toBe('cuda:0,cuda:1');
    expect(summary.phases[0]!.kind).toBe('sharded');
    // Nothing of it is copied: there is room for results and partial sums alone.
    expect(summary.peakBytes).toBeLessThan(ROWS * 64);
    const host = x.mul(2);
    await expectSame(
      await compute(work),
      await compute([host.sum(0), host.exp().max(1)], { device: 'cuda:0' }),
    );
  });

  it('shares its shards with an equal one, until both are disposed of', async () => {
    const inUse = (): number[] => describeSimulator().devices.map((device) => device.inUse);
    const before = inUse();
    const [held, same] = await persist([x.mul(3), x.mul(3)], { devices: 2 });
    expect(inUse()[0]! - before[0]!).toBeLessThan(ROWS * 64 * 4);
    held.dispose();
    await expect(held.sum().compute()).rejects.toThrow(ArgumentError);
    await expectSame([await same.compute()], [await x.mul(3).compute({ device: 'cuda:0' })]);
    same.dispose();
    await trim();
    expect(inUse()[0]! - before[0]!).toBeLessThan(ROWS * 64);
  });

  it('is copied from device to device where work needs it elsewhere', async () => {
    using held = await x.mul(2).persist({ devices: ['cuda:2', 'cuda:1'] });
    using host = await x.mul(2).persist({ device: 'cuda:0' });
    const works = (a: Lazy): Lazy[] => [
      a.flip(0).add(1),
      a.roll(3, 0).sub(a),
      a.transpose().add(0.5).sum(1),
      a.slice('7:-9').sum(0),
      a.reshape([64, ROWS]).sum(1),
      a.transpose().matmul(a),
      a.matmul(a.slice(':64')),
    ];
    for (const [k, work] of works(held).entries()) {
      const wanted = await compute([works(host)[k]!], { device: 'cuda:0' });
      for (const devices of [undefined, ['cuda:1'], ['cuda:1', 'cuda:2'], 3] as const)
        await expectSame(await compute([work], devices === undefined ? {} : { devices }), wanted);
    }
    await expectSame([await held.sum(0).compute({ device: 'cuda:1' })], [await host.sum(0).compute()]);
    await expect(held.sum(0).compute({ device: 'cuda:0' })).rejects.toThrow(DeviceError);
  });

  it('is copied sooner than worked around, where a share needs a little more than lies there', async () => {
    const [n, m] = [300_000, 5];
    const points = lazy(Float32Array.from({ length: 3 * n }, (_, k) => Math.sin(k))).reshape([n, 3]);
    using held = await points.persist({ devices: 2 });
    const sums = (a: Lazy): Lazy =>
      a
        .reshape([n, 1, 3])
        .sub(points.slice([0, m]).reshape([1, m, 3]))
        .square()
        .sum(2)
        .exp()
        .sum(1);
    const { result, timeline } = await profile(() => sums(held).compute());
    await expectSame([result], [await sums(points).compute({ device: 'cuda:0' })]);
    const kernels = timeline.spans.filter(({ kind }) => kind === 'kernel').map(({ device }) => device);
    expect(kernels.sort()).toEqual(['cuda:0', 'cuda:1']);
  });

  it('may be larger than any device', async () => {
    const n = (SMALL / 4) * 1.6;
    const values = arange(n, { dtype: 'float32' }).remainder(7);
    await expect(values.persist({ device: 'cuda:3', memory: SMALL })).rejects.toThrow(MemoryError);
    using held = await values.persist({ devices: ['cuda:3', 'cuda:0'], memory: SMALL * 0.9 });
    // The first half lies on the first that was named.
    expect(plan([held.mul(2).sum()], { memory: 2 ** 18 }).phases[0]!.devices).toEqual(['cuda:3', 'cuda:0']);
    await expectSame(
      await compute([held.mul(2).sum(), held.max()], { memory: 2 ** 18 }),
      await compute([values.mul(2).sum(), values.max()], { device: 'cuda:0' }),
    );
  });

  it('that is small, or of one device, is an ordinary one', async () => {
    using small = await lazy([1, 2, 3]).persist({ devices: 2 });
    expect(small.device).toBe('cuda:0');
    using one = await x.persist({ devices: ['cuda:1'] });
    expect(one.device).toBe('cuda:1');
    using both = await x.add(one).persist({ devices: ['cuda:0', 'cuda:1'] });
    await expectSame([await both.compute()], [await x.add(x).compute()]);
    const empty = await lazy(new Float32Array(0)).persist({ devices: 2 });
    expect(empty.device).toBeUndefined();
  });

  it('is freed on all devices', async () => {
    const held = await x.persist({ devices: 3 });
    held.dispose();
    await expect(held.sum().compute()).rejects.toThrow(ArgumentError);
  });
});

describe('computes on several devices', () => {
  const y = matrix(64, 3);
  const results = [x.mul(y).add(1), x.sub(y).sum(0), x.sub(x.mean(0)).div(x.std(0)).abs().sum(1)];

  it.each(['eager', 'late', 'random'] as const)('keep to any budget, with %s schedules', async (timing) => {
    setSchedule({ timing, seed: 5 });
    const wanted = await compute(results, { device: 'cuda:0' });
    let tiles = 0;
    for (const memory of [LARGE, 2 ** 20, 2 ** 19, 2 ** 18]) {
      const summary = plan(results, { devices: 3, memory });
      for (const { peakBytes } of summary.devices) expect(peakBytes).toBeLessThanOrEqual(memory);
      for (const sweep of summary.sweeps) tiles += sweep.tiles;
      expect(takeProblems()).toEqual([]); // the peak is watched anew
      const before = describeSimulator().devices.map(({ inUse }) => inUse);
      await expectSame(await compute(results, { devices: 3, memory }), wanted);
      const { devices } = describeSimulator();
      for (const d of [0, 1, 2])
        expect(devices[d]!.peak - before[d]!).toBeLessThanOrEqual(summary.devices[d]!.peakBytes);
    }
    expect(tiles).toBeGreaterThan(20);
    setSchedule({ timing: 'eager', seed: 0 });
  });

  it('write files together, with checksums where the format has them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-sharded-'));
    try {
      const at = (name: string): string => join(folder, name);
      const work = [x.mul(y).add(1), x.mul(y).add(1).sum(0)];
      for (const devices of [1, 3]) {
        await compute(work, { devices, to: [npy(at(`a${devices}.npy`)), npy(at(`b${devices}.npy`))] });
        await compute(work, { devices, to: npz(at(`c${devices}.npz`), ['a', 'b']) });
      }
      for (const name of ['a', 'b'])
        expect(readFileSync(at(`${name}3.npy`))).toEqual(readFileSync(at(`${name}1.npy`)));
      expect(readFileSync(at('c3.npz'))).toEqual(readFileSync(at('c1.npz')));
      const back = await loadNpy(at('a3.npy'));
      await expectSame(
        await compute([back.sum(0)], { devices: 2, memory: 2 ** 19 }),
        await compute([work[1]!], { device: 'cuda:0' }),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('tell how the work is sharded, and how far it is', async () => {
    const text = explain(results, { devices: 2 }).toString();
    expect(text).toMatch(/device cuda:0,cuda:1 \(named by the caller\)/);
    expect(text).toMatch(/sharded to cuda:0, cuda:1/);
    expect(text).toMatch(/combine of .* as a whole on cuda:0/);
    const reports: number[] = [];
    await compute(results, {
      devices: 2,
      memory: 2 ** 19,
      onProgress: ({ tiles, totalTiles }) => reports.push(tiles / totalTiles),
    });
    expect(reports.at(-1)).toBe(1);
    const stop = new Error('enough');
    const failing = compute(results, {
      devices: 2,
      memory: 2 ** 18,
      onProgress: () => {
        throw stop;
      },
    });
    await expect(failing).rejects.toBe(stop);
  });

  it('are stopped by their signal', async () => {
    const controller = new AbortController();
    const running = compute(results, { devices: 2, memory: 2 ** 18, signal: controller.signal });
    controller.abort(new Error('no more'));
    await expect(running).rejects.toThrow('no more');
  });

  it.each([
    [{ devices: 0 }, ArgumentError],
    [{ devices: 1.5 }, ArgumentError],
    [{ devices: 9 }, DeviceError],
    [{ devices: [] }, ArgumentError],
    [{ devices: ['cuda:0', 'cuda'] }, ArgumentError],
    [{ devices: ['cpu', 'cuda:0'] }, DeviceError],
    [{ devices: ['cuda:0', 'cuda:7'] }, DeviceError],
    [{ devices: ['gpu'] }, DeviceError],
    [{ devices: ['cuda:0', 'cuda:4'] }, DeviceError],
    [{ devices: 2, device: 'cuda:0' }, ArgumentError],
    [{ devices: 2, deadline: 0 }, RangeError],
  ])('refuse %j', async (options, kind) => {
    await expect(x.compute(options as object)).rejects.toThrow(kind);
    expect(() => plan([x], options as object)).toThrow(kind);
  });

  it('meet arrays of different devices where the devices are named', async () => {
    using a = await x.persist({ device: 'cuda:1' });
    using b = await y.persist({ device: 'cuda:2' });
    await expect(a.add(b).compute()).rejects.toThrow(DeviceError);
    await expectSame([await a.add(b).compute({ devices: ['cuda:0', 'cuda:3'] })], [await x.add(y).compute()]);
    using c = await persist([x], { device: 'cpu' }).then(([held]) => held);
    await expect(c.add(1).compute({ devices: 2 })).rejects.toThrow(DeviceError);
  });
});
