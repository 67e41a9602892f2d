/**
 * Prints tape instructions as CUDA C statements, one variable per value. Which instructions, in which loop
 * and with which coordinates is up to the schedule printers, who also say what is already at hand
 * (`Scope.known`).
 */

import { affineLoadOf, liveValues, sizesOf } from '../../fusion/kernel/algebra.js';
import { constantOf, isConstant } from '../../fusion/kernel/arithmetic.js';
import { rangeOf } from '../../fusion/kernel/boxes.js';
import {
  type Access,
  type AccessIndex,
  type Affine,
  argumentsOf,
  formOf,
  type Instruction,
  isZeroOutside,
  type Kernel,
} from '../../fusion/kernel/kernel.js';
import { dependenciesOf, type Levels, levelsOf } from '../../fusion/kernel/levels.js';
import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import type { DType } from '../../graph/dtype.js';
import { opRow } from '../../graph/ops.js';
import { InternalError } from '../../host/errors.js';
import { castExpression, fromStorage } from './casts.js';
import { cudaFunctionName } from './cuda-functions.js';
import { loopName } from './element-loops.js';
import { bfloatQuotients } from './half-quotients.js';
import { addressExpression, affineExpression, boundsExpression, indexWidthOf } from './index-math.js';
import { zeroLiteral } from './literals.js';
import { apartCall, callsApart } from './outlined.js';
import { Parameters } from './parameters.js';
import type { Writer } from './writer.js';

/** Where instructions are printed: the coordinate of each axis, and values that are already in variables. */
export interface Scope {
  readonly coordinates: readonly string[];
  readonly known: ReadonlyMap<number, string>;
  /** Spellings that replace the expressions of ops with one argument. */
  readonly instead?: ReadonlyMap<number, (argument: string) => string> | undefined;
}

/** How a load by index `index` is read where some of what it takes from is not in memory alone; `memory`: how it is there. */
export type HeldRead = (index: string, memory: string, params: Parameters) => string;

const NONE_HELD: ReadonlyMap<number, HeldRead> = new Map();

/** A kernel with what every printer asks about it. */
export class Body {
  readonly kernel: Kernel;
  /** By position: loads of tables in shared memory. */
  readonly held: ReadonlyMap<number, HeldRead>;
  readonly levels: Levels;
  readonly sizes: readonly number[];
  /** By position, then axis: whether the value depends on the axis. */
  readonly depends: readonly (readonly boolean[])[];
  readonly #callsApart: boolean;
  readonly #bfloatQuotients: ReadonlySet<number>;

  constructor(kernel: Kernel, held = NONE_HELD) {
    this.kernel = kernel;
    this.held = held;
    this.levels = levelsOf(kernel);
    this.sizes = sizesOf(kernel);
    this.depends = dependenciesOf(kernel);
    this.#callsApart = callsApart(kernel);
    this.#bfloatQuotients = bfloatQuotients(kernel);
  }

  /** `largest`: a further index that has to fit. */
  parameters(largest = 0): Parameters {
    return new Parameters(this.kernel, indexWidthOf(this.kernel, largest));
  }

  instruction(position: number): Instruction {
    return this.kernel.tape[position]!;
  }

  /**
   * The access of a load whose place depends on coordinates alone. A gather is printed where it is computed,
   * as ops are.
   */
  accessAt(position: number): Access | undefined {
    return affineLoadOf(this.instruction(position));
  }

  readonly isLoad = (position: number): boolean => this.accessAt(position) !== undefined;

  dependsOnParallel(position: number): boolean {
    return this.depends[position]!.some((on, axis) => on && axis < this.kernel.parallel.length);
  }

  /**
   * Positions needed for `targets`, in tape order, without constants and without what is `known` (or below
   * it).
   */
  closure(targets: Iterable<number>, known: (position: number) => boolean): number[] {
    return liveValues(
      this.kernel.tape,
      targets,
      (position) => known(position) || isConstant(this.instruction(position)),
    );
  }

  /** The expression that names a value in a scope. */
  value(position: number, scope: Scope, params: Parameters): string {
    const known = scope.known.get(position);
    if (known !== undefined) return known;
    const instruction = this.instruction(position);
    const constant = constantOf(instruction);
    return constant === undefined ? `v${position}` : params.constant(position, instruction.dtype, constant);
  }

  /** Prints `positions` (in tape order) as declarations `v<position>`. */
  print(out: Writer, positions: readonly number[], scope: Scope, params: Parameters): void {
    const calls = new Map<string, string>();
    for (const position of positions) {
      const { dtype } = this.instruction(position);
      const result = this.#result(out, position, scope, params, calls);
      if (result !== undefined) {
        out.line(`const ${CUDA_TYPE[dtype]} v${position} = ${result};`);
        continue;
      }
      out.line(`const ${CUDA_TYPE[dtype]} v${position} = ${this.#expression(position, scope, params)};`);
    }
  }

  /** A result of a loop or function, which is called once for all of its results that stand together. */
  #result(
    out: Writer,
    position: number,
    scope: Scope,
    params: Parameters,
    calls: Map<string, string>,
  ): string | undefined {
    const instruction = formOf(this.instruction(position));
    if (instruction.kind !== 'repeat' && instruction.kind !== 'function') return undefined;
    const name =
      instruction.kind === 'repeat' ? loopName(instruction.loop) : cudaFunctionName(instruction.function);
    const call = `${name}(${instruction.args.map((arg) => this.value(arg, scope, params)).join(', ')})`;
    let results = calls.get(call);
    if (results === undefined) {
      results = `states${position}`;
      calls.set(call, results);
      out.line(`const ${name}_states ${results} = ${call};`);
    }
    return `${results}.s${instruction.result}`;
  }

  /** An index as int64: in 32 bits, one that is never negative is widened by zeros, which costs no instruction. */
  #index(affine: Affine, text: string, params: Parameters): string {
    const isUnsigned = params.width === 32 && rangeOf(affine, this.sizes)[0] >= 0;
    return isUnsigned ? `(long long)(unsigned int)(${text})` : `(long long)(${text})`;
  }

  #expression(position: number, scope: Scope, params: Parameters): string {
    const args = argumentsOf(this.instruction(position)).map((arg) => this.value(arg, scope, params));
    const instruction = formOf(this.instruction(position));
    switch (instruction.kind) {
      case 'load': {
        const { access, dtype } = instruction;
        const affine = addressExpression(access, scope.coordinates, params);
        const address =
          access.index === undefined ? affine : `${affine} + ${indexTerm(access.index, args[0]!, params)}`;
        const memory = `${params.buffer(access.buffer)}[${address}]`;
        const held = access.index && this.held.get(position);
        const loaded = fromStorage(dtype, held === undefined ? memory : held(args[0]!, memory, params));
        if (!access.bounds.some(isZeroOutside)) return loaded;
        return `${boundsExpression(access.bounds, scope.coordinates, params)} ? ${loaded} : ${zeroLiteral(dtype)}`;
      }
      case 'index':
        return this.#index(
          instruction.affine,
          affineExpression(instruction.affine, scope.coordinates, params),
          params,
        );
      case 'inside':
        return boundsExpression(instruction.bounds, scope.coordinates, params);
      case 'cast':
        return castExpression(args[0]!, this.instruction(instruction.args[0]).dtype, instruction.dtype);
      case 'map': {
        const dtype = this.#argumentDType(instruction.args);
        return (
          scope.instead?.get(position)?.(args[0]!) ??
          (this.#bfloatQuotients.has(position)
            ? `weft_bfloat_quotient(${args[0]}, ${args[1]})`
            : undefined) ??
          (this.#callsApart ? apartCall(this.instruction(position), args, dtype) : undefined) ??
          opRow(instruction.op).cuda(args, dtype)
        );
      }
      default:
        throw new InternalError(`${instruction.kind} is not printed in a body`);
    }
  }

  /** The dtype an op computes in: that of its arguments (for `where`, of its choices). */
  #argumentDType(args: readonly number[]): DType {
    return this.instruction(args[args.length - 1]!).dtype;
  }
}

/** The part of an address that a value chooses. */
const indexTerm = ({ stride }: AccessIndex, value: string, params: Parameters): string =>
  stride === 1 ? `(${params.index})${value}` : `(${params.index})${value} * ${params.size(stride)}`;
