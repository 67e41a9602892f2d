/** Rates from counters that grow, with the last minute of each as a line. */
import { byId, html, part, say, set, svg } from './elements.js';
import { bytes, count, rate } from './format.js';

/** @import { Counters, DashboardState } from '../state.js' */

const LENGTH = 120;
const WIDTH = 64;
const HEIGHT = 24;

/** The last values of something. */
export class Series {
  /** @type {number[]} */
  values = [];

  /** @param {number} value */
  add(value) {
    this.values.push(value);
    if (this.values.length > LENGTH) this.values.shift();
  }

  get last() {
    return this.values.at(-1) ?? 0;
  }

  /** The line through the values, the newest at the right. */
  path() {
    const most = Math.max(...this.values, 1e-9);
    const step = WIDTH / (LENGTH - 1);
    const first = WIDTH - (this.values.length - 1) * step;
    return this.values
      .map((value, k) => {
        const y = HEIGHT - 2 - (value / most) * (HEIGHT - 4);
        return `${k === 0 ? 'M' : 'L'}${(first + k * step).toFixed(1)},${y.toFixed(1)}`;
      })
      .join('');
  }
}

/** A line for a series. */
export const spark = () =>
  svg('svg', { class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' }, svg('path'));

/**
 * @param {Element} line
 * @param {Series} series
 */
export const drawSpark = (line, series) =>
  set(/** @type {Element} */ (line.firstElementChild), { d: series.path() || 'M0,0' });

/**
 * @typedef {object} Rate
 * @property {string} name
 * @property {(counters: Counters) => number} of
 * @property {(perSecond: number) => string} print
 * @property {boolean} [always] Whether it is shown before it was ever above 0.
 */

/** @type {readonly Rate[]} */
const RATES = [
  {
    name: 'Kernels and calls',
    of: ({ kernels, calls }) => kernels + calls,
    print: (value) => `${count(value)}/s`,
    always: true,
  },
  { name: 'Memory traffic of kernels', of: ({ kernelBytes }) => kernelBytes, print: rate, always: true },
  { name: 'Bus, to devices', of: ({ bytesIn }) => bytesIn, print: rate },
  { name: 'Bus, from devices', of: ({ bytesOut }) => bytesOut, print: rate },
  { name: 'Between devices', of: ({ bytesBetween }) => bytesBetween, print: rate },
  { name: 'Files, read', of: ({ bytesRead }) => bytesRead, print: rate },
  { name: 'Files, written', of: ({ bytesWritten }) => bytesWritten, print: rate },
];

const shown = RATES.map((each) => {
  const element = html(
    'div',
    { class: 'rate' },
    html('span', { class: 'quiet' }, each.name),
    html('strong', { 'data-part': 'value' }, '–'),
    spark(),
  );
  return { ...each, element, series: new Series(), line: /** @type {Element} */ (element.lastElementChild) };
});

/** @type {DashboardState | undefined} */
let before;

/** @param {DashboardState} state */
export function showRates(state) {
  const seconds = before === undefined ? 0 : (state.now - before.now) / 1000;
  for (const { of, print, always, element, series, line } of shown) {
    const total = of(state.counters);
    const isShown = always === true || total > 0;
    if (isShown && !element.isConnected) byId('rates').append(element);
    if (before === undefined || seconds <= 0) continue;
    series.add(Math.max(0, (total - of(before.counters)) / seconds));
    say(part(element, 'value'), print(series.last));
    set(element, { title: total >= 1e3 && print === rate ? `${bytes(total)} so far` : undefined });
    drawSpark(line, series);
  }
  before = state;
}
