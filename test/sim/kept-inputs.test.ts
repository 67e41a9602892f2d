/** Inputs that several sweeps read go over the bus once, where there is room for them. */
import { expect, it } from 'vitest';
import { deviceNamed } from '../../src/exec/targets/device.js';
import { bytesMoved } from '../../src/exec/tiles/loop-sweeps.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { toLazy } from '../support/api.js';
import { planOnDevice } from '../support/device-plan.js';
import { randomValues } from '../support/random.js';

it('copies what two sweeps read once, and what one reads in windows', async () => {
  const shape = [2 ** 15, 16];
  const [x, y] = [toLazy(randomValues('float32', shape, 1)), toLazy(randomValues('float32', shape, 2))];
  const result = x.sub(x.mean(0)).mul(2).add(y);
  const memory = 3.5 * 2 ** 20;
  const { plan } = planOnDevice(canonicalize([result.expr]), deviceNamed('cuda'), { budget: memory });
  const inputs = plan.buffers.filter(({ role }) => role === 'input');
  expect(inputs.map(({ windowed }) => windowed === true)).toEqual([false, true]);
  // The second input, and the result.
  expect(bytesMoved(plan)).toBe(2 * 2 ** 21);
  expect(plan.peakBytes).toBeLessThanOrEqual(memory);
  const [whole, within] = [
    await result.compute({ device: 'cuda' }),
    await result.compute({ device: 'cuda', memory }),
  ];
  expect(within.data).toEqual(whole.data);
});
