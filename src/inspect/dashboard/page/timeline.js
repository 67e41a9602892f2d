/** The last computes on a strip, and the last recording of streams and threads. */
import { byId, html, svg } from './elements.js';
import { bytes, percent, time } from './format.js';

/** @import { DashboardState, PageTimeline } from '../state.js' */

const ROW = 24;
const BAR = 14;
const HEAD = 22;
const MEMORY = 44;
/** The strip shows at most so much of the past. */
const MOST_MS = 120_000;

/** Pixels from name to name; narrow screens have short ones above their rows. @param {number} width */
const namesOf = (width) => (width < 560 ? 92 : 168);

/** The distance of marks: 1, 2 or 5 times a power of ten. @param {number} span @param {number} most */
export function markDistance(span, most) {
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
}

/**
 * The axis above rows.
 * @param {number} from
 * @param {number} to
 * @param {(time: number) => number} at
 * @param {number} bottom
 * @param {number} origin The time that is called 0.
 */
function axis(from, to, at, bottom, origin) {
  const step = markDistance(Math.max(to - from, 1e-6), Math.max(2, (at(to) - at(from)) / 90));
  const parts = [];
  for (let k = Math.ceil((from - origin) / step); origin + k * step <= to; k++) {
    const x = at(origin + k * step).toFixed(1);
    const value = k * step;
    const text =
      value === 0
        ? origin === to
          ? 'now'
          : '0'
        : `${value < 0 ? '−' : ''}${markText(Math.abs(value), step)}`;
    parts.push(
      svg('line', { class: 'grid', x1: x, x2: x, y1: HEAD - 5, y2: bottom }),
      svg(
        'text',
        { class: 'quiet', x, y: HEAD - 9, 'text-anchor': value === 0 && origin === to ? 'end' : 'middle' },
        text,
      ),
    );
  }
  return parts;
}

/** @param {number} value @param {number} step */
function markText(value, step) {
  if (step >= 1000) return `${Number((value / 1000).toFixed(1))} s`;
  return `${Number(value.toFixed(Math.max(0, -Math.floor(Math.log10(step)))))} ms`;
}

/** A name that fits. @param {string} text @param {number} width */
function label(text, width) {
  const most = Math.floor(width / 6.2);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Draws the last computes, a row for each set of devices. @param {DashboardState} state */
export function showStrip({ ended, active, now }) {
  const parent = byId('computes-strip');
  const spans = [
    ...ended.map((one) => ({ ...one, state: /** @type {string} */ (one.outcome) })),
    ...active.map((one) => ({ ...one, begin: now - one.milliseconds, end: now, count: 1, state: 'running' })),
  ].filter(({ end }) => end > now - MOST_MS);
  if (spans.length === 0) {
    parent.replaceChildren(html('p', { class: 'empty' }, 'No computes yet.'));
    return;
  }
  const width = Math.max(300, parent.clientWidth);
  const names = namesOf(width);
  const from = Math.max(now - MOST_MS, Math.min(...spans.map(({ begin }) => begin), now - 1000));
  const at = (/** @type {number} */ moment) => names + ((moment - from) / (now - from)) * (width - names - 4);
  const rows = [...new Set(spans.map(rowOf))].sort();
  const height = HEAD + rows.length * ROW + 2;
  const bars = spans.map(({ begin, end, state, title, count, milliseconds, ...one }) => {
    const x = at(Math.max(begin, from));
    const y = HEAD + rows.indexOf(rowOf(one)) * ROW + (ROW - BAR) / 2;
    const times = count > 1 ? `${count} times, ` : '';
    return svg(
      'rect',
      {
        class: `compute-${state}`,
        x: x.toFixed(1),
        y,
        width: Math.max(2, at(end) - x).toFixed(1),
        height: BAR,
        rx: 2,
      },
      svg('title', {}, `${title}: ${state}, ${times}${time(milliseconds)}`),
    );
  });
  const lanes = rows.flatMap((row, k) => [
    svg('rect', {
      class: 'lane',
      x: names,
      y: HEAD + k * ROW + 3,
      width: width - names - 4,
      height: ROW - 6,
      rx: 3,
    }),
    svg('text', { x: 0, y: HEAD + k * ROW + ROW / 2 + 4 }, label(row, names), svg('title', {}, row)),
  ]);
  const states = [...new Set(spans.map(({ state }) => state))];
  const counts = states.map((state) => `${spans.filter((one) => one.state === state).length} ${state}`);
  const picture = svg(
    'svg',
    {
      class: 'strip',
      role: 'img',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      'aria-label': `The last computes over ${time(now - from)}: ${counts.join(', ')}`,
    },
    ...axis(from, now, at, height, now),
    ...lanes,
    ...bars,
  );
  parent.replaceChildren(picture, legend(states.map((state) => [`compute-${state}`, state])));
}

/** @param {{ devices: readonly string[] }} compute */
const rowOf = ({ devices }) => (devices.length === 0 ? 'not begun' : devices.join(', '));

/** @param {(readonly [className: string, name: string])[]} entries */
const legend = (entries) =>
  html(
    'ul',
    { class: 'legend quiet', 'aria-label': 'Colours' },
    ...entries.map(([className, name]) =>
      html(
        'li',
        {},
        svg(
          'svg',
          { class: 'swatch', viewBox: '0 0 10 10', 'aria-hidden': 'true' },
          svg('rect', { class: className, width: 10, height: 10, rx: 2 }),
        ),
        name,
      ),
    ),
  );

/** @param {string} kind */
const classOf = (kind) => `kind-${kind.replaceAll(' ', '-')}`;

/** Draws a recording. @param {PageTimeline | null} timeline */
export function drawRecording(timeline) {
  const parent = byId('recorded');
  if (timeline === null) {
    parent.replaceChildren(
      html(
        'p',
        { class: 'quiet' },
        'Streams and threads are recorded for moments while something runs, and when you ask.',
      ),
    );
    return;
  }
  const { rows, milliseconds, memory, dropped } = timeline;
  const width = Math.max(300, parent.clientWidth);
  const names = namesOf(width);
  const shares = 46;
  const at = (/** @type {number} */ unit) => names + (unit / 1000) * (width - names - shares);
  const devices = [...new Set(memory.flatMap(([device, , held]) => (held > 0 ? [device] : [])))].sort();
  const below = HEAD + rows.length * ROW;
  const height = below + devices.length * MEMORY + 4;
  const picture = svg(
    'svg',
    {
      role: 'img',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      'aria-label': `What ran in ${time(milliseconds)}: ${rows.map((row) => `${row.label} busy ${percent(row.busy)}`).join(', ')}`,
    },
    ...axis(0, milliseconds, (moment) => at((1000 * moment) / milliseconds), height, 0),
    ...rows.flatMap((row, k) => drawRow(row, HEAD + k * ROW, at, names, width)),
    ...devices.flatMap((device, k) => drawMemory(device, timeline, below + k * MEMORY, at, names)),
  );
  const kinds = [...new Set(rows.flatMap((row) => row.bars.map(([, , kind]) => kind)))];
  parent.replaceChildren(
    html('h3', {}, 'Streams and threads'),
    html(
      'p',
      { class: 'quiet' },
      `A recording of ${time(milliseconds)}${dropped > 0 ? `, of which ${dropped} spans were not kept` : ''}`,
    ),
    html('div', { class: 'scroll' }, picture),
    legend(kinds.map((kind) => [classOf(kind), kind])),
    workTable(timeline),
  );
}

/**
 * @param {PageTimeline['rows'][number]} row
 * @param {number} top
 * @param {(unit: number) => number} at
 * @param {number} names
 * @param {number} width
 */
function drawRow({ label: name, bars, busy }, top, at, names, width) {
  const middle = top + ROW / 2 + 4;
  return [
    svg('rect', { class: 'lane', x: names, y: top + 3, width: at(1000) - names, height: ROW - 6, rx: 3 }),
    svg('text', { x: 0, y: middle }, label(name, names), svg('title', {}, name)),
    ...bars.map(([begin, end, kind, text]) =>
      svg(
        'rect',
        {
          class: classOf(kind),
          x: at(begin).toFixed(1),
          y: top + (ROW - BAR) / 2,
          width: Math.max(0.6, at(end) - at(begin)).toFixed(1),
          height: BAR,
        },
        svg('title', {}, text),
      ),
    ),
    svg('text', { class: 'quiet', x: width, y: middle, 'text-anchor': 'end' }, percent(busy)),
  ];
}

/**
 * @param {string} device
 * @param {PageTimeline} timeline
 * @param {number} top
 * @param {(unit: number) => number} at
 * @param {number} names
 */
function drawMemory(device, { memory }, top, at, names) {
  const own = memory.filter(([name]) => name === device);
  const most = Math.max(1, ...own.map(([, , held]) => held));
  const bottom = top + MEMORY - 4;
  const y = (/** @type {number} */ held) => (bottom - (held / most) * (MEMORY - 12)).toFixed(1);
  const line = own.map(([, moment, held]) => `H${at(moment).toFixed(1)}V${y(held)}`).join('');
  return [
    svg('path', { class: 'memory', d: `M${names},${y(0)}${line}H${at(1000).toFixed(1)}V${y(0)}Z` }),
    svg('text', { x: 0, y: bottom - 14 }, label(`${device} memory`, names)),
    svg('text', { class: 'quiet', x: 0, y: bottom - 1 }, `to ${bytes(most)}`),
  ];
}

/** The work that took the time, and the rates of copies. @param {PageTimeline} timeline */
function workTable({ work, rates }) {
  const copies = rates.map(
    ({ device, row, rate, bytes: moved }) => `${device} ${row}: ${bytes(moved)} at ${rate.toFixed(1)} GB/s`,
  );
  const table = html(
    'table',
    {},
    html('caption', {}, 'What took the time'),
    html(
      'thead',
      {},
      html(
        'tr',
        {},
        ...['Work', 'Device'].map((text) => html('th', { scope: 'col' }, text)),
        ...['Times', 'Time'].map((text) => html('th', { scope: 'col', class: 'number' }, text)),
      ),
    ),
    html(
      'tbody',
      {},
      ...work.map(({ name, kind, device, count, milliseconds }) =>
        html(
          'tr',
          {},
          html('td', {}, kind === 'kernel' ? name : `${name === kind ? '' : `${name}, `}${kind}`),
          html('td', { class: 'device-name' }, device),
          html('td', { class: 'number' }, String(count)),
          html('td', { class: 'number' }, time(milliseconds)),
        ),
      ),
    ),
  );
  return html(
    'div',
    {},
    ...(copies.length > 0
      ? [html('p', { class: 'quiet' }, `While they ran, copies: ${copies.join('; ')}`)]
      : []),
    ...(work.length > 0 ? [table] : []),
  );
}
