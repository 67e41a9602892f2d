/**
 * The planner's predictions of the time of kernels beside measurements: 400 kernels of maps, reductions, rows,
 * transposes, stencils and pairs, of several dtypes and sizes, or kernels that the model was not fitted to. Prints the
 * ratios' percentiles for each family and the worst kernels. A measurement is the least of several runs, by events
 * around each launch; on the CPU on memory of the kernel's own, with one thread (`WEFT_THREADS=1`) in time of its
 * processor. Measured once, kernels can be predicted anew without a GPU.
 *
 * usage: node dist/bench/cost-model.js [--device cuda:0] [--only scale,transpose] [--held-out 100] [--seed 1]
 *        [--programs 3] [--most 26] [--json]
 *        node dist/bench/cost-model.js --measured FILE [--device sm_90] [--json]
 *        --most: the largest kernels have 2^most elements; FILE: lines that --json printed
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type KernelStep, kernelsOf } from '../src/exec/plan/plan.js';
import { type Device, deviceNamed, gpuOf } from '../src/exec/targets/device.js';
import { targetOf } from '../src/exec/targets/table.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import { type Lazy, placeholder, profile, zeros } from '../src/index.js';
import { planOnDevice } from '../test/support/device-plan.js';
import { type CostCase, fittedCases, heldOutCases } from './cost-corpus.js';
import { median, toPrecision } from './statistics.js';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    'held-out': { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    programs: { type: 'string', default: '3' },
    most: { type: 'string', default: '26' },
    measured: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});

/** In microseconds. */
interface Measured {
  readonly kernel: string;
  readonly family: string;
  readonly predicted: number;
  readonly measured: number;
}

const labelOf = ({ family, dtype, shape }: CostCase): string => `${family} of ${dtype} ${shape.join('×')}`;

/** The kernel that an expression is on a device; undefined: it is not one kernel. */
function stepOf(result: Lazy, device: Device): KernelStep | undefined {
  const { plan } = planOnDevice(canonicalize([result.expr]), device, { destination: 'device' });
  const [step] = plan.steps;
  return plan.steps.length === 1 && step?.kind === 'kernel' ? step : undefined;
}

function predictedOf(step: KernelStep, device: Device): number {
  const { costs } = targetOf(device).modelOf(device, 'device');
  if (costs === undefined) throw new Error(`cost-model: no model of the times of kernels on ${device.name}`);
  return costs.secondsOf(step, 1) * 1e6;
}

/** A program's runs that are launched kernel by kernel: later ones are repeated as CUDA graphs. */
const LAUNCHED_RUNS = 3;
/** Programs are told apart by a budget that none of them needs. */
const BUDGET = 2 ** 33;

/** The least microseconds of a result's kernels in some runs. */
async function measure(result: Lazy, { name }: Device): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let program = 0; program < Number(options.programs); program++) {
    for (let run = 0; run < LAUNCHED_RUNS; run++) {
      const memory = BUDGET + program * 2 ** 20;
      const { timeline, result: held } = await profile(() => result.persist({ device: name, memory }));
      held.dispose();
      const own = timeline.spans.filter(({ device, kind }) => device === name && kind === 'kernel');
      if (own.length === 0) throw new Error('cost-model: a run that launched no kernel');
      least = Math.min(
        least,
        own.reduce((sum, { begin, end }) => sum + end - begin, 0),
      );
    }
  }
  return least * 1e3;
}

async function measuredCases(cases: readonly CostCase[], device: Device): Promise<Measured[]> {
  const found: Measured[] = [];
  let held: { readonly key: string; readonly x: Lazy; readonly y: Lazy } | undefined;
  for (const one of cases) {
    const { shape, dtype, family } = one;
    const key = `${dtype} ${shape}`;
    if (held?.key !== key) {
      held?.x.dispose();
      held?.y.dispose();
      const filled = (value: number): Promise<Lazy> =>
        zeros(shape, dtype).add(value).astype(dtype).persist({ device: device.name });
      held = { key, x: await filled(0.5), y: await filled(0.25) };
    }
    const result = one.build(held.x, held.y);
    const step = stepOf(result, device);
    if (step === undefined) continue;
    const { calibrate, timeOf } = targetOf(device);
    await calibrate?.([step.kernel]);
    const measured =
      timeOf === undefined ? await measure(result, device) : 1e6 * (await timeOf(step, device));
    const kernel = `${labelOf(one)}: ${kernelsOf(step)[0]!.name}`;
    found.push({ kernel, family, predicted: predictedOf(step, device), measured });
  }
  return found;
}

/** Kernels of a file with the predictions of this version. */
function predictedAnew(cases: readonly CostCase[], device: Device, file: string): Measured[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  const saved = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Measured);
  const times = new Map(
    saved.map(({ kernel, measured }) => [kernel.slice(0, kernel.indexOf(':')), measured]),
  );
  return cases.flatMap((one) => {
    const label = labelOf(one);
    const measured = times.get(label);
    if (measured === undefined) return [];
    const of = (): Lazy => placeholder(one.shape, one.dtype, { device: 'cuda:0' });
    const step = stepOf(one.build(of(), of()), device);
    if (step === undefined) throw new Error(`cost-model: ${label} was one kernel where it was measured`);
    const kernel = `${label}: ${kernelsOf(step)[0]!.name}`;
    return [{ kernel, family: one.family, predicted: predictedOf(step, device), measured }];
  });
}

const most = Number(options.most);
const wanted = Number(options['held-out']);
const cases = (wanted > 0 ? heldOutCases(wanted, Number(options.seed), most) : fittedCases(most)).filter(
  ({ family }) => options.only === '' || options.only.split(',').includes(family),
);
const found =
  options.measured === ''
    ? await measuredCases(cases, deviceNamed(options.device || 'cuda:0'))
    : predictedAnew(cases, gpuOf(options.device || 'sm_90'), options.measured);

/** How far apart the two are, at least 1. */
const apart = ({ predicted, measured }: Measured): number =>
  Math.max(predicted / measured, measured / predicted);
function percentiles(list: readonly Measured[]): readonly number[] {
  const sorted = list.map(apart).sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return [median(sorted), at(0.9), sorted.at(-1)!];
}
const line = (label: string, list: readonly Measured[]): string =>
  `${label.padEnd(24)}${String(list.length).padStart(5)}${percentiles(list)
    .map((ratio) => ratio.toFixed(2).padStart(9))
    .join('')}`;

if (options.json) {
  for (const each of found) console.log(JSON.stringify(each));
} else {
  console.log(
    `${'family'.padEnd(24)}kernels  median      90 %    worst   (ratios of predicted and measured time)`,
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
