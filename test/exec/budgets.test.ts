/** The memory that budgets and limits are shares of. */

import { afterEach, expect, it, vi } from 'vitest';
import { addon } from '../../src/exec/native/native-addon.js';
import { budgetsOf, totalBytesOf } from '../../src/exec/run/budgets.js';
import { CPU } from '../../src/exec/targets/device.js';
import { lazy, limitMemory } from '../../src/index.js';

afterEach(async () => {
  vi.restoreAllMocks();
  await limitMemory(null);
});

it('computes do not read the files of the system for the memory of the host', async () => {
  const x = lazy(new Float32Array(8));
  await x.add(1).compute({ device: 'cpu' });
  const read = vi.spyOn(addon(), 'hostMemory');
  const compute = async (memory?: string): Promise<void> => {
    await x.add(1).compute({ device: 'cpu', memory, hostMemory: memory });
  };
  await compute();
  await compute('50%');
  await limitMemory('50%');
  await compute();
  expect(read).not.toHaveBeenCalled();
});

it('shares are of the memory of the machine', () => {
  const total = totalBytesOf(CPU);
  expect(total).toBeGreaterThan(2 ** 27);
  expect(budgetsOf({ memory: '50%', hostMemory: '25%' }, [CPU])).toEqual({
    budget: Math.floor(total / 2),
    hostBudget: Math.floor(total / 4),
  });
});
