/** The texts of a function in CUDA C as they were given, with the names and places that errors tell. */
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import { currentSite } from '../host/site.js';
import {
  type CudaParameter,
  checkOutputs,
  type OwnText,
  parametersIn,
} from '../language/cuda-declaration.js';
import type { CudaTexts } from '../language/cuda-definition.js';

export class GivenTexts {
  readonly #name: string;
  readonly #preamble: string | undefined;
  readonly #site = currentSite();

  /** `op`: the function that they were given to; `texts`: those that have to be texts, by their names. */
  constructor(op: string, name: unknown, { preamble, ...texts }: Readonly<Record<string, unknown>>) {
    if (typeof name !== 'string') throw new ArgumentError(expected(op, 'a name', formatValue(name)));
    for (const [noun, text] of Object.entries({ ...texts, preamble: preamble ?? '' }))
      if (typeof text !== 'string')
        throw new ArgumentError(expected(op, `the ${noun} as text`, formatValue(text)));
    this.#name = name;
    this.#preamble = preamble as string | undefined;
  }

  parameters(noun: string, text: unknown): CudaParameter[] {
    return parametersIn(this.given(noun, text));
  }

  outputs(text: unknown, inputs: readonly CudaParameter[]): CudaParameter[] {
    const given = this.given('the outputs', text);
    const outputs = parametersIn(given);
    checkOutputs(given, inputs, outputs);
    return outputs;
  }

  /** An operation with the preamble of all of them. */
  operationOf(noun: string, text: unknown): Pick<CudaTexts, 'operation' | 'preamble'> {
    const preamble = this.#preamble;
    return {
      operation: this.given(noun, text),
      ...(preamble === undefined ? {} : { preamble: this.given('the preamble', preamble) }),
    };
  }

  given(noun: string, text: unknown): OwnText {
    return { op: this.#name, noun, text: text as string, site: this.#site };
  }
}
