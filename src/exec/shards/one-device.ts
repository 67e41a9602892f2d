/**
 * A job that several devices have no shares of within their memory, on one of them, in sweeps where it does
 * not fit there: several devices refuse nothing that one of them can do. Called by `shard-partition.ts`.
 */
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Slices } from '../../host/slices.js';
import type { DeviceModel } from '../plan/device-model.js';
import { onePhase } from '../plan/phases.js';
import type { Plan } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import type { StepList, UnplacedBuffer } from '../plan/step-list.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { wholeTask } from '../tiles/sweep-tasks.js';
import type { ShardDevice } from './shard-device.js';
import { spilledBytes } from './shard-phase.js';
import { isWholeOn, leadOf } from './shard-ranges.js';
import { givenPieces } from './shard-stages.js';
import type { WholePlanners } from './whole-planners.js';

interface Job {
  readonly sources: readonly SourceArray[];
  readonly model: DeviceModel;
  readonly devices: readonly ShardDevice[];
  readonly destination: Destination;
  readonly hostBudget: number;
  readonly planners: WholePlanners;
}

/**
 * A plan for the device with most of the inputs; of several without any, for the one with the largest budget.
 */
export function* planOnOne(
  stepList: StepList,
  { sources, model, devices, destination, hostBudget, planners }: Job,
): Slices<Plan | NoFit> {
  const bySize = devices.map((_, d) => d).sort((a, b) => devices[b]!.budget - devices[a]!.budget);
  const piecesOf = (b: number): ReturnType<typeof givenPieces> => givenPieces(stepList.buffers[b]!, sources);
  const sorted = bySize.map((d) => devices[d]!.name);
  const device = bySize[leadOf(stepList.steps.map(wholeTask), sorted, piecesOf)]!;
  const { name, budget } = devices[device]!;
  const buffers = stepList.buffers.map(
    (buffer, b): UnplacedBuffer => ({ ...buffer, isStored: isWholeOn(piecesOf(b), name, buffer.byteLength) }),
  );
  // Of the host's memory, devices that share a job count what waits there alone.
  const own = (): DeviceModel => ({ ...model, hostPeakOf: spilledBytes, copies: undefined });
  const plan = yield* planners.of({ ...stepList, buffers }, 'one device', own).plan(budget, hostBudget);
  if ('needed' in plan) return plan;
  const names = devices.map((one) => one.name);
  const whole = onePhase(plan, device, names, destination);
  return { ...whole, phases: whole.phases.map((phase) => ({ ...phase, reason: 'memory' })) };
}
