/**
 * The memory that the corpus of budgets takes, job by job: the arena, and what of it lives at the same time;
 * for every budget the bytes that the plan says and that were held, the tiles, and why a smaller one is
 * refused: `npm run test:budgets -- --device cpu --jobs 200 --from 0`. Devices are `cpu`, `cuda` and
 * `simulated`. Exits with 1 where something is wrong.
 */

import { parseArgs } from 'node:util';
import { deviceNamed } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { arenaBound, MOST_OVER_BOUND } from '../support/arena-bound.js';
import { BUDGET_JOBS, budgetJob, checkBudgets, meterOf, refusalOf } from '../support/budget-corpus.js';
import { planOnDevice } from '../support/device-plan.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    jobs: { type: 'string', default: String(BUDGET_JOBS) },
    from: { type: 'string', default: '0' },
  },
});
const simulated = values.device === 'simulated';
if (simulated) Object.assign(process.env, SIM_ENVIRONMENT, { WEFT_POISON: process.env.WEFT_POISON ?? '0' });
const device = simulated ? 'cuda' : values.device;
const meter = await meterOf(device, simulated);
for (let k = Number(values.from); k < Number(values.jobs); k++) {
  const job = budgetJob(k, simulated ? 1 / 4 : 1);
  const { reports, wrong: broken } = await checkBudgets(job, device, meter);
  const wrong = [...broken];
  console.log(`${k} ${job.name}`);
  const { plan } = planOnDevice(canonicalize(job.results.map(({ expr }) => expr)), deviceNamed(device), {});
  const bound = arenaBound(plan);
  console.log(`  arena ${plan.arenaByteLength}, ${bound} at a time`);
  // Steps of several streams share no memory.
  if (plan.streams === undefined && plan.arenaByteLength > MOST_OVER_BOUND * bound)
    wrong.push(`${job.name}: the arena is too large`);
  for (const { budget, planned, measured, tiles } of reports)
    console.log(`  budget ${budget}: ${planned} planned, ${measured} held, ${tiles} tiles`);
  console.log(`  ${refusalOf(job, device, reports)}`);
  for (const what of wrong) console.log(`  WRONG ${what}`);
  if (wrong.length > 0) process.exitCode = 1;
}
