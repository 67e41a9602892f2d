/**
 * Timelines as pictures: rows are streams and groups of threads, colours are kinds of work, an axis in
 * milliseconds above, the memory that devices hold below, a legend at the end. Called by `Timeline`.
 */
import { formatBytes } from '../graph/format.js';
import { escaped } from '../host/display.js';
import { devicesOf } from './chrome-trace.js';
import type { SpanKind, TimelineData } from './timeline-data.js';
import { barsOf, FINE, type Row, rowsToDraw } from './timeline-rows.js';
import { busyOf } from './timeline-summary.js';

/** Options of `Timeline.toSVG`. */
export interface PictureOptions {
  /** Pixels, axis and names included; 1100 where it is not given. */
  readonly width?: number | undefined;
  /** Milliseconds of the timeline to show; all of it where they are not given. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Whether to show what threads of the host did; without it, they are shown. */
  readonly host?: boolean | undefined;
  /** The title above the picture, also for screen readers. */
  readonly title?: string | undefined;
}

/** Different in print and to people who see fewer colours; by kind. */
const COLOURS: Readonly<Record<SpanKind, string>> = {
  kernel: '#2f6fb0',
  library: '#7a4fa3',
  graph: '#1b9aaa',
  zero: '#9aa5b1',
  'copy in': '#2e9e5b',
  'copy out': '#e08214',
  'copy within': '#b8860b',
  'copy between': '#c2185b',
  queue: '#8d99ae',
  stage: '#a7c957',
  read: '#56b4a9',
  write: '#d98880',
  compile: '#c0392b',
  load: '#6c5b7b',
  plan: '#4a5568',
  codegen: '#718096',
  program: '#a0aec0',
};
const KINDS = Object.keys(COLOURS) as SpanKind[];

const NAMES = 190;
const SHARES = 64;
const ROW = 22;
const BAR = 15;
const MEMORY = 46;
const HEAD = 44;
const LEGEND = 20;

/** The horizontal scale. */
interface Scale {
  readonly from: number;
  readonly to: number;
  readonly at: (time: number) => number;
}

const px = (value: number): string => String(Math.round(value * 10) / 10);

export function drawTimeline(timeline: TimelineData, options: PictureOptions = {}): string {
  const { width = 1100, from = 0, to = timeline.duration, host = true, title } = options;
  const name = escaped(title ?? `timeline of ${timeline.duration.toFixed(2)} ms`);
  const right = width - SHARES;
  const span = Math.max(to - from, 1e-6);
  const scale: Scale = { from, to, at: (time) => NAMES + ((time - from) / span) * (right - NAMES) };
  const rows = rowsToDraw(timeline, host);
  const bodies = rows.map((row, k) => drawRow(row, HEAD + k * ROW, scale));
  const below = HEAD + rows.length * ROW;
  const memories = devicesOf(timeline).flatMap((device, k, all) => {
    const isShown = device !== 'host' && timeline.memory.some((sample) => sample.device === device);
    const before = all.slice(0, k).filter((other) => other !== 'host').length;
    return isShown ? [drawMemory(timeline, device, below + 8 + before * MEMORY, scale)] : [];
  });
  const legendAt = below + 8 + memories.length * MEMORY + 8;
  const kinds = KINDS.filter((kind) => rows.some(({ spans }) => spans.some((one) => one.kind === kind)));
  const height = legendAt + Math.ceil(kinds.length / perLine(width)) * LEGEND + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="11">`,
    `<title>${name}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="8" y="16" font-size="13" font-weight="600" fill="#1a202c">${name}</text>`,
    ...drawAxis(scale, right, below + memories.length * MEMORY),
    `<text x="${width - 6}" y="${HEAD - 8}" text-anchor="end" fill="#718096">busy</text>`,
    ...bodies,
    ...memories,
    ...drawLegend(kinds, legendAt, width),
    '</svg>',
    '',
  ].join('\n');
}

/** The distance of marks: 1, 2 or 5 times a power of ten, so that there are about ten. */
export function markDistance(span: number): number {
  const rough = span / 10;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough)!;
  return step * power;
}

function drawAxis({ from, to, at }: Scale, right: number, bottom: number): string[] {
  const step = markDistance(Math.max(to - from, 1e-6));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const lines: string[] = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) {
    const x = px(at(k * step));
    lines.push(
      `<line x1="${x}" y1="${HEAD - 4}" x2="${x}" y2="${bottom}" stroke="#e2e8f0"/>`,
      `<text x="${x}" y="${HEAD - 8}" text-anchor="middle" fill="#718096">${(k * step).toFixed(digits)}</text>`,
    );
  }
  lines.push(`<text x="${right + 4}" y="${HEAD - 20}" fill="#718096">ms</text>`);
  return lines;
}

function drawRow({ label, spans }: Row, top: number, { from, to, at }: Scale): string {
  const shown = spans.filter(({ begin, end }) => end >= from && begin <= to);
  const bars: string[] = [];
  for (const { begin, end, kind, names } of barsOf(shown, at, from, to)) {
    const width = Math.max(end - begin, FINE);
    bars.push(
      `<rect x="${px(begin)}" y="${px(top + (ROW - BAR) / 2)}" width="${px(width)}" height="${BAR}" fill="${COLOURS[kind]}"><title>${escaped(names)}</title></rect>`,
    );
  }
  const clipped = shown.map((one) => ({
    ...one,
    begin: Math.max(one.begin, from),
    end: Math.min(one.end, to),
  }));
  const share = Math.round((100 * busyOf(clipped)) / Math.max(to - from, 1e-6));
  const middle = top + ROW / 2 + 4;
  return [
    `<text x="8" y="${px(middle)}" fill="#1a202c">${escaped(label)}</text>`,
    ...bars,
    `<text x="${px(at(to) + SHARES - 6)}" y="${px(middle)}" text-anchor="end" fill="#1a202c">${share} %</text>`,
  ].join('\n');
}

function drawMemory(timeline: TimelineData, device: string, top: number, { from, to, at }: Scale): string {
  const samples = timeline.memory.filter((sample) => sample.device === device);
  const most = samples.reduce((peak, { bytes }) => Math.max(peak, bytes), 1);
  const bottom = top + MEMORY - 10;
  const y = (bytes: number): string => px(bottom - (bytes / most) * (MEMORY - 16));
  let held = 0;
  const points = [`M${px(at(from))},${y(0)}`];
  for (const { time, bytes } of samples) {
    if (time > to) break;
    if (time >= from) {
      if (points.length === 1) points.push(`V${y(held)}`);
      points.push(`H${px(at(time))}V${y(bytes)}`);
    }
    held = bytes;
  }
  points.push(`H${px(at(to))}V${y(0)}Z`);
  return [
    `<path d="${points.join('')}" fill="#cbd5e0" stroke="#718096" stroke-width="0.7"/>`,
    `<text x="8" y="${px(bottom - 14)}" fill="#1a202c">${escaped(device)} memory held</text>`,
    `<text x="8" y="${px(bottom - 1)}" fill="#718096">at most ${formatBytes(most)}</text>`,
  ].join('\n');
}

const perLine = (width: number): number => Math.max(1, Math.floor((width - 16) / 120));

function drawLegend(kinds: readonly SpanKind[], top: number, width: number): string[] {
  return kinds.map((kind, k) => {
    const x = 8 + (k % perLine(width)) * 120;
    const y = top + Math.floor(k / perLine(width)) * LEGEND;
    return `<rect x="${x}" y="${y}" width="12" height="12" fill="${COLOURS[kind]}"/><text x="${x + 18}" y="${y + 10}" fill="#1a202c">${kind}</text>`;
  });
}
