/**
 * Which steps of a GPU's program repeated runs launch as CUDA graphs, and in which streams its steps are. A
 * step of a plan is several of its program. Called by `program-cuda.ts`.
 */
import { callRow } from '../calls/table.js';
import type { DevicePlan, Step, StreamPlan, SweepStep } from '../plan/plan.js';

/** The most launches that a run queues at a time, so that little is left to do when it is cancelled. */
const MOST_IN_GRAPH = 128;
/** The same of panels, which take microseconds each. */
const MOST_IN_PANELS = 512;
/**
 * Of a call that takes longer, what it costs the host is little beside it, and as much as that is left to do.
 */
const MOST_CALL_SECONDS = 2e-4;

/** Panels of a product are queued as one graph by themselves: a launch for each step of each panel. */
const isGraph = ({ panels, tiles, body }: SweepStep): boolean =>
  panels !== undefined && tiles * body.length <= MOST_IN_PANELS;

/** Whether what a step queues can be part of a graph. */
function isRepeated(step: Step, multiprocessors: number): boolean {
  if (step.kind === 'sweep') return isGraph(step);
  if (step.kind !== 'call') return step.kind !== 'loop';
  const { isEmpty, costOf } = callRow(step);
  return !isEmpty(step) && costOf(step, multiprocessors).seconds <= MOST_CALL_SECONDS;
}

/** The streams of a program's steps, of which each step of its plan becomes so many. */
export function streamsOfSpecs({ streams }: DevicePlan, counts: readonly number[]): StreamPlan | undefined {
  // Nothing waits for a step that launches nothing.
  if (streams === undefined || counts.includes(0)) return undefined;
  const lastOf: number[] = [];
  for (const count of counts) lastOf.push((lastOf.at(-1) ?? -1) + count);
  const moved = (steps: readonly number[]): number[] => steps.map((step) => lastOf[step]!);
  return {
    count: streams.count,
    steps: streams.steps.flatMap(({ stream, after }, k) =>
      Array.from({ length: counts[k]! }, (_, i) => ({ stream, after: i === 0 ? moved(after) : [] })),
    ),
    ends: moved(streams.ends),
  };
}

/**
 * Steps of a program that repeated runs launch as one CUDA graph: all that are in a row, were it one, for
 * even that is sooner queued as a graph. Of several streams, graphs of all steps have branches; otherwise
 * those of a stream are in a row as long as no other stream waits for one, or has to. Each step of the plan
 * is so many of the program's.
 */
export function graphsOf(
  { steps }: DevicePlan,
  counts: readonly number[],
  streams: StreamPlan | undefined,
  multiprocessors: number,
): { first: number; count: number }[] {
  const repeated = steps.flatMap((step, k) =>
    new Array<boolean>(counts[k]!).fill(isRepeated(step, multiprocessors)),
  );
  const cuts = repeated.every((is) => is) ? undefined : streams;
  const awaited = new Set(cuts === undefined ? [] : [...cuts.ends, ...cuts.steps.flatMap((s) => s.after)]);
  const isAlone = steps.flatMap((step, k) => new Array<boolean>(counts[k]!).fill(step.kind === 'sweep'));
  const graphs: { first: number; count: number }[] = [];
  repeated.forEach((is, at) => {
    if (!is) return;
    const last = graphs.at(-1);
    const place = cuts?.steps[at];
    const isCut =
      place !== undefined &&
      (place.after.length > 0 || awaited.has(at - 1) || place.stream !== cuts?.steps[at - 1]?.stream);
    const isApart = isAlone[at] === true || isAlone[at - 1] === true;
    const follows = last !== undefined && last.first + last.count === at && last.count < MOST_IN_GRAPH;
    if (follows && !isCut && !isApart) last.count += 1;
    else graphs.push({ first: at, count: 1 });
  });
  return graphs;
}
