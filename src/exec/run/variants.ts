/**
 * Programs of graphs of one structure, which differ in the answers that their constants give: `x ** c` has one program
 * where c is 2 and another for all other numbers. Called by `program.ts`.
 */
import { type Guard, hold, type RuntimeScalar } from '../../graph/runtime-scalar.js';
import { sameScalar } from '../../graph/scalar.js';
import type { SharedWork } from './shared-work.js';

interface Variant<T> {
  readonly scalars: readonly RuntimeScalar[];
  /** Undefined: its plan is being made, and may ask more. */
  guards: readonly Guard[] | undefined;
  readonly work: SharedWork<T>;
}

/** The most programs of one structure: where plans depend on a number itself, each number has its own. */
const MOST = 32;

export class Variants<T> {
  /** The one that was used last comes first. */
  readonly #all: Variant<T>[] = [];

  get count(): number {
    return this.#all.length;
  }

  /** The program that fits some numbers. */
  find(scalars: readonly RuntimeScalar[]): SharedWork<T> | undefined {
    const all = this.#all;
    for (let k = 0; k < all.length; k++) {
      const variant = all[k]!;
      const { guards, work } = variant;
      const fits = guards === undefined ? haveSameValues(variant.scalars, scalars) : hold(guards, scalars);
      if (!fits || work.isStopped) continue;
      if (k > 0) all.unshift(...all.splice(k, 1));
      return work;
    }
    return undefined;
  }

  /** The guards of the program that fits some numbers. */
  guardsFor(scalars: readonly RuntimeScalar[]): readonly Guard[] | undefined {
    return this.#all.find(({ guards }) => guards !== undefined && hold(guards, scalars))?.guards;
  }

  /** A program in the making that may turn out to fit, where nothing is known of the structure yet. */
  get unknown(): SharedWork<T> | undefined {
    const all = this.#all;
    if (all.some(({ guards }) => guards !== undefined)) return undefined;
    return all.find(({ work }) => !work.isStopped)?.work;
  }

  /** `failed`: called where the program could not be made, which is then not kept. */
  add(scalars: readonly RuntimeScalar[], work: SharedWork<T>, failed: () => void): void {
    const all = this.#all;
    const variant: Variant<T> = { scalars, guards: undefined, work };
    all.unshift(variant);
    if (all.length > MOST) all.pop();
    work.result.then(
      () => {
        variant.guards = scalars.flatMap((scalar) => scalar.guards());
      },
      () => {
        const at = all.indexOf(variant);
        if (at >= 0) all.splice(at, 1);
        failed();
      },
    );
  }
}

const haveSameValues = (a: readonly RuntimeScalar[], b: readonly RuntimeScalar[]): boolean =>
  a.every(({ value }, k) => sameScalar(value, b[k]!.value));
