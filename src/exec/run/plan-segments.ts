/**
 * Memory that the folded parts below a graph will hold while they are computed one after the other
 * (`segments.ts`), found without running them. Called by `inspect/`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { canonicalOfPart, partsBelow, partsIn } from '../../fusion/passes/segment.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { FoldedPart } from '../../graph/expr.js';
import { nodeOf, sizeOfShape } from '../../graph/graph.js';
import type { Plan } from '../plan/plan.js';
import type { Device } from '../targets/device.js';
import { planGraph } from './program.js';
import { Refusals } from './refusals.js';
import { checkWaiting, type PartTarget, placeOfParts } from './segments.js';

export interface PartsPlan {
  readonly count: number;
  /** The most memory of the device at a time, in bytes: an upper bound. 0 where there are no parts. */
  readonly peakBytes: number;
  /** Bytes of values that wait on the device, unread, while the graph above the parts is computed. */
  readonly waitingBytes: number;
  /** As `peakBytes` and `waitingBytes`, of host memory; there, values that are being read wait, too. */
  readonly hostPeakBytes: number;
  readonly hostWaitingBytes: number;
}

/**
 * Plans the parts below a graph; parts that are equal but for what they read are planned once. Throws
 * `MemoryError` with budgets that are enough for all of them.
 */
export function planParts(
  canonical: Canonical,
  device: Device,
  options: Pick<PartTarget, 'exact' | 'budget' | 'hostBudget'>,
): PartsPlan {
  const parts = partsBelow(canonical);
  const place = placeOfParts(options);
  const plans = new Map<string, Plan | undefined>();
  const refusals = new Refusals();
  const last = lastReaders(canonical, parts);
  const waiting = new Set<FoldedPart>();
  const sizeOf = (some: readonly FoldedPart[]): number => some.reduce((sum, part) => sum + bytesOf(part), 0);
  const waitingBytes = (readNow: ReadonlySet<FoldedPart>): number =>
    place === 'host' ? 0 : sizeOf([...waiting].filter((part) => !readNow.has(part)));
  const hostWaitingBytes = (): number => (place === 'host' ? sizeOf([...waiting]) : 0);
  let peakBytes = 0;
  let hostPeakBytes = 0;
  let mostWaiting = 0;
  for (const [k, part] of parts.entries()) {
    const own = canonicalOfPart(part);
    if (!plans.has(own.fingerprint)) {
      const made = refusals.collect(() => planGraph(own, device, { ...options, place }).plan);
      plans.set(own.fingerprint, made);
    }
    const plan = plans.get(own.fingerprint);
    peakBytes = Math.max(peakBytes, (plan?.peakBytes ?? 0) + waitingBytes(partsIn(own)));
    waiting.add(part);
    mostWaiting = Math.max(mostWaiting, hostWaitingBytes());
    hostPeakBytes = Math.max(hostPeakBytes, (plan?.hostPeakBytes ?? 0) + hostWaitingBytes());
    for (const read of partsIn(own)) if (last.get(read) === k) waiting.delete(read);
  }
  refusals.collect(() => checkWaiting(mostWaiting, options.hostBudget));
  refusals.throwAny();
  return {
    count: parts.length,
    peakBytes,
    waitingBytes: waitingBytes(partsIn(canonical)),
    hostPeakBytes,
    hostWaitingBytes: hostWaitingBytes(),
  };
}

/** For each part the position of the last part that reads it; beyond all for what the graph itself reads. */
function lastReaders(canonical: Canonical, parts: readonly FoldedPart[]): Map<FoldedPart, number> {
  const last = new Map<FoldedPart, number>();
  for (const [k, part] of parts.entries())
    for (const read of partsIn(canonicalOfPart(part))) last.set(read, k);
  for (const read of partsIn(canonical)) last.set(read, parts.length);
  return last;
}

/** Bytes of all values of a part. */
function bytesOf(part: FoldedPart): number {
  const { graph } = canonicalOfPart(part);
  return graph.outputs.reduce((sum, id) => {
    const { shape, dtype } = nodeOf(graph, id);
    return sum + sizeOfShape(shape) * byteLengthOf(dtype);
  }, 0);
}
