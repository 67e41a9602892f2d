/** Totals of a timeline: work by its time, rates of copies, utilisation of streams. Called by `Timeline`. */
import { formatBytes } from '../graph/format.js';
import { devicesOf, rateOf, rowsOf } from './chrome-trace.js';
import type { SpanKind, TimelineData, TimelineSpan } from './timeline-data.js';

/** Work of one name and kind. */
export interface WorkSummary {
  readonly device: string;
  readonly kind: SpanKind;
  readonly name: string;
  readonly count: number;
  /** Milliseconds in all; of threads that worked at a time, of all of them. */
  readonly total: number;
  readonly bytes: number;
}

/** A stream of a device, or what the CPU does as one. */
export interface StreamSummary {
  readonly device: string;
  readonly row: string;
  /** Milliseconds in which something ran, and their share of the timeline. */
  readonly busy: number;
  readonly share: number;
  readonly bytes: number;
  /** GB/s of its copies, while they ran; 0: it copied nothing. */
  readonly rate: number;
}

/** Totals of a timeline: utilisation of streams, and work by its time. */
export interface Summary {
  readonly duration: number;
  readonly streams: readonly StreamSummary[];
  /** Of devices, longest first. */
  readonly work: readonly WorkSummary[];
  /** Of the host, longest first. */
  readonly host: readonly WorkSummary[];
  /** The most bytes that were out at a time. */
  readonly peaks: readonly { readonly device: string; readonly bytes: number }[];
  readonly dropped: number;
}

export function summarize(timeline: TimelineData): Summary {
  const { duration, spans, memory, dropped } = timeline;
  const devices = devicesOf(timeline);
  const streams = devices
    .filter((device) => device !== 'host')
    .flatMap((device) => rowsOf(spans, device).map((row) => streamOf(device, row, timeline)));
  const peaks = devices.flatMap((device) => {
    const own = memory.filter((sample) => sample.device === device);
    return own.length === 0
      ? []
      : [{ device, bytes: own.reduce((most, { bytes }) => Math.max(most, bytes), 0) }];
  });
  const work = byWork(spans.filter(({ device }) => device !== 'host'));
  const host = byWork(spans.filter(({ device }) => device === 'host'));
  return { duration, streams, work, host, peaks, dropped };
}

/** Milliseconds in which at least one of the spans runs; they are in the order of their begin. */
export function busyOf(spans: readonly TimelineSpan[]): number {
  let busy = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (const { begin, end } of spans) {
    if (end <= last) continue;
    busy += end - Math.max(begin, last);
    last = end;
  }
  return busy;
}

function streamOf(device: string, row: string, { spans, duration }: TimelineData): StreamSummary {
  const own = spans.filter((span) => span.device === device && span.row === row);
  const busy = busyOf(own);
  const copies = own.filter(({ kind }) => kind.startsWith('copy'));
  const bytes = copies.reduce((sum, span) => sum + span.bytes, 0);
  const share = duration > 0 ? busy / duration : 0;
  return { device, row, busy, share, bytes, rate: rateOf(bytes, busyOf(copies)) };
}

function byWork(spans: readonly TimelineSpan[]): WorkSummary[] {
  const sums = new Map<string, WorkSummary>();
  for (const { device, kind, name, begin, end, bytes } of spans) {
    const key = `${device}/${kind}/${name}`;
    const { count, total, bytes: before } = sums.get(key) ?? { count: 0, total: 0, bytes: 0 };
    sums.set(key, {
      device,
      kind,
      name,
      count: count + 1,
      total: total + end - begin,
      bytes: before + bytes,
    });
  }
  return [...sums.values()].sort((a, b) => b.total - a.total);
}

/** Lines of work that are printed. */
const MOST_LINES = 12;

const ms = (milliseconds: number): string => `${milliseconds.toFixed(3)} ms`;

function workLines(title: string, work: readonly WorkSummary[]): string[] {
  if (work.length === 0) return [];
  const rows = work.slice(0, MOST_LINES).map(({ device, kind, name, count, total, bytes }) => {
    const what = name === '' ? kind : `${kind} ${name}`;
    const rate = bytes > 0 ? `${formatBytes(bytes)}, ${rateOf(bytes, total).toFixed(1)} GB/s` : '';
    return [`  ${device}`, what, `${count} x`, ms(total), rate];
  });
  const rest = work.slice(MOST_LINES);
  if (rest.length > 0) {
    const total = rest.reduce((sum, one) => sum + one.total, 0);
    rows.push(['', `${rest.length} more`, '', ms(total), '']);
  }
  return [title, ...table(rows)];
}

export function printSummary({ duration, streams, work, host, peaks, dropped }: Summary): string {
  const rows = streams.map(({ device, row, busy, share, bytes, rate }) => [
    `  ${device}`,
    row,
    `busy ${(100 * share).toFixed(1)} %`,
    ms(busy),
    bytes > 0 ? `${formatBytes(bytes)} at ${rate.toFixed(1)} GB/s` : '',
  ]);
  const held = peaks.map(({ device, bytes }) => `${device} ${formatBytes(bytes)}`);
  return [
    `timeline of ${ms(duration)}`,
    ...table(rows),
    ...workLines('on devices', work),
    ...workLines('on the host', host),
    ...(held.length > 0 ? [`most memory held: ${held.join(', ')}`] : []),
    ...(dropped > 0 ? [`${dropped} spans are missing`] : []),
  ].join('\n');
}

const WIDEST = 60;

function table(rows: readonly (readonly string[])[]): string[] {
  const short = rows.map((row) =>
    row.map((text) => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text)),
  );
  const widths = short[0]?.map((_, k) => Math.max(...short.map((row) => row[k]!.length))) ?? [];
  return short.map((row) =>
    row
      .map((text, k) => text.padEnd(widths[k]!))
      .join('  ')
      .trimEnd(),
  );
}
