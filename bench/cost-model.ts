/**
 * The planner's predictions of the time of kernels beside measurements: 400 kernels of maps, reductions, rows,
 * transposes, stencils and pairs, of several dtypes and sizes, or kernels that the model was not fitted to. Prints the
 * ratios' percentiles and how many are beyond 2, for each family, and the worst kernels. A measurement is that of
 * `explain({ measure: true })`, the least of several turns of all kernels: of the launches alone, repeated on a busy GPU;
 * on the CPU with one thread (`WEFT_THREADS=1`) also in time of its processor.
 * Measured once, kernels can be predicted anew without a GPU.
 *
 * usage: node dist/bench/cost-model.js [--device cuda:0] [--only scale,transpose] [--held-out 100] [--seed 1]
 *        [--most 26] [--turns 1] [--seconds 60] [--json]
 *        node dist/bench/cost-model.js --calls [--device cuda:0] [--held-out 1] [--drawn 2 --seed 1] [--seconds 60] [--json]
 *        node dist/bench/cost-model.js [--calls] --measured FILE [--device sm_90] [--memory-rate 4.9e12] [--json]
 *        --calls: calls of libraries and routines in place of kernels; `drawn`: of so many random sizes of each family and
 *        dtype; --seconds: no more calls from then on, and no turn of kernels that would end later
 *        --most: the largest kernels have 2^most elements; FILE: lines that --json printed
 */
import { parseArgs } from 'node:util';
import type { CallStep } from '../src/exec/calls/call.js';
import type { CallSamples } from '../src/exec/calls/call-samples.js';
import { callRow } from '../src/exec/calls/table.js';
import type { KernelStep } from '../src/exec/plan/plan.js';
import { CPU, type Device, deviceNamed, gpuOf } from '../src/exec/targets/device.js';
import { targetOf } from '../src/exec/targets/table.js';
import { secondsOfCall } from '../src/inspect/call-times.js';
import { type CallCase, callCases, drawnCalls } from './call-corpus.js';
import { type CostCase, fittedCases, heldOutCases } from './cost-corpus.js';
import {
  apart,
  callsAnew,
  callsOf,
  type Measured,
  measuredCallOf,
  measuredOf,
  predictedAnew,
  stepOf,
} from './cost-predictions.js';
import { median, toPrecision } from './statistics.js';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    'held-out': { type: 'string', default: '0' },
    drawn: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    most: { type: 'string', default: '26' },
    turns: { type: 'string', default: '1' },
    calls: { type: 'boolean', default: false },
    seconds: { type: 'string', default: 'Infinity' },
    measured: { type: 'string', default: '' },
    'memory-rate': { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});

async function measuredCases(cases: readonly CostCase[], device: Device): Promise<Measured[]> {
  const { calibrate, timeOf } = targetOf(device);
  const timed: { one: CostCase; step: KernelStep; seconds: number }[] = [];
  for (const one of cases) {
    const step = stepOf(one, device);
    if (step === undefined) continue;
    timed.push({ one, step, seconds: Number.POSITIVE_INFINITY });
  }
  await compiled(timed, device);
  const kernels = timed.map(({ step }) => step.kernel);
  const begun = performance.now();
  const hasTimeAfter = (turns: number): boolean =>
    turns === 0 || (1 + 1 / turns) * (performance.now() - begun) < 1e3 * Number(options.seconds);
  for (let turn = 0; turn < Number(options.turns) && hasTimeAfter(turn); turn++) {
    // The machine is as fast as in the same turn's measurements.
    await calibrate?.(kernels, turn > 0);
    for (const each of timed)
      each.seconds = Math.min(each.seconds, (await timeOf?.(each.step, device)) ?? Number.POSITIVE_INFINITY);
  }
  return timed
    .filter(({ seconds }) => seconds < Number.POSITIVE_INFINITY)
    .map(({ one, step, seconds }) => measuredOf(one, step, device, seconds * 1e6));
}

/** Has sources compiled together, on all threads, where there are any. */
async function compiled(
  steps: readonly { readonly step: KernelStep | CallStep }[],
  device: Device,
): Promise<void> {
  const { resourcesOf } = targetOf(device);
  await Promise.all(steps.map(({ step }) => resourcesOf?.(step, device, 'whole')));
}

async function measuredCalls(cases: readonly CallCase[], device: Device): Promise<Measured[]> {
  const found: Measured[] = [];
  const calls = cases.flatMap((one) => callsOf(one, device));
  await compiled(calls, device);
  const begun = performance.now();
  for (const call of calls) {
    if (performance.now() - begun > 1e3 * Number(options.seconds)) return found;
    const { step, plan, numbers } = call;
    const samples = callRow(step).samples(step) as CallSamples;
    const seconds = await secondsOfCall(step, samples, { plan, device, tune: false, numbers });
    found.push(measuredCallOf(call, device, seconds * 1e6));
  }
  return found;
}

const most = Number(options.most);
const wanted = Number(options['held-out']);
const isWanted = ({ family }: { readonly family: string }): boolean =>
  options.only === '' || options.only.split(',').includes(family);
const cases = (wanted > 0 ? heldOutCases(wanted, Number(options.seed), most) : fittedCases(most)).filter(
  isWanted,
);
const device = (): Device => deviceNamed(options.device || 'cuda:0');
const drawn = Number(options.drawn);
const calls = (): CallCase[] =>
  (drawn > 0 ? drawnCalls(drawn, Number(options.seed)) : callCases(wanted > 0)).filter(isWanted);
const found = options.calls
  ? options.measured === ''
    ? await measuredCalls(calls(), device())
    : callsAnew(options.measured, options.device === '' ? CPU : gpuOf(options.device), {
        isWanted: (family) => isWanted({ family }),
        memoryRate: Number(options['memory-rate']) || undefined,
      })
  : options.measured === ''
    ? await measuredCases(cases, device())
    : predictedAnew(cases, gpuOf(options.device || 'sm_90'), options.measured);

function percentiles(list: readonly Measured[]): readonly number[] {
  const sorted = list.map(apart).sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return [median(sorted), at(0.9), sorted.at(-1)!];
}
const line = (label: string, list: readonly Measured[]): string =>
  `${label.padEnd(24)}${String(list.length).padStart(5)}${percentiles(list)
    .map((ratio) => ratio.toFixed(2).padStart(9))
    .join('')}${String(list.filter((each) => apart(each) > 2).length).padStart(10)}`;

if (options.json) {
  for (const each of found) console.log(JSON.stringify(each));
} else {
  console.log(
    `${'family'.padEnd(24)}kernels  median      90 %    worst  beyond 2   (ratios of predicted and measured time)`,
  );
  for (const family of new Set(found.map((each) => each.family)))
    console.log(
      line(
        family,
        found.filter((each) => each.family === family),
      ),
    );
  console.log(line('all', found));
  for (const each of [...found].sort((a, b) => apart(b) - apart(a)).slice(0, 10))
    console.log(
      `${toPrecision(each.predicted, 3)} µs predicted, ${toPrecision(each.measured, 3)} measured: ${each.kernel}`,
    );
}
