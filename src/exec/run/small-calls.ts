/**
 * SmallCalls: calls of a compiled function whose program is small and of the CPU. All that is the same in each is made once:
 * memory of results that are small enough for typed arrays in the engine's heap, in which they are computed and from which
 * they are copied. Called by `compiled-graph.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { DType } from '../../graph/dtype.js';
import type { Expr, Shape, TypedArray } from '../../graph/expr.js';
import { type ArrayClass, arrayClassOf, isInHeap, typedArrayOver } from '../native/host-memory.js';
import { type NativeProgram, type RunInput, runSmall, smallResults } from '../native/native.js';
import type { HostResult } from './host-result.js';
import type { Program } from './program.js';
import type { RunNumbers } from './run-numbers.js';
import { codesOf } from './statuses.js';

/** A result of the function: which of the program's it is (-1: it has no elements), and what its memory is copied from. */
interface Result {
  readonly at: number;
  /** An earlier result of the function that is the same one of the program's, in the same memory; -1: there is none. */
  readonly earlier: number;
  readonly shape: Shape;
  readonly dtype: DType;
  readonly arrayClass: ArrayClass;
  readonly passing: TypedArray | undefined;
}

const NOTHING = new ArrayBuffer(0);

export class SmallCalls {
  readonly program: Program;
  /** The sources of the graph that the program reads. */
  readonly sources: readonly number[];
  readonly #native: NativeProgram;
  readonly #lengths: readonly number[];
  /** Memory of the results that all calls compute in it. */
  readonly #passing: readonly ArrayBuffer[];
  readonly #isAllPassing: boolean;
  readonly #results: readonly Result[];
  /** Codes of calls that may fail. */
  readonly #codes: readonly TypedArray[];

  /** Undefined: runs of the program are not small. */
  static of(program: Program, exprs: readonly Expr[], canonical: Canonical): SmallCalls | undefined {
    const native = program.one?.native;
    const lengths = native && smallResults(native);
    return lengths && new SmallCalls(program, lengths, exprs, canonical);
  }

  private constructor(
    program: Program,
    lengths: readonly number[],
    exprs: readonly Expr[],
    canonical: Canonical,
  ) {
    const { native, plan } = program.one!;
    this.program = program;
    this.sources = plan.inputs;
    this.#native = native;
    this.#lengths = lengths;
    this.#passing = lengths.map((length) => (isInHeap(length) ? new ArrayBuffer(length) : NOTHING));
    this.#isAllPassing = lengths.every(isInHeap);
    const places = program.outputs;
    this.#results = exprs.map(({ shape, dtype }, k) => {
      const at = places[k]!;
      const first = at < 0 ? k : places.indexOf(at);
      const isPassing = at >= 0 && isInHeap(lengths[at]!);
      const passing = isPassing ? typedArrayOver(this.#passing[at]!, dtype) : undefined;
      const arrayClass = arrayClassOf(dtype);
      return { at, earlier: first < k ? first : -1, shape: Object.freeze(shape), dtype, arrayClass, passing };
    });
    this.#codes = codesOf(canonical, program).map((at, k) =>
      typedArrayOver(this.#passing[at]!, canonical.statuses[k]!.code.dtype),
    );
  }

  /** Whether the program's runs may still be small: the addon says so of the first. */
  get mayBeSmall(): boolean {
    return smallResults(this.#native) !== undefined;
  }

  /** The memory of all results of the program. Undefined: nothing was computed, and the run goes the way of others. */
  run(inputs: readonly RunInput[], numbers: RunNumbers): readonly ArrayBuffer[] | undefined {
    const memory = this.#isAllPassing ? this.#passing : this.#memory();
    return runSmall(this.#native, inputs, memory, numbers) ? memory : undefined;
  }

  #memory(): ArrayBuffer[] {
    const lengths = this.#lengths;
    const memory = new Array<ArrayBuffer>(lengths.length);
    for (let k = 0; k < memory.length; k++) {
      const length = lengths[k]!;
      memory[k] = isInHeap(length) ? this.#passing[k]! : new ArrayBuffer(length);
    }
    return memory;
  }

  /** Whether the codes of the last run are other than those of success. */
  get hasCodes(): boolean {
    for (const code of this.#codes) if (Number(code[0]) !== 0) return true;
    return false;
  }

  /** The results of the function of a run, before the next one. */
  resultsIn(memory: readonly ArrayBuffer[]): HostResult[] {
    const made = new Array<HostResult & { data: TypedArray }>(this.#results.length);
    for (let k = 0; k < made.length; k++) {
      const { at, earlier, shape, dtype, arrayClass, passing } = this.#results[k]!;
      const data =
        passing !== undefined && earlier < 0
          ? new arrayClass(passing)
          : new arrayClass(earlier < 0 ? memoryAt(memory, at) : made[earlier]!.data.buffer);
      made[k] = { data, shape, dtype };
    }
    return made;
  }
}

/** Of a result that has no elements its own, too: it is the user's, who may move it to another thread. */
const memoryAt = (memory: readonly ArrayBuffer[], at: number): ArrayBuffer =>
  at < 0 ? new ArrayBuffer(0) : memory[at]!;
