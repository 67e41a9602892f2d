/**
 * Encodes a kernel as a tape for the CPU: the kernel itself with everything precomputed that does not depend
 * on memory addresses, as one array of numbers and its constants.
 *
 * The domain is prepared by `tape-domain.ts`, walked as `tape-blocking.ts` chooses, ordered by
 * `tape-schedule.ts`, written by `tape-encoder.ts`. The arithmetic is native, under the names of the op table. Called by
 * the CPU planner once per kernel.
 */
import { liveOf } from '../../fusion/kernel/algebra.js';
import { constantOf, loopOf } from '../../fusion/kernel/arithmetic.js';
import { kernelFingerprint } from '../../fusion/kernel/fingerprint.js';
import { argumentsOf, type Kernel, oncePerKernel } from '../../fusion/kernel/kernel.js';
import { type Levels, levelsOf } from '../../fusion/kernel/levels.js';
import { RuntimeScalar, specialized } from '../../graph/runtime-scalar.js';
import { writeScalar } from '../../graph/scalar-bytes.js';
import { once } from '../../host/once.js';
import { CONSTANT_BYTES } from '../../shared/layout.js';
import { LruCache } from '../../shared/lru-cache.js';
import { type Blocking, printBlocking } from './tape-blocking.js';
import { isSharedAlike } from './tape-cost.js';
import { prepare } from './tape-domain.js';
import { type TapeText, textOf } from './tape-encoder.js';
import { planInTiles } from './tape-phase-memory.js';
import { planBy, type TapePlan, type Walk } from './tape-plan.js';
import {
  isInOrder,
  layoutFor,
  layoutInOrder,
  layoutsAlike,
  layoutsInOrder,
  resized,
} from './tape-sum-order.js';
import { layoutInTriangle, type Triangle } from './tape-triangle.js';

/** A kernel as plain data for the addon. */
export interface TapeSpec extends TapeText {
  readonly name: string;
  /** 16 bytes for each constant, in its dtype, little endian. */
  readonly constants: Uint8Array;
  /** For each constant its position among those that come with a run, or -1; without it, none comes so. */
  readonly numbers?: Int32Array | undefined;
}

/** A tape as it is for all kernels of one structure. */
interface TapeCode extends TapeText {
  /** Positions of the constants in the kernels' own tapes. */
  readonly constants: readonly number[];
}

/** The plan of a kernel that runs as a whole. */
export interface WholeTape extends TapePlan {
  /** Whether each of its sums combines in the order that it has alone. */
  readonly isInOrder: boolean;
}

/** A plan without the kernel, whose constants it does not depend on. */
interface TapeLayout extends Omit<WholeTape, 'kernel'> {
  readonly code: () => TapeCode;
}

type LayOut = (kernel: Kernel, levels: Levels) => TapePlan;

/**
 * Layouts by the structure of kernels. To lay out, schedule and encode a kernel takes some 0.5 ms, to find its structure
 * 3 µs; graphs that repeat a layer, and those that are made anew with another number, have few structures.
 */
const laidOut = (layOut: LayOut) => {
  const layouts = new LruCache<TapeLayout>(1024, 1 << 16);
  return oncePerKernel((source): TapeLayout => {
    const structure = kernelFingerprint(source);
    let layout = layouts.get(structure);
    if (layout === undefined) {
      layout = layoutOf(source, layOut);
      layouts.set(structure, layout, source.tape.length);
    }
    return layout;
  });
};

const wholeLayout = laidOut((kernel, levels) => {
  const half = layoutInTriangle(kernel, levels);
  return planBy(kernel, levels, half?.blocking ?? layoutInOrder(kernel), half?.triangle);
});
const phaseLayout = laidOut(planInTiles);

function layoutOf(source: Kernel, layOut: LayOut): TapeLayout {
  const kernel = prepare(source);
  const plan = layOut(kernel, levelsOf(kernel));
  const { levels, blocking, loops, schedule, triangle } = plan;
  const code = once(() => {
    const constants = liveOf(source).filter((position) => constantOf(source.tape[position]!) !== undefined);
    return { ...textOf(plan), constants };
  });
  return { levels, blocking, loops, schedule, triangle, code, isInOrder: isInOrder(kernel) };
}

/**
 * Prepares, lays out and schedules a kernel; once, although planning asks for works, reads and skew.
 */
export const planTape: (source: Kernel) => WholeTape = oncePerKernel((source) => ({
  kernel: prepare(source),
  ...wholeLayout(source),
}));

/** The same for a kernel that runs phase by phase: with the bits of the whole, in blocks for small tiles. */
export const planPhases: (source: Kernel) => TapePlan = oncePerKernel((source) => ({
  kernel: prepare(source),
  ...phaseLayout(source),
}));

/** The blockings of a kernel in which its sums keep their order; tests run the tapes of all. */
export const blockingsOf = (source: Kernel): readonly Blocking[] => layoutsInOrder(prepare(source));

/**
 * How a kernel may be walked with the same bits: as it is, first, then in blocks of half and twice the size, then by what
 * is estimated to take least.
 */
export function walksOf(source: Kernel): readonly Walk[] {
  const kernel = prepare(source);
  const { blocking, triangle } = wholeLayout(source);
  const [first, ...others] = layoutsAlike(kernel) as [Blocking, ...Blocking[]];
  const alike = new Map(
    [first, ...resized(kernel, first), ...others].map((each) => [printBlocking(each), { blocking: each }]),
  );
  return [...(triangle === undefined ? [] : [{ blocking, triangle }]), ...alike.values()];
}

export const tapeBy = (source: Kernel, blocking: Blocking, triangle?: Triangle): TapeSpec =>
  encoded(
    source,
    layoutOf(source, (kernel, levels) => planBy(kernel, levels, blocking, triangle)),
  );

/** The tape of a kernel. */
export const encodeTape = (source: Kernel): TapeSpec => encoded(source, wholeLayout(source));

/** Layouts by numbers of threads and structures; the whole's, where that is the quickest. */
const layoutsFor = new LruCache<TapeLayout>(256, 1 << 14);

/** The tape of a kernel that so many threads run as a whole: in the blocks that are quickest for them, with the same bits. */
export function encodeFor(source: Kernel, threads: number): TapeSpec {
  const { kernel, levels, triangle } = planTape(source);
  if (triangle !== undefined || isSharedAlike(kernel, threads)) return encodeTape(source);
  const key = `${threads} ${kernelFingerprint(source)}`;
  let layout = layoutsFor.get(key);
  if (layout === undefined) {
    const blocking = layoutFor(kernel, levels, threads);
    layout =
      blocking === undefined ? wholeLayout(source) : layoutOf(source, () => planBy(kernel, levels, blocking));
    layoutsFor.set(key, layout, source.tape.length);
  }
  return encoded(source, layout);
}

/** The tape of a kernel that runs phase by phase. */
export const encodePhases = (source: Kernel): TapeSpec => encoded(source, phaseLayout(source));

function encoded(source: Kernel, { code }: TapeLayout): TapeSpec {
  const { words, ops, weights, constants } = code();
  const fixed = givenToLoops(source);
  const bytes = new DataView(new ArrayBuffer(constants.length * CONSTANT_BYTES));
  const numbers = constants.map((position, k) => {
    const { dtype } = source.tape[position]!;
    const constant = constantOf(source.tape[position]!)!;
    const isGiven = constant instanceof RuntimeScalar && !fixed.has(position);
    const value = isGiven ? constant.value : specialized(constant);
    writeScalar(bytes, k * CONSTANT_BYTES, dtype, value);
    return isGiven ? constant.position : -1;
  });
  return {
    name: source.name,
    words,
    constants: new Uint8Array(bytes.buffer),
    numbers: numbers.some((at) => at >= 0) ? Int32Array.from(numbers) : undefined,
    ops,
    weights,
  };
}

/** Positions of what loops of elements are given: their code is made for the constants among it, to divide by them, say. */
const givenToLoops = ({ tape }: Kernel): ReadonlySet<number> =>
  new Set(tape.flatMap((i) => (loopOf(i) === undefined ? [] : argumentsOf(i))));
