/**
 * The planner's predictions of the time of kernels beside measurements: 300 and more kernels of maps, reductions, rows,
 * transposes, stencils and pairs, of several dtypes and sizes. Prints the ratios' percentiles for each family and the
 * worst kernels. A measurement is the least of several runs, by events around each launch.
 *
 * usage: node dist/bench/cost-model.js [--device cuda:0] [--only scale,transpose] [--repeats 5] [--most 26] [--json]
 *        --most: the largest kernels have 2^most elements
 */
import { parseArgs } from 'node:util';
import { kernelsOf } from '../src/exec/plan/plan.js';
import { deviceNamed } from '../src/exec/targets/device.js';
import { targetOf } from '../src/exec/targets/table.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import { type DType, type Lazy, profile, where, zeros } from '../src/index.js';
import { planOnDevice } from '../test/support/device-plan.js';
import { median, toPrecision } from './statistics.js';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    only: { type: 'string', default: '' },
    repeats: { type: 'string', default: '5' },
    most: { type: 'string', default: '26' },
    json: { type: 'boolean', default: false },
  },
});
const { device: name } = options;
const most = Number(options.most);
const device = deviceNamed(name);
const { costs } = targetOf(device).modelOf(device, 'device');
if (costs === undefined) throw new Error(`cost-model: no model of the times of kernels on ${name}`);

/** By family, expressions of an array of rows: all have about as many elements as that. */
const FAMILIES: Readonly<Record<string, (x: Lazy, y: Lazy) => Lazy>> = {
  scale: (x) => x.mul(3).add(1),
  'add two': (x, y) => x.add(y),
  polynomial: (x) => x.mul(0.3).add(1).mul(x).add(2).mul(x).add(3).mul(x).add(5),
  functions: (x) => x.sin().exp().mul(x.cos()),
  quotient: (x, y) => x.div(y.abs().add(1)).sqrt(),
  choice: (x, y) => where(x.greater(y), x, y.mul(2)),
  compare: (x, y) => x.less(y),
  'sum of all': (x) => x.abs().sum(),
  'sum of rows': (x) => x.mul(2).sum(1),
  'sum of columns': (x) => x.mul(2).sum(0),
  'max of rows': (x) => x.max(1),
  argmax: (x) => x.argmax(1),
  variance: (x) => x.var(1),
  softmax: (x) => x.softmax(1),
  standardize: (x) => x.sub(x.mean(1, { keepdims: true })).div(x.std(1, { keepdims: true }).add(1)),
  transpose: (x) => x.T.add(1),
  'beside its transpose': (x) => x.slice([0, 16], [0, 16]).add(x.slice([0, 16], [0, 16]).T),
  columns: (x) => x.slice([0, x.shape[0]!, 2]).mul(2),
  stencil: (x) =>
    x
      .slice([2])
      .add(x.slice([1, -1]))
      .add(x.slice([0, -2])),
  'plane stencil': (x) =>
    x
      .slice([1, -1], [2])
      .add(x.slice([1, -1], [0, -2]))
      .add(x.slice([2], [1, -1]))
      .sub(x.slice([1, -1], [1, -1])),
  'row beside': (x) => x.sub(x.slice([0, 1])),
  'column beside': (x) => x.mul(x.slice([0, x.shape[0]!], [0, 1])),
  distances: (x) =>
    x
      .slice([0, 256], [0, 8])
      .reshape([-1, 1, 8])
      .sub(x.slice([0, 256], [0, 8]))
      .square()
      .sum(2),
};
const DTYPES: readonly DType[] = ['float32', 'float64', 'float16'];
/** Powers of two: elements, and rows. */
const ALL_SIZES: readonly (readonly [elements: number, rows: number])[] = [
  [14, 7],
  [18, 4],
  [18, 13],
  [22, 11],
  [most, 10],
  [most, most - 8],
];
const SIZES = ALL_SIZES.filter(([elements]) => elements <= most);

interface Measured {
  readonly kernel: string;
  readonly family: string;
  readonly predicted: number;
  readonly measured: number;
}

/** The kernel of an expression, with its predicted and its measured microseconds; undefined: it is not one kernel. */
async function measure(family: string, text: string, result: Lazy): Promise<Measured | undefined> {
  const { plan } = planOnDevice(canonicalize([result.expr]), device, { destination: 'device' });
  const [step] = plan.steps;
  if (plan.steps.length !== 1 || step?.kind !== 'kernel') return undefined;
  let measured = Number.POSITIVE_INFINITY;
  for (let k = 0; k < Number(options.repeats); k++) {
    const { timeline, result: held } = await profile(() => result.persist({ device: name }));
    held.dispose();
    const own = timeline.spans.filter(({ device: on, kind }) => on === name && kind === 'kernel');
    const busy = own.reduce((sum, { begin, end }) => sum + end - begin, 0);
    measured = Math.min(measured, busy * 1e3);
  }
  const predicted = costs!.secondsOf(step, 1) * 1e6;
  return { kernel: `${text}: ${kernelsOf(step)[0]!.name}`, family, predicted, measured };
}

const found: Measured[] = [];
for (const dtype of DTYPES) {
  for (const [elements, rows] of SIZES) {
    const shape = [2 ** rows, 2 ** (elements - rows)];
    const x = await zeros(shape, dtype).add(0.5).astype(dtype).persist({ device: name });
    const y = await zeros(shape, dtype).add(0.25).astype(dtype).persist({ device: name });
    for (const [family, build] of Object.entries(FAMILIES)) {
      if (options.only !== '' && !options.only.split(',').includes(family)) continue;
      const measured = await measure(family, `${family} of ${dtype} ${shape.join('×')}`, build(x, y));
      if (measured !== undefined) found.push(measured);
    }
    x.dispose();
    y.dispose();
  }
}

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
  `${label.padEnd(22)}${String(list.length).padStart(5)}${percentiles(list)
    .map((ratio) => ratio.toFixed(2).padStart(9))
    .join('')}`;

if (options.json) {
  for (const each of found) console.log(JSON.stringify(each));
} else {
  console.log(
    `${'family'.padEnd(22)}kernels  median      90 %    worst   (ratios of predicted and measured time)`,
  );
  for (const family of Object.keys(FAMILIES)) {
    const list = found.filter((each) => each.family === family);
    if (list.length > 0) console.log(line(family, list));
  }
  console.log(line('all', found));
  for (const each of [...found].sort((a, b) => apart(b) - apart(a)).slice(0, 10))
    console.log(
      `${toPrecision(each.predicted, 3)} µs predicted, ${toPrecision(each.measured, 3)} measured: ${each.kernel}`,
    );
}
