/**
 * Timelines in the Trace Event Format, for Perfetto and chrome://tracing. Called by `Timeline`.
 *
 * Source: "Trace Event Format" by the Chromium authors: complete events (X), counters (C) and metadata (M),
 * times in microseconds.
 */
import type { TimelineData, TimelineSpan } from './timeline-data.js';

type TraceEvent = Readonly<Record<string, unknown>>;

const MICROSECONDS = 1000;
const BYTES_OF_GB = 1e9;

/** Devices in order, the host last: each is a process of the trace. */
export function devicesOf({ spans, memory }: TimelineData): string[] {
  const names = new Set([...spans, ...memory].map(({ device }) => device));
  const rank = (name: string): number => (name === 'host' ? 1 : 0);
  return [...names].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, 'en', { numeric: true }));
}

/** The rows of a device in order: JavaScript's and streams before others. */
export function rowsOf(spans: readonly TimelineSpan[], device: string): string[] {
  const names = new Set(spans.flatMap((span) => (span.device === device ? [span.row] : [])));
  const rank = (name: string): number =>
    name === 'JavaScript' ? 0 : name.startsWith('stream') ? 1 : name.startsWith('copies') ? 2 : 3;
  return [...names].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, 'en', { numeric: true }));
}

/** GB/s of a copy. */
export const rateOf = (bytes: number, milliseconds: number): number =>
  milliseconds > 0 ? bytes / BYTES_OF_GB / (milliseconds / 1000) : 0;

export function chromeTrace(timeline: TimelineData): string {
  const events: TraceEvent[] = [];
  const places = new Map<string, { readonly pid: number; readonly tid: number }>();
  const meta = (name: string, pid: number, tid: number, args: object): void => {
    events.push({ ph: 'M', name, pid, tid, args });
  };
  const devices = devicesOf(timeline);
  for (const [k, device] of devices.entries()) {
    const pid = k + 1;
    meta('process_name', pid, 0, { name: device });
    meta('process_sort_index', pid, 0, { sort_index: pid });
    for (const [at, row] of rowsOf(timeline.spans, device).entries()) {
      const tid = at + 1;
      places.set(`${device}/${row}`, { pid, tid });
      meta('thread_name', pid, tid, { name: row });
      meta('thread_sort_index', pid, tid, { sort_index: tid });
    }
  }
  for (const span of timeline.spans) events.push(complete(span, places.get(`${span.device}/${span.row}`)!));
  for (const { device, time, bytes } of timeline.memory) {
    const pid = devices.indexOf(device) + 1;
    events.push({ ph: 'C', name: 'memory held', pid, tid: 0, ts: time * MICROSECONDS, args: { bytes } });
  }
  return JSON.stringify({ displayTimeUnit: 'ms', traceEvents: events });
}

function complete(
  { kind, name, begin, end, bytes, tile }: TimelineSpan,
  place: { readonly pid: number; readonly tid: number },
): TraceEvent {
  const copied = bytes > 0 ? { bytes, 'GB/s': Number(rateOf(bytes, end - begin).toPrecision(4)) } : {};
  return {
    ph: 'X',
    name: name === '' ? kind : name,
    cat: kind,
    ...place,
    ts: begin * MICROSECONDS,
    dur: (end - begin) * MICROSECONDS,
    args: { ...copied, ...(tile === undefined ? {} : { tile }) },
  };
}
