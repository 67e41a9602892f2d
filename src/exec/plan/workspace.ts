/**
 * The workspace of a plan's calls: one temporary that they share, for they run one after the other. A call
 * takes as much as makes it fast, or less where a budget leaves no more. Called by `device-planner.ts` and
 * `sweeps.ts`.
 *
 * On the CPU bits do not depend on it. cuBLAS may choose another order of sums with a smaller one; so that is
 * taken only where a job would be refused otherwise.
 */

import { once } from '../../host/once.js';
import type { CallStep, WorkspaceNeed } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { Step } from './plan.js';
import { ownBuffer, type StepList } from './step-list.js';

/** The workspaces to try, as shares of the largest useful ones. */
const PARTS = [1, 1 / 8, 1 / 64, 0];

/** The step list with less and less workspace, each made when it is asked for; itself, if it has no calls. */
export function withWorkspaces(
  stepList: StepList,
  needOf: (step: CallStep) => WorkspaceNeed,
): (() => StepList)[] {
  const needs = differentCalls(stepList.steps).map(needOf);
  const most = Math.max(0, ...needs.map((need) => need.most));
  const least = Math.max(0, ...needs.map((need) => need.least));
  const sizes = new Set(PARTS.map((part) => Math.max(least, Math.floor(most * part))));
  return [...sizes].map((bytes) => once(() => (bytes === 0 ? stepList : withWorkspace(stepList, bytes))));
}

function withWorkspace(stepList: StepList, byteLength: number): StepList {
  const workspace = stepList.buffers.length;
  return {
    ...stepList,
    buffers: [...stepList.buffers, ownBuffer('workspace', byteLength)],
    steps: stepList.steps.map((step) => withBuffer(step, workspace)),
    workspace,
  };
}

/** The step with a workspace for its calls. */
function withBuffer<S extends Step>(step: S, workspace: number): S {
  if (step.kind === 'call') return { ...step, workspace };
  if (step.kind !== 'loop') return step;
  return { ...step, body: step.body.map((part) => withBuffer(part, workspace)) };
}

/** One of each of the calls that differ in more than the buffers they name. */
function differentCalls(steps: readonly Step[]): CallStep[] {
  const calls = new Map<string, CallStep>();
  for (const step of steps) {
    if (step.kind === 'kernel') continue;
    for (const call of callsOf(step)) calls.set(`${call.call} ${callRow(call).keyOf(call)}`, call);
  }
  return [...calls.values()];
}

/** The calls of a step, those in loops among them. */
export function callsOf(step: Step): CallStep[] {
  if (step.kind === 'loop') return step.body.flatMap(callsOf);
  if (step.kind === 'sweep') return step.body.flatMap((part) => callsOf(part.step));
  return step.kind === 'call' ? [step] : [];
}

/** The buffer that a step's calls share, if there is one. */
export function workspacesOf(step: Step): readonly number[] {
  const workspace = step.kind === 'kernel' ? undefined : callsOf(step)[0]?.workspace;
  return workspace === undefined ? NONE : [workspace];
}
const NONE: readonly number[] = [];
