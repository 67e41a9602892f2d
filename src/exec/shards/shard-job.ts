/** A job of several devices, as all who plan its shares are given it. */
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { CostModel, DeviceModel, SweepRules } from '../plan/device-model.js';
import type { WholeReason } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import type { UnplacedBuffer } from '../plan/step-list.js';
import type { ShardDevice } from './shard-device.js';
import { givenPieces } from './shard-stages.js';
import type { Lies } from './shared-work.js';
import type { WholePlanners } from './whole-planners.js';

/** Where memory is short, buffers of so many bytes are cut, however little is done with them. */
export const LEAST_CUT_BYTES = 512 * 1024;

export interface Job {
  readonly sources: readonly SourceArray[];
  readonly model: DeviceModel;
  readonly sweeps: SweepRules;
  readonly costs: CostModel;
  readonly devices: readonly ShardDevice[];
  readonly destination: Destination;
  readonly hostBudget: number;
  readonly planners: WholePlanners;
  /** Whether all large buffers are cut, or those alone with which several devices are sooner done than one. */
  readonly cutsAll: boolean;
  /** Whether large values wait in host memory between phases. */
  readonly spills: boolean;
  /** Why one device does all of a loop whose rounds could be phases. */
  readonly whyWhole: WholeReason;
}

/** The part of the work of each device; the sum is 1. */
export function weightsOf(devices: readonly ShardDevice[]): number[] {
  const total = devices.reduce((sum, { weight }) => sum + weight, 0);
  return devices.map(({ weight }) => weight / total);
}

/** The largest share of the work that a device has. */
export const largestShareOf = (devices: readonly ShardDevice[]): number => Math.max(...weightsOf(devices));

/** Where a value lies that is given, and where a result goes. */
export function liesIn(
  buffer: UnplacedBuffer,
  { sources, destination }: Pick<Job, 'sources' | 'destination'>,
): Lies {
  if (buffer.role === 'output') return destination === 'device' ? 'device' : 'host';
  const pieces = buffer.role === 'input' ? givenPieces(buffer, sources).length : 1;
  return pieces === 0 ? 'host' : pieces === 1 ? 'device' : 'shares';
}
