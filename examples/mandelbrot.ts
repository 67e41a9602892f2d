/**
 * The Mandelbrot set by escape time: a loop that ends for each point by itself, in a function of scalars.
 *
 * Run it with `node dist/examples/mandelbrot.js [--device cpu|cuda]`.
 */
import { elementwise, linspace } from '../src/index.js';
import { compareWithLoop } from './support.js';

const SIZE = 512;

const steps = (a: number, b: number): number => {
  let [x, y, n] = [0, 0, 0];
  while (n < 200 && x * x + y * y <= 4) {
    [x, y] = [x * x - y * y + a, 2 * x * y + b];
    n++;
  }
  return n;
};

const columns = linspace(-2, 0.5, SIZE);
const rows = linspace(-1.25, 1.25, SIZE).expandDims(1);

await compareWithLoop(
  'steps until a point of the plane escapes, their mean along each row',
  elementwise(steps)(columns, rows).mean(1),
  () =>
    Float64Array.from({ length: SIZE }, (_, i) => {
      let sum = 0;
      for (let j = 0; j < SIZE; j++)
        sum += steps(-2 + (2.5 / (SIZE - 1)) * j, -1.25 + (2.5 / (SIZE - 1)) * i);
      return sum / SIZE;
    }),
  2,
);
