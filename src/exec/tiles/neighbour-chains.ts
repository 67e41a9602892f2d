/**
 * Chains of kernels of which some read what others make, as stencils of stencils do: values that kernels alone use are not
 * stored as a whole, but pass from kernel to kernel in panels.
 *
 *     t = blur x along rows         for each band of rows:   rows of t that are not there yet
 *     y = blur t along columns  →                            rows of y that these suffice for
 *
 * Called by `neighbour-panels.ts`.
 */
import type { KernelStep, Step } from '../plan/plan.js';
import { buffersOf } from '../plan/step-buffers.js';
import type { UnplacedBuffer } from '../plan/step-list.js';

/** The most kernels of a chain: a plan has a range of each for each panel. */
const MOST_KERNELS = 32;

export interface NeighbourChain {
  readonly product: KernelStep;
  readonly followers: readonly KernelStep[];
  readonly values: ReadonlySet<number>;
}

/** The steps that use a buffer, and the order of steps. */
interface Uses {
  readonly swept: ReadonlySet<Step>;
  readonly ofBuffer: (buffer: number) => readonly Step[];
  readonly inOrder: <S extends Step>(steps: Iterable<S>) => S[];
}

/**
 * The chains that begin with a kernel: all that large values tie to it, then half of those kernels, and so on to two, for where
 * a later one needs the values as a whole.
 */
export function* neighbourChains(
  first: KernelStep,
  buffers: readonly UnplacedBuffer[],
  uses: Uses,
  leastBytes: number,
): Generator<NeighbourChain> {
  const usersOf = (value: number): readonly KernelStep[] => {
    const { role, byteLength } = buffers[value]!;
    const users = role === 'temporary' && byteLength >= leastBytes ? uses.ofBuffer(value) : [];
    return users.every((step) => canPass(step) && !uses.swept.has(step)) ? (users as KernelStep[]) : [];
  };
  const members = new Set<KernelStep>([first]);
  const values = new Set<number>();
  // A set's walk meets what is added to it meanwhile.
  for (const member of members) {
    if (members.size > MOST_KERNELS) break;
    const { reads, writes } = buffersOf(member);
    for (const buffer of [...writes, ...reads]) {
      const users = usersOf(buffer);
      if (users.length < 2) continue;
      values.add(buffer);
      for (const user of users) members.add(user);
    }
  }
  const all = uses.inOrder(members);
  if (all[0] !== first) return;
  for (let count = Math.min(all.length, MOST_KERNELS); count >= 2; count = Math.floor(count / 2)) {
    const some = new Set<Step>(all.slice(0, count));
    const passed = new Set(
      [...values].filter((value) => uses.ofBuffer(value).every((step) => some.has(step))),
    );
    const chain = all.slice(0, count).filter((step) => {
      const { reads, writes } = buffersOf(step);
      return [...reads, ...writes].some((buffer) => passed.has(buffer));
    });
    const [product, ...followers] = chain;
    if (product !== first || followers.length === 0) continue;
    // A panel's place is that of the first value of the first kernel.
    const own = buffersOf(first).writes.find((buffer) => passed.has(buffer));
    if (own !== undefined) yield { product, followers, values: new Set([own, ...passed]) };
  }
}

/** Inputs that are read block by block, and loops of elements, pass by themselves. */
const canPass = (step: Step): boolean => step.kind === 'kernel' && step.loopSteps === undefined;
