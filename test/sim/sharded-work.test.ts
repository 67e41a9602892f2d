/**
 * Work that several devices share: steps that they do sooner than one by the estimates of their work and
 * copies, however few or many bytes they touch.
 */
import { describe, expect, it } from 'vitest';
import { arange, compute, type Lazy, type NDArray, placeholder, plan } from '../../src/index.js';
import { setDevices } from './simulator.js';

setDevices([{}, {}, {}, {}]);

/** Gaussians of all pairs of so many points. */
const pairs = (points: number, axes = 3): Lazy => {
  const x = placeholder([points, axes], 'float32');
  return x.expandDims(1).sub(x.expandDims(0)).square().sum(2).neg().exp();
};
const devicesOf = (work: Lazy, devices = 4): number[] =>
  plan([work], { devices }).phases.map((phase) => phase.devices.length);

describe('kernels over all pairs of some thousand points', () => {
  it('are shared by all devices where they take long', () => {
    expect(devicesOf(pairs(43_000).sum(1))).toEqual([4]);
    expect(devicesOf(pairs(43_000).sum())[0]).toBe(4);
  });

  it('are shared where they touch 340 KiB in all', () => {
    const [x, y] = [placeholder([43_000], 'float32'), placeholder([43_000], 'float32')];
    const kernel = x.expandDims(1).sub(y.expandDims(0)).square().neg().exp();
    expect(devicesOf(kernel.sum(1))).toEqual([4]);
    expect(devicesOf(kernel.sum(1), 2)).toEqual([2]);
  });

  it('stay on one where they are sooner done than shared', () => {
    expect(devicesOf(pairs(2_000).sum(1))).toEqual([1]);
  });

  it('are shared from some ten microseconds of arithmetic on', () => {
    const shared = [4_000, 8_000, 16_000, 32_000].map((points) => devicesOf(pairs(points).sum(1))[0]);
    expect(shared).toEqual([...shared].sort((a, b) => a! - b!));
    expect(shared[0]).toBe(1);
    expect(shared.at(-1)).toBe(4);
  });
});

describe('maps and sums', () => {
  it('of host arrays are shared from some hundred KiB on, by what the bus takes', () => {
    const map = (count: number): Lazy => placeholder([count], 'float32').mul(2).add(1);
    expect(devicesOf(map(2 ** 14))).toEqual([1]);
    expect(devicesOf(map(2 ** 18))).toEqual([4]);
    expect(devicesOf(placeholder([2 ** 13, 32], 'float32').sum(1))).toEqual([4]);
  });

  it('of what is made on devices stay on one unless they take long', () => {
    const made = (count: number): Lazy => arange(count, { dtype: 'float32' }).sin().sum();
    expect(devicesOf(made(2 ** 20))).toEqual([1]);
    expect(devicesOf(made(2 ** 28))[0]).toBe(4);
  });
});

describe('a kernel that is shared for its work alone', () => {
  const bytesOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

  it('has the bits of one device on 2 to 4', async () => {
    const of = (count: number): Lazy => arange(count, { dtype: 'float32' }).mul(0.001);
    const [x, y] = [of(2 ** 14), of(768)];
    const sums = (): Lazy => x.expandDims(1).add(y.expandDims(0)).add(1).pow(1.3).sum(1);
    const wanted = bytesOf(await sums().compute({ device: 'cuda:0' }));
    for (const devices of [2, 3, 4]) {
      const [phase] = plan([sums()], { devices }).phases.filter(({ kind }) => kind === 'sharded');
      expect(phase?.devices.length).toBe(devices);
      const [found] = await compute([sums()], { devices });
      expect(bytesOf(found!)).toEqual(wanted);
    }
  }, 60_000);
});
