/**
 * How many ordinary jobs are planned within parts of what they hold without a budget: for each that is
 * refused the parts and why, then the shares. `npm run test:coverage -- --device cpu --files`. Devices are
 * `cpu`, `cuda` and `simulated`. Plans alone: nothing is computed.
 */
import { parseArgs } from 'node:util';
import { placeholder } from '../../src/index.js';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { coverageOf, ordinaryJobs, PARTS } from '../support/ordinary-jobs.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    files: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});
if (values.device === 'simulated') Object.assign(process.env, SIM_ENVIRONMENT);
const device = values.device === 'simulated' ? 'cuda' : values.device;
const jobs = ordinaryJobs((shape, dtype) => placeholder(shape, { dtype })).filter(({ name }) =>
  name.includes(values.only),
);
let [planned, asked] = [0, 0];
const perPart = PARTS.map(() => 0);
let counted = 0;
for (const job of jobs) {
  const began = performance.now();
  const { whole, refusals } = coverageOf(job, device, values.files);
  const ms = performance.now() - began;
  const refused = refusals.flatMap((why, k) => (why === undefined ? [] : [`1/${PARTS[k]}: ${why}`]));
  counted += refusals.length > 0 ? 1 : 0;
  for (const [k, why] of refusals.entries()) if (why === undefined) perPart[k]!++;
  planned += refusals.length - refused.length;
  asked += refusals.length;
  if (refused.length === 0 && !values.all) continue;
  console.log(`${job.kind}: ${job.name} (${(whole / 2 ** 20).toFixed(1)} MiB, ${ms.toFixed(0)} ms)`);
  for (const line of refused) console.log(`  ${line}`);
}
const share = (part: number, of: number): string => `${((100 * part) / of).toFixed(1)} %`;
console.log(`${jobs.length} jobs, ${counted} of which hold enough to be cut`);
for (const [k, part] of PARTS.entries()) console.log(`1/${part}: ${share(perPart[k]!, counted)}`);
console.log(`all: ${share(planned, asked)}`);
