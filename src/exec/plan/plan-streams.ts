/**
 * Plans whose steps run in several streams: buffers of steps that may run at a time share no bytes, and each
 * stream's products have a workspace of their own. Called by `plan-graph.ts` for plans whose buffers are all
 * there as a whole; which step runs where is `streams.ts`.
 */

import { type DeviceNeeds, peakOf, withHostPeak } from './device-needs.js';
import type { Draft, DraftBuffer } from './draft.js';
import { placeBeside } from './memory.js';
import { type Plan, type Step, type StreamPlan, workspaceOf } from './plan.js';
import { buffersOf } from './step-buffers.js';
import { orderOf, streamsOf } from './streams.js';

/** The most bytes that a plan may take for running steps at a time. */
const MOST_MORE = 256 * 2 ** 20;

/**
 * The plan in several streams; undefined: that does not pay, or takes more than `budget` bytes. `whole` is
 * the plan in one.
 */
export function inStreams(draft: Draft, needs: DeviceNeeds, whole: Plan, budget: number): Plan | undefined {
  // What a loop's body leaves to its next steps would have to stay all the time.
  if (needs.streams === undefined || draft.steps.some(({ kind }) => kind === 'loop')) return undefined;
  const streams = streamsOf(draft.steps, needs.streams);
  if (streams === undefined) return undefined;
  const { buffers, steps } = withOwnWorkspaces(draft, streams);
  const { temporaries, offsets, byteLength } = place(buffers, steps, streams);
  const peakBytes = peakOf(
    needs,
    byteLength,
    buffers.filter(({ role }) => role !== 'temporary'),
  );
  if (peakBytes > Math.min(budget, whole.peakBytes + MOST_MORE)) return undefined;
  return withHostPeak(needs, {
    ...whole,
    buffers: buffers.map(({ role, byteLength: bytes, key }, k) => {
      const isThere = role !== 'temporary' || temporaries.has(k);
      return { role, byteLength: isThere ? bytes : 0, offset: offsets.get(k) ?? 0, label: key };
    }),
    steps,
    arenaByteLength: byteLength,
    peakBytes,
    streams,
  });
}

/**
 * Calls of the first stream that has any keep the workspace that all shared; those of others get their own.
 */
function withOwnWorkspaces(draft: Draft, { steps: places }: StreamPlan): Pick<Draft, 'buffers' | 'steps'> {
  const buffers = [...draft.buffers];
  const own = new Map<number, number>();
  const steps = draft.steps.map((step, at) => {
    const shared = workspaceOf(step);
    if (step.kind !== 'call' || shared === undefined) return step;
    const { stream } = places[at]!;
    let workspace = own.get(stream);
    if (workspace === undefined) {
      workspace = own.size === 0 ? shared : buffers.length;
      if (workspace !== shared) buffers.push({ ...buffers[shared]!, key: `workspace of stream ${stream}` });
      own.set(stream, workspace);
    }
    return { ...step, workspace };
  });
  return { buffers, steps };
}

/** The steps that use each buffer. */
function usersOf(steps: readonly Step[]): ReadonlyMap<number, readonly number[]> {
  const users = new Map<number, number[]>();
  for (const [at, step] of steps.entries()) {
    const { reads, writes } = buffersOf(step);
    const workspace = workspaceOf(step);
    for (const buffer of new Set([...reads, ...writes, ...(workspace === undefined ? [] : [workspace])])) {
      const list = users.get(buffer);
      if (list === undefined) users.set(buffer, [at]);
      else list.push(at);
    }
  }
  return users;
}

/** Places temporaries: those that may be in use at a time lie beside each other. */
function place(
  buffers: readonly DraftBuffer[],
  steps: readonly Step[],
  streams: StreamPlan,
): {
  readonly temporaries: ReadonlySet<number>;
  readonly offsets: ReadonlyMap<number, number>;
  readonly byteLength: number;
} {
  const isBefore = orderOf(streams);
  const users = usersOf(steps);
  const list = [...users.keys()].filter((k) => buffers[k]!.role === 'temporary');
  const allBefore = (a: number, b: number): boolean =>
    users.get(a)!.every((one) => users.get(b)!.every((other) => isBefore(one, other)));
  const arena = placeBeside(
    list.map((k) => buffers[k]!.byteLength),
    (a, b) => !allBefore(list[a]!, list[b]!) && !allBefore(list[b]!, list[a]!),
  );
  return {
    temporaries: new Set(list),
    offsets: new Map(list.map((k, at) => [k, arena.offsets[at]!])),
    byteLength: arena.byteLength,
  };
}
