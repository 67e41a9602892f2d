/** Of the ordinary jobs, several devices share all but a short one and loops whose steps need neighbours or sums. */
import { expect, it } from 'vitest';
import { placeholder, plan } from '../../src/index.js';
import { ordinaryJobs } from '../support/ordinary-jobs.js';
import { setDevices } from './simulator.js';

setDevices(Array.from({ length: 4 }, () => ({ memory: 2 ** 36 })));

it('ordinary jobs are shared by four devices but for one and loops', () => {
  const jobs = ordinaryJobs((shape, dtype) => placeholder(shape, { dtype }));
  const alone = jobs.flatMap(({ kind, name, results }) => {
    const { phases } = plan(results, { devices: 4 });
    if (phases.some(({ devices }) => devices.length > 1)) return [];
    return [`${kind}: ${name}: ${phases.map(({ reason }) => reason).join(', ')}`];
  });
  // The 4096 elements of a diagonal are the work of one block.
  expect(alone.filter((job) => !job.startsWith('loops: '))).toEqual(['views: a trace: uncut']);
  expect(alone.every((job) => job.endsWith('uncut'))).toBe(true);
  expect(jobs.length - alone.length).toBeGreaterThanOrEqual(108);
}, 60_000);
