/**
 * Target: how a graph is to be computed: on one device or several, within their memory, and where its results
 * go. Programs for other targets are other programs.
 */
import type { ChosenDevices } from '../native/devices.js';
import type { Budgets, Place } from '../plan/plan-graph.js';
import { budgetsOf } from './budgets.js';
import type { ComputeOptions } from './compute-options.js';

export interface Target extends Budgets {
  readonly devices: readonly string[];
  /** Whether the devices share the work in phases; if not, there is one. */
  readonly isSharded: boolean;
  readonly exact: boolean;
  /** Where results are wanted; it matters to what fits. */
  readonly place: Place;
  /** The bytes free on each device, where a plan for all of their memory found no room. */
  readonly freeBytes?: readonly number[] | undefined;
}

/** The target of a compute with such options on the devices that were chosen for it. */
export function targetOf({ names, isSharded }: ChosenDevices, options: ComputeOptions, place: Place): Target {
  const exact = options.exact === true;
  const { budget, hostBudget } = budgetsOf(options, names);
  return { devices: names, isSharded, exact, budget, hostBudget, place };
}

/** The most bytes that the plan of a target on one device may hold there; `undefined`: no bound. */
export const budgetIn = ({ budget, freeBytes }: Target): number | undefined =>
  freeBytes === undefined ? budget : Math.min(freeBytes[0]!, budget ?? Number.POSITIVE_INFINITY);
