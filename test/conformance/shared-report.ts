/**
 * How many ordinary jobs several simulated devices share: for each that stays on one, why, and about how long
 * it takes there; for each that is refused, why. Plans alone: nothing is computed. `npm run test:shared --
 * --devices 4`, with `--all` also how the others are shared.
 */
import { parseArgs } from 'node:util';
import { placeholder, plan } from '../../src/index.js';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { ordinaryJobs } from '../support/ordinary-jobs.js';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '4' },
    memory: { type: 'string' },
    scale: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
  },
});
const devices = Number(values.devices);
Object.assign(process.env, SIM_ENVIRONMENT);
const { setDevices } = await import('../sim/simulator.js');
setDevices(Array.from({ length: devices }, () => ({ memory: 2 ** 36 })));
const { memory } = values;
const jobs = ordinaryJobs((shape, dtype) => placeholder(shape, { dtype }), Number(values.scale));
let [shared, refused] = [0, 0];
for (const { kind, name, results } of jobs) {
  try {
    const summary = plan(results, { devices, ...(memory === undefined ? {} : { memory }) });
    const isShared = summary.phases.some((phase) => phase.devices.length > 1);
    if (isShared) shared++;
    if (isShared && !values.all) continue;
    console.log(`${kind}: ${name}\n  ${summary.toString().replaceAll('\n', '\n  ')}`);
  } catch (error) {
    refused++;
    console.log(`${kind}: ${name}\n  ${(error as Error).message}`);
  }
}
console.log(`${jobs.length} jobs, ${shared} shared by several of ${devices} devices, ${refused} refused`);
