/**
 * Rows and bars of a timeline's picture: a row for each stream and each group of threads, bars in pixels. Called by
 * `timeline-svg.ts`, and for the dashboard's page.
 */
import { deviceNamed } from '../exec/targets/device.js';
import { devicesOf, rowsOf } from './chrome-trace.js';
import type { SpanKind, TimelineData, TimelineSpan } from './timeline-data.js';

/** Pixels between bars that touch; bars of a kind that do are one where one of them is narrow. */
export const FINE = 0.4;
const NARROW = 2;

export interface Row {
  readonly label: string;
  readonly spans: readonly TimelineSpan[];
}

/** Threads that do the same are one row: `weft-in 7` and `weft-in 8`. */
export function rowsToDraw(timeline: TimelineData, withHost: boolean): Row[] {
  return devicesOf(timeline).flatMap((device): Row[] => {
    const own = timeline.spans.filter((span) => span.device === device);
    const names = rowsOf(timeline.spans, device);
    if (device !== 'host') {
      return names.map((name) => ({
        label: deviceNamed(device).isHost ? device : `${device} ${name}`,
        spans: own.filter(({ row }) => row === name),
      }));
    }
    if (!withHost) return [];
    const groups = [...new Set(names.map((name) => name.replace(/ \d+$/, '')))];
    return groups.map((group) => {
      const members = names.filter((name) => name.replace(/ \d+$/, '') === group);
      const count = members.length > 1 ? ` (${members.length} threads)` : '';
      return { label: `${group}${count}`, spans: own.filter(({ row }) => members.includes(row)) };
    });
  });
}

export interface Bar {
  begin: number;
  end: number;
  kind: SpanKind;
  names: string;
}

/**
 * Bars in pixels: those of a kind that touch are one, or a picture of thousands of spans would be too large.
 */
export function barsOf(
  spans: readonly TimelineSpan[],
  at: (time: number) => number,
  from: number,
  to: number,
): readonly Bar[] {
  const bars: Bar[] = [];
  const last = new Map<SpanKind, { readonly bar: Bar; count: number }>();
  for (const { kind, name, begin, end } of spans) {
    const x = at(Math.max(begin, from));
    const reach = at(Math.min(end, to));
    const before = last.get(kind);
    const isInside = before !== undefined && reach <= before.bar.end;
    const isNext = before !== undefined && bars.at(-1) === before.bar && x - before.bar.end < FINE;
    const isNarrow = before !== undefined && Math.min(reach - x, before.bar.end - before.bar.begin) < NARROW;
    if (before !== undefined && isNarrow && (isNext || isInside)) {
      before.bar.end = Math.max(before.bar.end, reach);
      before.count++;
      before.bar.names = `${before.count} x ${kind}`;
      continue;
    }
    const bar = {
      begin: x,
      end: reach,
      kind,
      names: `${name === '' ? kind : name}, ${(end - begin).toFixed(3)} ms`,
    };
    bars.push(bar);
    last.set(kind, { bar, count: 1 });
  }
  return bars;
}
