/**
 * The potential of charges in a grounded box: Poisson's equation on a grid by conjugate gradients, with a sparse matrix of
 * five points a row, without and with a preconditioner of its triangles. The residual is compared with plain loops.
 *
 * Run it with `node dist/examples/poisson.js [--device cpu|cuda] [--size 128] [--out poisson.png]`.
 */
import { parseArgs } from 'node:util';
import { compute, type Lazy, lazy, sparse } from '../src/index.js';
import { writePng } from './png.js';
import { heading, milliseconds, timed } from './support.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string' },
    size: { type: 'string', default: '128' },
    out: { type: 'string' },
  },
});
const n = Number(values.size);
const options = { device: values.device };

const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [n, n]);
const identity = sparse.eye(n);
const laplacian = await sparse.kron(line, identity).add(sparse.kron(identity, line)).persist(options);

/** Two plates with charges of either sign, and a point between them. */
const charges = new Float64Array(n * n);
const at = (share: number): number => Math.floor(share * n);
for (let k = at(0.25); k < at(0.75); k++) {
  charges[k * n + at(0.3)] = 1;
  charges[k * n + at(0.7)] = -1;
}
charges[at(0.2) * n + at(0.5)] = 12;
const b = lazy(charges);

/** Symmetric Gauss-Seidel: M = L D⁻¹ Lᵀ of the lower triangle L and the diagonal D. */
const [lower, upper] = [laplacian.tril(), laplacian.triu()];
const diagonal = laplacian.diagonal();
const M = {
  shape: laplacian.shape,
  matvec: (r: Lazy): Lazy => {
    const half = sparse.solveTriangular(lower, r).mul(diagonal);
    return sparse.solveTriangular(upper, half, { lower: false });
  },
};

heading(`Poisson's equation on ${n} by ${n}`);
const plain = sparse.cg(laplacian, b, { rtol: 1e-8, history: 400 });
const turned = sparse.cg(laplacian, b, { rtol: 1e-8, M });
const { value: first, ms } = await timed(() => compute(plain, options));
const { value: second, ms: ms2 } = await timed(() => compute(turned, options));
console.log(`  ${first.iterations} steps in ${milliseconds(ms)}`);
console.log(`  ${second.iterations} steps with Gauss-Seidel in ${milliseconds(ms2)}`);
const norms = Array.from(first.history.data as Float64Array).filter((norm) => !Number.isNaN(norm));
console.log(`  residual from ${norms[0]!.toPrecision(3)} to ${norms.at(-1)!.toExponential(1)}`);
if (!(Number(second.iterations.item()) < Number(first.iterations.item())))
  throw new Error('the preconditioner takes more steps');

/** The largest difference of the charges and what a potential has as Laplacian, by a loop over the grid. */
function farthest(potential: Float64Array): number {
  const of = (row: number, column: number): number =>
    row < 0 || column < 0 || row >= n || column >= n ? 0 : potential[row * n + column]!;
  let most = 0;
  for (let row = 0; row < n; row++)
    for (let column = 0; column < n; column++) {
      const around = of(row - 1, column) + of(row + 1, column) + of(row, column - 1) + of(row, column + 1);
      most = Math.max(most, Math.abs(4 * of(row, column) - around - charges[row * n + column]!));
    }
  return most;
}

const potential = first.x.data as Float64Array;
for (const x of [potential, second.x.data as Float64Array]) {
  const off = farthest(x);
  console.log(`  largest residual by a loop: ${off.toExponential(1)}`);
  if (!(off < 1e-5)) throw new Error('not a solution');
}

if (values.out !== undefined) {
  const most = potential.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
  // Red is positive, blue negative; every eighth of the largest potential a line.
  writePng(values.out, n, n, (row, column) => {
    const share = potential[row * n + column]! / most;
    const level = Math.floor(share * 16);
    const isEdge = [potential[row * n + column + 1], potential[(row + 1) * n + column]].some(
      (other) => other !== undefined && Math.floor((other / most) * 16) !== level,
    );
    const pale = Math.round(255 * (1 - Math.sqrt(Math.abs(share))));
    const dim = (value: number): number => (isEdge ? Math.round(value * 0.75) : value);
    return share > 0 ? [dim(255), dim(pale), dim(pale)] : [dim(pale), dim(pale), dim(255)];
  });
}
