/**
 * Records what a device computes, to be compared with what another does (`compare.ts`): the conformance
 * programs and random graphs from a seed.
 *
 *     node dist/test/devices/record.js --device cuda --graphs 300 --seed 1 --out h200.json
 *     node dist/test/devices/record.js --simulated --graphs 300 --seed 1 --out sim.json
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describeDevice } from './device-name.js';
import { jobsOf } from './jobs.js';
import { recordJob } from './recording.js';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cuda' },
      simulated: { type: 'boolean', default: false },
      graphs: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string' },
    },
  });
  if (values.out === undefined) throw new Error('expected --out and a file');
  if (values.simulated) {
    const { SIM_ENVIRONMENT } = await import('../sim/environment.js');
    Object.assign(process.env, SIM_ENVIRONMENT);
  }
  const [graphs, seed] = [Number(values.graphs), Number(values.seed)];
  const jobs = [];
  for (const job of jobsOf(graphs, seed)) jobs.push(await recordJob(job, values.device));
  const device = describeDevice(values.device, values.simulated);
  writeFileSync(values.out, JSON.stringify({ device, graphs, seed, jobs }));
  console.log(
    `${device}: ${jobs.length} jobs, ${jobs.reduce((n, job) => n + job.outputs.length, 0)} outputs`,
  );
}

await main();
