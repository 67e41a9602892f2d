/** Rows of random programs (`random-graph.ts`) of loops whose states are sorted, indexed and written to in each step. */
import { isFloat } from '../../src/graph/dtype.js';
import { iterate, type Lazy, whileLoop } from '../../src/index.js';
import type { Draw } from './random.js';
import {
  callOf,
  indicesOf,
  integersTo,
  isReal,
  maskOf,
  type Operand,
  type Row,
  valuesFor,
} from './random-calls.js';

/** Steps that keep shape and dtype, and integers small. */
const STEPS: readonly Row[] = [
  (x) => callOf(x, 'sort', [0]),
  (x, draw) => callOf(x, 'roll', [draw.below(5) - 2, 0]),
  (x, draw) => callOf(x, 'take', [indicesOf(draw, [x.lazy.shape[0]!], x.lazy.shape[0]!), 0]),
  (x) => callOf(x, 'takeAlongAxis', [callOf(x, 'argsort', [0]), 0]),
  (x, draw) => callOf(x, 'take', [placesIn(x, draw), 0]),
  (x, draw) => {
    const rows = placesIn(x, draw);
    return callOf(callOf(x, 'at', [rows]), draw.of(['set', 'max', 'min']), [
      valuesFor(draw, x, x.lazy.shape),
    ]);
  },
  (x, draw) => {
    const rows = indicesOf(draw, [3], x.lazy.shape[0]!);
    const values = valuesFor(draw, x, [3, ...x.lazy.shape.slice(1)]);
    return callOf(callOf(x, 'at', [rows]), draw.of(['set', 'max', 'min']), [values]);
  },
  (x) => {
    const largest = callOf(x, 'argmax', []);
    const line = callOf(callOf(callOf(x, 'flatten', []), 'at', [largest, { mode: 'wrap' }]), 'set', [1]);
    return callOf(line, 'reshape', [[...x.lazy.shape]]);
  },
  (x) => callOf(x, 'cumulativeMax', [0, { reverse: true }]),
  (x, draw) => {
    const scanned = callOf(x, 'cumulativeSum', [0, { exclusive: draw.below(2) === 0 }]);
    return callOf(callOf(scanned, 'remainder', [7]), 'astype', [x.lazy.dtype]);
  },
  (x, draw) => callOf(callOf(x, 'at', [maskOf(draw, x.lazy.shape)]), 'set', [2]),
  (x) => {
    const chosen = callOf(x, 'slice', [callOf(x, 'greater', [0])]);
    const rest = callOf(callOf(callOf(chosen, 'sum', []), 'remainder', [5]), 'astype', [x.lazy.dtype]);
    return callOf(callOf(x, 'add', [rest]), 'remainder', [13]);
  },
  (x, draw) => callOf(x, 'partition', [draw.below(x.lazy.shape[0]!), 0]),
  (x) => callOf(callOf(x, 'mul', [3]), 'remainder', [17]),
];

/** As many rows of a state as it has, which its elements say. Nothing tells ahead that they are in range. */
function placesIn(x: Operand, draw: Draw): Operand {
  const rows = x.lazy.shape[0]!;
  const first = callOf(callOf(x, 'flatten', []), 'slice', [[0, rows]]);
  const places = callOf(callOf(first, 'remainder', [rows]), 'astype', [draw.of(['int32', 'int64'])]);
  return callOf(indicesOf(draw, [rows], rows), 'take', [places]);
}

/** A state after some steps, or while a condition holds; floats are integers, so that sums of them are exact. */
const loop: Row = (x, draw, state) => {
  const { dtype } = x.lazy;
  const isSmall = x.bound !== undefined && x.bound <= MOST;
  if (!isReal(x) || !x.exact || dtype === 'bool' || (isFloat(dtype) && !isSmall)) return undefined;
  const bodies = Array.from({ length: 1 + draw.below(3) }, () => draw.of(STEPS));
  let code = '';
  const step = (s: Lazy): Lazy => {
    const start: Operand = { lazy: s, code: 's', ...integersTo(MOST) };
    const next = bodies.reduce((y, body) => body(y, draw, state) ?? y, start);
    code = next.code;
    return next.lazy;
  };
  const steps = 1 + draw.below(5);
  const known = { exact: true, bound: isFloat(dtype) ? MOST : undefined };
  if (draw.below(2) === 0) {
    const lazy = iterate(steps, x.lazy, step);
    return { lazy, code: `iterate(${steps}, ${x.code}, (s) => ${code})`, ...known };
  }
  const lazy = whileLoop((s) => s.max().less(9), step, x.lazy, { max: steps });
  const condition = '(s) => s.max().less(9)';
  return { lazy, code: `whileLoop(${condition}, (s) => ${code}, ${x.code}, { max: ${steps} })`, ...known };
};

/** Of states that are floats. */
const MOST = 100;

export const LOOPS: readonly Row[] = [loop];
