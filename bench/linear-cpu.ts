/**
 * Dense linear algebra on the CPU beside NumPy and SciPy, in milliseconds of processor time:
 * `node dist/bench/linear-cpu.js [--only name,name] [--sizes 100,500] [--dtype float64] [--seconds 2]
 * [--compiled]` prints a JSON line for each function and size, the least of several runs, `--compiled` of functions that
 * `compile` made, as JAX's are; `linear_cpu.py` beside it does the same with NumPy, SciPy and JAX.
 * `--table file …` makes a table in Markdown of such lines. Which library there is, WEFT_LAPACK says.
 */
import { parseArgs } from 'node:util';
import { cpuInfo } from '../src/exec/native/native.js';
import { compile, compute, eye, type Lazy, linalg, persist, random } from '../src/index.js';
import { measure, table } from './processor-time.js';

/** Of a size `500`, or of a stack `4096x16`. */
function shapeOf(size: string): readonly number[] {
  const numbers = size.split('x').map(Number);
  return [...numbers, numbers.at(-1)!];
}

const FUNCTIONS: Readonly<Record<string, (a: Lazy) => readonly Lazy[]>> = {
  solve: (a) => [linalg.solve(a, a.slice('...', [0, 1]))],
  inv: (a) => [linalg.inv(a)],
  det: (a) => [linalg.det(a)],
  slogdet: (a) => Object.values(linalg.slogdet(a)),
  lu: (a) => Object.values(linalg.lu(a)),
  cholesky: (a) => [linalg.cholesky(a)],
  qr: (a) => Object.values(linalg.qr(a)),
  svd: (a) => Object.values(linalg.svd(a)),
  svdvals: (a) => [linalg.svdvals(a)],
  eigh: (a) => Object.values(linalg.eigh(a)),
  eigvalsh: (a) => [linalg.eigvalsh(a)],
  eig: (a) => Object.values(linalg.eig(a)),
  lstsq: (a) => Object.values(linalg.lstsq(a, a.slice('...', [0, 1]))),
  pinv: (a) => [linalg.pinv(a)],
  matrixRank: (a) => [linalg.matrixRank(a)],
  expm: (a) => [linalg.expm(a)],
};

/** A resident matrix, or a stack of small ones; of `cholesky` a positive definite one. */
async function matrixOf(name: string, size: string, dtype: string): Promise<Lazy> {
  const shape = shapeOf(size);
  const real = random.normal(random.key(1), [...shape], { dtype: 'float64' });
  const n = shape.at(-1)!;
  const a = dtype.startsWith('complex') ? real.add(real.flip(-1).mul({ re: 0, im: 1 })) : real;
  const given =
    name === 'cholesky'
      ? a.matmul(a.matrixTranspose().conj()).add(eye(n).mul(n))
      : name === 'expm'
        ? a.div(Math.sqrt(n))
        : a;
  const [x] = await persist([given.astype(dtype as 'float64')], { device: 'cpu' });
  return x;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      only: { type: 'string' },
      sizes: { type: 'string', default: '16,100,500,1000,1024x16' },
      dtype: { type: 'string', default: 'float64' },
      seconds: { type: 'string', default: '2' },
      compiled: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.table) return console.log(table(positionals));
  const library = cpuInfo().lapack === null ? '' : `, ${cpuInfo().lapack!.name}`;
  const peer = `Weft${library}${values.compiled ? ', compiled' : ''}`;
  for (const name of values.only?.split(',') ?? Object.keys(FUNCTIONS)) {
    for (const size of values.sizes.split(',')) {
      const a = await matrixOf(name, size, values.dtype);
      const resultsOf = (x: Lazy): [Lazy] => [...FUNCTIONS[name]!(x)] as [Lazy];
      const compiled = compile(resultsOf, { device: 'cpu' });
      const run = (): Promise<unknown> =>
        values.compiled ? compiled(a) : compute(resultsOf(a), { device: 'cpu' });
      const times = await measure(run, Number(values.seconds));
      console.log(JSON.stringify({ function: name, size, dtype: values.dtype, peer, ...times }));
    }
  }
}

await main();
