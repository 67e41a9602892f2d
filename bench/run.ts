/**
 * Runs Weft's benchmark and prints one JSON line per workload, in the format of the peers' benchmarks, for
 * `compare.ts` and for their own tables.
 *
 * `npm run bench -- --device cuda|cpu [--only a,b] [--skip a,b] [--scale full|small] [--out file]`. On a GPU
 * these are the GPU peers' workloads, on the CPU the CPU peers'; `--workloads gpu|cpu` asks for the others.
 * For the CPU, give the process the same CPUs as the peers: `taskset -c 0,1 npm run bench -- --device cpu`.
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CPU_BUDGET_SECONDS, measureOnCpu } from './cpu-measure.js';
import { cpuWorkloads } from './cpu-workloads.js';
import { measureOnGpu } from './gpu-measure.js';
import { gpuWorkloads } from './gpu-workloads.js';
import { MachineCopy } from './machine.js';
import type { Scale, Workload } from './workload.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '' },
    scale: { type: 'string', default: 'full' },
    workloads: { type: 'string' },
    budget: { type: 'string' },
    quiet: { type: 'string', default: '30' },
    out: { type: 'string' },
  },
});

function oneOf<T extends string>(name: string, value: string, known: readonly T[]): T {
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw new RangeError(`--${name} ${value}: expected ${known.join(' or ')}`);
  return found;
}

function seconds(name: string, text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value) || value < 0)
    throw new RangeError(`--${name} ${text}: expected seconds`);
  return value;
}

const names = (list: string): Set<string> => new Set(list.split(',').filter((name) => name !== ''));

function chosen(all: readonly Workload[]): Workload[] {
  const [only, skip] = [names(values.only), names(values.skip)];
  const unknown = [...only, ...skip].filter((name) => !all.some((workload) => workload.name === name));
  if (unknown.length > 0) throw new RangeError(`no such workload: ${unknown.join(', ')}`);
  return all.filter(({ name }) => (only.size === 0 || only.has(name)) && !skip.has(name));
}

function print(line: object): void {
  const text = JSON.stringify(line);
  console.log(text);
  if (values.out !== undefined) appendFileSync(values.out, `${text}\n`);
}

/** One workload's failure is a line, and the end of nothing; the exit code tells. */
async function runAll(
  workloads: readonly Workload[],
  measure: (workload: Workload) => Promise<object>,
): Promise<void> {
  for (const workload of workloads) {
    try {
      print(await measure(workload));
    } catch (error) {
      const { name, dtype, shape } = workload;
      print({ workload: name, peer: 'weft', dtype, shape, error: String(error).slice(0, 400) });
      process.exitCode = 1;
    }
  }
}

const scale: Scale = oneOf('scale', values.scale, ['full', 'small']);
const kind = oneOf('workloads', values.workloads ?? (values.device === 'cpu' ? 'cpu' : 'gpu'), [
  'cpu',
  'gpu',
]);
const budget = values.budget === undefined ? undefined : seconds('budget', values.budget);

if (kind === 'gpu') {
  await runAll(chosen(gpuWorkloads(scale)), (workload) => measureOnGpu(workload, values.device, budget));
} else {
  if (values.device !== 'cpu') throw new RangeError("the CPU's workloads run with --device cpu");
  const workloads = chosen(cpuWorkloads(scale));
  const machineCopy = new MachineCopy();
  const settings = {
    budgetSeconds: budget ?? CPU_BUDGET_SECONDS,
    quietSeconds: seconds('quiet', values.quiet),
    machineCopy,
  };
  await runAll(workloads, (workload) => measureOnCpu(workload, settings));
  await machineCopy.close();
}
