/**
 * Direct solves of sparse systems on a GPU: times of the factors and of solves, and residuals, of Poisson's equation in two
 * and three dimensions, then systems of every dtype, badly pivoted and singular ones.
 *
 *     node dist/test/devices/direct-solves.js --device cuda [--plane 1000] [--cube 64] [--cpu]
 */
import { parseArgs } from 'node:util';
import {
  arange,
  compute,
  type DType,
  type Lazy,
  random,
  type SparseMatrix,
  sparse,
} from '../../src/index.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    plane: { type: 'string', default: '1000' },
    cube: { type: 'string', default: '64' },
    cpu: { type: 'boolean', default: false },
  },
});
const { device } = values;

const line = (n: number): SparseMatrix => sparse.diags([-1, 2, -1], [-1, 0, 1], [n, n]);
function poisson(n: number, dimensions: number): SparseMatrix {
  const one = sparse.eye(n);
  const terms = Array.from({ length: dimensions }, (_, k) =>
    Array.from({ length: dimensions }, (_, j) => (j === k ? line(n) : one)).reduce((a, b) =>
      sparse.kron(a, b),
    ),
  );
  return terms.reduce((a, b) => a.add(b));
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const begin = performance.now();
  return [await work(), performance.now() - begin];
}

/** ‖A x - b‖ / (‖A‖ ‖x‖ + ‖b‖), all of largest elements. */
async function backwardError(a: SparseMatrix, x: Lazy, b: Lazy): Promise<number> {
  const largest = (v: Lazy): Lazy => v.abs().max().astype('float64');
  const size = largest(a.abs().sum(1)).multiply(largest(x)).add(largest(b));
  const [error] = await compute([largest(a.matmul(x).subtract(b)).divide(size)], { device });
  return Number(error!.item());
}

type Solver = (a: SparseMatrix) => Promise<(b: Lazy) => Lazy>;
const SOLVERS: Readonly<Record<string, Solver>> = {
  factorized: (a) => sparse.factorized(a, { device }),
  cholesky: async (a) => {
    const factor = await sparse.cholesky(a, { device });
    return (b) => factor.solve(b);
  },
  ...(values.cpu ? { 'by the CPU': (a) => sparse.factorized(a, { device, order: 'amd' }) } : {}),
};

const LONG = 2000;
console.log('ms: factors first, again; solve first, least of 5; backward error');
for (const [name, matrix] of [
  ['small', poisson(30, 2)],
  [`${values.plane}^2`, poisson(Number(values.plane), 2)],
  [`${values.cube}^3`, poisson(Number(values.cube), 3)],
] as const) {
  const a = await matrix.persist({ device });
  const b = await arange(a.shape[0]).remainder(13).subtract(5).astype('float64').persist({ device });
  for (const [how, factors] of Object.entries(SOLVERS)) {
    const [made, first] = await timed(() => factors(a));
    // What takes long takes as long again.
    const [solve, again] = first > LONG ? ([made, first] as const) : await timed(() => factors(a));
    const times: number[] = [];
    let x: Lazy = b;
    for (let run = 0; run < 6; run++) {
      const [solved, time] = await timed(() => solve(b).persist({ device }));
      x = solved;
      times.push(time);
    }
    const [isSame] = await compute([solve(b).equal(x).all().logicalAnd(made(b).equal(x).all())], { device });
    const error = await backwardError(a, x, b);
    const round = (time: number): string => time.toFixed(1).padStart(9);
    console.log(
      `${name.padEnd(8)} ${how.padEnd(12)}`,
      round(first),
      round(again),
      round(times[0]!),
      round(Math.min(...times.slice(1))),
      error.toExponential(1),
      isSame!.item() === true ? 'same bits' : 'OTHER BITS',
    );
  }
}

for (const dtype of ['float32', 'float64', 'complex64', 'complex128'] as readonly DType[]) {
  const unit = dtype.startsWith('complex') ? { re: 0, im: 0.5 } : 0.5;
  const a = poisson(20, 2)
    .astype(dtype)
    .add(sparse.eye(400, 400, 1, { dtype }).multiply(unit));
  const b = arange(1200).sin().astype(dtype).reshape([400, 3]);
  const error = await backwardError(a, await sparse.spsolve(a, b, { device }), b);
  const skew = sparse.eye(400, 400, -1, { dtype }).multiply(unit);
  const h = poisson(20, 2)
    .astype(dtype)
    .add(skew)
    .add(dtype.startsWith('complex') ? skew.T.conj() : skew.T);
  const positive = h.add(sparse.eye(400, 400, 0, { dtype }));
  const factor = await sparse.cholesky(positive, { device });
  const other = await backwardError(positive, factor.solve(b), b);
  console.log(dtype.padEnd(10), 'spsolve', error.toExponential(1), 'cholesky', other.toExponential(1));
}

const HARD: Readonly<Record<string, SparseMatrix>> = {
  singular: sparse.fromDense([
    [1, 2],
    [2, 4],
  ]),
  'zero column': sparse.diags([[1, 0, 2]]),
  NaN: sparse.diags([[1, Number.NaN]]),
  'zero diagonal': sparse.fromDense([
    [0, 2],
    [3, 0],
  ]),
  'small diagonal': sparse
    .random(random.key(1), [2000, 2000], { density: 0.002 })
    .add(sparse.eye(2000).multiply(1e-9))
    .add(sparse.eye(2000, 2000, 7)),
};
for (const [name, a] of Object.entries(HARD)) {
  const b = arange(a.shape[0]).add(1);
  const outcome = await sparse
    .spsolve(a, b, { device })
    .then(async (x) => (await backwardError(a, x, b)).toExponential(1))
    .catch((error: unknown) => String(error).split('\n')[0]);
  console.log(name.padEnd(16), outcome);
}
for (const [name, a] of [
  ['indefinite', sparse.diags([[1, -1, 2]])],
  ['semidefinite', sparse.diags([[1, 0, 2]])],
] as const) {
  const outcome = await sparse.cholesky(a, { device }).then(
    () => 'NO ERROR',
    (error: unknown) => String(error).split('\n')[0],
  );
  console.log(name.padEnd(16), outcome);
}
