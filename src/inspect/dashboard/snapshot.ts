/**
 * The state of the process now, as the dashboard's page gets it. Made only while a page is open, twice a second. Called by
 * `server.ts`.
 */
import { cpus } from 'node:os';
import { basename } from 'node:path';
import { cudaInfo, memory, workTotals } from '../../exec/native/native.js';
import { totalBytesOf } from '../../exec/run/budgets.js';
import { type KernelCache, kernelCache } from '../../exec/run/kernel-cache.js';
import { processLimitOf } from '../../exec/run/process-limit.js';
import { keptPrograms } from '../../exec/run/program.js';
import type { Subject } from '../../exec/run/watch.js';
import { type Device, deviceNamed } from '../../exec/targets/device.js';
import { lineOf } from '../../host/site.js';
import { NATIVE_SPAN_KINDS } from '../../shared/layout.js';
import type { ClosedCompute, Ledger, LedgerBatch, OpenCompute } from './ledger.js';
import type {
  ActiveCompute,
  BatchState,
  CacheState,
  ComputeState,
  Counters,
  DashboardState,
  DeviceState,
  EndedCompute,
} from './state.js';

const SECOND = 1000;
/** How long the size of the folder of kernels is believed. */
const DISK_MS = 10_000;

export class Snapshots {
  readonly #ledger: Ledger;
  readonly #begin: number;
  /** Of subjects that are shown: a trace is formatted once. */
  readonly #lines = new WeakMap<object, string>();
  #disk: CacheState['disk'];
  #diskAt = Number.NEGATIVE_INFINITY;

  /** `begin`: when the dashboard began, by `performance.now()`. */
  constructor(ledger: Ledger, begin: number) {
    this.#ledger = ledger;
    this.#begin = begin;
  }

  take(recording: boolean, timeline: number): DashboardState {
    const ledger = this.#ledger;
    const now = performance.now();
    const active = [...ledger.open].map((open) => this.#active(open, now));
    return {
      program: basename(process.argv[1] ?? 'node'),
      pid: process.pid,
      node: process.version,
      now: now - this.#begin,
      active,
      ended: ledger.closed.map((closed) => this.#ended(closed)).reverse(),
      totals: ledger.totals,
      batches: ledger.batches.map((batch) => this.#batch(batch)).reverse(),
      devices: memory().map(({ device, ...use }) => deviceState(deviceNamed(device), use, ledger)),
      counters: counters(ledger.kernelBytes + kernelBytesSoFar(ledger, active)),
      caches: this.#caches(now),
      recording,
      timeline,
    };
  }

  #lineOf(site: Subject['site']): string | undefined {
    if (site === undefined) return undefined;
    let line = this.#lines.get(site);
    if (line === undefined) {
      line = shortPlace(lineOf(site) ?? '');
      this.#lines.set(site, line);
    }
    return line === '' ? undefined : line;
  }

  #compute({ id, subject, devices, budget, program }: OpenCompute | ClosedCompute): ComputeState {
    const { dtype, shape, results } = subject;
    const others = results > 1 ? ` and ${results - 1} more` : '';
    return {
      id,
      title: program?.title ?? `${dtype ?? 'nothing'} (${shape.join(', ')})${others}`,
      site: this.#lineOf(subject.site),
      isCompiled: subject.isCompiled,
      devices,
      program: program?.id,
      budget,
      peakBytes: program && Math.max(0, ...program.plan.peakBytes),
    };
  }

  #active(open: OpenCompute, now: number): ActiveCompute {
    const { program, tilesDone, runBegin } = open;
    const compute = { ...this.#compute(open), milliseconds: now - open.begin };
    const elapsed = now - runBegin;
    const none = { progress: undefined, millisecondsLeft: undefined, share: undefined };
    if (program === undefined) return { ...compute, ...none, stage: 'planning' };
    if (tilesDone === undefined) {
      const { last } = program;
      if (last === undefined || elapsed > last) return { ...compute, ...none, stage: 'running' };
      const share = elapsed / last;
      return { ...compute, progress: undefined, millisecondsLeft: last - elapsed, share, stage: 'running' };
    }
    const scale = open.scale();
    const { totalTiles } = scale;
    const progress = scale.at(Math.min(tilesDone(), totalTiles), elapsed / SECOND);
    const { tiles, bytes, totalBytes, secondsLeft, steps } = progress;
    return {
      ...compute,
      stage: 'running',
      progress: { tiles, totalTiles, bytes, totalBytes, steps },
      millisecondsLeft: Number.isFinite(secondsLeft) ? secondsLeft * SECOND : undefined,
      share: tiles / totalTiles,
    };
  }

  #ended(closed: ClosedCompute): EndedCompute {
    const { outcome, error, count, milliseconds, begin, end } = closed;
    const [from, to] = [begin - this.#begin, end - this.#begin];
    return { ...this.#compute(closed), outcome, error, count, milliseconds, begin: from, end: to };
  }

  #batch({ id, batch, outcome, error, counts: atEnd, failures }: LedgerBatch): BatchState {
    const counts = atEnd ?? batch.counts();
    const { total } = batch;
    const over = counts.done + counts.failed;
    const isKnown = outcome === 'running' && total !== undefined && over > 0;
    return {
      id,
      site: this.#lineOf(batch.site),
      outcome,
      total,
      counts,
      millisecondsLeft: isKnown ? (counts.seconds * SECOND * (total - over)) / over : undefined,
      devices: batch.devices(),
      error,
      failures,
    };
  }

  #caches(now: number): CacheState {
    const cache = kernelCache();
    if (now - this.#diskAt > DISK_MS) {
      this.#diskAt = now;
      // For the next state.
      cache.disk().then((disk) => {
        this.#disk = disk;
      }, ignored);
    }
    return { programs: keptPrograms(), kernels: countsOf(cache), disk: this.#disk };
  }
}

const ignored = (): void => undefined;

const countsOf = (cache: KernelCache): CacheState['kernels'] => ({ inMemory: cache.size, ...cache.counters });

/** The last two names of a path, with its line. */
const shortPlace = (place: string): string => place.split(/[\\/]/).slice(-2).join('/');

/** Of programs that run in tiles, the share that is done. */
const kernelBytesSoFar = ({ open }: Ledger, active: readonly ActiveCompute[]): number =>
  [...open].reduce(
    (sum, { program }, k) =>
      active[k]!.progress === undefined ? sum : sum + active[k]!.share! * (program?.kernelBytes ?? 0),
    0,
  );

type Use = Omit<ReturnType<typeof memory>[number], 'device'>;

interface Facts {
  readonly model: string;
  readonly totalBytes: number | undefined;
}

/** By device: the system and the driver are asked once. */
const facts = new Map<Device, Facts>();

function factsOf(device: Device): Facts {
  let known = facts.get(device);
  if (known === undefined) {
    const total = totalBytesOf(device);
    const model = device.isHost ? cpus()[0]?.model.trim() : cudaInfo().devices[device.number]?.name;
    known = { model: model ?? '', totalBytes: Number.isFinite(total) ? total : undefined };
    facts.set(device, known);
  }
  return known;
}

function deviceState(device: Device, { inUse, held, peak, staging }: Use, { open }: Ledger): DeviceState {
  const { name } = device;
  const budgets = [...open].flatMap(({ devices, budget }) =>
    budget !== undefined && devices.includes(name) ? [budget] : [],
  );
  return {
    device: name,
    ...factsOf(device),
    inUse,
    held,
    peak,
    pinned: staging,
    limit: processLimitOf(device),
    budget: budgets.length === 0 ? undefined : Math.max(...budgets),
  };
}

function counters(kernelBytes: number): Counters {
  const totals = workTotals();
  const at = (kind: (typeof NATIVE_SPAN_KINDS)[number], field: 0 | 1): number =>
    totals[2 * NATIVE_SPAN_KINDS.indexOf(kind) + field]!;
  return {
    kernels: at('kernel', 0) + at('graph', 0),
    calls: at('library', 0),
    bytesIn: at('copy in', 1),
    bytesOut: at('copy out', 1),
    bytesBetween: at('copy between', 1),
    bytesRead: at('read', 1),
    bytesWritten: at('write', 1),
    kernelBytes,
  };
}
