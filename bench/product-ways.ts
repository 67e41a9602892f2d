/**
 * Times contractions whose operands lie in no order for a single matrix product, each in every way that there is: in calls
 * of cuBLAS where they lie, by one call after copies, by cuTENSOR, as Weft chooses, and, to compare with, operands that lie
 * as one call reads them. `product-ways-report.ts` makes a table of its lines, to
 * which the costs in `exec/calls/products/cuda-products.ts` are fitted.
 *
 *     node dist/bench/product-ways.js --out ways.jsonl [--only scores,values] [--dtypes float32,float16] [--seconds 0.05]
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { clearPrograms } from '../src/exec/run/program.js';
import { CUDA_TARGET } from '../src/exec/targets/cuda.js';
import type { CallTraits } from '../src/fusion/passes/product-costs.js';
import {
  type DType,
  einsum,
  type Lazy,
  type ProductLibrary,
  type ProductPrecision,
  placeholder,
} from '../src/index.js';
import { measureOnGpu } from './gpu-measure.js';
import { elementCount, type Workload } from './workload.js';

interface Row {
  readonly name: string;
  readonly equation: string;
  readonly sizes: readonly Readonly<Record<string, number>>[];
  /** Steps along the axes of the first operand, a view of an array that is so many times as large. */
  readonly steps?: readonly number[];
}

const ATTENTION: Row['sizes'] = [
  { b: 8, h: 16, q: 1024, k: 1024, d: 64 },
  { b: 4, h: 16, q: 256, k: 256, d: 64 },
  { b: 2, h: 32, q: 2048, k: 2048, d: 128 },
  { b: 32, h: 12, q: 384, k: 384, d: 64 },
  { b: 4, h: 4, q: 1024, k: 1024, d: 512 },
];

const ROWS: readonly Row[] = [
  {
    name: 'scores',
    equation: 'bqhd,bkhd->bhqk',
    sizes: [...ATTENTION, { b: 16, h: 8, q: 128, k: 128, d: 64 }],
  },
  { name: 'values', equation: 'bhqk,bkhd->bqhd', sizes: ATTENTION },
  { name: 'interleaved', equation: 'aibj,jcid->abcd', sizes: [{ a: 48, b: 48, c: 48, d: 48, i: 48, j: 48 }] },
  { name: 'ends', equation: 'abcd,dbea->ce', sizes: [{ a: 32, b: 16, c: 1024, d: 32, e: 1024 }] },
  { name: 'middle', equation: 'abc,cbd->ad', sizes: [{ a: 2048, b: 64, c: 64, d: 2048 }] },
  { name: 'outer', equation: 'xyij,yjk->xik', sizes: [{ x: 64, y: 64, i: 64, j: 64, k: 64 }] },
  {
    name: 'stepped',
    equation: 'ij,jk->ik',
    sizes: [
      { i: 1024, j: 1024, k: 1024 },
      { i: 4096, j: 4096, k: 256 },
    ],
    steps: [2, 2],
  },
];

/** Of float32: its precisions that are less. */
const KINDS = ['float32', 'float16', 'bfloat16', 'float64', 'complex64', 'complex128', 'tf32'] as const;

/** The costs by which a way is chosen, changed so that it is. */
const COSTS = CUDA_TARGET.products!.calls as { -readonly [Name in keyof CallTraits]: CallTraits[Name] };
const OWN_COSTS = { ...COSTS };
const WAYS: Readonly<Record<string, { costs?: Partial<CallTraits>; library?: ProductLibrary }>> = {
  calls: { costs: { copySeconds: 1 }, library: 'cublas' },
  copies: { costs: { lostSeconds: () => 1 }, library: 'cublas' },
  cutensor: { library: 'cutensor' },
  chosen: {},
};

/** The equation with each operand, and the result, in the order in which one call of cuBLAS has it. */
function plainEquation(equation: string): string {
  const [inputs, output] = equation.split('->') as [string, string];
  const [a, b] = inputs.split(',') as [string, string];
  const of = (labels: string, isIn: (label: string) => boolean): string => [...labels].filter(isIn).join('');
  const batch = of(output, (l) => a.includes(l) && b.includes(l));
  const rows = of(output, (l) => !b.includes(l));
  const columns = of(output, (l) => !a.includes(l));
  const summed = of(a, (l) => b.includes(l) && !output.includes(l));
  return `${batch}${rows}${summed},${batch}${summed}${columns}->${batch}${rows}${columns}`;
}

const MOST_AT_ONCE = 16;
const SHORT_OPERATIONS = 1e11;

function workloadOf(
  row: Row,
  sizes: Row['sizes'][number],
  kind: (typeof KINDS)[number],
  way: string,
): Workload {
  const isPlain = way === 'plain';
  const equation = isPlain ? plainEquation(row.equation) : row.equation;
  const shapes = equation
    .split('->')[0]!
    .split(',')
    .map((labels) => [...labels].map((label) => sizes[label]!));
  const steps = isPlain ? undefined : row.steps;
  const dtype: DType = kind === 'tf32' ? 'float32' : kind;
  const precision: ProductPrecision | undefined = kind === 'tf32' ? kind : undefined;
  const options = { precision, library: WAYS[way]?.library };
  const flops = (dtype.startsWith('complex') ? 8 : 2) * elementCount(Object.values(sizes));
  return {
    name: row.name,
    dtype,
    shape: shapes.flat(),
    inputs: shapes.map((shape, k) => ({
      shape: k === 0 && steps !== undefined ? shape.map((n, axis) => n * steps[axis]!) : shape,
      seed: k + 1,
      low: -1,
      dtype,
    })),
    expression: (a: Lazy, b: Lazy) =>
      einsum(
        equation,
        steps === undefined ? a : a.slice(...steps.map((step) => [null, null, step] as const)),
        b,
        options,
      ),
    flops,
    inner: flops <= SHORT_OPERATIONS ? MOST_AT_ONCE : 1,
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cuda' },
      only: { type: 'string' },
      dtypes: { type: 'string' },
      ways: { type: 'string', default: 'plain,calls,copies,cutensor,chosen' },
      seconds: { type: 'string', default: '0.05' },
      out: { type: 'string' },
    },
  });
  const isAsked = (list: string | undefined, name: string): boolean =>
    list === undefined || list.split(',').includes(name);
  const seconds = Number(values.seconds);
  for (const row of ROWS.filter(({ name }) => isAsked(values.only, name)))
    for (const sizes of row.sizes)
      for (const kind of KINDS.filter((name) => isAsked(values.dtypes, name)))
        for (const way of values.ways.split(',')) {
          Object.assign(COSTS, OWN_COSTS, WAYS[way]?.costs);
          clearPrograms();
          const workload = workloadOf(row, sizes, kind, way);
          const of = { workload: row.name, equation: row.equation, sizes, dtype: kind, way };
          const line = await measureOnGpu(workload, values.device, seconds, {
            warmSeconds: seconds / 2,
            mostSummed: 0,
          })
            .then(({ ms_median, ms_min, kernels }) => ({ ...of, ms_median, ms_min, steps: kernels }))
            .catch((error: unknown) => ({ ...of, error: String(error).slice(0, 120) }));
          const text = JSON.stringify({ ...line, choice: choiceOf(workload, values.device) });
          console.log(text);
          if (values.out !== undefined) appendFileSync(values.out, `${text}\n`);
        }
}

/** The library, its calls and the copies of a workload, as `explain()` says them. */
function choiceOf({ inputs, expression }: Workload, device: string): string {
  try {
    const { passes, steps } = expression(...inputs.map(({ shape, dtype }) => placeholder(shape, dtype!)))
      .explain({ device })
      .toJSON();
    const reasons = passes.flatMap(({ choices }) =>
      choices.map(({ library, reason }) => `${library} ${reason}`),
    );
    return [...reasons, ...steps.map(({ name }) => name)].join('; ');
  } catch (error) {
    return String(error).slice(0, 120);
  }
}

if (process.argv[1]?.endsWith('product-ways.js')) await main();
