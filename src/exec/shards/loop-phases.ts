/**
 * The phases of loops that devices share: which stages are a loop's rounds, how long values live that rounds hand
 * on, and what the plan says of it. Called by `sharding.ts`.
 */
import type { Phase, PhaseLoop, Plan } from '../plan/plan.js';
import type { Lifetimes } from '../plan/stages.js';
import type { LoopPart, OpenLoop } from './open-loops.js';
import type { Stage } from './shard-stages.js';

/** The stages of a loop's rounds, as of `PhaseLoop`. */
export interface LoopStages extends Pick<PhaseLoop, 'first' | 'lead' | 'steady' | 'keep'> {
  readonly loop: OpenLoop;
  /** The first stage after them. */
  readonly end: number;
}

export function loopStagesOf(stages: readonly Pick<Stage, 'part'>[]): LoopStages[] {
  const found: LoopStages[] = [];
  for (const [first, { part }] of stages.entries()) {
    if (part?.part !== 'lead' || stages[first - 1]?.part === part) continue;
    const isIn = (name: LoopPart['part']) => (stage: Pick<Stage, 'part'>) =>
      stage.part?.loop === part.loop && stage.part.part === name;
    const count = (name: LoopPart['part']): number => stages.filter(isIn(name)).length;
    const [lead, steady, keep] = [count('lead'), count('steady'), count('keep')];
    found.push({ loop: part.loop, first, lead, steady, keep, end: first + lead + steady + keep });
  }
  return found;
}

/** The stages that write buffers, and those that read them. */
export interface Users {
  readonly writers: Lifetimes;
  readonly readers: Lifetimes;
}

/**
 * With rounds: all that later rounds read is needed until the loop ends, states are handed on from round to round,
 * and what is current then was made by the first one.
 */
export function withRounds({ writers, readers }: Users, loops: readonly LoopStages[]): Users {
  const [written, read] = [new Map(writers), new Map(readers)];
  const readAt = (buffer: number, stage: number): void => {
    const known = read.get(buffer) ?? [];
    read.set(
      buffer,
      [...new Set([...known, stage])].sort((a, b) => a - b),
    );
  };
  for (const { loop, first, lead, keep, end: after } of loops) {
    // States that are kept are all of the result: nothing of the loop may come after it.
    const [later, end] = [first + lead, keep > 0 ? after - 1 : after];
    for (const [buffer, stages] of readers) {
      const isRead = stages.some((stage) => stage >= later && stage < after);
      if (isRead && (written.get(buffer)?.every((stage) => stage < later) ?? false)) readAt(buffer, end);
    }
    for (const state of loop.states) {
      // Where a condition ends the loop at once, it ends with those.
      if (loop.condition >= 0) readAt(state.initial, first);
      for (const buffer of [state.first, state.current, state.next]) readAt(buffer, end);
      written.set(state.current, [later - 1]);
      if (state.kept < 0) continue;
      readAt(state.frame, Number.POSITIVE_INFINITY);
      written.set(state.kept, [end]);
    }
  }
  return { writers: written, readers: read };
}

/** How often a stage is done at most, and in which loop; undefined: it is part of none. */
export function roundsOfStage({
  part,
}: Pick<Stage, 'part'>): { readonly nodes: readonly number[]; readonly rounds: number } | undefined {
  if (part === undefined) return undefined;
  const { nodes, rounds } = part.loop;
  const times = { lead: 1, steady: rounds - 1, keep: rounds / part.loop.every, last: 1 };
  return { nodes, rounds: times[part.part] };
}

/** The phases of a plan and what it says of its loops: values that end with a loop do not end with its last phase. */
export function withLoops(
  phases: readonly Phase[],
  loops: readonly LoopStages[],
): Pick<Plan, 'phases' | 'loops'> {
  if (loops.length === 0) return { phases };
  const lasts = new Set(loops.flatMap(({ keep, end }) => (keep > 0 ? [end - 1] : [])));
  return {
    phases: phases.map((phase, at) => (lasts.has(at) ? { ...phase, drops: [] } : phase)),
    loops: loops.map(({ loop, first, lead, steady, keep, end }) => {
      const { rounds, condition, every, states } = loop;
      const drops = keep > 0 ? phases[end - 1]!.drops : [];
      return { first, lead, steady, keep, rounds, condition, every, states, drops };
    }),
  };
}
