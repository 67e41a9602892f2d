/**
 * The main job: what three million flights say about delays, as one lazy program. Means, deviations,
 * correlations by a matrix product, a histogram and shares by masks and sums: one compute, and the work they
 * share is done once.
 *
 * Run it with `npm run demo`, or `node dist/examples/flights.js [--device cpu|cuda]`. It checks itself
 * against plain loops.
 */
import { compute, explain, type Lazy, lazy, type NDArray, stack } from '../src/index.js';
import {
  columnsByLoop,
  correlationByLoop,
  countByLoop,
  lateShareByLoop,
  summaryByLoop,
} from './flights-check.js';
import { type Flights, readFlights } from './flights-data.js';
import {
  heading,
  maxDifference,
  milliseconds,
  optionsFromCommandLine,
  printKernels,
  printTable,
  timed,
} from './support.js';

const COLUMNS = ['delay', 'distance', 'hour', 'weekday'];
const HOUR = 3_600_000_000n; // in microseconds
/** Minutes late, from each edge to the next. */
const DELAY_EDGES = [-Infinity, -30, -15, 0, 15, 30, 60, 120, 240, Infinity];
/** Miles. */
const DISTANCE_EDGES = [0, 250, 500, 1000, 1500, 2500, Infinity];
const LATE_MINUTES = 15;

const pairs = (edges: readonly number[]): [number, number][] =>
  edges.slice(1).map((high, k) => [edges[k]!, high]);

/** Which elements are in [low, high). */
function between(x: Lazy, [low, high]: [number, number]): Lazy {
  if (low === -Infinity) return x.less(high);
  if (high === Infinity) return x.greaterEqual(low);
  return x.greaterEqual(low).logicalAnd(x.less(high));
}

/** The whole analysis: no number has been computed when this returns. */
function analyse(flights: Flights) {
  const date = lazy(flights.date);
  const delay = lazy(flights.delay);
  const distance = lazy(flights.distance);
  const hour = date.floorDivide(HOUR).remainder(24n);
  const weekday = date
    .floorDivide(24n * HOUR)
    .add(3n)
    .remainder(7n); // 1970 began on a Thursday; Monday is 0

  const columns = stack([delay, distance, hour, weekday].map((column) => column.astype('float32')));
  const mean = columns.mean(1, { keepdims: true });
  const deviation = columns.std(1, { keepdims: true });
  const standardized = columns.sub(mean).div(deviation);

  const late = delay.greater(LATE_MINUTES);
  const bands = pairs(DISTANCE_EDGES).map((band) => between(distance, band));
  return {
    mean,
    deviation,
    meanAbsolute: columns.sub(mean).abs().mean(1),
    correlation: standardized.matmul(standardized.T).div(flights.count),
    histogram: stack(pairs(DELAY_EDGES).map((bin) => between(delay, bin).countNonzero())),
    lateShare: stack(bands.map((band) => band.logicalAnd(late).countNonzero().div(band.countNonzero()))),
  };
}

type Analysis = ReturnType<typeof analyse>;
type Results = Record<keyof Analysis, number[]>;

const numbers = (array: NDArray): number[] => Array.from<number | bigint, number>(array.data, Number);

async function run(analysis: Analysis, options: ReturnType<typeof optionsFromCommandLine>): Promise<Results> {
  const names = Object.keys(analysis) as (keyof Analysis)[];
  const arrays = await compute(Object.values(analysis), options);
  return Object.fromEntries(names.map((name, k) => [name, numbers(arrays[k]!)])) as Results;
}

const range = ([low, high]: [number, number], unit: string): string => {
  if (low === -Infinity) return `below ${high} ${unit}`;
  return high === Infinity ? `${low} ${unit} and more` : `${low} to ${high} ${unit}`;
};
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function print(results: Results, count: number): void {
  const { mean, deviation, meanAbsolute, correlation, histogram, lateShare } = results;
  heading('Columns');
  printTable(
    ['', 'mean', 'deviation', 'mean absolute deviation'],
    COLUMNS.map((name, k) => [name, ...[mean, deviation, meanAbsolute].map((list) => list[k]!.toFixed(3))]),
  );
  heading('Correlation');
  printTable(
    ['', ...COLUMNS],
    COLUMNS.map((name, i) => [
      name,
      ...COLUMNS.map((_, j) => correlation[i * COLUMNS.length + j]!.toFixed(4)),
    ]),
  );
  const most = Math.max(...histogram);
  heading('Delay');
  printTable(
    ['', 'flights', 'share', ''],
    pairs(DELAY_EDGES).map((bin, k) => [
      range(bin, 'min'),
      histogram[k]!.toLocaleString('en-US'),
      percent(histogram[k]! / count),
      '#'.repeat(Math.round((40 * histogram[k]!) / most)).padEnd(40),
    ]),
  );
  heading(`Flights more than ${LATE_MINUTES} minutes late, by distance`);
  printTable(
    ['', 'share'],
    pairs(DISTANCE_EDGES).map((band, k) => [range(band, 'miles'), percent(lateShare[k]!)]),
  );
}

/** Compares with plain loops in float64; throws where a number is off. */
function check(results: Results, flights: Flights): void {
  const columns = columnsByLoop(flights);
  const summaries = columns.map(summaryByLoop);
  const loops: Results = {
    mean: summaries.map(({ mean }) => mean),
    deviation: summaries.map(({ deviation }) => deviation),
    meanAbsolute: summaries.map(({ meanAbsolute }) => meanAbsolute),
    correlation: columns.flatMap((x, i) =>
      columns.map((y, j) => correlationByLoop(x, y, summaries[i]!, summaries[j]!)),
    ),
    histogram: pairs(DELAY_EDGES).map(([low, high]) => countByLoop(flights.delay, low, high)),
    lateShare: pairs(DISTANCE_EDGES).map(([low, high]) => lateShareByLoop(flights, low, high, LATE_MINUTES)),
  };
  const allowed: Record<keyof Results, number> = {
    mean: 1e-2,
    deviation: 1e-2,
    meanAbsolute: 1e-2,
    correlation: 1e-5,
    histogram: 0,
    lateShare: 1e-12,
  };
  heading('Checked against plain loops in float64');
  const rows = (Object.keys(loops) as (keyof Results)[]).map((name) => ({
    name,
    difference: maxDifference(results[name], loops[name]),
  }));
  printTable(
    ['', 'max difference', 'allowed'],
    rows.map(({ name, difference }) => [name, difference.toExponential(1), String(allowed[name])]),
  );
  const wrong = rows.filter(({ name, difference }) => !(difference <= allowed[name]));
  if (wrong.length > 0) throw new Error(`wrong: ${wrong.map(({ name }) => name).join(', ')}`);
}

const options = optionsFromCommandLine();
const load = await timed(readFlights);
const flights = load.value;
const analysis = analyse(flights);
const first = await timed(() => run(analysis, options));
const again = await timed(() => run(analyse(flights), options));

print(again.value, flights.count);
heading('How it ran');
printKernels(explain(Object.values(analysis), options));
console.log(`  ${flights.count.toLocaleString('en-US')} flights read in ${milliseconds(load.ms)}`);
console.log(
  `  first compute ${milliseconds(first.ms)}, planned and compiled; the same again ${milliseconds(again.ms)}`,
);
check(again.value, flights);
