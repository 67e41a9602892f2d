/** What several devices share: kernels that take long, however few bytes they touch, and arrays that are large. */
import { describe, expect, it } from 'vitest';
import { type Lazy, placeholder, plan } from '../../src/index.js';
import { setDevices } from './simulator.js';

setDevices([{}, {}, {}, {}]);

/** Gaussians of all pairs of so many points. */
const pairs = (points: number): Lazy => {
  const x = placeholder([points, 3], 'float32');
  return x.expandDims(1).sub(x.expandDims(0)).square().sum(2).neg().exp();
};
const devicesOf = (work: Lazy): number[] =>
  plan([work], { devices: 4 }).phases.map(({ devices }) => devices.length);

describe('kernels over all pairs of a few thousand points', () => {
  it('are shared by all devices where they take long', () => {
    expect(devicesOf(pairs(43_000).sum(1))).toEqual([4]);
    expect(devicesOf(pairs(43_000).sum())[0]).toBe(4);
  });

  it('stay on one where they are sooner done than shared', () => {
    expect(devicesOf(pairs(2_000).sum(1))).toEqual([1]);
  });
});
