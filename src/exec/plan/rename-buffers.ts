/** Steps over other buffers. Called where steps are repeated over memory of their own. */
import { callRow } from '../calls/table.js';
import type { LoopState, LoopStep, Step, SweepStep } from './plan.js';

type BodyStep = Exclude<Step, SweepStep>;

/** The step with `moved` of every buffer that it touches, those of loops in it too. */
export function withBuffers<S extends Step>(step: S, moved: (buffer: number) => number): S;
export function withBuffers(step: BodyStep, moved: (buffer: number) => number): Step {
  if (step.kind === 'call') return callRow(step).withBuffers(step, moved);
  if (step.kind === 'loop') return loopWithBuffers(step, moved);
  return { ...step, buffers: step.buffers.map(moved), scratch: step.scratch.map(moved) };
}

function loopWithBuffers(loop: LoopStep, moved: (buffer: number) => number): LoopStep {
  const place = (buffer: number): number => (buffer < 0 ? buffer : moved(buffer));
  const states = loop.states.map(
    ({ initial, current, next, last, other, kept }): LoopState => ({
      initial: place(initial),
      current: place(current),
      next: place(next),
      last: place(last),
      other: place(other),
      kept: place(kept),
    }),
  );
  return { ...loop, states, body: loop.body.map((step) => withBuffers(step, moved)) };
}
