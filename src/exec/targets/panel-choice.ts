/**
 * When a product that is only reduced passes through memory in panels (`exec/tiles/panels.ts`), and how large those are.
 * The choice depends on the product and its readers alone, so that the same bits come of any budget.
 */

import { unmeasuredRates } from '../../codegen/cpu/tape-rates.js';
import { secondsAsWhole, secondsInPanels } from '../../codegen/cpu/tape-seconds.js';
import { formatMicroseconds } from '../../graph/format.js';
import { config } from '../../host/config.js';
import { once } from '../../host/once.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { cpuInfo } from '../native/native.js';
import type {
  NeighbourChoice,
  NeighbourCost,
  NeighbourModel,
  PanelChoice,
  PanelModel,
} from '../plan/device-model.js';
import type { KernelStep } from '../plan/plan.js';

/** Multiprocessors of an H100 and an H200, for which choices are made: they do not depend on the device. */
const MULTIPROCESSORS = 132;
/** Most of 50 MB of second-level cache: smaller panels leave cuBLAS too few blocks. */
const CUDA_PANEL = 32 * 2 ** 20;
const CPU_PANEL = 4 * 2 ** 20;
/** Panels of what kernels pass to kernels: from so many bytes on, which the cores' own caches hold. */
const LEAST_PASSED = 2 ** 20;
/** Products of fewer panels stay in the cache as a whole, or nearly. */
const LEAST_PANELS = 4;

/** Bytes a second of a stored product, and of panels, of which each step has a tail; measured on an H100. */
const STORED_RATE = 2.85e12;
const PANEL_RATE = 2.7e12;
/** Between two steps of a panel. */
const GAP_SECONDS = 1.4e-6;
/** The part of its time that a product may lose for the memory that it does not take: of many bytes more. */
const WORTH = 1.01;
const MANY_BYTES = 4 * 2 ** 30;
const WORTH_MANY = 1.1;

/** The part of its time that a chain of kernels may lose for the memory that its values do not take. */
const WORTH_AROUND = 1.02;
/** Bytes a second that one thread moves within a cache. */
const MOVED_RATE = 1e10;

/** Times that bytes read again count, beside bytes that are not stored: as measured on two cores of an EPYC. */
const AGAIN = 32;

/** Panels of a size that the user sets are for all products that are large enough. */
function model(least: number, own: Omit<PanelModel, 'leastBytes'>): PanelModel | undefined {
  const { panelByteLength: set } = config();
  if (set === 0) return undefined;
  const leastBytes = LEAST_PANELS * (set ?? least);
  if (set === undefined) return { leastBytes, ...own };
  const choose = (): string => 'WEFT_PANEL_BYTES is set';
  const costOf = (): NeighbourCost => ({ seconds: 0, reason: choose() });
  const neighbours = own.neighbours && { byteLengths: [set], leastBytes, costOf };
  return { ...own, leastBytes, bytesOf: () => set, choose, neighbours };
}

export const cudaPanels = (): PanelModel | undefined =>
  model(CUDA_PANEL, { bytesOf: () => CUDA_PANEL, ofOperands: () => false, choose: chooseOnCuda });

/**
 * Panels save memory and its pages, and cost a call of threads and another reading of an operand each. A library may add up
 * the parts of a sum in another order than the whole, as operands in panels would have it.
 */
export const cpuPanels = (): PanelModel | undefined =>
  model(CPU_PANEL, {
    bytesOf: bytesOnCpu,
    ofOperands: once(() => cpuInfo().blas === null),
    choose: chooseOnCpu,
    neighbours: NEIGHBOURS,
  });

const NEIGHBOURS: NeighbourModel = {
  byteLengths: [1, 2, 4, 8].map((count) => count * LEAST_PASSED),
  leastBytes: LEAST_PANELS * LEAST_PASSED,
  costOf: costAround,
};

/** By the predicted times of kernels, at rates that no measurement changes. */
function costAround({
  kernels,
  tiles,
  byteLength,
  panelByteLength,
  carried,
}: NeighbourChoice): NeighbourCost {
  const rates = unmeasuredRates(cpuInfo().threads);
  const stored = { panels: 1, byteLength };
  const inPanels = { panels: tiles, byteLength: panelByteLength };
  let [whole, seconds] = [0, movedAlong(carried)];
  for (const { kernel, read, written } of kernels) {
    whole += secondsAsWhole(kernel, { ...stored, read, written }, rates);
    seconds += secondsInPanels(kernel, { ...inPanels, read, written }, rates);
  }
  const text = `about ${formatMicroseconds(seconds)}, as a whole ${formatMicroseconds(whole)}`;
  return { seconds, reason: seconds > WORTH_AROUND * whole ? undefined : text };
}

/** Of elements that one thread moves within a cache. */
const movedAlong = (bytes: number): number => bytes / MOVED_RATE;

const bytesOnCpu = (product: CallStep | KernelStep): number =>
  product.kind === 'kernel'
    ? CPU_PANEL
    : Math.max(CPU_PANEL, callRow(product).panelBytes?.(product, LEAST_PANELS) ?? 0);

/** Operands that are read again are packed again, too, by each thread. */
const chooseOnCpu = ({ traffic, again }: PanelChoice): string | undefined =>
  AGAIN * again > traffic ? undefined : 'it stays in the cache';

/** The library stores what it computes in between, not meanwhile: times are added up. */
function chooseOnCuda({
  product,
  followers,
  tiles,
  repeated,
  traffic,
  byteLength,
}: PanelChoice): string | undefined {
  if (product.kind === 'kernel') return undefined;
  const arithmetic = callRow(product).costOf(product, MULTIPROCESSORS).seconds;
  const whole = arithmetic + traffic / STORED_RATE;
  const inPanels = repeated * arithmetic + traffic / PANEL_RATE + tiles * (followers + 1) * GAP_SECONDS;
  if (inPanels > (byteLength < MANY_BYTES ? WORTH : WORTH_MANY) * whole) return undefined;
  return `about ${formatMicroseconds(inPanels)}, as a whole ${formatMicroseconds(whole)}`;
}
