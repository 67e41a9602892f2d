/**
 * A blurred and noisy signal restored by ridge regression, with sparse matrices: ten dampings solved together by LSMR, and
 * the L-curve by which one of them is chosen, the norm of the solution over the norm of the residual. The gradients
 * of all ten are compared with plain loops.
 *
 * Run it with `node dist/examples/ridge.js [--device cpu|cuda] [--size 400] [--out ridge.png]`.
 */
import { parseArgs } from 'node:util';
import { arange, compute, random, sparse } from '../src/index.js';
import { writePng } from './png.js';
import { heading, milliseconds, timed } from './support.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string' },
    size: { type: 'string', default: '400' },
    out: { type: 'string' },
  },
});
const n = Number(values.size);
const options = { device: values.device };

/** A blur of five elements' width to each side: a band of weights. */
const offsets = Array.from({ length: 21 }, (_, k) => k - 10);
const weights = offsets.map((k) => Math.exp(-0.5 * (k / 4) ** 2) / (4 * Math.sqrt(2 * Math.PI)));
const blur = sparse.diags(weights, offsets, [n, n]);

/** A slope, a step and a bump. */
const place = arange(n).div(n);
const signal = place.add(place.greater(0.4)).add(place.sub(0.75).mul(20).square().neg().exp());
const observed = blur.matmul(signal).add(random.normal(random.key(3), [n], { deviation: 0.01 }));

const damp = Array.from({ length: 10 }, (_, k) => 10 ** (-3 + k / 3));
const found = sparse.lsmr(blur, observed, { damp, atol: 1e-12, btol: 1e-12, maxiter: 20 * n });
const residuals = blur.matmul(found.x.T).sub(observed.reshape([n, 1]));
const curve = { residual: residuals.square().sum(0).sqrt(), size: found.x.square().sum(1).sqrt() };

heading(`ridge regression of ${n} unknowns, ${damp.length} dampings`);
const { value, ms } = await timed(() =>
  compute({ x: found.x, steps: found.iterations, observed, ...curve }, options),
);
console.log(`  computed in ${milliseconds(ms)}, steps ${value.steps}`);

/** The columns of a row of the band. */
const columnsOf = (row: number): readonly (readonly [column: number, weight: number])[] =>
  offsets.flatMap((offset, k) => {
    const column = row + offset;
    return column >= 0 && column < n ? [[column, weights[k]!] as const] : [];
  });

/** The largest element of Aᵀ(A x - b) + damp² x, by loops. */
function gradientOf(x: Float64Array, b: Float64Array, damping: number): number {
  const gradient = Float64Array.from(x, (each) => damping ** 2 * each);
  for (let row = 0; row < n; row++) {
    let off = -b[row]!;
    for (const [column, weight] of columnsOf(row)) off += weight * x[column]!;
    for (const [column, weight] of columnsOf(row)) gradient[column]! += weight * off;
  }
  return gradient.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
}

const all = value.x.data as Float64Array;
const b = value.observed.data as Float64Array;
const gradients = damp.map((each, k) => gradientOf(all.subarray(k * n, (k + 1) * n), b, each));
const steepest = Math.max(...gradients);
console.log(`  largest gradient by a loop: ${steepest.toExponential(1)}`);
if (!(steepest < 1e-8)) throw new Error('not a minimum');

const [across, up] = [value.residual.data, value.size.data].map((each) =>
  Array.from(each as Float64Array, (norm) => Math.log10(norm)),
);
for (const [k, each] of damp.entries())
  console.log(
    `  damp ${each.toPrecision(3)}: residual ${(10 ** across![k]!).toPrecision(4)}, size ${(10 ** up![k]!).toPrecision(4)}`,
  );

/** The distance of a point from the part of a line between two others. */
function distance([x, y]: Point, [x1, y1]: Point, [x2, y2]: Point): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}
type Point = readonly [x: number, y: number];

if (values.out !== undefined) {
  // The L-curve, both axes logarithmic.
  const [width, height, margin] = [480, 360, 30];
  const within = (numbers: readonly number[], size: number): number[] => {
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    return numbers.map((each) => margin + ((each - least) / (most - least || 1)) * (size - 2 * margin));
  };
  const xs = within(across!, width);
  const points = within(up!, height).map((each, k): Point => [xs[k]!, height - each]);
  const axes: readonly (readonly [Point, Point])[] = [
    [
      [margin / 2, margin / 2],
      [margin / 2, height - margin / 2],
    ],
    [
      [margin / 2, height - margin / 2],
      [width - margin / 2, height - margin / 2],
    ],
  ];
  const mixed = (share: number, colour: Colour, under: Colour): Colour =>
    colour.map((each, k) => Math.round(share * each + (1 - share) * under[k]!)) as unknown as Colour;
  type Colour = readonly [number, number, number];
  writePng(values.out, width, height, (row, column) => {
    const at: Point = [column, row];
    const cover = (far: number, radius: number): number => Math.min(1, Math.max(0, radius + 0.5 - far));
    const toAxes = Math.min(...axes.map(([from, to]) => distance(at, from, to)));
    const toCurve = Math.min(...points.slice(1).map((to, k) => distance(at, points[k]!, to)));
    const toPoints = Math.min(...points.map((point) => distance(at, point, point)));
    let colour: Colour = [255, 255, 255];
    colour = mixed(cover(toAxes, 0.7), [90, 90, 90], colour);
    colour = mixed(cover(toCurve, 1), [70, 130, 200], colour);
    colour = mixed(cover(toPoints, 4), [220, 110, 50], colour);
    return [...colour];
  });
}
