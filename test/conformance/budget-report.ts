/**
 * What the corpus of budgets takes, job by job: for every budget the bytes that the plan says and that were held, the tiles, and
 * why a smaller one is refused: `npm run test:budgets -- --device cpu --jobs 200 --from 0`. Devices are `cpu`, `cuda` and
 * `simulated`. Exits with 1 where something is wrong.
 */
import { parseArgs } from 'node:util';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { budgetJob, checkBudgets, meterOf, refusalOf } from '../support/budget-corpus.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    jobs: { type: 'string', default: '200' },
    from: { type: 'string', default: '0' },
  },
});
const simulated = values.device === 'simulated';
if (simulated) Object.assign(process.env, SIM_ENVIRONMENT, { WEFT_POISON: process.env.WEFT_POISON ?? '0' });
const device = simulated ? 'cuda' : values.device;
const meter = await meterOf(device, simulated);
for (let k = Number(values.from); k < Number(values.jobs); k++) {
  const job = budgetJob(k, simulated ? 1 / 4 : 1);
  const { reports, wrong } = await checkBudgets(job, device, meter);
  console.log(`${k} ${job.name}`);
  for (const { budget, planned, measured, tiles } of reports)
    console.log(`  budget ${budget}: ${planned} planned, ${measured} held, ${tiles} tiles`);
  console.log(`  ${refusalOf(job, device, reports)}`);
  for (const what of wrong) console.log(`  WRONG ${what}`);
  if (wrong.length > 0) process.exitCode = 1;
}
