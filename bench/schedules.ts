/**
 * The times of all schedules of a kernel that give the same bits, of kernels of the corpus of `cost-corpus.ts`: how often
 * the schedule that is chosen without measuring is the fastest, or within 5 % of it, and the time that the fastest and the
 * chosen one take beside the rule's own. `--bits` also compares the results of kernels of up to 2^22 elements.
 *
 * usage: node dist/bench/schedules.js [--device cuda:0] [--most 26] [--every 4] [--first 0] [--seconds 60] [--bits]
 *        [--save FILE]
 *        node dist/bench/schedules.js --measured FILE [--device sm_90]
 *        --every 4: each fourth kernel of the corpus, from --first on; FILE: lines of JSON, by which choices are compared
 *        without a GPU
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printSchedule, type Schedule } from '../src/codegen/cuda/cuda.js';
import { candidatesOf } from '../src/codegen/cuda/schedules/candidates.js';
import { scheduleOfNormal } from '../src/codegen/cuda/schedules/schedule.js';
import { normalize } from '../src/codegen/cuts/domain.js';
import type { KernelStep } from '../src/exec/plan/plan.js';
import { architectureOf, limitsOf } from '../src/exec/targets/cuda-device.js';
import { loadSource } from '../src/exec/targets/cuda-images.js';
import { type Device, deviceNamed, gpuOf } from '../src/exec/targets/device.js';
import { cudaOf, sourceOfKernel } from '../src/exec/targets/kernel-source.js';
import { timeOfKernel } from '../src/exec/targets/kernel-times.js';
import type { Kernel } from '../src/fusion/kernel/kernel.js';
import { runCudaCases } from '../test/support/cuda-runner.js';
import { randomValues } from '../test/support/random.js';
import { type CostCase, fittedCases, heldOutCases } from './cost-corpus.js';
import { labelOf, stepOf } from './cost-predictions.js';
import { type Compared, compared, type MeasuredSchedules, savedSchedules } from './schedule-choices.js';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: '' },
    most: { type: 'string', default: '26' },
    every: { type: 'string', default: '4' },
    first: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '60' },
    bits: { type: 'boolean', default: false },
    save: { type: 'string', default: '' },
    measured: { type: 'string', default: '' },
  },
});

/** The schedules of a kernel, the rule's own first. */
function schedulesOf({ kernel }: KernelStep, device: Device): readonly Schedule[] {
  const normal = normalize(kernel);
  return candidatesOf(normal, scheduleOfNormal(normal, limitsOf(device)));
}

const MOST_COMPARED = 2 ** 22;

/** Schedules whose results have other bits than the first one's. */
async function differing(kernel: Kernel, schedules: readonly Schedule[], device: Device): Promise<string[]> {
  if (kernel.buffers.some(({ elementCount }) => elementCount > MOST_COMPARED)) return [];
  const inputs = kernel.buffers.map(({ role, dtype, elementCount }, k) =>
    role === 'input' ? randomValues(dtype, [elementCount], k, -2, 3).data : undefined,
  );
  const digests: string[] = [];
  for (const schedule of schedules) {
    const [buffers] = await runCudaCases([
      { kernel, cuda: cudaOf(kernel, limitsOf(device), schedule), inputs },
    ]);
    const hash = createHash('sha256');
    for (const data of buffers!) hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    digests.push(hash.digest('hex'));
  }
  return schedules.filter((_, k) => digests[k] !== digests[0]).map(printSchedule);
}

async function measure(cases: readonly CostCase[], device: Device): Promise<MeasuredSchedules[]> {
  const steps = cases.flatMap((one) => {
    const step = stepOf(one, device);
    const schedules = step === undefined ? [] : schedulesOf(step, device);
    return schedules.length > 1 ? [{ label: labelOf(one), step: step!, schedules }] : [];
  });
  const began = performance.now();
  const limits = limitsOf(device);
  await Promise.all(
    steps.flatMap(({ step, schedules }) =>
      schedules.map((each) => loadSource(sourceOfKernel(step.kernel, limits, each), architectureOf(device))),
    ),
  );
  console.log(`${steps.length} kernels compiled in ${((performance.now() - began) / 1e3).toFixed(1)} s`);
  const found: MeasuredSchedules[] = [];
  const isOver = (): boolean => performance.now() - began > 1e3 * Number(options.seconds);
  for (const { label, step, schedules } of steps) {
    if (isOver()) break;
    const times: { schedule: string; measured: number }[] = [];
    for (const schedule of schedules) {
      const seconds = await timeOfKernel(step, device, schedule);
      if (seconds !== undefined) times.push({ schedule: printSchedule(schedule), measured: seconds * 1e6 });
    }
    if (times.length === schedules.length) found.push({ kernel: `${label}: ${step.kernel.name}`, times });
  }
  if (!options.bits) return found;
  let count = 0;
  for (const { label, step, schedules } of steps) {
    if (isOver()) break;
    count++;
    for (const other of await differing(step.kernel, schedules, device))
      console.log(`other bits: ${label}, ${other}`);
  }
  console.log(`bits of ${count} kernels compared`);
  return found;
}

const most = Number(options.most);
const corpus = [...fittedCases(most), ...heldOutCases(100, 1, most)];
const wanted = corpus.filter((_, k) => k % Number(options.every) === Number(options.first));
const found =
  options.measured === ''
    ? await measure(wanted, deviceNamed(options.device || 'cuda:0'))
    : savedSchedules(options.measured);
if (options.save !== '')
  writeFileSync(options.save, found.map((each) => `${JSON.stringify(each)}\n`).join(''));

const device =
  options.measured === '' ? deviceNamed(options.device || 'cuda:0') : gpuOf(options.device || 'sm_90');
const all = found.map((each) => compared(each, corpus, device));
const share = (list: readonly Compared[], is: (one: Compared) => boolean): string =>
  `${((100 * list.filter(is).length) / list.length).toFixed(0)} %`.padStart(7);
/** The geometric mean of times, by those of the rule's own schedule. */
const relative = (list: readonly Compared[], of: (one: Compared) => number): string =>
  Math.exp(list.reduce((sum, one) => sum + Math.log(of(one) / one.own), 0) / list.length)
    .toFixed(3)
    .padStart(8);
function line(label: string, list: readonly Compared[]): string {
  const within = (of: 'own' | 'chosen') => (one: Compared) => one[of] <= 1.05 * one.best;
  const worst = Math.max(...list.map((one) => one.chosen / one.own)).toFixed(2);
  return `${label.padEnd(14)}${String(list.length).padStart(5)}${share(list, within('own'))}${share(list, within('chosen'))}${share(list, (one) => one.chosen !== one.own)}${relative(list, (one) => one.best)}${relative(list, (one) => one.chosen)}${worst.padStart(7)}`;
}
console.log(
  'kernels             own ≤5% chosen  others    best  chosen  worst   (times by the own schedule)',
);
for (const kind of new Set(all.map((one) => one.kind)))
  console.log(
    line(
      kind,
      all.filter((one) => one.kind === kind),
    ),
  );
console.log(
  line(
    'small',
    all.filter((one) => one.isSmall),
  ),
);
console.log(
  line(
    'not small',
    all.filter((one) => !one.isSmall),
  ),
);
console.log(line('all', all));
for (const one of [...all].sort((a, b) => a.best / a.own - b.best / b.own).slice(0, 12))
  console.log(
    `${(one.best / one.own).toFixed(2)}  ${one.own.toPrecision(4)} µs  ${one.kernel}  ${one.fastest}`,
  );
