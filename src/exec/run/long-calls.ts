/**
 * LongCalls: calls of a compiled function whose program is of the CPU and runs on threads of its own. Where these read more than
 * the caches hold, the code and data of JavaScript come from memory behind each run, so that a function, an object or a
 * promise takes a microsecond and more. Hence one promise follows the addon's, and all that is the same in each call is made
 * once. Called by `compiled-graph.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { Expr } from '../../graph/expr.js';
import {
  isOfCpu,
  type NativeProgram,
  type RawDestination,
  type RunInput,
  type RunResult,
  rawDestinations,
  runToHost,
} from '../native/native.js';
import { hostResults } from './evaluate.js';
import type { HostResult } from './host-result.js';
import type { OneRun, Program } from './program.js';
import type { RunNumbers } from './run-numbers.js';

export class LongCalls {
  readonly program: Program;
  /** The sources of the graph that the program reads. */
  readonly sources: readonly number[];
  readonly #native: NativeProgram;
  readonly #keep: readonly RawDestination[];
  readonly #made: (result: RunResult) => HostResult[];

  /** Undefined: the program is of several runs or of a GPU, or calls of it may fail by their values. */
  static of(program: Program, exprs: readonly Expr[], { statuses }: Canonical): LongCalls | undefined {
    const { one } = program;
    const isPlain = one !== undefined && statuses.length === 0 && isOfCpu(one.native);
    return isPlain ? new LongCalls(program, one, exprs) : undefined;
  }

  private constructor(program: Program, one: OneRun, exprs: readonly Expr[]) {
    this.program = program;
    this.sources = one.plan.inputs;
    this.#native = one.native;
    this.#keep = rawDestinations(one.options.host.outputs);
    this.#made = ({ outputs }) => hostResults(exprs, { program, outputs });
  }

  /** The results of the function; `failed` goes on with the error of a run that has begun. */
  run(
    inputs: readonly RunInput[],
    numbers: RunNumbers,
    failed: (error: unknown) => Promise<HostResult[]>,
  ): HostResult[] | Promise<HostResult[]> {
    return runToHost(this.#native, inputs, this.#keep, numbers, this.#made, failed);
  }
}
