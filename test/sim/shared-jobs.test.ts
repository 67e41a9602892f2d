/** Of the ordinary jobs, several devices share all but one of a single block and three loops that one does sooner. */
import { expect, it } from 'vitest';
import { placeholder, plan } from '../../src/index.js';
import { ordinaryJobs } from '../support/ordinary-jobs.js';
import { setDevices } from './simulator.js';

setDevices(Array.from({ length: 4 }, () => ({ memory: 2 ** 36 })));

it('ordinary jobs are shared by four devices but for four', () => {
  const jobs = ordinaryJobs((shape, dtype) => placeholder(shape, { dtype }));
  const alone = jobs.flatMap(({ kind, name, results }) => {
    const { phases } = plan(results, { devices: 4 });
    if (phases.some(({ devices }) => devices.length > 1)) return [];
    return [`${kind}: ${name}: ${phases.map(({ reason }) => reason).join(', ')}`];
  });
  expect(alone).toEqual([
    // The 4096 elements of a diagonal are the work of one block.
    'views: a trace: uncut',
    // Rounds of 20 µs.
    'loops: descent along a gradient: short',
    'loops: powers of a matrix on a vector: short',
    'loops: until it is small: short',
  ]);
}, 60_000);
