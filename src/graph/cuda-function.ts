/**
 * Functions of scalars in CUDA C: nodes that call them, and their versions for devices that run no CUDA C.
 *
 *     z = (x - y) * (x - y)     →     function %0 %1, result 0     →  on the CPU, by the user's own version:  subtract, multiply
 */
import { InternalError } from '../host/errors.js';
import { currentSite } from '../host/site.js';
import { depthOf } from './depth.js';
import { loopWith, needEnds, stepWith, ValueList } from './element-loop.js';
import type { Expr } from './expr.js';
import { elementwiseOf } from './infer.js';
import type { CudaFunction, ElementLoop, ElementStep, StepValue } from './loop-step.js';

/** The results of a function for inputs of its parameters' dtypes, which broadcast. */
export function applyCuda(asked: string, own: CudaFunction, inputs: readonly Expr[]): Expr[] {
  // Elements behind the end of an axis may keep a loop from ending.
  needEnds(asked, inputs);
  return own.results.map(({ dtype }, result): Expr => {
    const node: Expr = {
      kind: 'function',
      function: own,
      result,
      dtype,
      shape: [],
      inputs,
      site: currentSite(),
      depth: depthOf(inputs),
      weak: false,
    };
    return elementwiseOf(asked, node, inputs);
  });
}

/** The functions in CUDA C that a step calls, also in its loops. */
export function cudaFunctionsOfStep({ values }: ElementStep): CudaFunction[] {
  return values.flatMap((value) => {
    if (value.kind === 'function') return [value.function];
    return value.kind === 'repeat' ? cudaFunctionsOfStep(value.loop) : [];
  });
}

/** The step with functions in CUDA C replaced by the values of their versions for the CPU. */
export function withoutCuda(step: ElementStep): ElementStep {
  if (cudaFunctionsOfStep(step).length === 0) return step;
  const { writer, moved } = inlined(step);
  return stepWith(
    step.arguments,
    writer.values,
    step.next.map((at) => moved[at]!),
  );
}

/** The same of a loop. */
export function loopWithoutCuda(loop: ElementLoop): ElementLoop {
  if (cudaFunctionsOfStep(loop).length === 0) return loop;
  const { writer, moved, lengths } = inlined(loop);
  const next = loop.next.map((at) => moved[at]!);
  const step = stepWith(loop.arguments, writer.values, next);
  return loopWith(step, moved[loop.condition]!, lengths[loop.conditionLength]!);
}

/** The version for the CPU; a compute that lacks one is refused before its passes run. */
export function cpuVersionOf({ cpu }: CudaFunction): ElementStep {
  if (cpu === undefined) throw new InternalError('a function in CUDA C on the CPU');
  return withoutCuda(cpu);
}

interface Inlined {
  readonly writer: InlineWriter;
  /** By the position of a value: its new one. */
  readonly moved: readonly number[];
  /** By a number of values: how many they have become. */
  readonly lengths: readonly number[];
}

function inlined(step: ElementStep): Inlined {
  const writer = new InlineWriter(step.arguments.length);
  const moved = [...step.arguments.keys()];
  const lengths = [0];
  for (const value of step.values) {
    moved.push(writer.add(value, moved));
    lengths.push(writer.values.length);
  }
  return { writer, moved, lengths };
}

/** Writes the values of a step whose arguments have moved, those of versions for the CPU in the place of calls. */
class InlineWriter {
  readonly #list: ValueList;

  constructor(count: number) {
    this.#list = new ValueList(count);
  }

  get values(): readonly StepValue[] {
    return this.#list.values;
  }

  add(value: StepValue, moved: readonly number[]): number {
    const args = value.args.map((arg) => moved[arg]!);
    switch (value.kind) {
      case 'function': {
        const version = cpuVersionOf(value.function);
        const inner = [...args];
        for (const each of version.values) inner.push(this.add(each, inner));
        return inner[version.next[value.result]!]!;
      }
      case 'repeat':
        return this.#list.add({ ...value, args, loop: loopWithoutCuda(value.loop) });
      case 'cast':
        return this.#list.add({ ...value, args: [args[0]!] });
      case 'const':
        return this.#list.add(value);
      case 'map':
        return this.#list.add({ ...value, args });
    }
  }
}
