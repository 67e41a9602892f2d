/** The device plan of a graph on one device. */

import { onlyRunOf } from '../../src/exec/plan/phases.js';
import type { DevicePlan } from '../../src/exec/plan/plan.js';
import type { ComputeTarget } from '../../src/exec/run/compute-target.js';
import { planGraph } from '../../src/exec/run/planned.js';
import type { Device } from '../../src/exec/targets/device.js';
import type { Canonical } from '../../src/fusion/passes/canonicalize.js';

/** A target of one device, with results on the host and no budgets where nothing else is said. */
export const targetOn = (device: Device, options: Partial<ComputeTarget> = {}): ComputeTarget => ({
  devices: [device],
  isSharded: false,
  exact: false,
  tune: false,
  budget: undefined,
  hostBudget: undefined,
  destination: 'host',
  ...options,
});

export const planOnDevice = (
  canonical: Canonical,
  device: Device,
  options: Partial<ComputeTarget> = {},
): { readonly plan: DevicePlan } => ({
  plan: onlyRunOf(planGraph(canonical, targetOn(device, options)).plan)!,
});
