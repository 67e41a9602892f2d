/** Of the ordinary jobs, several devices share all but short ones and loops whose steps need neighbours or sums. */
import { expect, it } from 'vitest';
import { placeholder, plan } from '../../src/index.js';
import { ordinaryJobs } from '../support/ordinary-jobs.js';
import { setDevices } from './simulator.js';

setDevices(Array.from({ length: 4 }, () => ({ memory: 2 ** 36 })));

it('ordinary jobs are shared by four devices but for short ones and loops', () => {
  const jobs = ordinaryJobs((shape, dtype) => placeholder(shape, { dtype }));
  const alone = jobs.flatMap(({ kind, name, results }) => {
    const { phases } = plan(results, { devices: 4 });
    if (phases.some(({ devices }) => devices.length > 1)) return [];
    return [`${kind}: ${name}: ${phases.map(({ reason }) => reason).join(', ')}`];
  });
  expect(alone.filter((job) => !job.endsWith('uncut'))).toEqual([
    'reductions: a sum over the first axis of a grid: short',
  ]);
  expect(alone.filter((job) => job.endsWith('uncut')).every((job) => job.startsWith('loops: '))).toBe(true);
  expect(jobs.length - alone.length).toBeGreaterThanOrEqual(108);
}, 60_000);
