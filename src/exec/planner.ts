/**
 * Plans a partitioned graph: finds the lifetimes of its buffers, places temporaries in the arena and adds up the peak.
 * What a device needs besides (scratch memory of its kernels, a library's workspace) comes as `DeviceNeeds`.
 */

import type { SourceArray } from '../fusion/canonicalize.js';
import type { Kernel } from '../fusion/kernel.js';
import type { Partition } from '../fusion/partition.js';
import type { Graph } from '../graph/graph.js';
import { buffersOf, type Draft, type DraftBuffer, draftOf } from './draft.js';
import { aligned, placeInArena } from './memory.js';
import type { Plan, PlanBuffer } from './plan.js';

/** What a device needs to run a plan, beyond the plan's own buffers. */
export interface DeviceNeeds {
  /** Bytes of each scratch buffer a kernel uses. */
  readonly scratchOf: (kernel: Kernel) => readonly number[];
  /** Bytes a library holds while a plan has matrix products. */
  readonly workspaceByteLength: number;
  /** Whether host inputs and outputs are copied to memory of the device. */
  readonly copiesHost: boolean;
}

export function planPartition(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  needs: DeviceNeeds,
): Plan {
  return planWhole(draftOf(graph, partition, sources, needs.scratchOf), needs);
}

/** Every buffer as a whole, steps one after the other. */
function planWhole(draft: Draft, needs: DeviceNeeds): Plan {
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  draft.steps.forEach((step, at) => {
    const { reads, writes } = buffersOf(step);
    for (const buffer of [...reads, ...writes]) {
      if (!first.has(buffer)) first.set(buffer, at);
      last.set(buffer, at);
    }
  });
  const temporaries = draft.buffers.flatMap((buffer, k) => (buffer.role === 'temporary' ? [k] : []));
  const arena = placeInArena(
    temporaries.map((k) => ({
      byteLength: draft.buffers[k]!.byteLength,
      first: first.get(k)!,
      last: last.get(k)!,
    })),
  );
  const offsets = new Map(temporaries.map((k, at) => [k, arena.offsets[at]!]));
  const buffers = draft.buffers.map(
    ({ role, byteLength, key }, k): PlanBuffer => ({
      role,
      byteLength,
      offset: offsets.get(k) ?? 0,
      label: key,
    }),
  );
  return {
    buffers,
    steps: draft.steps,
    inputs: draft.buffers.filter(({ role }) => role === 'input').map(({ source }) => source),
    outputs: outputsOf(draft),
    arenaByteLength: arena.byteLength,
    peakBytes: arena.byteLength + libraryBytes(draft, needs) + heldBytes(draft.buffers, needs),
  };
}

/** For each output of the graph: its place among the buffers of role `output`; -1: it has no elements. */
function outputsOf(draft: Draft): number[] {
  const keys = draft.buffers.filter(({ role }) => role === 'output').map(({ key }) => key);
  return draft.outputKeys.map((key) => keys.indexOf(key));
}

const libraryBytes = (draft: Draft, needs: DeviceNeeds): number =>
  draft.steps.some((step) => step.kind === 'matmul') ? needs.workspaceByteLength : 0;

/** Bytes of the inputs and outputs that have memory of their own on the device. */
const heldBytes = (buffers: readonly DraftBuffer[], needs: DeviceNeeds): number =>
  buffers
    .filter(({ role }) => role === 'output' || (role === 'input' && needs.copiesHost))
    .reduce((sum, { byteLength }) => sum + aligned(byteLength), 0);
