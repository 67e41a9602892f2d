/**
 * A function of scalars in CUDA C as the user gave it: parameters, results and texts, which become a function
 * (`graph/loop-step.ts`) for each list of dtypes.
 */
import { createHash } from 'node:crypto';
import { type DType, isHalf } from '../graph/dtype.js';
import type { CudaFunction, CudaText, CudaVariable, ElementStep } from '../graph/loop-step.js';
import { placeAt } from '../host/source-place.js';
import { type CudaParameter, type OwnText, refuseAt } from './cuda-declaration.js';
import { type CudaToken, costOf, cudaTokens, hasLoop, looseEnd, mayAssign } from './cuda-tokens.js';

/** The dtypes that letters stand for. */
export type CudaTypes = ReadonlyMap<string, DType>;

export interface CudaTexts {
  readonly inputs: readonly CudaParameter[];
  readonly outputs: readonly CudaParameter[];
  /** Statements; or, where an output says so, an expression that it becomes. */
  readonly operation: OwnText;
  readonly assigns?: string | undefined;
  readonly preamble?: OwnText | undefined;
  /** Where its inputs, or its outputs, are the numbers of accumulators. */
  readonly accumulator?: AccumulatorTexts | undefined;
  /** Numbers that the operation may name beside its inputs. */
  readonly numbers: readonly CudaNumber[];
}

/** Accumulators of several numbers, as `CudaAccumulator` has them. */
export interface AccumulatorTexts {
  readonly fields: readonly CudaParameter[];
  readonly names: readonly string[];
  readonly isMade: boolean;
}

/** The place of the element, and numbers of elements: of the array, of what is reduced, and of its results. */
export type CudaNumber = 'i' | 'n' | '_in_n' | '_out_n';

/** CuPy's objects with `size()`, and the numbers that these are. */
const SIZES: Readonly<Record<string, CudaNumber>> = { _ind: 'n', _in_ind: '_in_n', _out_ind: '_out_n' };

/** A half is computed in float32. */
export const passedAs = (dtype: DType): DType => (isHalf(dtype) ? 'float32' : dtype);

export class CudaDefinition {
  readonly inputs: readonly CudaParameter[];
  readonly outputs: readonly CudaParameter[];
  /** Further numbers that the operation names, int64. */
  readonly numbers: readonly CudaNumber[];
  readonly #operation: CudaText;
  readonly #preamble: CudaText | undefined;
  readonly #assigns: string | undefined;
  readonly #accumulator: AccumulatorTexts | undefined;
  readonly #indexers: readonly string[];
  readonly #tokens: readonly CudaToken[];
  readonly #made = new Map<string, CudaFunction>();

  /** Throws an ArgumentError for texts that cannot be a function, with the place. */
  constructor({ inputs, outputs, operation, assigns, accumulator, preamble, numbers }: CudaTexts) {
    this.inputs = inputs;
    this.outputs = outputs;
    this.#assigns = assigns;
    this.#accumulator = accumulator;
    this.#tokens = checkedTokens(operation);
    const named = new Set(this.#tokens.filter(({ kind }) => kind === 'name').map(({ text }) => text));
    this.#indexers = Object.keys(SIZES).filter((name) => named.has(name) && numbers.includes(SIZES[name]!));
    const needed = new Set<string>([...named, ...this.#indexers.map((name) => SIZES[name]!)]);
    this.numbers = numbers.filter((name) => needed.has(name));
    if (assigns === undefined)
      for (const { name } of outputs)
        if (!mayAssign(this.#tokens, name))
          refuseAt(operation, 0, `an operation that writes ${name}`, 'none of its statements does');
    this.#operation = cudaText(operation, 'operation');
    if (preamble !== undefined) checkedTokens(preamble);
    this.#preamble = preamble && cudaText(preamble, 'preamble');
  }

  /** The dtype of a parameter or result. */
  static dtypeOf({ type }: Pick<CudaParameter, 'type'>, types: CudaTypes): DType {
    return typeof type === 'string' ? type : types.get(type.letter)!;
  }

  /** `cpuFor`: the step of the same function for the CPU, for parameters and results of these dtypes. */
  functionFor(
    types: CudaTypes,
    cpuFor?: (parameters: readonly DType[], results: readonly DType[]) => ElementStep,
  ): CudaFunction {
    const dtypes = [...types].join(' ');
    const made = this.#made.get(dtypes) ?? this.#functionFor(types, cpuFor);
    this.#made.set(dtypes, made);
    return made;
  }

  #functionFor(types: CudaTypes, cpuFor: Parameters<CudaDefinition['functionFor']>[1]): CudaFunction {
    const variable = (each: CudaParameter): CudaVariable => ({
      name: each.name,
      dtype: passedAs(CudaDefinition.dtypeOf(each, types)),
      ...(each.isRaw ? { raw: CudaDefinition.dtypeOf(each, types) } : {}),
    });
    const numbers = this.numbers.map((name): CudaVariable => ({ name, dtype: 'int64' }));
    const parameters = [...this.inputs.map(variable), ...numbers];
    const results = this.outputs.map(variable);
    const named = [...types].map(([name, dtype]): CudaVariable => ({ name, dtype: passedAs(dtype) }));
    const [operation, preamble, assigns] = [this.#operation, this.#preamble, this.#assigns];
    const own = this.#accumulator;
    const accumulator = own && { ...own, fields: own.fields.map(variable) };
    const indexers = this.#indexers.map((name) => ({ name, size: SIZES[name]! }));
    const dtypesOf = (list: readonly CudaVariable[]): DType[] => list.map(({ dtype }) => dtype);
    const cpu = cpuFor?.(dtypesOf(parameters), dtypesOf(results));
    const texts = [operation.text, preamble?.text, assigns];
    return {
      parameters,
      results,
      types: named,
      operation,
      assigns,
      accumulator,
      indexers,
      preamble,
      cost: costOf(this.#tokens),
      hasLoop: hasLoop(this.#tokens),
      cpu,
      key: JSON.stringify([
        parameters,
        results,
        named,
        texts,
        cpu?.key,
        ...(accumulator ? [accumulator] : []),
      ]),
    };
  }
}

function checkedTokens(given: OwnText): CudaToken[] {
  const tokens = cudaTokens(given.text);
  const loose = looseEnd(given.text, tokens);
  if (loose !== undefined)
    refuseAt(given, loose.start, 'brackets, strings and comments in pairs', loose.text);
  return tokens;
}

/** A text with the name of its file, which follows from the text alone. */
function cudaText({ op, noun, text, site }: OwnText, kind: 'operation' | 'preamble'): CudaText {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return { file: `${kind}_${hash}`, text, owner: op, noun, place: placeAt(site, text) };
}
