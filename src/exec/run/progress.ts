/**
 * Tells how far a compute is: tiles and bytes done, rate, time left. The native run counts tiles; a timer
 * looks at the count and turns it into the reports that the user asked for. Called by `run-program.ts`.
 */
import { WINDOW, WINDOW_FIELDS } from '../../shared/layout.js';
import { type Step, type SweepStep, stepName, sweepsOf } from '../plan/plan.js';

/** How far a compute is. A compute that fits as a whole is one tile; a step of `iterate` counts as a tile. */
export interface Progress {
  readonly tiles: number;
  readonly totalTiles: number;
  /** Bytes copied to and from the device, in windows. */
  readonly bytes: number;
  readonly totalBytes: number;
  readonly bytesPerSecond: number;
  /** Seconds, by the rate so far. */
  readonly secondsLeft: number;
  /** The kernels and products that run for each tile now. */
  readonly steps: readonly string[];
}

/** Called several times a second with how far a compute is. */
export type OnProgress = (progress: Progress) => void;

/** How often the count is looked at. */
const PERIOD_MS = 100;

interface Stage {
  readonly steps: readonly string[];
  readonly tiles: number;
  /**
   * For each tile, the bytes copied once it is done; of a loop, whose steps count as tiles, there are none.
   */
  readonly bytes: Float64Array | undefined;
}

/** Whether tiles of some steps are counted: whether they are more than one piece. */
export const isCounted = (steps: readonly Step[]): boolean =>
  steps.some((step) => step.kind === 'sweep' || (step.kind === 'loop' && step.condition < 0));

/** The tiles of some steps, and the bytes that are copied with them. */
export class ProgressScale {
  readonly totalTiles: number;
  readonly totalBytes: number;
  readonly #stages: readonly Stage[];
  readonly #names: readonly string[];

  constructor(steps: readonly Step[]) {
    this.#stages = steps.flatMap(stagesOf);
    this.#names = steps.flatMap(namesOf);
    this.totalTiles = Math.max(1, sum(this.#stages.map(({ tiles }) => tiles)));
    this.totalBytes = sum(this.#stages.map(({ bytes }) => bytes?.at(-1) ?? 0));
  }

  /** The progress after so many tiles and seconds. */
  at(tiles: number, seconds: number): Progress {
    const { totalTiles, totalBytes } = this;
    const bytes = bytesAfter(this.#stages, tiles);
    return {
      tiles,
      totalTiles,
      bytes,
      totalBytes,
      bytesPerSecond: bytes / seconds,
      secondsLeft: tiles === 0 ? Number.POSITIVE_INFINITY : (seconds * (totalTiles - tiles)) / tiles,
      steps: stageAt(this.#stages, tiles)?.steps ?? this.#names,
    };
  }
}

/** Starts to tell; gives what ends it. `count`: tiles done so far; `failed` takes what `report` throws. */
export function watchProgress(
  scale: ProgressScale,
  count: () => number,
  report: OnProgress,
  failed: (error: unknown) => void,
): (isComplete: boolean) => void {
  const { totalTiles: total } = scale;
  const start = performance.now();
  let last = -1;
  const tell = (tiles: number): void => {
    if (tiles === last) return;
    last = tiles;
    try {
      report(scale.at(tiles, (performance.now() - start) / 1000));
    } catch (error) {
      failed(error);
    }
  };
  const timer = setInterval(() => tell(Math.min(count(), total - 1)), PERIOD_MS);
  return (isComplete) => {
    clearInterval(timer);
    if (isComplete) tell(total);
  };
}

/** How often a loop with a condition runs is not known: it counts for nothing. */
function stagesOf(step: Step): Stage[] {
  if (step.kind === 'sweep') return [sweepStage(step)];
  if (step.kind !== 'loop' || step.condition >= 0) return [];
  const swept = sweepsOf(step);
  const tiles = swept.reduce((all, sweep) => all + sweep.tiles, 0);
  if (tiles > 0)
    return [{ steps: namesOf(step), tiles: tiles * (step.steps / step.stepsAtOnce), bytes: undefined }];
  return [{ steps: namesOf(step), tiles: step.steps, bytes: undefined }];
}

function sweepStage(sweep: SweepStep): Stage {
  const bytes = new Float64Array(sweep.tiles);
  for (const { windows, direction } of sweep.windows)
    for (let t = 0; t < sweep.tiles; t++) {
      const at = t * WINDOW_FIELDS;
      if (direction !== 'local' && windows[at + WINDOW.copies] === 1)
        bytes[t]! += windows[at + WINDOW.width]! * windows[at + WINDOW.rows]!;
    }
  for (let t = 1; t < sweep.tiles; t++) bytes[t]! += bytes[t - 1]!;
  return { steps: sweep.body.flatMap(({ step }) => namesOf(step)), tiles: sweep.tiles, bytes };
}

const namesOf = (step: Step): string[] => {
  if (step.kind === 'loop') return step.body.flatMap(namesOf);
  if (step.kind === 'sweep') return step.body.flatMap((part) => namesOf(part.step));
  return [stepName(step)];
};

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

function stageAt(stages: readonly Stage[], tiles: number): Stage | undefined {
  let left = tiles;
  for (const stage of stages) {
    if (left < stage.tiles) return stage;
    left -= stage.tiles;
  }
  return stages.at(-1);
}

function bytesAfter(stages: readonly Stage[], tiles: number): number {
  let left = tiles;
  let bytes = 0;
  for (const stage of stages) {
    if (left <= 0) break;
    bytes += stage.bytes?.[Math.min(left, stage.tiles) - 1] ?? 0;
    left -= stage.tiles;
  }
  return bytes;
}
