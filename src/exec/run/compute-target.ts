/**
 * ComputeTarget: how a graph is to be computed: on one device or several, within their memory, and where its
 * results go. Programs for others are other programs.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { canonicalOfSegment, segmentsBelow } from '../../fusion/passes/segment.js';
import { holdersOf } from '../../graph/expr.js';
import type { Budgets, Destination } from '../plan/plan-graph.js';
import type { Device } from '../targets/device.js';
import { type ChosenDevices, chooseDevices } from '../targets/devices.js';
import { budgetsOf } from './budgets.js';
import { type ComputeOptions, checkComputeOptions } from './compute-options.js';

export interface ComputeTarget extends Budgets {
  readonly devices: readonly Device[];
  /** Whether the devices share the work in phases; if not, there is one. */
  readonly isSharded: boolean;
  readonly exact: boolean;
  /** Whether the algorithms of products are measured. */
  readonly tune: boolean;
  /** Where results are wanted; it matters to what fits. */
  readonly destination: Destination;
  /** How many of the last results come to the host all the same, of results that stay on one device. */
  readonly toHost?: number | undefined;
  /** The bytes free on each device, where a plan for all of their memory found no room. */
  readonly freeBytes?: readonly number[] | undefined;
}

/**
 * The target of a compute with such options on the devices that were chosen for it. Every field is present: of an object that
 * is spread and grows the engine looks each of them up anew, a tenth of a short compute.
 */
export function computeTargetOf(
  { devices, isSharded }: ChosenDevices,
  options: ComputeOptions,
  destination: Destination,
  toHost = 0,
): ComputeTarget {
  const exact = options.exact === true;
  const tune = options.tune === true;
  const { budget, hostBudget } = budgetsOf(options, devices);
  return {
    devices,
    isSharded,
    exact,
    tune,
    budget,
    hostBudget,
    destination,
    toHost,
    freeBytes: undefined,
  };
}

/** For each array on a device that a graph and the segments below it read: the devices that hold it. */
function holdersIn(canonical: Canonical): (readonly string[])[] {
  const holders: (readonly string[])[] = [];
  const below = segmentsBelow(canonical);
  for (const { sources } of below.length === 0 ? [canonical] : [canonical, ...below.map(canonicalOfSegment)])
    for (const { source } of sources) if (source.type === 'device') holders.push(holdersOf(source.buffer));
  return holders;
}

/** The devices a canonical graph is computed on. */
export function devicesOf(canonical: Canonical, options: ComputeOptions): ChosenDevices {
  checkComputeOptions('compute', options);
  return chooseDevices(options, holdersIn(canonical));
}

/** The most bytes that the plan of a target on one device may hold there; `undefined`: no bound. */
export const budgetIn = ({ budget, freeBytes }: ComputeTarget): number | undefined =>
  freeBytes === undefined ? budget : Math.min(freeBytes[0]!, budget ?? Number.POSITIVE_INFINITY);
