/**
 * The numbers of `flights.ts` again, by plain loops in float64: what its results are checked against.
 */
import type { Flights } from './flights-data.js';

const HOUR = 3.6e9; // in microseconds
const DAY = 24 * HOUR;

/** The columns in the order of the tables: delay, distance, hour, weekday (Monday is 0). */
export function columnsByLoop({ count, date, delay, distance }: Flights): Float64Array[] {
  const hour = new Float64Array(count);
  const weekday = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const time = Number(date[i]);
    hour[i] = Math.floor((time % DAY) / HOUR);
    weekday[i] = (Math.floor(time / DAY) + 3) % 7;
  }
  return [Float64Array.from(delay), Float64Array.from(distance), hour, weekday];
}

const meanOf = (values: Float64Array): number => {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
};

export interface ColumnSummary {
  readonly mean: number;
  readonly deviation: number;
  readonly meanAbsolute: number;
}

export function summaryByLoop(values: Float64Array): ColumnSummary {
  const mean = meanOf(values);
  let squares = 0;
  let absolutes = 0;
  for (const value of values) {
    squares += (value - mean) ** 2;
    absolutes += Math.abs(value - mean);
  }
  return {
    mean,
    deviation: Math.sqrt(squares / values.length),
    meanAbsolute: absolutes / values.length,
  };
}

export function correlationByLoop(
  x: Float64Array,
  y: Float64Array,
  a: ColumnSummary,
  b: ColumnSummary,
): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += (x[i]! - a.mean) * (y[i]! - b.mean);
  return sum / x.length / (a.deviation * b.deviation);
}

/** How many values are in [low, high). */
export function countByLoop(values: Int32Array, low: number, high: number): number {
  let count = 0;
  for (const value of values) if (value >= low && value < high) count++;
  return count;
}

/** The share of flights of [low, high) miles that were more than `minutes` late. */
export function lateShareByLoop(
  { count, delay, distance }: Flights,
  low: number,
  high: number,
  minutes: number,
): number {
  let all = 0;
  let late = 0;
  for (let i = 0; i < count; i++) {
    if (distance[i]! < low || distance[i]! >= high) continue;
    all++;
    if (delay[i]! > minutes) late++;
  }
  return late / all;
}
