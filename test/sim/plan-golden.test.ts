/**
 * Plans for simulated GPUs as text (golden files): tiles within budgets, loops, and shares of several devices.
 * Nothing is run. Update with `npx vitest run -u`.
 */
import { describe, expect, it } from 'vitest';
import { type ComputeOptions, iterate, type Lazy, placeholder, plan } from '../../src/index.js';
import { setDevices } from './simulator.js';

setDevices([{}, {}, {}]);

const x = placeholder([4096, 256], 'float32');
const points = placeholder([100_000, 3], 'float32');
const standardized = (): readonly Lazy[] => [x.sub(x.mean(0)).div(x.std(0))];
const smoothed = (): readonly Lazy[] => [
  iterate(12, x, (s) => s.add(s.pad(1).slice([null, -2], [1, -1])).mul(0.5)),
];
const nearest = (): readonly Lazy[] => [points.reshape([-1, 1, 3]).sub(points).square().sum(2).min(1)];

const JOBS: Readonly<Record<string, readonly [() => readonly Lazy[], ComputeOptions]>> = {
  'tiles of standardized columns': [standardized, { device: 'cuda:0', memory: '1MiB' }],
  'tiles of a transpose': [() => [x.T.add(1)], { device: 'cuda:0', memory: '3MiB' }],
  'tiles of a product': [
    () => [x.matmul(placeholder([256, 2000], 'float32')).maximum(0)],
    { device: 'cuda:0', memory: '4MiB' },
  ],
  'panels of a product that has no room': [
    () => [
      placeholder([8192, 64], 'float32')
        .matmul(placeholder([64, 8192], 'float32'))
        .max(1),
    ],
    { device: 'cuda:0', memory: '100MiB' },
  ],
  'a loop of neighbours': [smoothed, { device: 'cuda:0' }],
  'tiles of a loop of neighbours': [smoothed, { device: 'cuda:0', memory: '1MiB' }],
  'tiles of a loop of maps': [
    () => [iterate(100, x, (s) => s.mul(0.5).add(x))],
    { device: 'cuda:0', memory: '1MiB' },
  ],
  'shares of standardized columns': [standardized, { devices: 3 }],
  'shares of standardized columns, in tiles': [standardized, { devices: 2, memory: '1MiB' }],
  'shares of pairs': [nearest, { devices: 3 }],
  'shares of a loop of maps': [() => [iterate(3, x, (s) => s.mul(0.5).add(1))], { devices: 2 }],
};

describe('the plan', () => {
  it.each(Object.entries(JOBS))('is written down for %s', async (name, [outputs, options]) => {
    const text = `${plan(outputs(), options)}\n`;
    await expect(text).toMatchFileSnapshot(`../golden/plans/${name.replace(/\W+/g, '-')}.txt`);
  });
});
