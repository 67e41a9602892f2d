/**
 * Times the products and contractions of `contractions.json`, which `peers-contractions.py` times as well:
 * square, tall, wide, long and batched ones from 1 to 16,384. `node dist/bench/contractions.js [--device cuda]
 * [--only name,name] [--dtypes float32,float64] [--tune] [--seconds 0.1] [--out file]` prints a JSON line for
 * each; `contractions-report.js` makes a table and a plot of them.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type DType, einsum, type Lazy } from '../src/index.js';
import { measureOnGpu } from './gpu-measure.js';
import { elementCount, type Workload } from './workload.js';

/** A contraction as an equation of two operands, and the dtypes that it is timed in. */
export interface Contraction {
  readonly name: string;
  readonly equation: string;
  readonly shapes: readonly (readonly number[])[];
  readonly dtypes: readonly DType[];
}

/** Beside the sources: `dist/bench` is two folders below. */
const LIST = new URL('../../bench/contractions.json', import.meta.url);

export const contractions = (): Contraction[] => JSON.parse(readFileSync(LIST, 'utf8')) as Contraction[];

/** Products of so many operations and fewer are started many at a time, so that the host's costs overlap. */
const SHORT_OPERATIONS = 2e9;
const CALLS_AT_ONCE = 32;
const MOST_SUMMED = 2 ** 20;

/** Operations of a contraction: two for each combination of its labels. */
function operationsOf({ equation, shapes }: Contraction): number {
  const sizes = new Map<string, number>();
  const [terms] = equation.split('->') as [string];
  for (const [k, labels] of terms.split(',').entries())
    for (const [axis, label] of [...labels].entries()) sizes.set(label, shapes[k]![axis]!);
  return 2 * elementCount([...sizes.values()]);
}

export function workloadOf(contraction: Contraction, dtype: DType): Workload {
  const { name, equation, shapes } = contraction;
  const flops = operationsOf(contraction);
  return {
    name,
    dtype,
    shape: shapes.flat(),
    inputs: shapes.map((shape, k) => ({ shape, seed: k + 1, low: -1, dtype })),
    expression: (...inputs: Lazy[]) => einsum(equation, ...inputs),
    flops,
    inner: flops <= SHORT_OPERATIONS ? CALLS_AT_ONCE : 1,
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cuda' },
      only: { type: 'string' },
      dtypes: { type: 'string' },
      tune: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '0.1' },
      out: { type: 'string' },
    },
  });
  const [only, dtypes] = [values.only?.split(','), values.dtypes?.split(',')];
  const seconds = Number(values.seconds);
  for (const contraction of contractions()) {
    if (only !== undefined && !only.includes(contraction.name)) continue;
    for (const dtype of contraction.dtypes) {
      if (dtypes !== undefined && !dtypes.includes(dtype)) continue;
      const peer = values.tune ? 'weft-tuned' : 'weft';
      const line = await measureOnGpu(workloadOf(contraction, dtype), values.device, seconds, {
        tune: values.tune,
        warmSeconds: seconds,
        mostSummed: MOST_SUMMED,
      }).catch((error: unknown) => ({
        workload: contraction.name,
        dtype,
        error: String(error).slice(0, 200),
      }));
      const text = JSON.stringify({ ...line, peer });
      console.log(text);
      if (values.out !== undefined) appendFileSync(values.out, `${text}\n`);
    }
  }
}

if (process.argv[1]?.endsWith('contractions.js')) await main();
