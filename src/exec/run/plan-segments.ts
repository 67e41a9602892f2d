/**
 * Memory that the segments below a graph will hold while they are computed one after the other
 * (`segments.ts`), found without running them. Called by `inspect/`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { canonicalOfSegment, segmentsBelow, segmentsIn } from '../../fusion/passes/segment.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { Segment } from '../../graph/expr.js';
import { nodeOf, sizeOfShape } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import type { Plan } from '../plan/plan.js';
import type { ComputeTarget } from './compute-target.js';
import { planInSlices } from './planned.js';
import { Refusals } from './refusals.js';
import { checkWaiting, destinationOfSegments } from './segments.js';

export interface SegmentsPlan {
  readonly count: number;
  /** The most memory of the device at a time, in bytes: an upper bound. 0 where there are no segments. */
  readonly peakBytes: number;
  /** Bytes of values that wait on the device, unread, while the graph above the segments is computed. */
  readonly waitingBytes: number;
  /** As `peakBytes` and `waitingBytes`, of host memory; there, values that are being read wait, too. */
  readonly hostPeakBytes: number;
  readonly hostWaitingBytes: number;
  /** Their plans, equal ones once. */
  readonly plans: readonly Plan[];
}

/**
 * Plans the segments below a graph; segments that are equal but for what they read are planned once. Throws
 * `MemoryError` with budgets that are enough for all of them.
 */
export function* planSegments(canonical: Canonical, above: ComputeTarget): Slices<SegmentsPlan> {
  const segments = segmentsBelow(canonical);
  const destination = destinationOfSegments(above);
  const target = { ...above, destination, devices: above.devices.slice(0, 1), isSharded: false };
  const plans = new Map<string, Plan | undefined>();
  const refusals = new Refusals();
  const last = lastReaders(canonical, segments);
  const waiting = new Set<Segment>();
  const sizeOf = (some: readonly Segment[]): number =>
    some.reduce((sum, segment) => sum + bytesOf(segment), 0);
  const waitingBytes = (readNow: ReadonlySet<Segment>): number =>
    destination === 'host' ? 0 : sizeOf([...waiting].filter((segment) => !readNow.has(segment)));
  const hostWaitingBytes = (): number => (destination === 'host' ? sizeOf([...waiting]) : 0);
  let peakBytes = 0;
  let hostPeakBytes = 0;
  let mostWaiting = 0;
  for (const [k, segment] of segments.entries()) {
    const own = canonicalOfSegment(segment);
    if (!plans.has(own.fingerprint)) {
      const made = yield* refusals.collect(planInSlices(own, target));
      plans.set(own.fingerprint, made?.plan);
    }
    const plan = plans.get(own.fingerprint);
    peakBytes = Math.max(peakBytes, (plan?.peakBytes[0] ?? 0) + waitingBytes(segmentsIn(own)));
    waiting.add(segment);
    mostWaiting = Math.max(mostWaiting, hostWaitingBytes());
    hostPeakBytes = Math.max(hostPeakBytes, (plan?.hostPeakBytes ?? 0) + hostWaitingBytes());
    for (const read of segmentsIn(own)) if (last.get(read) === k) waiting.delete(read);
  }
  try {
    checkWaiting(mostWaiting, above.hostBudget);
  } catch (error) {
    refusals.add(error);
  }
  refusals.throwAny();
  return {
    count: segments.length,
    peakBytes,
    waitingBytes: waitingBytes(segmentsIn(canonical)),
    hostPeakBytes,
    hostWaitingBytes: hostWaitingBytes(),
    plans: [...plans.values()].filter((plan) => plan !== undefined),
  };
}

/** For each segment the position of the last segment that reads it; beyond all for what the graph itself reads. */
function lastReaders(canonical: Canonical, segments: readonly Segment[]): Map<Segment, number> {
  const last = new Map<Segment, number>();
  for (const [k, segment] of segments.entries())
    for (const read of segmentsIn(canonicalOfSegment(segment))) last.set(read, k);
  for (const read of segmentsIn(canonical)) last.set(read, segments.length);
  return last;
}

/** Bytes of all values of a segment. */
function bytesOf(segment: Segment): number {
  const { graph } = canonicalOfSegment(segment);
  return graph.outputs.reduce((sum, id) => {
    const { shape, dtype } = nodeOf(graph, id);
    return sum + sizeOfShape(shape) * byteLengthOf(dtype);
  }, 0);
}
