/**
 * When a product that is only reduced passes through memory in panels (`exec/tiles/panels.ts`), and how large those are.
 * The choice depends on the product and its readers alone, so that the same bits come of any budget.
 */
import { config } from '../../host/config.js';
import { callRow } from '../calls/table.js';
import type { PanelChoice, PanelModel } from '../plan/device-model.js';

/** Multiprocessors of an H100 and an H200, for which choices are made: they do not depend on the device. */
const MULTIPROCESSORS = 132;
/** Of 50 MB of second-level cache, half of which is near a multiprocessor. */
const CUDA_PANEL = 16 * 2 ** 20;
const CPU_PANEL = 4 * 2 ** 20;
/** Products of fewer panels stay in the cache as a whole, or nearly. */
const LEAST_PANELS = 4;

/** Bytes a second of memory, and of the second-level cache. */
const MEMORY_RATE = 2.8e12;
const CACHE_RATE = 5e12;
/** Between two steps of a panel. */
const GAP_SECONDS = 1.5e-6;
/** The part of its time that a product may lose for the memory that it does not take. */
const WORTH = 1.1;

/** Panels of a size that the user sets are for all products that are large enough. */
function model(suitable: number, choose: PanelModel['choose']): PanelModel | undefined {
  const { panelByteLength: set } = config();
  const bytes = set ?? suitable;
  if (bytes === 0) return undefined;
  return {
    bytes,
    leastBytes: LEAST_PANELS * bytes,
    choose: set === undefined ? choose : () => 'WEFT_PANEL_BYTES is set',
  };
}

export const cudaPanels = (): PanelModel | undefined => model(CUDA_PANEL, chooseOnCuda);

/** A panel saves the memory and its pages, and costs a call of threads. */
export const cpuPanels = (): PanelModel | undefined => model(CPU_PANEL, () => 'it stays in the cache');

function chooseOnCuda(choice: PanelChoice): string | undefined {
  const { product, followers, tiles, repeated, traffic, heldBytes } = choice;
  const arithmetic = callRow(product).costOf(product, MULTIPROCESSORS).seconds;
  const whole = Math.max(arithmetic, traffic / (followers + 1) / MEMORY_RATE) + traffic / MEMORY_RATE;
  const rate = heldBytes > 2 * CUDA_PANEL ? MEMORY_RATE : CACHE_RATE;
  const inPanels = repeated * arithmetic + traffic / rate + tiles * (followers + 1) * GAP_SECONDS;
  if (inPanels > WORTH * whole) return undefined;
  return `about ${inMicroseconds(inPanels)}, as a whole ${inMicroseconds(whole)}`;
}

const inMicroseconds = (seconds: number): string => `${(seconds * 1e6).toPrecision(3)} µs`;
