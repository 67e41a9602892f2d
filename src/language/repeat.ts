import type { LoopSyntax, LoopTracer } from './loops.js';
import type { State } from './state.js';
import type { Scope } from './variables.js';

export function repeat(tracer: LoopTracer, loop: LoopSyntax, _scope: Scope, _state: State): void {
  tracer.source.refuse(loop.node, 'a loop of at most 32 steps, of a number that is known');
}
